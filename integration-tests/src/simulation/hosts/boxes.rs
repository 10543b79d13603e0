//! The boxes of a host, and the hooks of its worker. A box is dirty from its preparation until a cleanup ends. The
//! boxes survive the worker.

use std::collections::BTreeMap;

use reelyard_protocol::boxes::{FenceToken, HookKind, InspectBoxes, RunHook};

use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::SimulatedResponse;
use crate::simulation::environment::parties::RunningHook;
use crate::simulation::invariants::boxes::clean_boxes;

/// The status of an answer to a hook that failed.
pub const HOOK_FAILED: u16 = 422;

/// The boxes of one host.
#[derive(Debug, Default)]
pub struct SimulatedBoxWorker {
    /// Dirty boxes, with the lease that used them last.
    dirty: BTreeMap<u32, Option<FenceToken>>,
    /// The probability of a failed hook, in percent.
    pub failures: u32,
}

impl SimulatedBoxWorker {
    /// Boxes whose hooks fail sometimes.
    pub fn new() -> Self {
        SimulatedBoxWorker { failures: 8, ..SimulatedBoxWorker::default() }
    }

    /// Starts a hook.
    pub fn begin(&mut self, context: &mut Context, run: &RunHook) -> RunningHook {
        let fails = context.chance(self.failures);
        if run.kind == HookKind::Init {
            let used_by = self.dirty.get(&run.box_id).copied();
            context.judge.check(clean_boxes::check(run.box_id, run.token, used_by));
            self.dirty.insert(run.box_id, run.token);
        }
        RunningHook { kind: run.kind, box_id: run.box_id, fails }
    }

    /// Ends a hook.
    pub fn end(&mut self, hook: &RunningHook) -> SimulatedResponse {
        if hook.fails {
            return SimulatedResponse::status(HOOK_FAILED);
        }
        if hook.kind == HookKind::Cleanup {
            self.dirty.remove(&hook.box_id);
        }
        SimulatedResponse::status(200)
    }

    /// The numbers of the inspected boxes, each with whether it is dirty.
    pub fn inspect(&self, inspect: &InspectBoxes) -> SimulatedResponse {
        let look = |number: &reelyard_protocol::boxes::BoxNumber| {
            (number.0, self.dirty.contains_key(&number.0))
        };
        let seen: Vec<(u32, bool)> = inspect.boxes.iter().map(look).collect();
        SimulatedResponse::ok(serde_json::to_vec(&seen).unwrap_or_default())
    }
}
