//! Runs hooks for boxes, outside the actor: one at a time for each box, and none waits for another pool's
//! host.

use std::time::{Duration, Instant};

use actix::{AsyncContext, Context, Handler, Message};
use reelyard_core::backoff::ExponentialBackoff;
use reelyard_protocol::boxes::{
    BoxHosts, BoxInspection, BoxNumber, HookAnswer, HookKind, HookTarget, InspectBoxes,
    InspectedBox, LeaseId, PoolName, RunHook,
};

use crate::box_lease::policy::box_key::BoxKey;
use crate::box_lease::policy::hook_calls::HookCall;
use crate::box_lease::state::event::BoxRefusal;
use crate::box_lease::{BoxLease, BoxPhase};

/// How long a host that does not answer is left alone.
const SILENT: ExponentialBackoff =
    ExponentialBackoff { base: Duration::from_secs(1), cap: Duration::from_secs(30) };

/// Something that was run for a box has ended.
#[derive(Message)]
#[rtype(result = "()")]
pub(in crate::box_lease) struct HookCallEnded {
    key: BoxKey,
    run: u64,
    answer: HookAnswer,
    took: Duration,
}

/// A host has looked at boxes of a pool.
#[derive(Message)]
#[rtype(result = "()")]
pub(in crate::box_lease) struct InspectionEnded {
    pool: PoolName,
    run: u64,
    answer: Result<BoxInspection, String>,
}

fn gone(error: actix::MailboxError) -> HookAnswer {
    HookAnswer::Silent { why: error.to_string() }
}

/// Has the host look at the id that a box drew, before the box is made ready: no free box had this id, so
/// nothing has checked it. Returns the change of the box if the id is not clean, or if its state is
/// unknown.
async fn look_at_id(hosts: &BoxHosts, hook: &RunHook) -> Option<HookAnswer> {
    let id = BoxNumber(hook.box_id);
    let last_token = hook.token.unwrap_or_default();
    let look = InspectBoxes { place: hook.place.clone(), boxes: vec![id], last_token };
    let looked_at = match hosts.look.recipient().send(look).await {
        Ok(Ok(looked)) => looked.boxes,
        Ok(Err(why)) => return Some(HookAnswer::Silent { why }),
        Err(error) => return Some(gone(error)),
    };
    match looked_at.into_iter().find(|one| one.number == id) {
        Some(InspectedBox { dirt: None, .. }) => None,
        Some(InspectedBox { dirt: Some(said), .. }) => Some(HookAnswer::Failed { said }),
        None => Some(HookAnswer::Silent { why: "it could not be checked".to_owned() }),
    }
}

impl BoxLease {
    /// Where hooks run for a pool; none for a pool without a host, or where another node leads.
    pub(in crate::box_lease) fn place(
        &self,
        name: &PoolName,
    ) -> Result<Option<HookTarget>, BoxRefusal> {
        let Some(epoch) = self.replica.epoch() else { return Ok(None) };
        let table = self.replica.piece().read();
        let standing = table.pool(name)?;
        let spec = standing.spec();
        let Some(host) = spec.host else { return Ok(None) };
        let (pool, hooks) = (name.clone(), spec.hooks.clone());
        // The way to the worker knows the cluster.
        Ok(Some(HookTarget { host, epoch, pool, hooks, cluster: None, ids: standing.ids() }))
    }

    /// Has something run for a box.
    pub(in crate::box_lease) fn start_hook(
        &mut self,
        key: BoxKey,
        kind: HookKind,
        lease: Option<LeaseId>,
        attempt: u32,
        ctx: &mut Context<Self>,
    ) {
        let Ok(Some(place)) = self.place(&key.0) else { return };
        let Some((mut hook, cleaning)) = self.hook_for(&key, kind, place) else { return };
        hook.attempt = attempt;
        let run = self.jobs.next();
        self.jobs.of_boxes.insert(key.clone(), HookCall { run, kind, lease, cleaning });
        let looks_first = kind == HookKind::Init && self.draws_ids(&key.0);
        let (hosts, actor) = (self.hosts.clone(), ctx.address());
        // A task of its own: the actor polls all of its own tasks whenever it wakes.
        actix_rt::spawn(async move {
            let began = Instant::now();
            let dirt = if looks_first { look_at_id(&hosts, &hook).await } else { None };
            let answer = match dirt {
                Some(answer) => answer,
                None => hosts.run.recipient().send(hook).await.unwrap_or_else(gone),
            };
            actor.do_send(HookCallEnded { key, run, answer, took: began.elapsed() });
        });
    }

