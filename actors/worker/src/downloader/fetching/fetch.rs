//! One copy, from its source to its place. It is fetched, hashed in the stream, compared with the hash of
//! the source, made durable and put in place. Blocking; runs on its own thread.
//!
//! An interrupted copy is resumed: a few times immediately, and later by the next copy of that name, also
//! after a restart. Bytes on the disk are neither sent nor hashed again.

mod attempt;
mod fetcher;
mod known_sources;
mod liveness;
mod pipelining;
mod source;
mod stream;
mod unfinished_copy;
mod verdict;

pub use attempt::{CommittedCopy, FetchProgressCallback};
pub use fetcher::{Fetcher, ResumePolicy};
pub(in crate::downloader) use liveness::meanwhile;
pub use pipelining::RequestPipeline;

use std::sync::Arc;
use std::time::Duration;

use reelyard_file_server::data_port::master_path;
use reelyard_protocol::worker::Blame;

use attempt::{Copying, FetchAttemptFailure};
use liveness::LARGE;
use unfinished_copy::UnfinishedCopy;

use crate::downloader::copying::batching;
use crate::downloader::copying::cancel::CopyCancellation;
use crate::downloader::copying::order::CopyOrder;
use crate::downloader::disk::base_dir::TempFileGuard;
use crate::downloader::disk::room::{NoRoom, Reservation};
use crate::downloader::fetching::fault::{CopyFault, local, publishing, refused};
use crate::downloader::fetching::live_rate::LiveRate;
use crate::downloader::fetching::source_link::{AnswerHead, SourceLink};
use crate::kept_state::partial::MasterOrigin;

/// How long a copy waits until a cancelled copy of the same name has stored its progress.
const CLAIM_PATIENCE: Duration = Duration::from_secs(5);

/// How long a source without a free place for another connection gets no requests, at its own request.
const BUSY_PAUSE: Duration = Duration::from_secs(1);

/// How often a busy source is asked again before it is blamed.
const BUSY_TRIES: u32 = 60;

/// A copy before it is in its place.
pub enum FetchedCopy {
    /// It is there already.
    InPlace(CommittedCopy),
    /// All bytes of a small file have arrived and equal the master's. Only the sync is missing, best
    /// together with others.
    Arrived(Box<ReceivedCopy>),
}

/// A copy with all its bytes, which must be made durable and renamed.
pub struct ReceivedCopy {
    unfinished: UnfinishedCopy,
    copied: CommittedCopy,
    cancel: CopyCancellation,
    /// Prevents that its file is collected.
    _at_work: Option<TempFileGuard>,
}

impl ReceivedCopy {
    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.copied.size
    }
}

impl Fetcher {
    /// Makes the copy of `order` at the rate that `rate` shows, which may differ from the rate in `order`.
    /// `progress` gets the number of arrived bytes: at least each second while bytes arrive. It also gets
    /// this number at intervals while the bytes are synced, or hashed at the source. A failure leaves only
    /// a part that can be resumed.
    ///
    /// If the size of a master is no longer the planned one, its current content is copied. The plan was
    /// made from an older check of the file.
    pub fn fetch(
        &self,
        order: &CopyOrder,
        cancel: &CopyCancellation,
        rate: &LiveRate,
        progress: &FetchProgressCallback<'_>,
    ) -> Result<CommittedCopy, CopyFault> {
        match self.fetch_unpublished(order, cancel, rate, &RequestPipeline::default(), progress)? {
            FetchedCopy::InPlace(copied) => Ok(copied),
            FetchedCopy::Arrived(arrived) => {
                let published = self.publish(vec![*arrived]).pop();
                published.unwrap_or(Err(CopyFault::Cancelled))
            }
        }
    }

