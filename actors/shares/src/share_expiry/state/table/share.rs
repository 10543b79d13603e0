//! One share, as the table holds it and readers see it.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};

use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::path::{RootName, SharePath};
use crate::share_expiry::state::values::share_terms::ShareTerms;
use crate::share_expiry::state::values::usage::UsageCounter;
use crate::share_expiry::state::values::value_types::{
    Deadline, PasswordHash, ShareEnding, ShareKind, ShareOwner,
};

/// The index of a chunk in the order of paths.
pub(in crate::share_expiry) type ChunkNumber = u32;

/// One share. Immutable except for its last use: a change replaces the record.
///
/// **Invariant:** at most 96 bytes, or 112 with the counts of its `Arc`, because there are millions of
/// shares.
pub struct Share {
    id: ShareId,
    pub(in crate::share_expiry) path: SharePath,
    pub(in crate::share_expiry) root: RootName,
    pub(in crate::share_expiry) owner: Option<ShareOwner>,
    created: Millis,
    pub(in crate::share_expiry) deadline: Deadline,
    pub(in crate::share_expiry) cold: Option<Box<ColdShareFields>>,
    /// How often its terms were changed.
    pub(in crate::share_expiry) generation: u32,
    /// When it was last used, and how often. In memory only: the last use.
    used: AtomicU64,
    /// The chunk of the order of paths that it is in, if it is in any. In memory only: its chunk by path.
    chunk: AtomicU32,
    kind: ShareKind,
    /// Whether no further notice is sent before this deadline.
    pub(in crate::share_expiry) noticed: bool,
}

/// Rarely used fields of a share, kept apart to save memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::share_expiry) struct ColdShareFields {
    pub(in crate::share_expiry) terms: ShareTerms,
    /// Empty without a download limit.
    pub(in crate::share_expiry) counts: DownloadCounts,
}

/// How many downloads a share allows, and which were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadLimit<'a> {
    most: NonZeroU32,
    pub(in crate::share_expiry) counts: &'a DownloadCounts,
}

/// The downloads of a share that count against its limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DownloadCounts {
    pub(in crate::share_expiry) taken: u32,
    /// The clients that may resume, each with the time of its last counted download.
    pub(in crate::share_expiry) takers: Vec<DownloadClient>,
    /// When the last download was counted, and how long its clients may resume.
    pub(in crate::share_expiry) exhausted: Option<Exhausted>,
}

/// A client with a counted download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::share_expiry) struct DownloadClient {
    pub(in crate::share_expiry) client: ClientKey,
    pub(in crate::share_expiry) at: Millis,
    /// Whether it began with a part and has not requested the whole file yet. Then it may still do so. A
    /// snapshot has this in a separate row.
    pub(in crate::share_expiry) in_part: bool,
}

/// A share with no downloads left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// When the last download was counted.
    pub at: Millis,
    /// The end of the time in which clients with a counted download may resume.
    pub resume_until: Millis,
    /// The number of the notification about it.
    pub number: u64,
}

/// A client of one share, for its download limit: a hash of its address and of the share's id. It reveals
/// no address, and has no use for another share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientKey(pub u64);

impl ClientKey {
    /// The key of the client at `address` for `share`.
    pub fn of(share: ShareId, address: IpAddr) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&share.0.to_be_bytes());
        match address.to_canonical() {
            IpAddr::V4(v4) => hasher.update(&v4.octets()),
            IpAddr::V6(v6) => hasher.update(&v6.octets()),
        };
        let mut first = [0; 8];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        ClientKey(u64::from_le_bytes(first))
    }
}

/// The fields of a new share.
pub(in crate::share_expiry) struct ShareInit {
    pub(in crate::share_expiry) id: ShareId,
    pub(in crate::share_expiry) root: RootName,
    pub(in crate::share_expiry) path: SharePath,
    pub(in crate::share_expiry) kind: ShareKind,
    pub(in crate::share_expiry) owner: Option<ShareOwner>,
    pub(in crate::share_expiry) created: Millis,
    pub(in crate::share_expiry) deadline: Deadline,
    pub(in crate::share_expiry) cold: ColdShareFields,
    pub(in crate::share_expiry) generation: u32,
    pub(in crate::share_expiry) noticed: bool,
}

impl Share {
    pub(in crate::share_expiry) fn new(init: ShareInit) -> Self {
        let ShareInit { id, root, path, kind, owner, created, deadline, cold, generation, noticed } =
            init;
        let cold = Share::boxed(cold);
        let used = AtomicU64::new(UsageCounter::first(created).packed());
        Share {
            id,
            path,
            root,
            owner,
            created,
            deadline,
            cold,
            generation,
            used,
            chunk: AtomicU32::new(0),
            kind,
            noticed,
        }
    }

