//! A destination in its own process, for tests that kill it.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Child, Command};

use crate::rigs::worker::worker_rig::{FakeNode, Rig};

/// A running process. Dropping it sends SIGKILL.
pub struct WorkerProcess(Child);

impl WorkerProcess {
    /// Starts `program`, the test's `worker_process`, as the destination of `rig`.
    pub fn start(program: impl AsRef<Path>, rig: &Rig, node: &FakeNode) -> Self {
        let begun = Command::new(program.as_ref())
            .args([rig.host.to_string(), node.url.clone()])
            .args([rig.copies(), rig.place.path().join("state")])
            .spawn();
        WorkerProcess(begun.expect("a process"))
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // Both calls fail only for a process that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
