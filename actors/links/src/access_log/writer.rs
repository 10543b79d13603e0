//! The thread that writes the access log. Downloads never wait for it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use reelyard_core::clock::Clock;

use super::reader::LinkAccessReader;
use super::record::LinkAccess;
use super::settings::{AccessLogPlace, AccessLogSettings};
use super::storage::OpenLog;

/// Number of lines that wait for the writer. More are dropped.
const QUEUE: usize = 8192;

/// Largest number of lines in one write.
const BATCH: usize = 1024;

/// Lines are collected for this long after a write.
const COLLECT: Duration = Duration::from_millis(50);

enum AccessLogMessage {
    Access(Box<LinkAccess>),
    /// The settings may have changed, or another program has rotated the file.
    Settings,
}

/// Counters of the access log since the start of the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessLogStatus {
    /// Written lines.
    pub written: u64,
    /// Dropped lines: the disk was full or too slow.
    pub dropped: u64,
}

#[derive(Debug)]
struct AccessLogShared {
    settings: Mutex<AccessLogSettings>,
    is_on: AtomicBool,
    written: AtomicU64,
    dropped: AtomicU64,
}

/// The access log of links. A clone writes to the same log.
#[derive(Clone, Debug)]
pub struct LinkAccessLog {
    queue: SyncSender<AccessLogMessage>,
    shared: Arc<AccessLogShared>,
    dir: PathBuf,
}

impl LinkAccessLog {
    /// Starts the writer. A log in the data directory has its files in `dir`.
    ///
    /// # Errors
    ///
    /// The system has no thread for the writer.
    pub fn start(dir: &Path, settings: AccessLogSettings, clock: Clock) -> io::Result<Self> {
        let (queue, messages) = sync_channel(QUEUE);
        let shared = Arc::new(AccessLogShared {
            is_on: AtomicBool::new(settings.place != AccessLogPlace::Off),
            settings: Mutex::new(settings.clone()),
            written: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        });
        let writer = AccessLogWriter {
            dir: dir.to_owned(),
            settings,
            clock,
            shared: Arc::clone(&shared),
            open: None,
            failed: false,
        };
        thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || writer.run(&messages))?;
        Ok(LinkAccessLog { queue, shared, dir: dir.to_owned() })
    }

    /// Whether downloads are logged.
    pub(crate) fn is_on(&self) -> bool {
        self.shared.is_on.load(Ordering::Relaxed)
    }

    /// Logs a download, or drops and counts it if the writer is too slow.
    pub(crate) fn record(&self, access: LinkAccess) {
        if self.queue.try_send(AccessLogMessage::Access(Box::new(access))).is_err() {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Uses these settings from now on, and opens the file again.
    pub fn apply_settings(&self, settings: AccessLogSettings) {
        self.shared.is_on.store(settings.place != AccessLogPlace::Off, Ordering::Relaxed);
        *self.shared.settings.lock().unwrap_or_else(PoisonError::into_inner) = settings;
        // With a full queue, the writer opens the file after its next failure or reload.
        let _ = self.queue.try_send(AccessLogMessage::Settings);
    }

    /// Counters.
    pub fn status(&self) -> AccessLogStatus {
        AccessLogStatus {
            written: self.shared.written.load(Ordering::Relaxed),
            dropped: self.shared.dropped.load(Ordering::Relaxed),
        }
    }

    /// Reads the log at this place. None if downloads are not logged.
    pub fn reader(&self, place: &AccessLogPlace) -> Option<LinkAccessReader> {
        match place {
            AccessLogPlace::Off => None,
            AccessLogPlace::Kept(_) => Some(LinkAccessReader::own(&self.dir)),
            AccessLogPlace::File(path) => Some(LinkAccessReader::foreign(path)),
        }
    }
}

struct AccessLogWriter {
    dir: PathBuf,
    settings: AccessLogSettings,
    clock: Clock,
    shared: Arc<AccessLogShared>,
    open: Option<OpenLog>,
    /// Whether the last write failed.
    failed: bool,
}

impl AccessLogWriter {
    fn run(mut self, messages: &Receiver<AccessLogMessage>) {
        let mut lines = Vec::new();
        // Ends with the last sender.
        while let Ok(first) = messages.recv() {
            let (mut next, mut count) = (Some(first), 0);
            lines.clear();
            while let Some(message) = next {
                match message {
                    AccessLogMessage::Access(mut access) => {
                        access.address = self.settings.address.of(access.address);
                        access.write(&mut lines);
                        count += 1;
                    }
                    AccessLogMessage::Settings => {
                        self.append(&lines, count);
                        lines.clear();
                        let settings = self.shared.settings.lock();
                        self.settings = settings.unwrap_or_else(PoisonError::into_inner).clone();
                        (self.open, count) = (None, 0);
                    }
                }
                next = (count < BATCH as u64).then(|| messages.try_recv().ok()).flatten();
            }
            self.append(&lines, count);
            thread::sleep(COLLECT);
        }
    }

    fn append(&mut self, lines: &[u8], count: u64) {
        if lines.is_empty() || self.settings.place == AccessLogPlace::Off {
            return;
        }
        let written = self.try_append(lines);
        match &written {
            Ok(()) => self.shared.written.fetch_add(count, Ordering::Relaxed),
            Err(_) => self.shared.dropped.fetch_add(count, Ordering::Relaxed),
        };
        match (written, self.failed) {
            (Err(error), false) => {
                self.failed = true;
                tracing::warn!(%error, "the access log of links cannot be written, lines are dropped");
            }
            (Ok(()), true) => {
                self.failed = false;
                tracing::info!("the access log of links can be written again");
            }
            _ => {}
        }
    }

    fn try_append(&mut self, lines: &[u8]) -> io::Result<()> {
        let now = self.clock.now();
        if let (AccessLogPlace::Kept(keep), Some(open)) = (&self.settings.place, &self.open)
            && open.is_full(*keep, now)
        {
            self.open = None;
        }
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let open = match &self.settings.place {
                    AccessLogPlace::Off => return Ok(()),
                    AccessLogPlace::Kept(keep) => OpenLog::own(&self.dir, *keep, now)?,
                    AccessLogPlace::File(path) => OpenLog::foreign(path)?,
                };
                self.open.insert(open)
            }
        };
        let appended = open.append(lines);
        if appended.is_err() {
            // A new file does not begin within a line.
            self.open = None;
        }
        appended
    }
}
