//! The actor: it searches for missing files, and plans its passes.

mod missing;
mod move_outcome;
mod moves;
mod roots;
mod sweep;
mod waiters;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, WrapFuture};
use reelyard_core::actor_parts::{ActorTimer, ChangeSettings, Observer, ObserverShell, ViewHandle};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::RequestId;
use reelyard_core::supervision::Route;
use reelyard_replication::{Leadership, Member};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use self::missing::MissingShares;
use self::sweep::SweepResult;
use self::waiters::MoveRequestWaiters;
use crate::share_expiry::{
    BeginMove, EndRemoved, RecallMove, RecordRoots, RootName, SettleMove, ShareId, ShareViewHandle,
};
use crate::share_files::dirs::SharedDirs;
use crate::share_files::elsewhere::FilesElsewhere;
use crate::share_files::messages::SweepNow;
use crate::share_files::settings::ShareFilesSettings;
use crate::share_files::views::ShareFilesView;

/// The name under which shares of missing files end.
const MYSELF: &str = "share-files";

/// The pause between two parts of a pass: parts of a hundred shares make a thousand shares a second.
const BETWEEN_GOES: Duration = Duration::from_millis(100);

/// How many missing files are checked again in one part.
const AGAIN_IN_ONE_GO: usize = 1000;

/// The pause after a failed commit or look.
const RETRY: Duration = Duration::from_secs(1);

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
    /// Records the ids of roots.
    pub record_roots: Route<RecordRoots>,
    /// The leader as the journal knows it. Other nodes do not touch the files.
    pub leadership: watch::Receiver<Leadership>,
    /// The members of the cluster. A node alone needs no ids of its roots.
    pub members: watch::Receiver<Vec<Member>>,
    /// The files at the other nodes.
    pub elsewhere: Arc<dyn FilesElsewhere>,
}

/// The actor for shared files. Every node has one. It acts on the node where the ShareExpiryActor
/// decides.
pub struct ShareFiles {
    shell: ObserverShell<ShareFilesView, Infallible>,
    settings: ShareFilesSettings,
    dirs: SharedDirs,
    others: ShareFilesCollaborators,
    /// Requests without an answer, with the callers that repeated them.
    moving: HashMap<RequestId, MoveRequestWaiters>,
    /// The moves that are being carried out.
    making: HashSet<RequestId>,
    /// Whether moves that were found begun are being settled.
    settling: bool,
    /// When the log last reported that a move is unsettled.
    warned_unsettled: BTreeMap<u64, Millis>,
    missing: MissingShares,
    /// Whether missing files are being checked again.
    looking: bool,
    look_at: ActorTimer,
    /// Whether a pass is running.
    sweeping: bool,
    sweep_at: ActorTimer,
    /// Whether a check of the paths of the roots is running.
    looking_at_roots: bool,
    /// The roots that have shares, as known so far; and those of this pass only.
    shared: BTreeSet<RootName>,
    met: BTreeSet<RootName>,
    view: ShareFilesView,
}

