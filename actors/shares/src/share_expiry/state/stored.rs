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
use super::table::share::{
    ClientKey, ColdShareFields, DownloadClient, DownloadCounts, Exhausted, Share, ShareInit,
};
use super::table::share_table::NotificationRecord;
use super::table::totals::Totals;
use super::values::id::ShareId;
use super::values::path::{RootName, SharePath};
use super::values::share_terms::{ShareTerm, ShareTerms, StoredShareTerms};
use super::values::text::SharedText;
use super::values::value_types::{
    BadShareText, Deadline, PasswordHash, ShareEnding, ShareKind, ShareNote, ShareOwner, Tombstone,
};

/// The stored fields of a share.
#[derive(Serialize, Deserialize)]
pub(in crate::share_expiry) struct StoredShareV2<'a> {
    id: ShareId,
    pub(in crate::share_expiry) root: &'a str,
    path: &'a str,
    kind: ShareKind,
    pub(in crate::share_expiry) owner: Option<&'a str>,
    created: Millis,
    deadline: Deadline,
    generation: u32,
    noticed: bool,
    terms: StoredShareTerms,
    /// None if nothing was counted.
    counts: Option<StoredDownloadCounts>,
}

/// The downloads that count against the limit of a share.
#[derive(Serialize, Deserialize)]
struct StoredDownloadCounts {
    taken: u32,
    takers: Vec<StoredDownloadClient>,
    exhausted: Option<StoredExhausted>,
}

/// The share of row version 1, with a field for each term. Stores still hold it.
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

/// The rarely used fields of a share of row version 1.
#[derive(Serialize, Deserialize)]
struct StoredColdFields<'a> {
    note: Option<&'a str>,
    password: Option<&'a str>,
    downloads: Option<StoredDownloads>,
}

/// The download limit of a share of row version 1.
#[derive(Serialize, Deserialize)]
struct StoredDownloads {
    most: NonZeroU32,
    taken: u32,
    takers: Vec<StoredDownloadClient>,
    exhausted: Option<StoredExhausted>,
}

/// A notification about a share.
#[derive(Serialize, Deserialize)]
pub(in crate::share_expiry) struct StoredNotificationV2<'a> {
    pub(in crate::share_expiry) at: Millis,
    pub(in crate::share_expiry) what: ShareNotificationKind,
    pub(in crate::share_expiry) by: Option<&'a str>,
    #[serde(borrow)]
    pub(in crate::share_expiry) share: StoredShareV2<'a>,
}

/// The notification of row version 1. Stores still hold it.
#[derive(Serialize, Deserialize)]
pub(in crate::share_expiry) struct StoredNotification<'a> {
    at: Millis,
    what: ShareNotificationKind,
    by: Option<&'a str>,
    #[serde(borrow)]
    share: StoredShare<'a>,
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

impl<'a> StoredShareV2<'a> {
    pub(in crate::share_expiry) fn of(share: &'a Share) -> Self {
        let counts = share.downloads().map(|downloads| downloads.counts);
        StoredShareV2 {
            id: share.id(),
            root: share.root().as_str(),
            path: share.path().as_str(),
            kind: share.kind(),
            owner: share.owner().map(ShareOwner::as_str),
            created: share.created(),
            deadline: share.deadline(),
            generation: share.generation(),
            noticed: share.is_noticed(),
            terms: share.terms().clone().into(),
            counts: counts.filter(|counts| **counts != DownloadCounts::default()).map(Into::into),
        }
    }

    /// The share; its root and owner are among the common texts.
    pub(in crate::share_expiry) fn thaw(
        self,
        root: SharedText,
        owner: Option<SharedText>,
    ) -> Result<Share, String> {
        let counts = self.counts.map(DownloadCounts::from).unwrap_or_default();
        Ok(Share::new(ShareInit {
            id: self.id,
            root: RootName(root),
            path: SharePath::new(self.path).map_err(|error| error.to_string())?,
            kind: self.kind,
            owner: owner.map(ShareOwner),
            created: self.created,
            deadline: self.deadline,
            cold: ColdShareFields { terms: self.terms.into(), counts },
            generation: self.generation,
            noticed: self.noticed,
        }))
    }
}

impl<'a> StoredShare<'a> {
    /// The share in the present form.
    pub(in crate::share_expiry) fn in_v2(self) -> Result<StoredShareV2<'a>, String> {
        let StoredShare { id, root, path, kind, owner, .. } = self;
        let StoredShare { created, deadline, generation, noticed, cold, .. } = self;
        let (terms, counts) = cold.map(StoredColdFields::in_v2).transpose()?.unwrap_or_default();
        Ok(StoredShareV2 {
            id,
            root,
            path,
            kind,
            owner,
            created,
            deadline,
            generation,
            noticed,
            terms,
            counts,
        })
    }
}

impl StoredColdFields<'_> {
    fn in_v2(self) -> Result<(StoredShareTerms, Option<StoredDownloadCounts>), String> {
        let StoredColdFields { note, password, downloads } = self;
        let to_text = |error: BadShareText| error.to_string();
        let terms = [
            ShareTerm::Note(note.map(ShareNote::new).transpose().map_err(to_text)?),
            ShareTerm::Password(password.map(PasswordHash::new).transpose().map_err(to_text)?),
            ShareTerm::MaxDownloads(downloads.as_ref().map(|downloads| downloads.most)),
        ];
        let counts = downloads.map(|StoredDownloads { most: _, taken, takers, exhausted }| {
            StoredDownloadCounts { taken, takers, exhausted }
        });
        Ok((ShareTerms::from_iter(terms).into(), counts))
    }
}

impl From<&DownloadCounts> for StoredDownloadCounts {
    fn from(counts: &DownloadCounts) -> Self {
        let DownloadCounts { taken, takers, exhausted } = counts;
        let takers = takers.iter().copied().map(StoredDownloadClient::of).collect();
        StoredDownloadCounts { taken: *taken, takers, exhausted: exhausted.map(Into::into) }
    }
}

impl From<StoredDownloadCounts> for DownloadCounts {
    fn from(stored: StoredDownloadCounts) -> Self {
        let StoredDownloadCounts { taken, takers, exhausted } = stored;
        let takers = takers.into_iter().map(StoredDownloadClient::thaw).collect();
        DownloadCounts { taken, takers, exhausted: exhausted.map(Into::into) }
    }
}

impl<'a> StoredNotificationV2<'a> {
    pub(in crate::share_expiry) fn of(record: &'a NotificationRecord) -> Self {
        let NotificationRecord { at, share, by, what } = record;
        let by = by.as_ref().map(SharedText::as_str);
        StoredNotificationV2 { at: *at, what: *what, by, share: StoredShareV2::of(share) }
    }
}

impl<'a> StoredNotification<'a> {
    /// The notification in the present form.
    pub(in crate::share_expiry) fn in_v2(self) -> Result<StoredNotificationV2<'a>, String> {
        let StoredNotification { at, what, by, share } = self;
        Ok(StoredNotificationV2 { at, what, by, share: share.in_v2()? })
    }
}
