//! What the tests of this folder begin with.

use std::time::Duration;

use super::agenda::BoxKey;
use super::checks::Checks;
use super::hooks::{HookSet, Program};
use super::template::{Blank, Template};
use crate::box_lease::{BoxNumber, FenceToken, HookKind, HookPlace, PoolName, RunHook};
use crate::event::Epoch;
use crate::host::HostAddr;

/// A pool of this worker.
pub fn place(pool: &str) -> HookPlace {
    let host = HostAddr::from(std::net::SocketAddr::from(([127, 0, 0, 1], 8888)));
    HookPlace {
        host,
        epoch: Epoch(1),
        pool: PoolName::new(pool).unwrap(),
        hooks: None,
        cluster: None,
        ids: Vec::new(),
    }
}

/// Something for a box of the pool `p`.
pub fn hook(number: u32, kind: HookKind, token: u64) -> RunHook {
    RunHook {
        place: place("p"),
        kind,
        number: BoxNumber(number),
        box_id: number,
        token: Some(FenceToken(token)),
        holder: None,
        attempt: 1,
    }
}

/// A box of the pool `p`.
pub fn key(box_id: u32) -> BoxKey {
    BoxKey::new(&place("p"), box_id)
}

/// `/bin/sh -c SCRIPT NUMBER`
pub fn script(text: &str) -> Program {
    let template = |text: &str| Template::parse(text, Blank::IN_ARGUMENTS).unwrap();
    let arguments = vec![template("-c"), template(text), template("{number}")];
    Program { path: "/bin/sh".into(), arguments, timeout: Duration::from_secs(60) }
}

/// Hooks that do nothing.
pub fn hook_set() -> HookSet {
    HookSet {
        init: Some(script("exit 0")),
        cleanup: Some(script("exit 0")),
        grace: Duration::from_secs(5),
        environment: Default::default(),
        done: vec![0],
        cleanup_again_on: Vec::new(),
        checks: Checks::default(),
    }
}
