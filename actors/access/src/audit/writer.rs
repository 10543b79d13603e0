//! The thread that writes the log. Callers put records into a bounded queue and never wait.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use reelyard_core::clock::Clock;
use tokio::sync::watch;

use super::aggregation::RefusedCalls;
use super::log::{AuditLog, AuditLogError};
use super::reading::reader::AuditReader;
use super::record::AuditRecord;
use super::settings::AuditSettings;

/// The operation of a row about records that were lost.
pub(super) const LOST: &str = "audit.rows_lost";

/// Number of records that wait for the writer; more are lost. A busy node has a few seconds for a slow sync.
const QUEUE: usize = 65_536;

/// Largest number of records in one write.
const BATCH: usize = 4096;

/// Records are collected for this long after a write, so that a busy node writes few large batches.
const COLLECT: Duration = Duration::from_millis(10);

/// Rows are durable after at most this time.
const SYNC_AFTER: Duration = Duration::from_secs(1);

/// Pause after a failed write.
const RETRY: Duration = Duration::from_millis(500);

/// Old segments are removed at this interval, also if no row is written.
const REMOVE_EVERY: Duration = Duration::from_secs(3600);

/// How long a stop waits for the writer.
const LONGEST_STOP: Duration = Duration::from_secs(5);

enum WriterMessage {
    Record(Box<AuditRecord>),
    /// The settings have changed.
    Settings,
    Sync(SyncSender<()>),
    Stop(SyncSender<()>),
}

/// Counters and state of the audit, for metrics and warnings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditStatus {
    /// Rows written since the start.
    pub written: u64,
    /// Records lost since the start.
    pub lost: u64,
    /// Why rows cannot be written now.
    pub trouble: Option<String>,
}

#[derive(Debug)]
struct WriterShared {
    written: AtomicU64,
    lost: AtomicU64,
    trouble: Mutex<Option<String>>,
    settings: Mutex<AuditSettings>,
    /// Number of the last row that readers can see.
    last: watch::Sender<u64>,
}

/// Records acts in the audit of a node. A clone records in the same audit.
#[derive(Clone, Debug)]
pub struct AuditRecorder {
    queue: SyncSender<WriterMessage>,
    shared: Arc<WriterShared>,
    dir: PathBuf,
}

