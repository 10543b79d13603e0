//! The actor: it searches for missing files, and plans its passes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, SpawnHandle, WrapFuture,
};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::RequestId;
use reelyard_core::supervision::Route;
use reelyard_replication::Leadership;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::missing::MissingShares;
use super::sweep::{self, SweepResult};
use super::waiters::MoveRequestWaiters;
use crate::share_expiry::{
    BeginMove, EndRemoved, RecallMove, RootName, SettleMove, ShareId, ShareViewHandle,
};
use crate::share_files::dirs::SharedDirs;
use crate::share_files::messages::{
    ChangeShareFilesSettings, ShareFilesSettings, ShareFilesView, ShareFilesViewHandle, SweepNow,
};

/// The name under which shares of missing files end.
const MYSELF: &str = "share-files";

/// The pause between two parts of a pass: parts of a hundred shares make a thousand shares a second.
const BETWEEN_GOES: Duration = Duration::from_millis(100);

/// How many missing files are checked again in one part.
const AGAIN_IN_ONE_GO: usize = 1000;

/// The pause after a failed commit or look.
pub(super) const RETRY: Duration = Duration::from_secs(1);

/// How often the paths of the roots are checked.
const ROOT_LOOK_EVERY: Duration = Duration::from_secs(5);

/// The actors that this actor asks.
#[derive(Clone)]
pub struct ShareFilesCollaborators {
    /// Read access to the shares.
    pub shares: ShareViewHandle,
    /// The ShareExpiryActor: the outcome of a request.
    pub recall: Route<RecallMove>,
    /// Records a move before it is carried out.
    pub begin: Route<BeginMove>,
    /// and to settle a move.
    pub settle: Route<SettleMove>,
    /// It ends the shares of missing files.
    pub end: Route<EndRemoved>,
    /// The leader as the journal knows it. Other nodes do not touch the files.
    pub leadership: watch::Receiver<Leadership>,
}

/// The actor for shared files. Every node has one. It acts on the node where the ShareExpiryActor
/// decides.
pub struct ShareFiles {
    pub(super) settings: ShareFilesSettings,
    pub(super) dirs: SharedDirs,
    pub(super) others: ShareFilesCollaborators,
    pub(super) clock: Clock,
    pub(super) views: ShareFilesViewHandle,
    /// Requests without an answer, with the callers that repeated them.
    pub(super) moving: HashMap<RequestId, MoveRequestWaiters>,
    /// The moves that are being carried out.
    pub(super) making: HashSet<RequestId>,
    /// Whether moves that were found begun are being settled.
    pub(super) settling: bool,
    /// When the log last reported that a move is unsettled.
    pub(super) warned_unsettled: BTreeMap<u64, Millis>,
    pub(super) missing: MissingShares,
    /// Whether missing files are being checked again.
    pub(super) looking: bool,
    pub(super) look_at: Option<SpawnHandle>,
    /// Whether a pass is running.
    pub(super) sweeping: bool,
    pub(super) sweep_at: Option<SpawnHandle>,
    /// Whether a check of the paths of the roots is running.
    pub(super) looking_at_roots: bool,
    /// The roots that have shares, as known so far; and those of this pass only.
    pub(super) shared: BTreeSet<RootName>,
    pub(super) met: BTreeSet<RootName>,
    pub(super) view: ShareFilesView,
}

/// There are unfinished moves from before.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct UnsettledMovesFound;

/// A link found no file.
#[derive(Message)]
#[rtype(result = "()")]
struct FoundMissing;

impl ShareFiles {
    /// A ShareFiles over these directories.
    pub fn new(
        settings: ShareFilesSettings,
        dirs: SharedDirs,
        others: ShareFilesCollaborators,
        clock: Clock,
        views: ShareFilesViewHandle,
    ) -> Self {
        ShareFiles {
            settings,
            dirs,
            others,
            clock,
            views,
            moving: HashMap::new(),
            making: HashSet::new(),
            settling: false,
            warned_unsettled: BTreeMap::new(),
            missing: MissingShares::default(),
            looking: false,
            look_at: None,
            sweeping: false,
            sweep_at: None,
            looking_at_roots: false,
            shared: BTreeSet::new(),
            met: BTreeSet::new(),
            view: ShareFilesView::default(),
        }
    }

    pub(super) fn leads(&self) -> bool {
        self.others.shares.view().epoch.is_some()
    }

    /// Checks the missing files when the first of them is due.
    pub(super) fn plan_look(&mut self, ctx: &mut Context<Self>) {
        if let Some(planned) = self.look_at.take() {
            ctx.cancel_future(planned);
        }
        if self.looking {
            return;
        }
        if let Some(at) = self.missing.next(self.settings.removed_after) {
            let wait = at.saturating_duration_since(Instant::now());
            self.look_at = Some(ctx.run_later(wait, |files, ctx| {
                files.look_at = None;
                files.look_again(ctx);
            }));
        }
    }