    fn boxed(cold: ColdShareFields) -> Option<Box<ColdShareFields>> {
        (cold != ColdShareFields::default()).then(|| Box::new(cold))
    }

    /// A copy for changes, which then replaces this one.
    pub(in crate::share_expiry) fn to_change(&self) -> Self {
        Share {
            id: self.id,
            path: self.path.clone(),
            root: self.root.clone(),
            owner: self.owner.clone(),
            created: self.created,
            deadline: self.deadline,
            cold: self.cold.clone(),
            generation: self.generation,
            used: AtomicU64::new(self.used.load(Ordering::Relaxed)),
            chunk: AtomicU32::new(self.chunk()),
            kind: self.kind,
            noticed: self.noticed,
        }
    }

    /// Changes the rarely used fields.
    pub(in crate::share_expiry) fn change_cold_fields(
        &mut self,
        change: impl FnOnce(&mut ColdShareFields),
    ) {
        let mut cold = self.cold.take().map_or_else(ColdShareFields::default, |cold| *cold);
        change(&mut cold);
        self.cold = Share::boxed(cold);
    }

    /// The current chunk of the share in the order of paths.
    pub(in crate::share_expiry) fn chunk(&self) -> ChunkNumber {
        self.chunk.load(Ordering::Relaxed)
    }

    /// It is in this chunk from now on.
    pub(in crate::share_expiry) fn set_chunk(&self, chunk: ChunkNumber) {
        self.chunk.store(chunk, Ordering::Relaxed);
    }

    /// The id of the share.
    pub fn id(&self) -> ShareId {
        self.id
    }

    /// The root it is shared from.
    pub fn root(&self) -> &RootName {
        &self.root
    }

    /// The path of the share, below the root.
    pub fn path(&self) -> &SharePath {
        &self.path
    }

    /// A file or a directory, at the time of the creation.
    pub fn kind(&self) -> ShareKind {
        self.kind
    }

    /// The owner, if the client named one.
    pub fn owner(&self) -> Option<&ShareOwner> {
        self.owner.as_ref()
    }

    /// When it was created, in milliseconds.
    pub fn created(&self) -> Millis {
        self.created
    }

    /// Its deadline, without regard to downloads.
    pub fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// When it ends without further changes: at its deadline, or when its last counted download may no
    /// longer be resumed. The earlier time counts.
    pub fn due(&self) -> Deadline {
        match self.exhausted() {
            Some(exhausted) => self.deadline.min(Deadline::at(exhausted.resume_until)),
            None => self.deadline,
        }
    }

    /// Whether it is live at `now`: this is the only rule, and every reader uses it. A share is live iff
    /// `now` is before its due time.
    pub fn is_live(&self, now: Millis) -> bool {
        self.due().is_after(now)
    }

    /// Why it ends when it is due.
    pub fn why_due(&self) -> ShareEnding {
        if self.exhausted().is_some() { ShareEnding::Exhausted } else { ShareEnding::Expired }
    }

    /// How often its terms were changed.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Whether no further notice is sent before its deadline: it was sent, or the deadline was too near
    /// for it.
    pub fn is_noticed(&self) -> bool {
        self.noticed
    }

    /// The terms beside its deadline and its owner.
    pub fn terms(&self) -> &ShareTerms {
        self.cold.as_ref().map_or(ShareTerms::NONE, |cold| &cold.terms)
    }

    /// The hash of its password, if it has one.
    pub fn password(&self) -> Option<&PasswordHash> {
        self.terms().password.as_ref()
    }

    /// The download limit, if any. Without a limit no download needs to be counted.
    pub fn downloads(&self) -> Option<DownloadLimit<'_>> {
        let ColdShareFields { terms, counts } = self.cold.as_deref()?;
        terms.max_downloads.map(|most| DownloadLimit { most, counts })
    }

    /// When its last download was counted. From then on it admits only clients that resume.
    pub fn exhausted(&self) -> Option<Exhausted> {
        self.cold.as_ref()?.counts.exhausted
    }

    /// When it was last used, as this process knows; before the first use, when it was created.
    pub fn last_used(&self) -> Millis {
        Millis(i64::try_from(self.used().at).unwrap_or(i64::MAX))
    }

    /// How often it was used since this process has it; counted up to
    /// [`MOST_USES`](crate::share_expiry::MOST_USES).
    pub fn uses(&self) -> u32 {
        self.used().uses
    }

    pub(in crate::share_expiry) fn used(&self) -> UsageCounter {
        UsageCounter::unpacked(self.used.load(Ordering::Relaxed))
    }

    /// Records a use at `now`. Neither figure ever gets smaller.
    pub(in crate::share_expiry) fn use_at(&self, now: Millis) {
        let once_more = |used| Some(UsageCounter::unpacked(used).once_more(now).packed());
        // It is never refused.
        let _ = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, once_more);
    }
}

