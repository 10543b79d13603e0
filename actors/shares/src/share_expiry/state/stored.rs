//! The stored forms of shares and of their records. Pure.
//!
//! **Invariant:** a stored form never changes: snapshots of all earlier versions hold it.

use std::num::NonZeroU32;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_replication::stored_form;
use serde::{Deserialize, Serialize};

use super::download_cache::CountedDownload;
use super::notification::ShareNotificationKind;
use super::paths::path::{RootName, SharePath};
use super::table::share::{
    ClientKey, ColdShareFields, DownloadClient, DownloadLimit, Exhausted, Share, ShareInit,
};
use super::table::share_table::NotificationRecord;
use super::table::totals::Totals;
use super::values::id::ShareId;
use super::values::text::SharedText;
use super::values::value_types::{
    BadShareText, Deadline, PasswordHash, ShareEnding, ShareKind, ShareNote, ShareOwner, Tombstone,
};

/// The stored fields of a share.
#[derive(Serialize, Deserialize)]
pub(in crate::share_expiry) struct StoredShare<'a> {
    id: ShareId,
    pub(in crate::share_expiry) root: &'a str,
    path: &'a str,
    kind: ShareKind,
    pub(in crate::share_expiry) owner: Option<&'a str>,
    created: Millis,
    deadline: Deadline,
    generation: u32,
    noticed: bool,
    #[serde(borrow)]
    cold: Option<StoredColdFields<'a>>,
}

/// The rarely used fields of a share.
#[derive(Serialize, Deserialize)]
struct StoredColdFields<'a> {
    note: Option<&'a str>,
    password: Option<&'a str>,
    downloads: Option<StoredDownloads>,
}

/// The download limit of a share.
#[derive(Serialize, Deserialize)]
struct StoredDownloads {
    most: NonZeroU32,
    taken: u32,
    takers: Vec<StoredDownloadClient>,
    exhausted: Option<StoredExhausted>,
}

/// A notification about a share.
#[derive(Serialize, Deserialize)]
pub(in crate::share_expiry) struct StoredNotification<'a> {
    pub(in crate::share_expiry) at: Millis,
    pub(in crate::share_expiry) what: ShareNotificationKind,
    pub(in crate::share_expiry) by: Option<&'a str>,
    #[serde(borrow)]
    pub(in crate::share_expiry) share: StoredShare<'a>,
}

/// A client that has taken a download. A separate row says which downloads began with a part.
#[derive(Serialize, Deserialize)]
struct StoredDownloadClient {
    client: ClientKey,
    at: Millis,
}

stored_form! {
    /// A share without downloads left.
    struct StoredExhausted of Exhausted {
        at: Millis,
        resume_until: Millis,
        number: u64,
    }
}

stored_form! {
    /// The stored counters of all shares.
    pub(in crate::share_expiry) struct StoredShareTotals of Totals {
        created: u64,
        expired: u64,
        exhausted: u64,
        revoked: u64,
        removed: u64,
        root_gone: u64,
        evicted: u64,
    }
}

stored_form! {
    /// The record of an ended share.
    pub(in crate::share_expiry) struct StoredTombstone of Tombstone {
        ended: Millis,
        why: ShareEnding,
        deadline: Deadline,
        number: u64,
        cut: bool,
    }
}

stored_form! {
    /// A download that was counted a moment ago.
    pub(in crate::share_expiry) struct StoredCountedDownload of CountedDownload {
        at: Millis,
        request: RequestId,
        left: u32,
    }
}

impl StoredDownloadClient {
    fn of(taker: DownloadClient) -> Self {
        let DownloadClient { client, at, in_part: _ } = taker;
        StoredDownloadClient { client, at }
    }

    fn thaw(self) -> DownloadClient {
        let StoredDownloadClient { client, at } = self;
        DownloadClient { client, at, in_part: false }
    }
}

impl<'a> StoredShare<'a> {
    pub(in crate::share_expiry) fn of(share: &'a Share) -> Self {
        StoredShare {
            id: share.id(),
            root: share.root().as_str(),
            path: share.path().as_str(),
            kind: share.kind(),
            owner: share.owner().map(ShareOwner::as_str),
            created: share.created(),
            deadline: share.deadline(),
            generation: share.generation(),
            noticed: share.is_noticed(),
            cold: share.cold.as_deref().map(|cold| StoredColdFields {
                note: cold.note.as_ref().map(ShareNote::as_str),
                password: cold.password.as_ref().map(PasswordHash::reveal),
                downloads: cold.downloads.clone().map(StoredDownloads::of),
            }),
        }
    }

    /// The share; its root and owner are among the common texts.
    pub(in crate::share_expiry) fn thaw(
        self,
        root: SharedText,
        owner: Option<SharedText>,
    ) -> Result<Share, String> {
        let to_text = |error: &dyn std::error::Error| error.to_string();
        let cold = self.cold.map(StoredColdFields::thaw).transpose()?.unwrap_or_default();
        Ok(Share::new(ShareInit {
            id: self.id,
            root: RootName(root),
            path: SharePath::new(self.path).map_err(|error| to_text(&error))?,
            kind: self.kind,
            owner: owner.map(ShareOwner),
            created: self.created,
            deadline: self.deadline,
            cold,
            generation: self.generation,
            noticed: self.noticed,
        }))
    }
}

impl StoredColdFields<'_> {
    fn thaw(self) -> Result<ColdShareFields, String> {
        let to_text = |error: BadShareText| error.to_string();
        Ok(ColdShareFields {
            note: self.note.map(ShareNote::new).transpose().map_err(to_text)?,
            password: self.password.map(PasswordHash::new).transpose().map_err(to_text)?,
            downloads: self.downloads.map(StoredDownloads::thaw),
        })
    }
}

impl StoredDownloads {
    fn of(downloads: DownloadLimit) -> Self {
        let DownloadLimit { most, taken, takers, exhausted } = downloads;
        let takers = takers.into_iter().map(StoredDownloadClient::of).collect();
        StoredDownloads { most, taken, takers, exhausted: exhausted.map(Into::into) }
    }

    fn thaw(self) -> DownloadLimit {
        let StoredDownloads { most, taken, takers, exhausted } = self;
        let takers = takers.into_iter().map(StoredDownloadClient::thaw).collect();
        DownloadLimit { most, taken, takers, exhausted: exhausted.map(Into::into) }
    }
}

impl<'a> StoredNotification<'a> {
    pub(in crate::share_expiry) fn of(record: &'a NotificationRecord) -> Self {
        let NotificationRecord { at, share, by, what } = record;
        let by = by.as_ref().map(SharedText::as_str);
        StoredNotification { at: *at, what: *what, by, share: StoredShare::of(share) }
    }
}
