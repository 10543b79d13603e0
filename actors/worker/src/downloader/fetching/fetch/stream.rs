//! The bytes of a copy, from the connection to the disk. One thread receives and hashes them, a group at a
//! time, and another writes them. So neither network nor disk waits for the other.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use reelyard_core::clock::Clock;
use reelyard_core::host::BitsPerSecond;
use reelyard_core::traffic::ByteCount;
use reelyard_file_server::thread_memory::ThreadMemory;
use reelyard_file_server::tree_hash::{GROUP, Trunk};

use super::attempt::{Copying, FetchAttemptFailure, FetchProgressCallback};
use super::fetcher::{Fetcher, ResumePolicy};
use super::unfinished_copy::UnfinishedCopy;
use crate::downloader::copying::cancel::CopyCancellation;
use crate::downloader::disk::base_dir::{ALIGNMENT, TempFile};
use crate::downloader::fetching::fault::{CopyFault, local};
use crate::downloader::fetching::partials::PartialClaim;
use crate::downloader::fetching::rate_limiter::TransferRateLimiter;
use crate::downloader::fetching::source_link::SourceLink;
use crate::kept_state::partial::Partial;

/// A slow step is ended after this time, so that progress is visible.
const LONGEST_STEP: Duration = Duration::from_millis(200);

/// Progress is reported this often.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Below this rate the buffers between source and destination hold many seconds of data. The source would
/// send in bursts, and would regard the client as dead during the pauses.
const SLOW: BitsPerSecond = BitsPerSecond(8_000_000);

/// How many bytes ahead a source may send then.
const SLOW_AHEAD: usize = 64 << 10;

/// How many groups may be between the network and the disk: enough to bridge a sync.
const BUFFERS: u64 = 8;

/// Receives the missing bytes of `unfinished`, over a connection on which they were requested.
pub(super) fn receive(
    fetcher: &Fetcher,
    copying: &Copying<'_>,
    link: &mut SourceLink,
    unfinished: &mut UnfinishedCopy,
) -> Result<(), FetchAttemptFailure> {
    let size = unfinished.size();
    let mut intake = CopyStreamReceiver {
        link,
        cancel: copying.cancel,
        progress: copying.progress,
        received: &fetcher.received,
        limiter: TransferRateLimiter::new(copying.rate.clone()),
        began: Instant::now(),
        reported: Instant::now(),
        size,
    };
    let left = usize::try_from(size - unfinished.position()).unwrap_or(usize::MAX);
    if left <= GROUP {
        // Not worth a thread.
        let (at, mut buffer) = (unfinished.position(), Buffer::of(left));
        intake.fill(&mut buffer, at)?;
        unfinished.temp.write_at(buffer.bytes(), at).map_err(local)?;
        unfinished.hasher.update(buffer.bytes());
        return Ok(());
    }
    std::thread::scope(|scope| {
        let UnfinishedCopy { temp, .. } = &*unfinished;
        let mut hasher = unfinished.hasher.clone();
        let stored = unfinished.partial(&fetcher.clock);
        let mut recorder =
            ProgressRecorder::new(unfinished.claim(), stored, fetcher.resume, &fetcher.clock);
        let buffers = size.div_ceil(GROUP as u64).min(BUFFERS);
        let mut writer = CopyStreamWriter::start(scope, temp, unfinished.claim(), buffers)?;
        let mut outcome = Ok(());
        while hasher.position() < size {
            let at = hasher.position();
            let Some(mut buffer) = writer.buffer() else { break };
            outcome = intake.fill(&mut buffer, at);
            if outcome.is_err() {
                break;
            }
            hasher.update(buffer.bytes());
            writer.write(buffer, at);
            if let Some(partial) = recorder.due(|| hasher.trunk(size)) {
                writer.store_progress(partial);
            }
        }
        writer.finish().map_err(local)?;
        Ok((hasher, outcome))
    })
    .and_then(|(hasher, outcome)| {
        unfinished.hasher = hasher;
        outcome
    })
}

/// The receiving end.
struct CopyStreamReceiver<'a> {
    link: &'a mut SourceLink,
    cancel: &'a CopyCancellation,
    progress: &'a FetchProgressCallback<'a>,
    received: &'a ByteCount,
    limiter: TransferRateLimiter,
    began: Instant,
    reported: Instant,
    size: u64,
}

