//! The replicated log as owners of pieces use it, without storage.
//!
//! **Invariant:** nothing here knows openraft or sled. The crate `reelyard-journal` implements
//! [`ReplicatedLog`].

mod commits;
mod leadership;
mod member;
mod messages;
mod on_full_disk;
mod ownership;
mod piece;
mod replica;
mod replicated_log;
mod settings;
mod shapes;
mod shell;
pub mod stored;
mod transport;

pub use commits::batch;
pub use commits::batch::{ENTRY_BYTES, ENTRY_EVENTS};
pub use commits::commit_backoff::{CommitBackoff, CommitPause};
pub use commits::idempotency_ledger::{FrozenLedger, IdempotencyLedger, REMEMBERED_FOR};
pub use commits::in_flight::InFlight;
pub use leadership::{EPOCH_LEAP, Leadership};
pub use member::{
    FORMAT_LEVEL, LOWEST_FORMAT_LEVEL, Member, MemberRecord, NodeIdentity, UnreadableMember,
};
pub use messages::{Apply, CommitAnswer, CommitError, Install, InstallStage, JournalCommand};
pub use on_full_disk::OnFullDisk;
pub use ownership::{
    AppliedEntry, AppliedEvent, Outcomes, Ownership, RequestContext, decode_answers,
};
pub use piece::{FrozenPiece, Piece, UnreadableEvent};
pub use replica::{ReplicaHandle, ReturnedCommit, StateChange};
pub use replicated_log::{LogHandle, ReplicatedLog};
pub use settings::clocks::ClusterClockConfig;
pub use settings::election::ElectionConfig;
pub use shapes::compare_shapes;
pub use shell::{
    Owner, OwnerCommands, OwnerCommits, OwnerReply, OwnerRequests, OwnerTicks, Replicated,
    reply_now,
};
pub use transport::{CallKind, CallTarget, NoPeers, NodeUnreachable, Transport};
