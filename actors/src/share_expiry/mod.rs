//! The ShareExpiryActor: shares, and their ends.

mod board;
mod event;
mod facts;
mod id;
mod messages;
mod path;
#[cfg(test)]
mod samples;
mod settings;
mod shards;
mod share;
mod terms;
mod text;
mod views;

pub use board::{LARGEST_PAGE, ShareBoard, ShareFilter, SharePage, ShareState};
pub use event::{
    Changes, NewDeadline, NewOwner, NewShare, Room, ShareEvent, ShareOutcome, ShareRefusal,
};
pub use facts::{
    BadText, Deadline, Ending, LONGEST_NOTE, LONGEST_OWNER, Note, Owner, PasswordHash, ShareKind,
    Tombstone,
};
pub use id::{BadShareId, NoRandomness, ShareId};
pub use messages::*;
pub use path::{BadPath, LONGEST_PATH, RootName, SharePath};
pub use settings::{AtLimit, BadEffort, Effort, ShareSettings};
pub use shards::Found;
pub use share::{ClientKey, Downloads, Exhausted, Share};
pub use terms::{BadTerms, OnlyIf, Term, TermsPolicy};
pub use views::{LAG_STEPS, Lags, ShareCounters, ShareView, Totals};
