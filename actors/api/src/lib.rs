//! The answers of the node's API, version 1, as servers write and clients read them.
//!
//! The calls are declared beside their handlers in `src/http/api`; `reelyard openapi` lists them.
//!
//! The answer to a failed call is a [`Problem`]. Instants are Unix milliseconds. Durations are whole
//! milliseconds or microseconds; their names say which. Sizes are bytes. Requests, and the answers about
//! boxes and shares, use RFC 3339 for instants and texts such as "10s" for durations. Optional members are
//! missing, never null. This version of the API can get more members and loses none.

mod access;
mod boxes;
mod change;
mod cluster;
mod config;
mod instant;
mod named_calls;
mod overview;
mod page;
mod problem;
mod request_name;
mod shares;
mod span;
mod status;
mod yard;

/// The path of this version of the API.
pub const API: &str = "/api/v1";

pub use access::audit::{AuditActorInfo, AuditRowInfo};
pub use access::caller::{CallerInfo, CallerKind};
pub use access::session::{LoginLinkInfo, NewSessionInfo, SessionInfo, WantedSession};
pub use access::token::{BadTokenRights, NewTokenInfo, TokenInfo, WantedRotation, WantedToken};
pub use access::user::{UserInfo, WantedUser, WantedUserChange};
pub use boxes::box_info::{AuditLine, BoxInfo, BoxLogKind, BoxLogLine, WantedQuarantine};
pub use boxes::lease::{
    Granted, GrantedLease, LeaseEnded, LeaseInfo, LeaseState, LeaseToken, LeaseVerified, QueueWait,
    WantedLease, WantedLeaseRevocation, WantedRenewal,
};
pub use boxes::pool::{
    BoxStateCounts, PoolAdoption, PoolInfo, PoolRemoval, PoolTotalsInfo, WantedPool, WantedSlots,
};
pub use change::{
    BackOffChange, Change, ChangeEvent, ChangeKind, ConfigurationChange, LeadershipChange, Reset,
    TaskChange,
};
pub use cluster::{
    ClusterView, INVITATION_TTL, LeadTransfer, MemberInfo, MemberRank, SnapshotProgressView,
};
pub use config::{
    RecordedSetting, ReloadView, SettingChange, SettingsRecorded, SettingsVersionInfo,
    SettingsVersionView, WantedSettings,
};
pub use instant::{BadInstant, BadTtl, Rfc3339, Ttl};
pub use named_calls::{
    IDEMPOTENCY_KEY, NamedBody, REPEATED, has_request_id, is_repeatable, new_request_id,
};
pub use overview::{
    DiskTotals, EndingLink, HostFigures, LinkFigures, OverviewView, PlacementFigures, PoolFigures,
    TroubleSeverity, TroubleView, WaitFigures,
};
pub use page::{Cursor, Page};
pub use problem::{Problem, ProblemKind, ProblemSet, refused};
pub use reelyard_boxes::box_lease::{BoxChange, LeaseOf};
pub use reelyard_core::change_feed::Missed;
pub use reelyard_shares::share_expiry::{ShareChange, ShareSummary};
pub use reelyard_yard::changes::{
    HostEvent, InputChange, MAX_NAMES_SHOWN, PinChange, PlacementChange, RemovalChange, TaskStep,
};
pub use shares::download::DownloadInfo;
pub use shares::file_move::{FileMoveInfo, WantedMove};
pub use shares::share::{
    Password, ReclaimView, ShareInfo, TwoTerms, WantedReclaim, WantedRevocation, WantedShare,
    WantedTerms, place, term,
};
pub use shares::share_hook::{HookFailing, HookInfo};
pub use span::{BadSpan, Span};
pub use status::{ActorView, BadRowView, InputState, InputView, JournalView, NodeRole, StatusView};
pub use yard::explain::{DemandPartsView, DemandView, ExplainView, SilentHolder};
pub use yard::file::{FileState, FileView};
pub use yard::host::{
    BackOffView, BreakerOf, BreakerState, BreakerView, DrainView, HostAdopted, HostChange,
    HostProbed, HostReset, HostView, Stays, StaysView, WantedMode, WantedRole,
};
pub use yard::plan::{BackedOff, PlanView, PlannedCopy, Skipped};
pub use yard::removal::{
    HistoryEntry, HistoryLine, PinSet, PinView, RemovalView, RemovalsView, RoomSoughtView,
};
pub use yard::task::{CopyBegun, StateFilter, TaskView, WantedCopy};