    pub(super) fn look_again(&mut self, ctx: &mut Context<Self>) {
        if self.looking {
            return;
        }
        let after = self.settings.removed_after;
        let ids = self.missing.due(Instant::now(), after, AGAIN_IN_ONE_GO);
        if ids.is_empty() {
            return self.plan_look(ctx);
        }
        self.looking = true;
        let (dirs, shares) = (self.dirs.clone(), self.others.shares.clone());
        let (end, shared) = (self.others.end.clone(), self.shared.clone());
        let looking = async move {
            let looked =
                spawn_blocking(move || sweep::again(&dirs, &shares, (&shared, &ids), after)).await;
            let gone = looked.unwrap_or_default();
            let ended = if gone.missing.is_empty() {
                true
            } else {
                let asked = EndRemoved { gone: gone.missing.clone(), asked_by: MYSELF.to_owned() };
                matches!(end.recipient().send(asked).await, Ok(Ok(_)))
            };
            (gone, ended)
        };
        ctx.spawn(looking.into_actor(self).map(|(gone, ended), files, ctx| {
            files.looking = false;
            files.view.looked_again += gone.looked;
            files.note(gone.early.iter().copied());
            files.show(&gone);
            if !ended {
                // They still exist: the next check follows at its time.
                files.note(gone.missing.iter().map(|(id, _)| *id));
            }
            files.plan_look(ctx);
        }));
    }

    pub(super) fn note(&mut self, missing: impl IntoIterator<Item = ShareId>) {
        let now = Instant::now();
        for id in missing {
            self.missing.note(id, now);
        }
    }

    pub(super) fn plan_sweep(&mut self, wait: Duration, ctx: &mut Context<Self>) {
        if let Some(planned) = self.sweep_at.take() {
            ctx.cancel_future(planned);
        }
        self.sweep_at = Some(ctx.run_later(wait, |files, ctx| {
            files.sweep_at = None;
            files.sweep(None, ctx);
        }));
    }

    /// Checks the files of all shares from `from` on, in batches.
    pub(super) fn sweep(&mut self, from: Option<ShareId>, ctx: &mut Context<Self>) {
        self.sweeping = self.leads() && self.others.shares.is_up();
        if !self.sweeping {
            // The actor soon checks again whether this node decides now.
            return self.plan_sweep(self.settings.sweep_interval.min(RETRY * 10), ctx);
        }
        let (dirs, shares) = (self.dirs.clone(), self.others.shares.clone());
        let (now, shared) = (self.clock.now(), self.shared.clone());
        let looking = spawn_blocking(move || sweep::sweep_next(&dirs, &shares, &shared, from, now));
        ctx.spawn(looking.into_actor(self).map(|looked, files, ctx| {
            let gone = looked.unwrap_or_default();
            files.view.looked += gone.looked;
            files.view.sweeps += u64::from(gone.next.is_none());
            files.note(gone.missing.iter().map(|(id, _)| *id));
            files.met.extend(gone.roots.iter().cloned());
            files.show(&gone);
            files.plan_look(ctx);
            match gone.next {
                Some(next) => {
                    ctx.run_later(BETWEEN_GOES, move |files, ctx| files.sweep(Some(next), ctx));
                }
                None => {
                    files.sweeping = false;
                    files.shared = std::mem::take(&mut files.met);
                    files.plan_sweep(files.settings.sweep_interval, ctx);
                }
            }
        }));
    }

    /// Publishes a new view.
    pub(super) fn show(&mut self, gone: &SweepResult) {
        self.shared.extend(gone.roots.iter().cloned());
        self.show_roots([], &gone.unreachable);
        self.view.missing = self.missing.len() as u64;
        self.views.publish(self.view.clone());
    }
}

impl Actor for ShareFiles {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let (to, mut unsettled) = (ctx.address(), self.others.shares.unsettled());
        // Moves that began before this actor existed are new to it.
        unsettled.mark_changed();
        let watching = async move {
            while unsettled.changed().await.is_ok() {
                to.do_send(UnsettledMovesFound);
            }
        };
        ctx.spawn(watching.into_actor(self));
        let (to, shares) = (ctx.address(), self.others.shares.clone());
        let hearing = async move {
            loop {
                shares.missing_noted().await;
                to.do_send(FoundMissing);
            }
        };
        ctx.spawn(hearing.into_actor(self));
        self.look_at_roots(ctx);
        ctx.run_interval(ROOT_LOOK_EVERY, Self::look_at_roots);
        self.plan_sweep(RETRY, ctx);
    }
}

impl Handler<FoundMissing> for ShareFiles {
    type Result = ();

    fn handle(&mut self, _: FoundMissing, ctx: &mut Context<Self>) {
        let ids = self.others.shares.take_missing();
        if self.leads() {
            self.note(ids);
            self.plan_look(ctx);
        } else {
            self.missing.clear();
        }
    }
}

impl Handler<SweepNow> for ShareFiles {
    type Result = ();

    fn handle(&mut self, _: SweepNow, ctx: &mut Context<Self>) {
        self.look_at_roots(ctx);
        if !self.sweeping {
            self.plan_sweep(Duration::ZERO, ctx);
        }
    }
}

impl Handler<ChangeShareFilesSettings> for ShareFiles {
    type Result = ();

    fn handle(
        &mut self,
        ChangeShareFilesSettings(settings): ChangeShareFilesSettings,
        ctx: &mut Context<Self>,
    ) {
        self.settings = settings;
        self.plan_look(ctx);
        if !self.sweeping {
            self.plan_sweep(self.settings.sweep_interval, ctx);
        }
    }
}
