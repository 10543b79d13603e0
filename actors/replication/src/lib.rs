//! The replicated log, as owners of pieces use it, free of storage.
//!
//! **Invariant:** nothing here knows openraft or sled. The crate `reelyard-journal` implements
//! [`ReplicatedLog`].

pub mod batch;
mod commit_backoff;
mod election;
mod idempotency_ledger;
mod in_flight;
mod leadership;
mod messages;
mod ownership;
mod piece;
mod replica;
mod replicated_log;
mod shell;
pub mod stored;
mod turns;

pub use batch::{ENTRY_BYTES, ENTRY_EVENTS};
pub use commit_backoff::{CommitBackoff, CommitPause};
pub use election::ElectionConfig;
pub use idempotency_ledger::{FrozenLedger, IdempotencyLedger, REMEMBERED_FOR};
pub use in_flight::InFlight;
pub use leadership::{EPOCH_LEAP, Leadership};
pub use messages::{Apply, CommitAnswer, CommitError, Install, InstallStage, JournalCommand};
pub use ownership::{
    AppliedEntry, AppliedEvent, Outcomes, Ownership, RequestContext, decode_answers,
};
pub use piece::{FrozenPiece, Piece, UnreadableEvent};
pub use replica::{CommitSettlement, ReplicaHandle, StateChange};
pub use replicated_log::{LogHandle, OnFullDisk, ReplicatedLog};
pub use shell::{Owner, OwnerReply, Replicated, reply_now};
