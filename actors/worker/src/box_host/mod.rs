#![doc = include_str!("README.md")]

mod handle;
mod hook_runs;
mod hook_table;
mod hooks;
mod inspection;
pub(crate) mod jobs;
mod messages;
pub(crate) mod ownership;
#[cfg(test)]
mod samples;
mod settings;
mod shared;
mod template;
mod views;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use actix::prelude::*;
use tokio::sync::oneshot;

pub use crate::kept_state::box_claim::BoxClaim;
pub use handle::BoxHostHandle;
pub use hook_runs::program::end_left_hooks;
pub use hook_table::BoxHooks;
pub use hooks::{
    CLEANUPS_AGAIN, HookProgram, HookSet, HookSets, LONGEST_GRACE, LONGEST_TIMEOUT, NoHooks,
};
pub use inspection::checks::{
    BoxLeftovers, BoxNotServed, CleanBoxChecks, LeftProcess, LeftoverTargets, Uid, named,
};
pub use ownership::claims::BoxClaimConflict;
pub use settings::BoxHostConfig;
pub use shared::BoxHostSettings;
pub use template::{BadTemplate, Template, TemplateBlank, TemplateValues};
pub use views::{BoxHostView, HookCounts};

use reelyard_protocol::boxes::{
    BoxInspection, BoxNumber, HookAnswer, HookKind, HookOutput, HookTarget, InspectBoxes,
    InspectedBox, PoolName, RunHook,
};

use crate::box_host::jobs::box_key::HostedBoxKey;
use crate::kept_state::epoch_guard::Deposed;
use hook_runs::hook_execution::{GIVEN_UP, HookExecution};
use hook_runs::program::HookCancellation;
use inspection::box_probe::ProcessSnapshot;
use jobs::job_queue::{BoxJobQueue, HookJobStart, HookRunId};
use messages::{EndHooks, HookOverdue, HookRunEnded, SettingsChanged};
use shared::{BoxHostShared, RunningHookGuard};

/// How long a check of boxes may take.
const LONGEST_LOOK: Duration = Duration::from_secs(30);

/// The actor that runs hooks.
pub struct BoxHost {
    jobs: BoxJobQueue<oneshot::Sender<HookAnswer>>,
    /// Dropping a sender ends its run; one for each running hook.
    runs: HashMap<HookRunId, mpsc::Sender<Infallible>>,
    shared: Arc<BoxHostShared>,
    is_stopping: bool,
}

impl BoxHost {
    fn new(shared: Arc<BoxHostShared>) -> Self {
        BoxHost { jobs: BoxJobQueue::default(), runs: HashMap::new(), shared, is_stopping: false }
    }

    /// Why a request for `place` is refused, if it is.
    fn refuses(&self, place: &HookTarget) -> Option<String> {
        if self.is_stopping {
            return Some("the worker is stopping".to_owned());
        }
        // Another leader of its cluster may have called since the epoch was checked.
        let highest = self.shared.epochs.highest_of(place.cluster);
        Deposed::check(place.epoch, highest).err().map(|deposed| deposed.to_string())
    }

    fn refuse(&self, why: String) -> HookAnswer {
        self.shared.change_view(|view| view.refused += 1);
        HookAnswer::Silent { why }
    }

    /// Starts the jobs that have their turn.
    fn start_jobs(&mut self, ctx: &mut Context<Self>) {
        while !self.is_stopping
            && let Some(turn) = self.jobs.next(self.shared.settings.now().at_once)
        {
            self.start(turn, ctx.address());
        }
        self.publish_counts();
    }

    fn publish_counts(&self) {
        let (running, waiting) = (self.jobs.running(), self.jobs.waiting());
        self.shared.change_view(|view| (view.running, view.waiting) = (running, waiting));
    }

