//! The face of whoever runs things for boxes: what the BoxLeaseActor asks of the worker that hosts a
//! pool. What is run, a worker's own configuration says; nothing of it comes from a node.
//!
//! Every call carries the epoch in which it was decided: a worker refuses what a deposed leader asks.
//! The same may be asked again, after a change of leader or when no answer came: a worker that runs it
//! already joins the two, and one that has done it does it again. For one box only one thing is asked
//! at a time.

use actix::Message;

use super::id::{BoxNumber, FenceToken};
use super::text::{Holder, HooksName, PoolName, Said};
use crate::event::Epoch;
use crate::host::HostAddr;
use crate::supervision::Route;

/// Where something is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookPlace {
    /// The worker.
    pub host: HostAddr,
    /// The epoch in which it was decided.
    pub epoch: Epoch,
    /// The pool.
    pub pool: PoolName,
    /// The name under which the worker's configuration says what is run; the pool's own if none.
    pub hooks: Option<HooksName>,
}

/// What is run for a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookKind {
    /// It is made ready for a holder.
    Init,
    /// It is cleaned, and looked at whether it is clean.
    Cleanup,
}

/// Runs something for a box, and answers what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Message)]
#[rtype(result = "HookAnswer")]
pub struct RunHook {
    /// Where.
    pub place: HookPlace,
    /// What.
    pub kind: HookKind,
    /// The box.
    pub number: BoxNumber,
    /// The id by which its holder calls it: `{box}`.
    pub box_id: u32,
    /// The token of its lease, or of its last one: `{token}`.
    pub token: Option<FenceToken>,
    /// Who has it or had it: `{holder}`.
    pub holder: Option<Holder>,
    /// Which attempt it is, counted from one.
    pub attempt: u32,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, actix::MessageResponse)]
pub enum HookAnswer {
    /// It was done, and for a cleanup: the box was found clean.
    Done {
        /// What was said, if anything.
        said: Option<Said>,
    },
    /// It failed: an exit code, a time-out, or a box that is not clean.
    Failed {
        /// What was said: the evidence.
        said: Said,
    },
    /// The worker did not answer, or refused to do it: nothing is known of the box.
    Silent {
        /// Why.
        why: String,
    },
}

/// Looks whether boxes that nobody has are clean.
#[derive(Clone, Debug, PartialEq, Eq, Message)]
#[rtype(result = "Result<Vec<LookedAt>, String>")]
pub struct LookAtBoxes {
    /// Where.
    pub place: HookPlace,
    /// The boxes; in a pool that draws ids, one by the id that was drawn for it.
    pub boxes: Vec<BoxNumber>,
}

/// A box that was looked at. One that could not be is left out, and asked for again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookedAt {
    /// The box.
    pub number: BoxNumber,
    /// What was found, unless it is clean.
    pub dirt: Option<Said>,
}

/// The ways to whoever runs things for boxes.
#[derive(Clone)]
pub struct BoxHosts {
    /// Runs something for a box.
    pub run: Route<RunHook>,
    /// Looks at boxes.
    pub look: Route<LookAtBoxes>,
}
