#![doc = include_str!("README.md")]

mod actor;
mod messages;
mod policy;
#[cfg(test)]
mod samples;
mod settings;
mod state;
mod views;

pub use crate::share_expiry::state::table::totals::Totals;
pub use crate::share_expiry::state::values::bad_lifetime::BadLifetime;
pub use actor::ShareExpiry;
pub use messages::*;
pub use policy::budget::Budget;
pub use policy::clock_step::{ClockStep, ClockStepDetector};
pub use policy::decision_context::ShareDecisionContext;
pub use policy::decisions::creating::AT_ONCE;
pub use policy::decisions::downloads::DownloadDecision;
pub use policy::evict::Eviction;
pub use policy::memory::SharePolicy;
pub use policy::time::ShareMoment;
pub use policy::timer::{ExpiryTimerWheel, WINDOW};
pub use settings::{
    AllowedLifetimes, AtLimit, BadEffort, Effort, RootDirs, ShareExpirySettings, ShareRulesConfig,
};
pub use state::event::{
    NewDeadline, NewOwner, NewShare, ShareChanges, ShareEvent, ShareLimits, ShareOutcome,
    ShareRefusal,
};
pub use state::moves::pending_move::{
    MoveEnd, MoveRefused, MoveStage, Moved, NewMove, PendingMove, ResolvedLocation, ShareLocation,
    SharedFileIdentity,
};
pub use state::notification::{
    LARGEST_PAGE, ShareNotification, ShareNotificationKind, ShareNotifications,
};
pub use state::table::order::ShareDueKey;
pub use state::table::shards::ShareLookup;
pub use state::table::share::{ClientKey, DownloadCounts, DownloadLimit, Exhausted, Share};
pub use state::table::share_table::{ShareTable, TombstoneKey};
pub use state::values::id::{BadShareId, ShareId};
pub use state::values::path::{BadPath, LONGEST_PATH, RootName, SharePath};
pub use state::values::root_id::{BadRootId, RootId};
pub use state::values::share_lifetime::{OnlyIf, ShareLifetime};
pub use state::values::share_terms::{ShareTerm, ShareTerms};
pub use state::values::usage::MOST_USES;
pub use state::values::value_types::{
    BadShareText, Deadline, LONGEST_NOTE, LONGEST_OWNER, PasswordHash, ShareEnding, ShareKind,
    ShareNote, ShareOwner, Tombstone,
};
pub use views::share_change::{ShareChange, ShareSummary};
pub use views::share_expiry_view::{ClockTrouble, LAG_STEPS, Lags, ShareCounters, ShareView};
pub use views::share_index::{IndexedShare, ShareIndex, UsesNeeded};
pub use views::share_orders::ShareColumn;
pub use views::share_set::ShareSet;
pub use views::share_state::ShareState;
pub use views::view_handle::{ShareFilter, SharePage, ShareViewHandle};
