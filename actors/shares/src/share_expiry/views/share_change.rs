//! Changes of shares, as event streams and webhooks report them.

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};

use crate::share_expiry::{
    RootName, Share, ShareEnding, ShareId, ShareNotification, ShareNotificationKind, SharePath,
};

/// A committed event of a share for the change feed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ShareChange {
    /// A share was created.
    Created {
        /// The share, as it was created.
        share: ShareSummary,
    },
    /// The terms of a share changed.
    Changed {
        /// The share in its current state.
        share: ShareSummary,
    },
    /// The deadline of a share is near.
    Notice {
        /// Number of this notification, the same in webhooks and event streams.
        number: u64,
        /// The share that will end.
        share: ShareSummary,
    },
    /// A share ended. With the cause `exhausted`, this is sent when the last download is taken.
    Ended {
        /// Number of this notification, the same in webhooks and event streams.
        number: u64,
        /// Cause of the end.
        why: ShareEnding,
        /// The share in its last state.
        share: ShareSummary,
        /// Operator who ended it. Missing when a deadline or limit ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked_by: Option<String>,
    },
    /// The shared file or directory has a new path, and all its shares have followed.
    Moved {
        /// The root that it was in.
        root: RootName,
        /// Path before the move, below its root.
        from: SharePath,
        /// The new root; missing if it does not change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to_root: Option<RootName>,
        /// Path after the move, below its root.
        to: SharePath,
        /// How many shares follow it.
        shares: u64,
    },
    /// Reclaim was paused or resumed.
    Reclaim {
        /// Whether it is paused now.
        paused: bool,
        /// Operator who paused or resumed it.
        asked_by: String,
    },
}

impl From<ShareNotification> for ShareChange {
    /// Builds the change that every webhook and event stream reports.
    fn from(notification: ShareNotification) -> Self {
        let ShareNotification { number, id, what, root, path, owner, due, by: asked_by, .. } =
            notification;
        let owner = owner.map(|owner| owner.as_str().to_owned());
        let share = ShareSummary { id, root, path, owner, expires_at: due.instant() };
        match what {
            ShareNotificationKind::Notice => ShareChange::Notice { number, share },
            ShareNotificationKind::Ended(why) => {
                ShareChange::Ended { number, why, share, asked_by }
            }
        }
    }
}

/// A share, as events describe it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ShareSummary {
    /// Id of the share.
    pub id: ShareId,
    /// The root it is shared from.
    pub root: RootName,
    /// Shared path, below the root.
    pub path: SharePath,
    /// Owner, as the requester named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The end; missing if it has no deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
}

impl ShareSummary {
    /// Description of `share` for an event.
    pub fn of(share: &Share) -> Self {
        ShareSummary {
            id: share.id(),
            root: share.root().clone(),
            path: share.path().clone(),
            owner: share.owner().map(|owner| owner.as_str().to_owned()),
            expires_at: share.due().instant(),
        }
    }
}