    fn start(&mut self, HookJobStart { run, hook }: HookJobStart, actor: Addr<Self>) {
        let (key, pool, number) = (HostedBoxKey::of(&hook), hook.place.pool.clone(), hook.number);
        let mark = self.shared.marks.join(format!("{}.{}", key.hooks, key.box_id));
        let kind = hook.kind;
        // As the configuration has it now.
        let hooks = match self.shared.settings.now().hooks.find(&hook.place) {
            Ok(hooks) => hooks,
            Err(none) => {
                let answer = HookAnswer::Silent { why: none.to_string() };
                actor.do_send(HookRunEnded { key, run, kind, answer, took: Duration::ZERO });
                return;
            }
        };
        let (wanted, given_up) = mpsc::channel();
        self.runs.insert(run, wanted);
        let at_work = RunningHookGuard::new(&self.shared);
        let (began, token) = (Instant::now(), hook.token.map(|token| token.0));
        let longest = hooks.longest(kind);
        let shared = Arc::clone(&self.shared);
        let mut running = tokio::task::spawn_blocking(move || {
            let _at_work = at_work;
            let again = || shared.change_view(|view| view.cleanups_again += 1);
            let give_up = HookCancellation(given_up);
            HookExecution {
                hook: &hook,
                hooks: &hooks,
                mark: &mark,
                give_up: &give_up,
                again: &again,
            }
            .execute()
        });
        // A separate task, because the actor polls all of its own tasks whenever it wakes.
        actix_rt::spawn(async move {
            let broken =
                |error: tokio::task::JoinError| HookAnswer::Silent { why: error.to_string() };
            let ended = match tokio::time::timeout(longest, &mut running).await {
                Ok(ended) => ended,
                Err(_) => {
                    let longest = humantime::format_duration(longest);
                    let why = format!(
                        "the {} of box {number} has not ended within {longest}: the worker's storage may hang",
                        kind.word()
                    );
                    tracing::warn!(%pool, %number, token, why, "hook hangs");
                    actor.do_send(HookOverdue { key: key.clone(), run, why });
                    running.await
                }
            };
            let (answer, took) = (ended.unwrap_or_else(broken), began.elapsed());
            log((&pool, number), token, kind, &answer, took);
            actor.do_send(HookRunEnded { key, run, kind, answer, took });
        });
    }
}

fn log(
    (pool, number): (&PoolName, BoxNumber),
    token: Option<u64>,
    kind: HookKind,
    answer: &HookAnswer,
    took: Duration,
) {
    let took = Duration::from_millis(took.as_millis().try_into().unwrap_or(u64::MAX));
    let (hook, took) = (kind.word(), humantime::format_duration(took));
    match answer {
        HookAnswer::Done { output } => {
            let output = output.as_ref().map(HookOutput::as_str);
            tracing::info!(%pool, %number, token, hook, %took, output, "hook finished");
        }
        HookAnswer::Failed { output } => {
            let output = output.as_str();
            tracing::warn!(%pool, %number, token, hook, %took, output, "hook failed");
        }
        HookAnswer::Silent { why } => {
            tracing::info!(%pool, %number, token, hook, %took, why, "hook cancelled");
        }
    }
}

impl Actor for BoxHost {
    type Context = Context<Self>;

    /// Runs of an earlier incarnation are ended with it. They are awaited, because only one hook runs
    /// at a time for a box.
    fn started(&mut self, ctx: &mut Context<Self>) {
        let shared = Arc::clone(&self.shared);
        ctx.wait(async move { shared.nothing_at_work().await }.into_actor(self));
    }
}

impl Handler<RunHook> for BoxHost {
    type Result = ResponseFuture<HookAnswer>;

    fn handle(&mut self, hook: RunHook, ctx: &mut Context<Self>) -> Self::Result {
        let known = self.shared.settings.now().hooks.find(&hook.place);
        let refused = self.refuses(&hook.place).or(known.err().map(|none| none.to_string()));
        if let Some(why) = refused {
            return Box::pin(std::future::ready(self.refuse(why)));
        }
        let (waiter, answer) = oneshot::channel();
        let asked = match self.jobs.submit(hook, waiter) {
            Ok(asked) => asked,
            Err((why, _)) => return Box::pin(std::future::ready(self.refuse(why.to_string()))),
        };
        notify_cancelled(asked.given_up);
        if let Some(run) = asked.end {
            self.runs.remove(&run);
        }
        self.start_jobs(ctx);
        Box::pin(async move {
            let gone = "the worker restarted its box host and lost this call: try again";
            answer.await.unwrap_or_else(|_| HookAnswer::Silent { why: gone.to_owned() })
        })
    }
}