    fn draws_ids(&self, pool: &PoolName) -> bool {
        self.replica.piece().read().pool(pool).is_ok_and(|pool| pool.spec().slots.is_some())
    }

    /// The hook to run for a box in its present state, and the number of its cleaning.
    fn hook_for(
        &self,
        key: &BoxKey,
        kind: HookKind,
        place: HookTarget,
    ) -> Option<(RunHook, Option<u64>)> {
        let table = self.replica.piece().read();
        let record = table.pool(&key.0).ok()?.find(key.1)?;
        let lease = table.lease_of(&key.0, key.1);
        let (cleaning, last_holder) = match &record.state {
            crate::box_lease::BoxState::Draining(draining) => {
                (Some(draining.cleaning), draining.holder.clone())
            }
            _ => (None, None),
        };
        let hook = RunHook {
            place,
            kind,
            number: key.1,
            box_id: record.slot.map_or(key.1.0, |slot| slot.0),
            token: record.token,
            holder: lease.map(|lease| lease.holder.clone()).or(last_holder),
            attempt: 1,
        };
        Some((hook, cleaning))
    }

    /// Has the host of a pool inspect its boxes that are not inspected yet.
    pub(in crate::box_lease) fn start_look(&mut self, name: PoolName, ctx: &mut Context<Self>) {
        let Ok(Some(place)) = self.place(&name) else { return };
        let boxes = self.unchecked(&name);
        if boxes.is_empty() || self.jobs.looks_at(&name) {
            return;
        }
        // A free box that draws ids has none: there is nothing of it that could be dirty. Whether the
        // ids are the pool's own is asked all the same.
        let boxes = if self.draws_ids(&name) { Vec::new() } else { boxes };
        let last_token = match self.replica.piece().read().pool(&name) {
            Ok(pool) => pool.last_token(),
            Err(_) => return,
        };
        let run = self.jobs.next();
        self.jobs.looks.insert(name.clone(), run);
        let (host, actor) = (self.hosts.look.recipient(), ctx.address());
        actix_rt::spawn(async move {
            let answer = host.send(InspectBoxes { place, boxes, last_token }).await;
            let answer = answer.unwrap_or_else(|error| Err(error.to_string()));
            actor.do_send(InspectionEnded { pool: name, run, answer });
        });
    }

    fn unchecked(&self, name: &PoolName) -> Vec<BoxNumber> {
        let table = self.replica.piece().read();
        let Ok(pool) = table.pool(name) else { return Vec::new() };
        if pool.counts().of(BoxPhase::Unchecked) == 0 {
            return Vec::new();
        }
        let boxes = pool.boxes_from(BoxNumber(0));
        let unchecked = boxes.filter(|(_, record)| record.state.phase() == BoxPhase::Unchecked);
        unchecked.map(|(number, _)| number).collect()
    }

    /// A look at a pool that draws ids looks at no box: all that are free are clean.
    fn with_undrawn(&self, pool: &PoolName, mut looked: BoxInspection) -> BoxInspection {
        if self.draws_ids(pool) {
            let clean = self.unchecked(pool).into_iter();
            looked.boxes = clean.map(|number| InspectedBox { number, dirt: None }).collect();
        }
        looked
    }