/// There are unfinished moves from before.
#[derive(Message)]
#[rtype(result = "()")]
struct UnsettledMovesFound;

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
        view: ViewHandle<ShareFilesView>,
    ) -> Self {
        ShareFiles {
            shell: ObserverShell::new(clock, view),
            settings,
            dirs,
            others,
            moving: HashMap::new(),
            making: HashSet::new(),
            settling: false,
            warned_unsettled: BTreeMap::new(),
            missing: MissingShares::default(),
            looking: false,
            look_at: ActorTimer::default(),
            sweeping: false,
            sweep_at: ActorTimer::default(),
            looking_at_roots: false,
            shared: BTreeSet::new(),
            met: BTreeSet::new(),
            view: ShareFilesView::default(),
        }
    }

    /// The directories, of which only those on record are used.
    fn dirs(&self) -> SharedDirs {
        self.dirs.set_expected(&self.others.shares.view().root_ids);
        self.dirs.clone()
    }

    fn leads(&self) -> bool {
        self.others.shares.view().epoch.is_some()
    }

    /// Checks the missing files when the first of them is due.
    fn plan_look(&mut self, ctx: &mut Context<Self>) {
        self.look_at.stop(ctx);
        if self.looking {
            return;
        }
        if let Some(at) = self.missing.next(self.settings.removed_after) {
            let wait = at.saturating_duration_since(self.shell.clock().timer());
            self.look_at.set(wait, ctx, Self::look_again);
        }
    }

    fn look_again(&mut self, ctx: &mut Context<Self>) {
        if self.looking {
            return;
        }
        let after = self.settings.removed_after;
        let ids = self.missing.due(self.shell.clock().timer(), after, AGAIN_IN_ONE_GO);
        if ids.is_empty() {
            return self.plan_look(ctx);
        }
        self.looking = true;
        let (dirs, shares) = (self.dirs(), self.others.shares.clone());
        let (end, shared) = (self.others.end.clone(), self.shared.clone());
        let elsewhere = self.others.elsewhere.clone();
        let looking = async move {
            let looked =
                spawn_blocking(move || sweep::again(&dirs, &shares, (&shared, &ids), after)).await;
            let gone = looked.unwrap_or_default().without_files_elsewhere(&*elsewhere).await;
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
            files.add_missing(gone.early.iter().chain(&gone.elsewhere).copied());
            files.show(&gone);
            if !ended {
                // They still exist: the next check follows at its time.
                files.add_missing(gone.missing.iter().map(|(id, _)| *id));
            }
            files.plan_look(ctx);
        }));
    }

    fn add_missing(&mut self, missing: impl IntoIterator<Item = ShareId>) {
        let now = self.shell.clock().timer();
        for id in missing {
            self.missing.add(id, now);
        }
    }

    fn plan_sweep(&mut self, wait: Duration, ctx: &mut Context<Self>) {
        self.sweep_at.set(wait, ctx, |files: &mut Self, ctx| files.sweep(None, ctx));
    }

    /// Checks the files of all shares from `from` on, in batches.
    fn sweep(&mut self, from: Option<ShareId>, ctx: &mut Context<Self>) {
        self.sweeping = self.leads() && self.others.shares.is_up();
        if !self.sweeping {
            // The actor soon checks again whether this node decides now.
            return self.plan_sweep(self.settings.sweep_interval.min(RETRY * 10), ctx);
        }
        let (dirs, shares) = (self.dirs(), self.others.shares.clone());
        let (now, shared) = (self.shell.now(), self.shared.clone());
        let looking = spawn_blocking(move || sweep::sweep_next(&dirs, &shares, &shared, from, now));
        ctx.spawn(looking.into_actor(self).map(|looked, files, ctx| {
            let gone = looked.unwrap_or_default();
            files.view.looked += gone.looked;
            files.view.sweeps += u64::from(gone.next.is_none());
            files.add_missing(gone.missing.iter().map(|(id, _)| *id));
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
    fn show(&mut self, gone: &SweepResult) {
        self.shared.extend(gone.roots.iter().cloned());
        self.publish_roots([], &gone.unreachable);
        self.view.missing = self.missing.len() as u64;
        self.publish_view();
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
                shares.missing_reported().await;
                to.do_send(FoundMissing);
            }
        };
        ctx.spawn(hearing.into_actor(self));
        self.tick(ctx);
        self.plan_sweep(RETRY, ctx);
    }
}

impl Observer for ShareFiles {
    type View = ShareFilesView;
    type Change = Infallible;

    fn shell(&mut self) -> &mut ObserverShell<ShareFilesView, Infallible> {
        &mut self.shell
    }

    fn build_view(&mut self) -> ShareFilesView {
        self.view.clone()
    }

    /// Checks the paths of the roots. Other work has timers of its own.
    fn tick(&mut self, ctx: &mut Context<Self>) {
        self.look_at_roots(ctx);
        // Until the shares are read, it is unknown which directories are on record.
        let pause = if self.others.shares.is_up() { ROOT_LOOK_EVERY } else { RETRY };
        self.sleep(pause, ctx);
    }
}

impl Handler<FoundMissing> for ShareFiles {
    type Result = ();

    fn handle(&mut self, _: FoundMissing, ctx: &mut Context<Self>) {
        let ids = self.others.shares.take_missing();
        if self.leads() {
            self.add_missing(ids);
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

impl Handler<ChangeSettings<ShareFilesSettings>> for ShareFiles {
    type Result = ();

    fn handle(&mut self, change: ChangeSettings<ShareFilesSettings>, ctx: &mut Context<Self>) {
        self.settings = change.0;
        self.plan_look(ctx);
        if !self.sweeping {
            self.plan_sweep(self.settings.sweep_interval, ctx);
        }
    }
}
