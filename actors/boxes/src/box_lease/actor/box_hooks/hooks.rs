//! Runs hooks for boxes, outside the actor. One hook runs at a time for each box, and no box waits for the
//! host of another pool.

use std::time::Duration;

use actix::{AsyncContext, Context, Handler, Message};
use reelyard_protocol::boxes::{
    BoxHosts, BoxInspection, BoxNumber, HookAnswer, HookKind, InspectBoxes, InspectedBox, LeaseId,
    PoolName, RunHook,
};

use reelyard_replication::OwnerTicks;

use crate::box_lease::BoxLease;
use crate::box_lease::policy::memory::box_key::BoxKey;
use crate::box_lease::policy::memory::hook_calls::HookCall;

/// A hook run for a box has ended.
#[derive(Message)]
#[rtype(result = "()")]
pub(in crate::box_lease) struct HookCallEnded {
    key: BoxKey,
    run: u64,
    answer: HookAnswer,
    took: Duration,
}

/// A host has inspected boxes of a pool.
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

/// Lets the host inspect the id that a box drew, before the box is made ready. No free box had this id, so
/// nothing has checked it. Returns the change of the box if the id is not clean, or if its state is
/// unknown.
async fn inspect_drawn_id(hosts: &BoxHosts, hook: &RunHook) -> Option<HookAnswer> {
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
        Some(InspectedBox { dirt: Some(output), .. }) => Some(HookAnswer::Failed { output }),
        None => Some(HookAnswer::Silent { why: "it could not be checked".to_owned() }),
    }
}

impl BoxLease {
    /// Has something run for a box.
    pub(in crate::box_lease) fn start_hook(
        &mut self,
        key: BoxKey,
        kind: HookKind,
        lease: Option<LeaseId>,
        attempt: u32,
        ctx: &mut Context<Self>,
    ) {
        let (memory, context) = self.at();
        let Some((hook, cleaning)) = context.hook_for(&key, kind, attempt) else { return };
        let inspects_first = kind == HookKind::Init && context.draws_ids(&key.0);
        drop(context);
        let run = memory.hook_calls.next();
        memory.hook_calls.of_boxes.insert(key.clone(), HookCall { run, kind, lease, cleaning });
        let (hosts, actor, clock) = (self.hosts.clone(), ctx.address(), self.clock.clone());
        // A separate task, because the actor polls all of its own tasks whenever it wakes.
        actix_rt::spawn(async move {
            let began = clock.timer();
            let dirt = if inspects_first { inspect_drawn_id(&hosts, &hook).await } else { None };
            let answer = match dirt {
                Some(answer) => answer,
                None => hosts.run.recipient().send(hook).await.unwrap_or_else(gone),
            };
            actor.do_send(HookCallEnded { key, run, answer, took: clock.timer() - began });
        });
    }

    /// Lets the host of a pool inspect the boxes that are not inspected yet.
    pub(in crate::box_lease) fn start_inspection(
        &mut self,
        name: PoolName,
        ctx: &mut Context<Self>,
    ) {
        let (memory, context) = self.at();
        let Ok(Some(place)) = context.hook_target(&name) else { return };
        let Ok(pool) = context.table.pool(&name) else { return };
        let last_token = pool.last_token();
        let boxes = context.unchecked(&name);
        if boxes.is_empty() || memory.hook_calls.looks_at(&name) {
            return;
        }
        // In a pool that draws ids a free box has no id, so it cannot be dirty. The call still asks
        // whether the ids belong to the pool.
        let boxes = if context.draws_ids(&name) { Vec::new() } else { boxes };
        drop(context);
        let run = memory.hook_calls.next();
        memory.hook_calls.looks.insert(name.clone(), run);
        let (host, actor) = (self.hosts.look.recipient(), ctx.address());
        actix_rt::spawn(async move {
            let answer = host.send(InspectBoxes { place, boxes, last_token }).await;
            let answer = answer.unwrap_or_else(|error| Err(error.to_string()));
            actor.do_send(InspectionEnded { pool: name, run, answer });
        });
    }
}

impl Handler<HookCallEnded> for BoxLease {
    type Result = ();

    fn handle(&mut self, ended: HookCallEnded, ctx: &mut Context<Self>) {
        let HookCallEnded { key, run, answer, took } = ended;
        let Some(call) = self.memory.hook_ended(&key, run, &answer, took) else { return };
        match (call.kind, call.lease, call.cleaning) {
            (HookKind::Init, Some(lease), _) => match answer {
                HookAnswer::Done { .. } => self.init_done(lease, ctx),
                HookAnswer::Failed { output } => self.init_failed(lease, Some(output), ctx),
                HookAnswer::Silent { .. } => self.init_failed(lease, None, ctx),
            },
            (HookKind::Cleanup, _, Some(cleaning)) => {
                self.cleanup_ended(&key, cleaning, answer, ctx)
            }
            _ => {}
        }
        // Later work waited for this.
        self.plan_cleanup(&key, ctx);
        self.mark_view_stale(ctx);
    }
}

impl Handler<InspectionEnded> for BoxLease {
    type Result = ();

    fn handle(&mut self, ended: InspectionEnded, ctx: &mut Context<Self>) {
        let InspectionEnded { pool, run, answer } = ended;
        let answer = self.policy(|memory, at| memory.inspection_ended(at, &pool, run, answer));
        let Some(answer) = answer else { return };
        self.record_inspection(&pool, answer, ctx);
        self.mark_view_stale(ctx);
    }
}
