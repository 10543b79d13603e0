//! Samples for the tests of this folder.

use std::time::Duration;

use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_protocol::boxes::{BoxNumber, FenceToken, HookKind, HookTarget, PoolName, RunHook};

use super::hooks::{HookProgram, HookSet};
use super::inspection::checks::CleanBoxChecks;
use super::template::{Template, TemplateBlank};
use crate::box_host::jobs::box_key::HostedBoxKey;

/// A pool on this worker.
pub fn place(pool: &str) -> HookTarget {
    let host = HostAddr::from(std::net::SocketAddr::from(([127, 0, 0, 1], 8888)));
    HookTarget {
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

/// The key of a box of the pool `p`.
pub fn key(box_id: u32) -> HostedBoxKey {
    HostedBoxKey::new(&place("p"), box_id)
}

/// `/bin/sh -c SCRIPT NUMBER`
pub fn script(text: &str) -> HookProgram {
    let template = |text: &str| Template::parse(text, TemplateBlank::IN_ARGUMENTS).unwrap();
    let arguments = vec![template("-c"), template(text), template("{number}")];
    HookProgram { path: "/bin/sh".into(), arguments, timeout: Duration::from_secs(60) }
}

/// A set of hooks that do nothing.
pub fn hook_set() -> HookSet {
    HookSet {
        init: Some(script("exit 0")),
        cleanup: Some(script("exit 0")),
        grace: Duration::from_secs(5),
        environment: Default::default(),
        done: vec![0],
        cleanup_again_on: Vec::new(),
        checks: CleanBoxChecks::default(),
    }
}
