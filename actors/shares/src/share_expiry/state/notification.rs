//! Notifications of shares, for webhooks and event streams.

use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::path::{RootName, SharePath};
use crate::share_expiry::state::values::value_types::{
    Deadline, ShareEnding, ShareNote, ShareOwner,
};
use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};

/// The most shares or notifications of one page. No event depends on it.
pub const LARGEST_PAGE: usize = 1000;

/// A page of notifications.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareNotifications {
    /// The notifications, oldest first.
    pub notifications: Vec<ShareNotification>,
    /// The number from which to continue.
    pub next: u64,
}

/// One notification about a share: its number never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareNotification {
    /// Its position among all, from 0.
    pub number: u64,
    /// The id of the share.
    pub id: ShareId,
    /// When it happened, in milliseconds.
    pub at: Millis,
    /// The kind of the event.
    pub what: ShareNotificationKind,
    /// The share as it was then.
    pub root: RootName,
    /// The path of the share.
    pub path: SharePath,
    /// The owner, if the client named one.
    pub owner: Option<ShareOwner>,
    /// The client's free text, if any.
    pub note: Option<ShareNote>,
    /// The instant at which the share ends.
    pub deadline: Deadline,
    /// When it is due: at its deadline, or earlier if its last download was counted.
    pub due: Deadline,
    /// The caller that requested it. None if it happened by time.
    pub by: Option<String>,
}

/// The kinds of notifications about a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShareNotificationKind {
    /// The share will end soon.
    Notice,
    /// The share has ended, for this reason. `Exhausted` is sent once, when the last download was taken.
    Ended(ShareEnding),
}

impl ShareNotificationKind {
    /// Every kind, for settings and metrics.
    pub fn all() -> impl Iterator<Item = ShareNotificationKind> {
        [ShareNotificationKind::Notice]
            .into_iter()
            .chain(ShareEnding::ALL.map(ShareNotificationKind::Ended))
    }

    /// Its stable word in JSON and settings.
    pub fn word(self) -> &'static str {
        match self {
            ShareNotificationKind::Notice => "notice",
            ShareNotificationKind::Ended(why) => why.word(),
        }
    }
}