impl DownloadLimit<'_> {
    /// How many it allows in all.
    pub fn most(&self) -> u32 {
        self.most.get()
    }

    /// How many downloads were counted.
    pub fn taken(&self) -> u32 {
        self.counts.taken
    }

    /// How many downloads are left.
    pub fn left(&self) -> u32 {
        self.most().saturating_sub(self.counts.taken)
    }

    /// When `client` began a download with a part, if it may still request the whole file.
    pub fn in_part_by(&self, client: ClientKey) -> Option<Millis> {
        let takers = self.counts.takers.iter();
        let begun = takers.filter(|taker| taker.client == client && taker.in_part);
        begun.map(|taker| taker.at).max()
    }

    /// When `client` last began a download that it may still resume.
    pub fn taken_by(&self, client: ClientKey) -> Option<Millis> {
        let takers = self.counts.takers.iter();
        takers.filter(|taker| taker.client == client).map(|taker| taker.at).max()
    }
}

impl PartialEq for Share {
    /// Whether both have the same content. Their uses are ignored.
    fn eq(&self, other: &Self) -> bool {
        let plain = |share: &Share| {
            let Share { id, created, deadline, generation, kind, noticed, .. } = *share;
            (id, created, deadline, generation, kind, noticed)
        };
        plain(self) == plain(other)
            && (&self.path, &self.root) == (&other.path, &other.root)
            && (&self.owner, &self.cold) == (&other.owner, &other.cold)
    }
}

impl Eq for Share {}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Share")
            .field("id", &self.id)
            .field("root", &self.root)
            .field("path", &self.path)
            .field("due", &self.due())
            .field("generation", &self.generation)
            .field("cold", &self.cold)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share_expiry::samples::init;

    #[test]
    fn a_record_is_small() {
        assert!(size_of::<Share>() <= 96, "{} bytes", size_of::<Share>());
        assert_eq!(size_of::<Option<ShareOwner>>(), 8);
        assert_eq!(size_of::<RootName>(), 8);
    }

    #[test]
    fn a_share_is_live_until_its_deadline_and_not_at_it() {
        let share = Share::new(init(1, "a", 1000));
        assert!(share.is_live(Millis(999)));
        assert!(!share.is_live(Millis(1000)));
        assert!(!share.is_live(Millis(1001)));
        let never = Share::new(ShareInit { deadline: Deadline::NEVER, ..init(1, "a", 0) });
        assert!(never.is_live(Millis(i64::MAX)));
    }

    #[test]
    fn an_exhausted_share_is_live_until_its_resume_window_ends() {
        let exhausted = |resume_until| {
            let mut share = Share::new(init(1, "a", 1000));
            share.change_cold_fields(|cold| {
                cold.terms.max_downloads = Some(NonZeroU32::MIN);
                cold.counts.taken = 1;
                cold.counts.exhausted = Some(Exhausted {
                    at: Millis(10),
                    resume_until: Millis(resume_until),
                    number: 0,
                });
            });
            share
        };
        assert!(exhausted(500).is_live(Millis(499)) && !exhausted(500).is_live(Millis(500)));
        assert!(exhausted(5000).is_live(Millis(999)) && !exhausted(5000).is_live(Millis(1000)));
    }

    #[test]
    fn a_use_counts_and_never_makes_a_share_look_less_used() {
        let share = Share::new(init(1, "a", 1000));
        share.use_at(Millis(7000));
        share.use_at(Millis(3000));
        assert_eq!((share.last_used(), share.uses()), (Millis(7000), 2));
        share.use_at(Millis(7001));
        assert_eq!((share.last_used(), share.uses()), (Millis(7001), 3));
        let changed = share.to_change();
        assert_eq!((changed.last_used(), changed.uses()), (Millis(7001), 3));
    }

    #[test]
    fn a_client_is_known_again_at_one_share_only() {
        let address: IpAddr = "192.0.2.7".parse().unwrap();
        let mapped: IpAddr = "::ffff:192.0.2.7".parse().unwrap();
        let key = ClientKey::of(ShareId(1), address);
        assert_eq!(key, ClientKey::of(ShareId(1), mapped));
        assert_ne!(key, ClientKey::of(ShareId(2), address));
    }
}