impl AuditRecorder {
    /// Starts the writer of the log in `dir`. Until the log can be opened, records wait in the queue.
    ///
    /// # Errors
    ///
    /// The system has no thread for the writer.
    pub fn start(dir: &Path, settings: AuditSettings, clock: Clock) -> std::io::Result<Self> {
        let (queue, records) = sync_channel(QUEUE);
        let shared = Arc::new(WriterShared {
            written: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            trouble: Mutex::new(None),
            settings: Mutex::new(settings.clone()),
            last: watch::Sender::new(0),
        });
        let writer = AuditWriter {
            dir: dir.to_owned(),
            settings,
            refused: RefusedCalls::new(clock.now()),
            clock,
            log: None,
            shared: Arc::clone(&shared),
            reported_lost: 0,
            synced: Instant::now(),
            removed: Instant::now(),
        };
        thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run(&records))?;
        Ok(AuditRecorder { queue, shared, dir: dir.to_owned() })
    }

    /// Records an act. If the queue is full, the record is lost and counted.
    pub fn record(&self, record: AuditRecord) {
        let message = WriterMessage::Record(Box::new(record));
        if self.queue.try_send(message).is_err() {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Uses other limits from now on.
    pub fn change_settings(&self, settings: AuditSettings) {
        *self.shared.settings.lock().unwrap_or_else(PoisonError::into_inner) = settings;
        // With a full queue, the writer reads them at its next attempt.
        let _ = self.queue.try_send(WriterMessage::Settings);
    }

    /// Counters and trouble.
    pub fn status(&self) -> AuditStatus {
        let trouble = self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        AuditStatus {
            written: self.shared.written.load(Ordering::Relaxed),
            lost: self.shared.lost.load(Ordering::Relaxed),
            trouble: trouble.clone(),
        }
    }

    /// Reads the log.
    pub fn reader(&self) -> AuditReader {
        AuditReader::new(&self.dir)
    }

    /// The directory of the log.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The number of the last row, which changes when rows are written.
    pub fn last_row(&self) -> watch::Receiver<u64> {
        self.shared.last.subscribe()
    }

    /// Writes and syncs all earlier records. Blocks at most a few seconds.
    pub fn sync(&self) {
        self.wait_for(WriterMessage::Sync);
    }

    /// Writes and syncs all earlier records, and ends the writer. Later records are lost. Blocks at most a few
    /// seconds.
    pub fn stop(&self) {
        self.wait_for(WriterMessage::Stop);
    }

    fn wait_for(&self, message: impl FnOnce(SyncSender<()>) -> WriterMessage) {
        let (done, is_done) = sync_channel(1);
        let until = Instant::now() + LONGEST_STOP;
        let mut message = message(done);
        while let Err(TrySendError::Full(again)) = self.queue.try_send(message) {
            if Instant::now() >= until {
                return;
            }
            message = again;
            thread::sleep(COLLECT);
        }
        let _ = is_done.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
}

struct AuditWriter {
    dir: PathBuf,
    settings: AuditSettings,
    clock: Clock,
    refused: RefusedCalls,
    log: Option<AuditLog>,
    shared: Arc<WriterShared>,
    /// Lost records that a row already counts.
    reported_lost: u64,
    /// Time of the last sync, or of the first row after it.
    synced: Instant,
    /// Time of the last removal of old segments.
    removed: Instant,
}

impl AuditWriter {
    fn run(mut self, queue: &Receiver<WriterMessage>) {
        let mut batch = Vec::new();
        let opened = self.write(&mut batch, false);
        self.show(opened.err());
        loop {
            let mut waiting = None;
            let first = queue.recv_timeout(self.longest_wait(!batch.is_empty()));
            let mut next = match first {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    waiting = Some((None, true));
                    None
                }
            };
            while let Some(message) = next {
                match message {
                    WriterMessage::Record(record) => {
                        batch.extend(self.refused.accept(record.bounded()));
                    }
                    WriterMessage::Settings => {}
                    WriterMessage::Sync(done) => waiting = Some((Some(done), false)),
                    WriterMessage::Stop(done) => waiting = Some((Some(done), true)),
                }
                next = match waiting.is_none() && batch.len() < BATCH {
                    true => queue.try_recv().ok(),
                    false => None,
                };
            }
            self.apply_settings();
            let is_end = waiting.as_ref().is_some_and(|(_, is_end)| *is_end);
            batch.extend(self.refused.take((!is_end).then(|| self.clock.now())));
            let outcome = self.write(&mut batch, waiting.is_some());
            self.show(outcome.err());
            match waiting {
                Some((done, is_end)) => {
                    if is_end {
                        self.shared.lost.fetch_add(batch.len() as u64, Ordering::Relaxed);
                    }
                    let _ = done.map(|done| done.send(()));
                    if is_end {
                        return;
                    }
                }
                None if batch.is_empty() => thread::sleep(COLLECT),
                // The records stay in the batch, and newer ones in the queue.
                None => thread::sleep(RETRY),
            }
        }
    }

    /// How long the writer may sleep without a record.
    fn longest_wait(&self, must_retry: bool) -> Duration {
        let is_dirty = self.log.as_ref().is_some_and(AuditLog::is_dirty);
        let until_sync = SYNC_AFTER.saturating_sub(self.synced.elapsed());
        let mut wait = REMOVE_EVERY;
        if must_retry || self.log.is_none() {
            wait = RETRY;
        } else if is_dirty {
            wait = until_sync;
        }
        if let Some(due) = self.refused.due() {
            wait = wait.min(due.since(self.clock.now()).max(COLLECT));
        }
        wait
    }

    /// Writes the batch, and empties it on success.
    fn write(&mut self, batch: &mut Vec<AuditRecord>, sync_now: bool) -> Result<(), AuditLogError> {
        let now = self.clock.now();
        let log = match &mut self.log {
            Some(log) => log,
            None => {
                let log = AuditLog::open(&self.dir, self.settings.clone(), now)?;
                self.shared.last.send_replace(log.last().seq);
                self.log.insert(log)
            }
        };
        let was_dirty = log.is_dirty();
        if !batch.is_empty() {
            let lost = self.shared.lost.load(Ordering::Relaxed);
            let mut records = std::mem::take(batch);
            if lost > self.reported_lost {
                let count = Some(lost - self.reported_lost);
                records.push(AuditRecord { count, ..AuditRecord::of_node(now, LOST) });
            }
            if let Err(error) = log.append(&records, now) {
                *batch = records;
                if lost > self.reported_lost {
                    // Counted again in the next attempt.
                    batch.pop();
                }
                return Err(error);
            }
            self.reported_lost = lost;
            self.shared.written.fetch_add(records.len() as u64, Ordering::Relaxed);
            self.shared.last.send_replace(log.last().seq);
            if !was_dirty {
                self.synced = Instant::now();
            }
        }
        if log.is_dirty() && (sync_now || self.synced.elapsed() >= SYNC_AFTER) {
            log.sync()?;
            self.synced = Instant::now();
        }
        if self.removed.elapsed() >= REMOVE_EVERY {
            self.removed = Instant::now();
            log.remove_old(now)?;
        }
        Ok(())
    }

    fn apply_settings(&mut self) {
        let settings = self.shared.settings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if settings == self.settings {
            return;
        }
        self.settings = settings.clone();
        if let Some(log) = &mut self.log {
            log.change_settings(settings);
            let removed = log.remove_old(self.clock.now());
            self.show(removed.err());
        }
    }

    /// Shows the trouble, and logs when it begins and ends.
    fn show(&self, error: Option<AuditLogError>) {
        let why = error.map(|error| error.to_string());
        let mut trouble = self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        match (&why, trouble.is_some()) {
            (Some(why), false) => tracing::error!(%why, "the audit cannot be written, retrying"),
            (None, true) => {
                let lost = self.shared.lost.load(Ordering::Relaxed);
                tracing::info!(lost, "the audit can be written again");
            }
            _ => {}
        }
        *trouble = why;
    }
}