    /// The same, but a small file is left to be [published](Fetcher::publish), and may have been requested
    /// [early](Fetcher::pipeline_requests).
    pub fn fetch_unpublished(
        &self,
        order: &CopyOrder,
        cancel: &CopyCancellation,
        rate: &LiveRate,
        ahead: &RequestPipeline,
        progress: &FetchProgressCallback<'_>,
    ) -> Result<FetchedCopy, CopyFault> {
        let at_work = self.base.begin_work(order.id);
        let (copied, unfinished) = match self.try_fetch(order, cancel, rate, ahead, progress) {
            Ok((copied, unfinished)) => (copied, unfinished),
            Err(fault) => return Err(unless_cancelled(fault, cancel)),
        };
        let Some(unfinished) = unfinished else { return Ok(FetchedCopy::InPlace(copied)) };
        let cancel = cancel.clone();
        let arrived = ReceivedCopy { unfinished, copied, cancel, _at_work: at_work };
        if copied.size < LARGE {
            return Ok(FetchedCopy::Arrived(Box::new(arrived)));
        }
        let published = meanwhile(copied.size, progress, || self.publish(vec![arrived]).pop());
        published.unwrap_or(Err(CopyFault::Cancelled)).map(FetchedCopy::InPlace)
    }

    /// Makes copies durable and renames them. Answers in their order.
    pub fn publish(&self, arrived: Vec<ReceivedCopy>) -> Vec<Result<CommittedCopy, CopyFault>> {
        let mut unfinished_copies = Vec::with_capacity(arrived.len());
        let mut ends = Vec::with_capacity(arrived.len());
        for ReceivedCopy { unfinished, copied, cancel, _at_work } in arrived {
            let is_wanted = !cancel.is_cancelled();
            if is_wanted {
                unfinished_copies.push(unfinished);
            } else {
                unfinished.keep(&self.clock);
            }
            ends.push((is_wanted, copied, cancel, _at_work));
        }
        let mut placed = UnfinishedCopy::publish(&self.base, unfinished_copies).into_iter();
        let mut end = |(is_wanted, copied, cancel, _)| {
            let placed = if is_wanted { placed.next() } else { None };
            match placed {
                Some(Ok(())) => Ok(copied),
                Some(Err(error)) => Err(unless_cancelled(publishing(error), &cancel)),
                None => Err(CopyFault::Cancelled),
            }
        };
        ends.into_iter().map(&mut end).collect()
    }

    /// The copy, and the data to publish it; none if an external program made it.
    fn try_fetch(
        &self,
        order: &CopyOrder,
        cancel: &CopyCancellation,
        rate: &LiveRate,
        ahead: &RequestPipeline,
        progress: &FetchProgressCallback<'_>,
    ) -> Result<(CommittedCopy, Option<UnfinishedCopy>), CopyFault> {
        // A manager that drops a task and makes another one for the same file sends both at once. The
        // earlier copy stores its progress in a moment, and this one resumes it.
        let claim = self.partials.claim_within(&order.name, CLAIM_PATIENCE).map(Arc::new);
        self.check_disk()?;
        let port = match order.source_data {
            Some(port) => port,
            None => match self.ask_for_data_port(order, cancel)? {
                Some(port) => port,
                None => {
                    let copied = self.fetch_externally(order, cancel, progress)?;
                    return Ok((copied, None));
                }
            },
        };
        let path = master_path(&order.dir, &order.name, false);
        // Without the claim another copy of this name continues: this one stores no progress.
        let claim = claim.as_ref();
        let copying = Copying { order, port, path, claim, cancel, rate, ahead, progress };
        let mut unfinished = match copying.claim {
            Some(claim) => UnfinishedCopy::resume_kept(self, claim)?,
            None => None,
        };
        match self.until_it_ends(&copying, &mut unfinished) {
            Ok(copied) => Ok((copied, unfinished)),
            Err(fault) => {
                if is_worth_keeping(&fault) {
                    unfinished.into_iter().for_each(|unfinished| unfinished.keep(&self.clock));
                } else {
                    unfinished.into_iter().for_each(UnfinishedCopy::discard);
                }
                Err(fault)
            }
        }
    }

