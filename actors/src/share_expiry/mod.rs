//! The ShareExpiryActor: shares, and their ends.

mod apply;
#[cfg(test)]
mod apply_tests;
mod board;
mod budget;
mod decide;
mod event;
mod evict;
mod facts;
mod id;
mod jumps;
mod messages;
mod order;
mod path;
#[cfg(test)]
mod samples;
mod settings;
mod shards;
mod share;
mod snapshot;
mod state;
mod terms;
mod text;
mod timer;
mod upkeep;
mod views;

pub use board::{LARGEST_PAGE, ShareBoard, ShareFilter, SharePage, ShareState};
pub use budget::Budget;
pub use decide::{AT_ONCE, Desk, Standpoint, Taking};
pub use event::{
    Changes, NewDeadline, NewOwner, NewShare, Room, ShareEvent, ShareOutcome, ShareRefusal,
};
pub use evict::Eviction;
pub use facts::{
    BadText, Deadline, Ending, LONGEST_NOTE, LONGEST_OWNER, Note, Owner, PasswordHash, ShareKind,
    Tombstone,
};
pub use id::{BadShareId, NoRandomness, ShareId};
pub use jumps::{ClockWatch, Jump};
pub use messages::*;
pub use order::Due;
pub use path::{BadPath, LONGEST_PATH, RootName, SharePath};
pub use settings::{AtLimit, BadEffort, Effort, ShareSettings};
pub use shards::Found;
pub use share::{ClientKey, Downloads, Exhausted, Share};
pub use state::{Grave, ShareTable};
pub use terms::{BadTerms, OnlyIf, Term, TermsPolicy};
pub use timer::{Timer, WINDOW};
pub use views::{LAG_STEPS, Lags, ShareCounters, ShareView, Totals};
