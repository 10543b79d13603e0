//! Running calls of hooks, one for each box.

use std::collections::HashMap;

use reelyard_protocol::boxes::{HookKind, LeaseId, PoolName};

use crate::box_lease::policy::memory::box_key::BoxKey;

/// The hooks that run now.
#[derive(Default)]
pub(crate) struct HookCalls {
    pub(crate) of_boxes: HashMap<BoxKey, HookCall>,
    /// The pools whose boxes are being inspected.
    pub(crate) looks: HashMap<PoolName, u64>,
    /// Boxes whose cleaning result is being committed, with the number of the cleaning.
    pub(crate) committing: HashMap<BoxKey, u64>,
    /// How often in a row a host did not answer, for a box or for a pool.
    pub(crate) silent_boxes: HashMap<BoxKey, u32>,
    pub(crate) silent_pools: HashMap<PoolName, u32>,
    /// Why the host of a pool does not answer. Removed at its next answer.
    pub(crate) silences: HashMap<PoolName, String>,
    /// Number of started calls. It identifies each call.
    pub(crate) started: u64,
}

/// One running hook of a box.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HookCall {
    pub(crate) run: u64,
    pub(crate) kind: HookKind,
    /// The lease for which the box is prepared.
    pub(crate) lease: Option<LeaseId>,
    /// The number of the cleaning.
    pub(crate) cleaning: Option<u64>,
}

impl HookCalls {
    /// Whether a hook runs for a box, or its result is not recorded yet.
    pub(crate) fn has(&self, key: &BoxKey) -> bool {
        self.of_boxes.contains_key(key) || self.committing.contains_key(key)
    }

    /// The result of a cleaning is being committed. Answers which one that is.
    pub(crate) fn begin_commit(&mut self, key: &BoxKey) -> u64 {
        let run = self.next();
        self.committing.insert(key.clone(), run);
        run
    }

    /// It is recorded and applied.
    pub(crate) fn on_record(&mut self, key: &BoxKey) {
        self.committing.remove(key);
    }

    /// The commit returned, in success or failure.
    pub(crate) fn end_commit(&mut self, key: &BoxKey, run: u64) {
        if self.committing.get(key) == Some(&run) {
            self.committing.remove(key);
        }
    }

    /// Whether boxes of a pool are being inspected.
    pub(crate) fn looks_at(&self, pool: &PoolName) -> bool {
        self.looks.contains_key(pool)
    }

    /// Why the host of a pool does not answer, if it does not.
    pub(crate) fn silence(&self, pool: &PoolName) -> Option<&String> {
        self.silences.get(pool)
    }

    /// Forgets a removed pool.
    pub(crate) fn forget(&mut self, pool: &PoolName) {
        self.silences.remove(pool);
        self.silent_pools.remove(pool);
        self.silent_boxes.retain(|(of, _), _| of != pool);
    }

    /// Answers from here on are ignored.
    pub(crate) fn clear(&mut self) {
        let started = self.started;
        *self = HookCalls { started, ..HookCalls::default() };
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.started += 1;
        self.started
    }
}