    /// Makes further attempts while a success is possible.
    fn until_it_ends(
        &self,
        copying: &Copying<'_>,
        unfinished: &mut Option<UnfinishedCopy>,
    ) -> Result<CommittedCopy, CopyFault> {
        let (mut tries, mut reached, mut restarted, mut turned_away) = (0, 0, false, 0);
        loop {
            let (doing, error, arrived) = match self.attempt(copying, unfinished) {
                Ok(copied) => return Ok(copied),
                Err(FetchAttemptFailure::Fault(fault)) => return Err(fault),
                Err(FetchAttemptFailure::Busy) => {
                    turned_away += 1;
                    if turned_away > BUSY_TRIES {
                        let reason =
                            format!("the data port {} was busy at every try", copying.port);
                        return Err(CopyFault::Blamed(Blame::Source, reason));
                    }
                    (copying.progress)(unfinished.as_ref().map_or(0, UnfinishedCopy::position));
                    if copying.cancel.sleep(BUSY_PAUSE) {
                        return Err(CopyFault::Cancelled);
                    }
                    continue;
                }
                Err(FetchAttemptFailure::Wrong(fault)) => {
                    let was_resumed =
                        unfinished.as_ref().is_some_and(|unfinished| unfinished.was_resumed);
                    if !was_resumed || restarted {
                        return Err(fault);
                    }
                    let (task, file) = (copying.order.id, &copying.order.name);
                    tracing::warn!(%task, file = file.to_string(), %fault, "a resumed copy was damaged: it \
                        starts again from the beginning");
                    unfinished.take().into_iter().for_each(UnfinishedCopy::discard);
                    restarted = true;
                    continue;
                }
                Err(FetchAttemptFailure::Off { doing, error, arrived }) => (doing, error, arrived),
            };
            let off = verdict::off(&doing, &error);
            let Some(unfinished) = unfinished else { return Err(off) };
            if let Some(fault) = self.cannot_be_read(copying, &error, arrived, unfinished.size()) {
                return Err(fault);
            }
            if unfinished.position() > reached {
                (tries, reached) = (0, unfinished.position());
            }
            if tries == self.resume.tries {
                return Err(off);
            }
            let pause = self.resume.pause * 3_u32.saturating_pow(tries);
            tries += 1;
            let (task, file) = (copying.order.id, &copying.order.name);
            tracing::info!(%task, file = file.to_string(), %off, tries, "a copy was interrupted: it is \
                resumed");
            (copying.progress)(unfinished.position());
            if copying.cancel.sleep(pause) {
                return Err(CopyFault::Cancelled);
            }
        }
    }

    /// Fetches the missing bytes, and compares the whole with the source's hash.
    fn attempt(
        &self,
        copying: &Copying<'_>,
        unfinished: &mut Option<UnfinishedCopy>,
    ) -> Result<CommittedCopy, FetchAttemptFailure> {
        let is_all_here = |unfinished: &&mut UnfinishedCopy| {
            unfinished.size() > 0 && unfinished.position() == unfinished.size()
        };
        if let Some(unfinished) = unfinished.as_mut().filter(|unfinished| is_all_here(unfinished)) {
            let link = self.connect(copying)?;
            return self.compare(copying, link, unfinished);
        }
        let (mut link, head) = self.ask_for_the_rest(copying, unfinished)?;
        let Some(unfinished) = unfinished else {
            return Err(FetchAttemptFailure::Fault(CopyFault::Cancelled));
        };
        stream::receive(self, copying, &mut link, unfinished)?;
        let copied = unfinished.copied();
        if head.hash == Some(copied.hash) {
            self.links.put_back(copying, link, &head);
            return Ok(copied);
        }
        let link = Some(link).filter(|_| head.keep_alive);
        let link = link.and_then(|link| copying.ahead.put_back(link));
        let link = link.map_or_else(|| self.connect(copying), Ok)?;
        self.compare(copying, link, unfinished)
    }