impl Handler<HookRunEnded> for BoxHost {
    type Result = ();

    fn handle(&mut self, ended: HookRunEnded, ctx: &mut Context<Self>) {
        let HookRunEnded { key, run, kind, answer, took } = ended;
        self.runs.remove(&run);
        self.shared.change_view(|view| view.count_answer(kind, &answer, took));
        for waiter in self.jobs.ended(&key) {
            let _ = waiter.send(answer.clone());
        }
        self.start_jobs(ctx);
    }
}

impl Handler<HookOverdue> for BoxHost {
    type Result = ();

    fn handle(&mut self, HookOverdue { key, run, why }: HookOverdue, _: &mut Context<Self>) {
        for waiter in self.jobs.takes_too_long(&key, run, &why) {
            let _ = waiter.send(HookAnswer::Silent { why: why.clone() });
        }
    }
}

impl Handler<InspectBoxes> for BoxHost {
    type Result = ResponseFuture<Result<BoxInspection, String>>;

    fn handle(&mut self, look: InspectBoxes, _: &mut Context<Self>) -> Self::Result {
        let InspectBoxes { place, mut boxes, last_token } = look;
        let known = self.shared.settings.now().hooks.find(&place);
        let hooks = match (self.refuses(&place), known) {
            (None, Ok(hooks)) => hooks,
            (Some(why), _) => return Box::pin(std::future::ready(Err(why))),
            (None, Err(none)) => return Box::pin(std::future::ready(Err(none.to_string()))),
        };
        boxes.retain(|number| !self.jobs.has(&HostedBoxKey::new(&place, number.0)));
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let (pool, of_look) = (place.pool.clone(), Arc::clone(&shared));
            // A separate task, because a check that hangs occupies its turn until it ends.
            let looking = actix_rt::spawn(async move {
                let _turn = of_look.looks.acquire().await.map_err(|error| error.to_string())?;
                let looking = move || look_at(&hooks.checks, &pool, &boxes);
                let looked = tokio::task::spawn_blocking(looking).await;
                looked.map_err(|error| error.to_string())
            });
            let looked = tokio::time::timeout(LONGEST_LOOK, looking).await;
            let hangs = |_| {
                let longest = humantime::format_duration(LONGEST_LOOK);
                format!(
                    "the boxes could not be checked within {longest}: the worker's storage may hang"
                )
            };
            let looked = looked.map_err(hangs)?.map_err(|error| error.to_string())??;
            let dirty = looked.iter().filter(|one| one.dirt.is_some()).count() as u64;
            shared.change_view(|view| {
                view.looked_at += looked.len() as u64;
                view.found_dirty += dirty;
            });
            let highest = shared.owners.beyond(&place, last_token);
            Ok(BoxInspection { boxes: looked, highest })
        })
    }
}

fn notify_cancelled(waiters: Vec<oneshot::Sender<HookAnswer>>) {
    for waiter in waiters {
        // This fails if the receiver no longer exists.
        let _ = waiter.send(HookAnswer::Silent { why: GIVEN_UP.to_owned() });
    }
}

fn look_at(checks: &CleanBoxChecks, pool: &PoolName, boxes: &[BoxNumber]) -> Vec<InspectedBox> {
    let snapshot = ProcessSnapshot::read();
    let looked = boxes.iter().map(|&number| {
        let dirt = match checks.of(&TemplateValues::idle(pool.clone(), number)) {
            Ok(sought) => {
                let found = snapshot.inspect(&sought);
                (!found.is_clean()).then(|| found.to_string())
            }
            Err(not_served) => Some(not_served.to_string()),
        };
        InspectedBox { number, dirt: dirt.map(|dirt| HookOutput::cut(&dirt)) }
    });
    looked.collect()
}

impl Handler<SettingsChanged> for BoxHost {
    type Result = ();

    fn handle(&mut self, _: SettingsChanged, ctx: &mut Context<Self>) {
        self.start_jobs(ctx);
    }
}

impl Handler<EndHooks> for BoxHost {
    type Result = ();

    fn handle(&mut self, _: EndHooks, _: &mut Context<Self>) {
        self.is_stopping = true;
        self.runs.clear();
        notify_cancelled(self.jobs.cancel_all());
    }
}
