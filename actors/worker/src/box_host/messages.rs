//! The actor's own messages, besides [`RunHook`](reelyard_protocol::boxes::RunHook) and
//! [`InspectBoxes`](reelyard_protocol::boxes::InspectBoxes), which come from the leader.

use actix::Message;
use reelyard_protocol::boxes::{HookAnswer, HookKind};

use super::jobs::job_queue::HookRunId;
use crate::box_host::jobs::box_key::HostedBoxKey;

/// Something that was run for a box has ended.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct HookRunEnded {
    pub key: HostedBoxKey,
    pub run: HookRunId,
    pub kind: HookKind,
    pub answer: HookAnswer,
    pub took: std::time::Duration,
}

/// A hook run for a box has exceeded its total time limit.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct HookOverdue {
    pub key: HostedBoxKey,
    pub run: HookRunId,
    pub why: String,
}

/// Changes the limit of concurrent hooks.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct SettingsChanged;

/// No hook starts any more, and running hooks are ended. Answered at once.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct EndHooks;