    /// Requests the bytes that are missing in `unfinished`. A missing copy is started, and it is started
    /// again if the master has changed.
    fn ask_for_the_rest(
        &self,
        copying: &Copying<'_>,
        unfinished: &mut Option<UnfinishedCopy>,
    ) -> Result<(SourceLink, AnswerHead), FetchAttemptFailure> {
        let origin = |head: &AnswerHead| MasterOrigin {
            source: copying.order.source,
            dir: copying.order.dir.clone(),
            etag: head.etag.clone(),
        };
        loop {
            let position = unfinished.as_ref().map_or(0, UnfinishedCopy::position);
            let same = unfinished.as_ref().filter(|unfinished| unfinished.is_of(copying.order));
            let same = same.and_then(UnfinishedCopy::etag).map(str::to_owned);
            let range = format!("bytes={position}-");
            let mut headers = Vec::new();
            if position > 0 {
                headers.push(("Range", range.as_str()));
                // Another source has another tag for the same master. Then the hash decides.
                headers.extend(same.as_deref().map(|etag| ("If-Range", etag)));
            }
            let (mut link, head) = self.get(copying, &headers)?;
            match (head.status, unfinished.as_mut()) {
                (200, _) => {
                    unfinished.take().into_iter().for_each(UnfinishedCopy::discard);
                    let begun = UnfinishedCopy::begin(self, copying, head.length, origin(&head))?;
                    *unfinished = Some(begun);
                    let thought_small =
                        copying.order.size.is_some_and(|size| size <= batching::SMALL);
                    if thought_small && head.length > batching::SMALL {
                        copying.ahead.hold_up();
                        (copying.progress)(0);
                    }
                    return Ok((link, head));
                }
                (206, Some(unfinished)) if head.part == Some((position, unfinished.size())) => {
                    unfinished.go_on_from(origin(&head));
                    return Ok((link, head));
                }
                // The master has another length than at the beginning.
                (206 | 416, Some(_)) if position > 0 => {
                    unfinished.take().into_iter().for_each(UnfinishedCopy::discard);
                }
                (503, _) => return Err(FetchAttemptFailure::Busy),
                _ => return Err(refused(&mut link, &head, "the master").into()),
            }
        }
    }

    fn check_disk(&self) -> Result<(), CopyFault> {
        let limit = *self.storage_limit_percent.now();
        loop {
            let used = self.base.disk().map_err(local)?.used_percent;
            if used <= limit {
                return Ok(());
            }
            if !self.partials.give_up_oldest() {
                let reason = format!("its disk is {used} % full, over the limit of {limit} %");
                return Err(CopyFault::Blamed(Blame::Destination, reason));
            }
        }
    }

    /// Reserves room for a copy. If necessary, interrupted copies that are not being resumed are
    /// removed.
    pub(in crate::downloader) fn reserve(&self, bytes: u64) -> Result<Reservation, CopyFault> {
        loop {
            match self.base.reserve(bytes) {
                Ok(reservation) => return Ok(reservation),
                Err(NoRoom::Full { .. }) if self.partials.give_up_oldest() => {}
                Err(error) => {
                    return Err(CopyFault::Blamed(Blame::Destination, error.to_string()));
                }
            }
        }
    }
}

/// A cancelled copy that fails counts as cancelled.
fn unless_cancelled(fault: CopyFault, cancel: &CopyCancellation) -> CopyFault {
    if cancel.is_cancelled() { CopyFault::Cancelled } else { fault }
}

/// Whether the received bytes may be useful for a later copy.
fn is_worth_keeping(fault: &CopyFault) -> bool {
    matches!(fault, CopyFault::Cancelled | CopyFault::Blamed(Blame::Source, _))
}
