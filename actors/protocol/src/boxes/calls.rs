//! The interface for running hooks: the requests of the BoxLeaseActor to the worker that hosts a pool. The
//! worker's own configuration defines the hooks, and no node can change them.
//!
//! Every call carries the epoch of its decision: a worker refuses calls of a deposed leader. A call may be
//! repeated, after a change of leader or without an answer. If the worker still runs the first call, it
//! joins the two. If it has finished the first call, it runs the hook again. A box has only one open
//! request at a time.

use actix::Message;
use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_core::manager::YardId;
use reelyard_core::supervision::Route;

use super::id::{BoxNumber, FenceToken, IdRange};
use super::text::{Holder, HookOutput, HooksName, PoolName};

/// The host and pool of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookTarget {
    /// The address of the worker.
    pub host: HostAddr,
    /// The epoch in which it was decided.
    pub epoch: Epoch,
    /// The name of the pool.
    pub pool: PoolName,
    /// The name of the hooks in the worker's configuration; the pool's own name if none.
    pub hooks: Option<HooksName>,
    /// The cluster that decided it. The link to the worker sets it; none from a node of an older version.
    pub cluster: Option<YardId>,
    /// All current ids of the pool, in order: no other pool has them. Empty from a node of an older
    /// version.
    pub ids: Vec<IdRange>,
}

impl HookTarget {
    /// The name of the hooks in the worker's configuration.
    pub fn hooks_name(&self) -> &str {
        self.hooks.as_ref().map_or(self.pool.as_str(), HooksName::as_str)
    }
}

/// The kind of hook for a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookKind {
    /// It is made ready for a holder.
    Init,
    /// It is cleaned, and then checked.
    Cleanup,
}

impl HookKind {
    /// Its name in configurations, in messages and in logs.
    pub fn word(self) -> &'static str {
        match self {
            HookKind::Init => "init",
            HookKind::Cleanup => "cleanup",
        }
    }
}

/// Runs a hook for a box, and answers its result.
#[derive(Clone, Debug, PartialEq, Eq, Message)]
#[rtype(result = "HookAnswer")]
pub struct RunHook {
    /// The host and pool.
    pub place: HookTarget,
    /// Init or cleanup.
    pub kind: HookKind,
    /// The number of the box in its pool.
    pub number: BoxNumber,
    /// The id of the box as its holder sees it: `{box}`.
    pub box_id: u32,
    /// The token of its current or last lease: `{token}`.
    pub token: Option<FenceToken>,
    /// The current or last holder: `{holder}`.
    pub holder: Option<Holder>,
    /// The number of the attempt, counted from one.
    pub attempt: u32,
}

/// The result of a hook.
#[derive(Clone, Debug, PartialEq, Eq, actix::MessageResponse)]
pub enum HookAnswer {
    /// The hook succeeded. After a cleanup the box was also found clean.
    Done {
        /// The output of the hook, if any.
        output: Option<HookOutput>,
    },
    /// The hook failed: an exit code, a time-out, or a box that is not clean.
    Failed {
        /// The output: the evidence.
        output: HookOutput,
    },
    /// The worker did not answer, or refused the call: the state of the box is unknown.
    Silent {
        /// The error text, for operators.
        why: String,
    },
}

/// Inspects free boxes.
#[derive(Clone, Debug, PartialEq, Eq, Message)]
#[rtype(result = "Result<BoxInspection, String>")]
pub struct InspectBoxes {
    /// The host and pool.
    pub place: HookTarget,
    /// The boxes. In a pool that draws ids, one box by its drawn id.
    pub boxes: Vec<BoxNumber>,
    /// The last token of the pool, if the node knows it.
    pub last_token: FenceToken,
}

/// The result of the inspection of one box.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoxInspection {
    /// The inspected boxes.
    pub boxes: Vec<InspectedBox>,
    /// The highest token for which the worker served these boxes, if the node does not know it. Then the
    /// node's store was lost, or another cluster had the boxes.
    pub highest: Option<FenceToken>,
}

/// An operator gives all boxes of a place to its pool, also those that the worker knows under another
/// pool. Answers the pools that lost boxes.
#[derive(Clone, Debug, PartialEq, Eq, Message)]
#[rtype(result = "Result<Vec<PoolName>, String>")]
pub struct AdoptBoxes {
    /// The host and pool.
    pub place: HookTarget,
}

/// An inspected box. If a box could not be inspected, it is left out and requested again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectedBox {
    /// The number of the box in its pool.
    pub number: BoxNumber,
    /// The evidence, unless the box is clean.
    pub dirt: Option<HookOutput>,
}

/// Checks whether a worker answers at all, because a hook for a box may take long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Message)]
#[rtype(result = "Result<(), ProbeFailure>")]
pub struct ProbeHost {
    /// The address of the worker.
    pub host: HostAddr,
    /// The time limit of the probe. The answer arrives by then.
    pub within: std::time::Duration,
}

/// Why a probed worker gave no answer. The texts are for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeFailure {
    /// The worker did not answer.
    Silent(String),
    /// This node could not ask the worker, so nothing is known of the worker.
    NotAsked(String),
}

/// The routes to the actor that runs hooks.
#[derive(Clone)]
pub struct BoxHosts {
    /// Runs something for a box.
    pub run: Route<RunHook>,
    /// Looks at boxes on their host.
    pub look: Route<InspectBoxes>,
    /// Gives boxes to a pool.
    pub adopt: Route<AdoptBoxes>,
    /// Checks whether a worker answers at all.
    pub probe: Route<ProbeHost>,
}