    /// An operator has repaired the host of a pool: its work is retried at once.
    pub(in crate::box_lease) fn ask_again(&mut self, pool: &PoolName, ctx: &mut Context<Self>) {
        let now = self.now().monotonic;
        self.looks.remove(pool);
        self.look_soon(pool, Duration::ZERO, ctx);
        let draining: Vec<BoxNumber> = {
            let table = self.replica.piece().read();
            let boxes = table.pool(pool).map(|pool| {
                let boxes = pool.boxes_from(BoxNumber(0));
                let dirty = boxes.filter(|(_, one)| one.state.phase() == BoxPhase::Draining);
                dirty.map(|(number, _)| number).collect()
            });
            boxes.unwrap_or_default()
        };
        for number in draining {
            let key = (pool.clone(), number);
            if self.cleanings.has(&key) && self.grace_is_over(&key) {
                self.cleanings.set(key, now);
            }
        }
        self.jobs.forget(pool);
        self.soon(ctx);
    }

    fn note_silence(&mut self, pool: &PoolName, why: &str) {
        self.counts(pool).silences += 1;
        self.jobs.silences.insert(pool.clone(), why.to_owned());
    }

    /// Whether a box that waits for its cleaning waits because its host was silent.
    fn grace_is_over(&self, key: &BoxKey) -> bool {
        self.jobs.silent_boxes.contains_key(key)
    }

    /// A host did not answer for a box. Answers how long it is left alone.
    pub(in crate::box_lease) fn silent_box(&mut self, key: &BoxKey, why: &str) -> Duration {
        self.note_silence(&key.0, why);
        let count = self.jobs.silent_boxes.entry(key.clone()).or_default();
        *count += 1;
        SILENT.after_failures(*count)
    }

    /// The same for the boxes of a pool that are not inspected yet.
    pub(in crate::box_lease) fn silent_pool(&mut self, pool: &PoolName, why: &str) -> Duration {
        self.note_silence(pool, why);
        let count = self.jobs.silent_pools.entry(pool.clone()).or_default();
        *count += 1;
        SILENT.after_failures(*count)
    }
}

impl Handler<HookCallEnded> for BoxLease {
    type Result = ();

    fn handle(&mut self, ended: HookCallEnded, ctx: &mut Context<Self>) {
        let HookCallEnded { key, run, answer, took } = ended;
        let Some(job) = self.jobs.of_boxes.get(&key).copied().filter(|job| job.run == run) else {
            return;
        };
        self.jobs.of_boxes.remove(&key);
        let counts = self.counts(&key.0);
        match job.kind {
            HookKind::Init => counts.inits.note(took),
            HookKind::Cleanup => counts.cleanups.note(took),
        }
        counts.hook_failures += u64::from(matches!(answer, HookAnswer::Failed { .. }));
        if !matches!(answer, HookAnswer::Silent { .. }) {
            self.jobs.silent_boxes.remove(&key);
            self.jobs.silences.remove(&key.0);
        }
        match (job.kind, job.lease, job.cleaning) {
            (HookKind::Init, Some(lease), _) => match answer {
                HookAnswer::Done { .. } => self.init_done(lease, ctx),
                HookAnswer::Failed { said } => self.init_failed(lease, Some(said), ctx),
                HookAnswer::Silent { why } => {
                    self.note_silence(&key.0, &why);
                    self.init_failed(lease, None, ctx);
                }
            },
            (HookKind::Cleanup, _, Some(cleaning)) => {
                self.cleanup_ended(&key, cleaning, answer, ctx)
            }
            _ => {}
        }
        // Later work waited for this.
        self.maintain_box(&key, ctx);
        self.note_stale(ctx);
    }
}

impl Handler<InspectionEnded> for BoxLease {
    type Result = ();

    fn handle(&mut self, ended: InspectionEnded, ctx: &mut Context<Self>) {
        let InspectionEnded { pool, run, answer } = ended;
        if self.jobs.looks.get(&pool) != Some(&run) {
            return;
        }
        self.jobs.looks.remove(&pool);
        let answer = answer.map(|looked| self.with_undrawn(&pool, looked));
        if answer.is_ok() {
            self.jobs.silent_pools.remove(&pool);
            self.jobs.silences.remove(&pool);
        }
        self.look_ended(&pool, answer, ctx);
        self.note_stale(ctx);
    }
}