impl CopyStreamReceiver<'_> {
    /// Fills the buffer with the bytes from `at` on: a whole group, unless the file ends before.
    fn fill(&mut self, buffer: &mut Buffer, at: u64) -> Result<(), FetchAttemptFailure> {
        let wanted = usize::try_from(self.size - at).map_or(GROUP, |left| left.min(GROUP));
        buffer.filled = 0;
        while buffer.filled < wanted {
            self.be_slow()?;
            let step = self.limiter.step();
            let most = step.bytes().map_or(GROUP, |bytes| bytes.min(GROUP));
            let until = (buffer.filled + most).min(wanted);
            let before = buffer.filled;
            if let Err(error) = self.read(buffer, until) {
                let (arrived, size) = (at + buffer.filled as u64, self.size);
                let doing =
                    format!("the source closed the connection after {arrived} of {size} bytes");
                return Err(FetchAttemptFailure::Off { doing, error, arrived });
            }
            if self.reported.elapsed() >= PROGRESS_EVERY {
                self.reported = Instant::now();
                (self.progress)(at + buffer.filled as u64);
            }
            let taken = (buffer.filled - before) as u64;
            self.received.add(taken);
            if self.cancel.sleep(self.limiter.acquire(step, taken, self.began.elapsed())) {
                return Err(CopyFault::Cancelled.into());
            }
        }
        Ok(())
    }

    /// Keeps the source from sending far ahead, once the rate is low.
    fn be_slow(&mut self) -> Result<(), FetchAttemptFailure> {
        if self.link.is_slowed() || !self.limiter.is_below(SLOW) {
            return Ok(());
        }
        let limited = self.link.limit_ahead(SLOW_AHEAD);
        let doing = || "its connection".into();
        limited.map_err(|error| FetchAttemptFailure::Off { doing: doing(), error, arrived: 0 })
    }

    /// Reads up to `until`, as far as bytes arrive within the time of one step.
    fn read(&mut self, buffer: &mut Buffer, until: usize) -> io::Result<()> {
        let began = Instant::now();
        while buffer.filled < until {
            let space = &mut buffer.space[buffer.start + buffer.filled..buffer.start + until];
            buffer.filled += self.link.read_body(space)?;
            if began.elapsed() >= LONGEST_STEP {
                break;
            }
        }
        Ok(())
    }
}

/// Memory for a group, or less, with the alignment for direct writes.
struct Buffer {
    space: ThreadMemory,
    start: usize,
    filled: usize,
}

impl Buffer {
    fn of(bytes: usize) -> Self {
        let space = ThreadMemory::of(bytes + ALIGNMENT);
        let start = space.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Buffer { space, start, filled: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.space[self.start..self.start + self.filled]
    }
}

/// Stores the progress of a copy at intervals.
struct ProgressRecorder<'a> {
    is_wanted: bool,
    last: Partial,
    every: Duration,
    stored_at: Instant,
    clock: &'a Clock,
}

impl<'a> ProgressRecorder<'a> {
    fn new(
        claim: Option<&PartialClaim>,
        last: Partial,
        policy: ResumePolicy,
        clock: &'a Clock,
    ) -> Self {
        let (is_wanted, every) = (claim.is_some(), policy.keep_every);
        ProgressRecorder { is_wanted, last, every, stored_at: Instant::now(), clock }
    }

    fn due(&mut self, trunk: impl FnOnce() -> Trunk) -> Option<Partial> {
        if !self.is_wanted || self.stored_at.elapsed() < self.every {
            return None;
        }
        self.stored_at = Instant::now();
        self.last.trunk = trunk();
        self.last.at = self.clock.now();
        Some(self.last.clone())
    }
}

/// A job for the writing thread.
enum CopyStreamJob {
    Write(Buffer, u64),
    /// Make the written bytes durable, and store the progress.
    StoreProgress(Partial),
}

/// The writing side: its own thread, and the buffers that both sides exchange.
struct CopyStreamWriter<'scope> {
    jobs: SyncSender<CopyStreamJob>,
    back: Receiver<Buffer>,
    /// Buffers not made yet.
    unmade: u64,
    thread: ScopedJoinHandle<'scope, io::Result<()>>,
}

impl<'scope> CopyStreamWriter<'scope> {
    fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        temp: &'scope TempFile,
        claim: Option<&'scope PartialClaim>,
        buffers: u64,
    ) -> Result<Self, FetchAttemptFailure> {
        let (jobs, ordered) = sync_channel(usize::try_from(buffers).unwrap_or(1) + 1);
        let (done, back) = channel();
        let work = move || {
            for job in ordered {
                match job {
                    CopyStreamJob::Write(buffer, at) => {
                        temp.write_at(buffer.bytes(), at)?;
                        // While the last buffer is written, the reader needs none back.
                        let _ = done.send(buffer);
                    }
                    CopyStreamJob::StoreProgress(partial) => {
                        temp.sync()?;
                        if let Some(claim) = claim {
                            UnfinishedCopy::store_progress(claim, &partial);
                        }
                    }
                }
            }
            Ok(())
        };
        let thread = std::thread::Builder::new().name("copy-write".into());
        let thread = thread.spawn_scoped(scope, work).map_err(local)?;
        Ok(CopyStreamWriter { jobs, back, unmade: buffers, thread })
    }

    /// A free buffer. None if writing has failed.
    fn buffer(&mut self) -> Option<Buffer> {
        if let Ok(buffer) = self.back.try_recv() {
            return Some(buffer);
        }
        if self.unmade > 0 {
            self.unmade -= 1;
            return Some(Buffer::of(GROUP));
        }
        self.back.recv().ok()
    }

    fn write(&self, buffer: Buffer, at: u64) {
        // A failed thread reports its error when it is joined.
        let _ = self.jobs.send(CopyStreamJob::Write(buffer, at));
    }

    fn store_progress(&self, partial: Partial) {
        let _ = self.jobs.send(CopyStreamJob::StoreProgress(partial));
    }

    /// Waits until everything is written.
    fn finish(self) -> io::Result<()> {
        drop(self.jobs);
        let panicked = |_| Err(io::Error::other("the writing thread panicked; see the log"));
        self.thread.join().unwrap_or_else(panicked)
    }
}
