//! Shares, as the API shows them.

use serde::{Deserialize, Serialize};

use super::{Change, ChangeEvent};
use crate::clock::Millis;
use crate::share_expiry::{
    RootName, Share, ShareEnding, ShareId, ShareNotification, ShareNotificationKind, SharePath,
};

/// What changed about shares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ShareChange {
    /// One was created.
    Created {
        /// The share.
        share: ShareTold,
    },
    /// One has other terms.
    Changed {
        /// The share, as it is now.
        share: ShareTold,
    },
    /// One will end soon.
    Notice {
        /// The number of this happening: its name, wherever it is told.
        number: u64,
        /// The share.
        share: ShareTold,
    },
    /// One has ended. Of `exhausted`, this is told when the last download was taken.
    Ended {
        /// The number of this happening: its name, wherever it is told.
        number: u64,
        /// Why.
        why: ShareEnding,
        /// The share, as it was.
        share: ShareTold,
        /// Who wanted it; missing where it was a matter of time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked_by: Option<String>,
    },
    /// What was shared has another path, and all its shares have followed.
    Moved {
        /// The root that it was in.
        root: RootName,
        /// Where it was.
        from: SharePath,
        /// The root that it is in; missing where that is the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to_root: Option<RootName>,
        /// Where it is.
        to: SharePath,
        /// How many shares follow it.
        shares: u64,
    },
    /// Reclaim was paused or resumed.
    Reclaim {
        /// Whether it is paused now.
        paused: bool,
        /// Who asked.
        asked_by: String,
    },
}

impl From<ShareNotification> for ShareChange {
    /// A happening, as it is told wherever it is.
    fn from(happening: ShareNotification) -> Self {
        let ShareNotification { number, id, what, root, path, owner, due, by: asked_by, .. } =
            happening;
        let owner = owner.map(|owner| owner.as_str().to_owned());
        let share = ShareTold { id, root, path, owner, expires_at: due.instant() };
        match what {
            ShareNotificationKind::Notice => ShareChange::Notice { number, share },
            ShareNotificationKind::Ended(why) => {
                ShareChange::Ended { number, why, share, asked_by }
            }
        }
    }
}

impl From<ShareNotification> for ChangeEvent {
    /// What is told of a happening, whoever is told: webhooks and streams of events alike.
    fn from(happening: ShareNotification) -> Self {
        let time = happening.at;
        ChangeEvent { time, change: Change::Share(ShareChange::from(happening)) }
    }
}

/// A share, where something is told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ShareTold {
    /// Its id.
    pub id: ShareId,
    /// The root it is shared from.
    pub root: RootName,
    /// What is shared, below the root.
    pub path: SharePath,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When it ends; missing when it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
}

impl ShareTold {
    /// What is told of `share`.
    pub fn of(share: &Share) -> Self {
        ShareTold {
            id: share.id(),
            root: share.root().clone(),
            path: share.path().clone(),
            owner: share.owner().map(|owner| owner.as_str().to_owned()),
            expires_at: share.due().instant(),
        }
    }
}
