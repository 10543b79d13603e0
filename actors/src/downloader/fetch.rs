//! One copy, from its source to its place: fetched, hashed in the stream, compared with what the
//! source says it sent, made durable, put in place. Blocking; runs on a thread of its own.

use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::downloader::base_dir::{BaseDir, TempFile};
use crate::downloader::cancel::Cancel;
use crate::downloader::data_port::master_path;
use crate::downloader::external::ExternalProgram;
use crate::downloader::fault::{Fault, changed, in_words, local, publishing, refused, remote};
use crate::downloader::order::CopyOrder;
use crate::downloader::pacer::Pacer;
use crate::downloader::source_link::{AnswerHead, SourceLink, SourceTimeouts};
use crate::downloader::ticket::{TICKET_HEADER, TICKET_LIFE, TicketKey};
use crate::host::BitsPerSecond;
use crate::token::SharedToken;
use crate::wire::worker::{Blame, ContentHash, FileHash, WorkerInfo};

/// The most that is read, hashed and written in one step.
const STEP: usize = 1 << 20;

/// Buffers begin where a page does.
const ALIGNMENT: usize = 4096;

/// A step that fills slowly is ended after this long, so that progress shows.
const LONGEST_STEP: Duration = Duration::from_millis(200);

/// Progress is told this often.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// How long the source's hash is waited for after its last byte, besides the time its size takes
/// at [`SLOWEST_HASH`].
const HASH_PATIENCE: Duration = Duration::from_secs(60);

/// The slowest disk that a source may hash from, in bytes per second.
const SLOWEST_HASH: u64 = 20 << 20;

/// Below this rate the buffers between source and destination hold many seconds: the source would
/// send in bursts, and take the pauses between them for a client that is gone.
const SLOW: BitsPerSecond = BitsPerSecond(8_000_000);

/// How far ahead a source may send then, in bytes.
const SLOW_AHEAD: usize = 64 << 10;

/// What every copy of one worker needs.
pub struct Fetcher {
    /// Where copies go.
    pub base: std::sync::Arc<BaseDir>,
    /// No copy is begun while more than this percentage of the disk is used (spec 3.2).
    pub storage_limit_percent: u32,
    /// Signs the tickets for the source.
    pub token: Option<SharedToken>,
    /// How long a source may take.
    pub timeouts: SourceTimeouts,
    /// Tells the time that tickets expire by.
    pub clock: Clock,
    /// What fetches from sources that are old cfws; none refuses such copies.
    pub external: Option<ExternalProgram>,
}

/// A copy, durable and in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Its size in bytes.
    pub size: u64,
    /// Its hash.
    pub hash: ContentHash,
    /// Whether that is also the hash that the source tells.
    pub verified: bool,
}

impl Fetcher {
    /// Makes the copy that `order` asks for. `progress` is told the bytes written, at least each
    /// second while bytes come. Whatever fails leaves nothing behind.
    ///
    /// A master whose size is not the planned one any more is copied as it is now: the plan was
    /// made from a look at the file that is older than the file.
    pub fn fetch(
        &self,
        order: &CopyOrder,
        cancel: &Cancel,
        progress: &dyn Fn(u64),
    ) -> Result<Copied, Fault> {
        let copied = self.try_fetch(order, cancel, progress);
        // What a cancelled copy fails of is the cancelling.
        if copied.is_err() && cancel.is_cancelled() { Err(Fault::Cancelled) } else { copied }
    }

    fn try_fetch(
        &self,
        order: &CopyOrder,
        cancel: &Cancel,
        progress: &dyn Fn(u64),
    ) -> Result<Copied, Fault> {
        self.check_disk()?;
        let addr = match order.source_data {
            Some(addr) => addr,
            None => match self.ask_for_data_port(order, cancel)? {
                Some(addr) => addr,
                None => return self.fetch_externally(order, cancel, progress),
            },
        };
        let mut link = self.connect(addr, cancel)?;
        let path = master_path(&order.dir, &order.name, false);
        let head = self.ask(&mut link, addr, &path, None)?;
        if head.status != 200 {
            return Err(refused(&mut link, &head, "the master"));
        }
        let temp = self.base.create_temp(order.id).map_err(local)?;
        temp.preallocate(head.length).map_err(local)?;
        let hash = match self.stream(order, &mut link, &temp, head.length, cancel, progress) {
            Err(Broken::Off(error, arrived)) => {
                return Err(self.broke_off(&error, addr, &path, (arrived, head.length), cancel));
            }
            Err(Broken::Fault(fault)) => return Err(fault),
            Ok(hash) => hash,
        };
        let copied = Copied { size: head.length, hash, verified: true };
        self.compare(order, link, addr, &head, copied, cancel)?;
        if cancel.is_cancelled() {
            return Err(Fault::Cancelled);
        }
        temp.publish(&order.name).map_err(publishing)?;
        Ok(copied)
    }

    fn check_disk(&self) -> Result<(), Fault> {
        let disk = self.base.disk().map_err(local)?;
        let limit = self.storage_limit_percent;
        if disk.used_percent > limit {
            let reason =
                format!("its disk is {} % full, over the limit of {limit} %", disk.used_percent);
            return Err(Fault::Blamed(Blame::Destination, reason));
        }
        Ok(())
    }

    fn connect(&self, addr: SocketAddr, cancel: &Cancel) -> Result<SourceLink, Fault> {
        SourceLink::connect(addr, self.timeouts, cancel)
            .map_err(|error| remote(format_args!("the data port {addr} cannot be reached"), &error))
    }

    fn ask(
        &self,
        link: &mut SourceLink,
        addr: SocketAddr,
        path: &str,
        range: Option<&str>,
    ) -> Result<AnswerHead, Fault> {
        let ticket = self.token.as_ref().map(|token| {
            TicketKey::of(token).sign(path.as_bytes(), self.clock.now().after(TICKET_LIFE))
        });
        let ticket = ticket.as_deref().map(|ticket| (TICKET_HEADER, ticket));
        let headers: Vec<_> =
            ticket.into_iter().chain(range.map(|range| ("Range", range))).collect();
        link.get(addr, path, &headers)
            .map_err(|error| remote(format_args!("the data port {addr} did not answer"), &error))
    }

    /// Where the source's data port is: as its `/info` says, else the port after its own. An old
    /// cfw has none, and does not know that question. It may also be out of our reach: cfws of
    /// different hosts have nothing to say to each other.
    fn ask_for_data_port(
        &self,
        order: &CopyOrder,
        cancel: &Cancel,
    ) -> Result<Option<SocketAddr>, Fault> {
        let host = order.source.socket();
        let asked = self.ask_for_info(host, None, cancel).and_then(|(status, text)| {
            match &self.token {
                // Told only to a program that asks for it, which no old cfw does.
                Some(token) if status == 401 => self.ask_for_info(host, Some(token), cancel),
                _ => Ok((status, text)),
            }
        });
        let (status, text) = match asked {
            Ok((404, _)) => return Ok(None),
            Err(_) if self.external.is_some() => return Ok(None),
            asked => asked.map_err(|error| {
                remote(format_args!("the source {host} cannot be asked"), &error)
            })?,
        };
        let info = serde_json::from_slice::<WorkerInfo>(&text).ok().filter(|_| status == 200);
        match (info, host.port().checked_add(1)) {
            (Some(info), _) => Ok(Some(info.data_listen)),
            (None, Some(port)) => Ok(Some(SocketAddr::new(host.ip(), port))),
            (None, None) => {
                let reason = format!("the source {host} names no data port");
                Err(Fault::Blamed(Blame::Source, reason))
            }
        }
    }

    /// Status and text of a source's `/info`.
    fn ask_for_info(
        &self,
        host: SocketAddr,
        token: Option<&SharedToken>,
        cancel: &Cancel,
    ) -> std::io::Result<(u16, Vec<u8>)> {
        let mut link = SourceLink::connect(host, self.timeouts, cancel)?;
        let bearer = token.map(SharedToken::bearer);
        let header = bearer.as_deref().map(|bearer| ("Authorization", bearer));
        let head = link.get(host, "/info", header.as_slice())?;
        Ok((head.status, link.read_text(&head)?))
    }

    /// Takes `size` bytes from the source to the disk and hashes them on the way.
    fn stream(
        &self,
        order: &CopyOrder,
        link: &mut SourceLink,
        temp: &TempFile<'_>,
        size: u64,
        cancel: &Cancel,
        progress: &dyn Fn(u64),
    ) -> Result<ContentHash, Broken> {
        if order.copy_speed.is_some_and(|speed| speed < SLOW) {
            link.limit_ahead(SLOW_AHEAD).map_err(|error| remote("its connection", &error))?;
        }
        let mut pacer = order.copy_speed.map(Pacer::new);
        let step = pacer.as_ref().map_or(STEP, |pacer| pacer.step().min(STEP));
        let mut space = vec![0; step + ALIGNMENT];
        let offset = space.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let buffer = &mut space[offset..offset + step];
        let mut hasher = blake3::Hasher::new();
        let began = Instant::now();
        let mut told = began;
        let mut written = 0_u64;
        while written < size {
            let left = usize::try_from(size - written).map_or(step, |left| left.min(step));
            let filled = fill(link, &mut buffer[..left])
                .map_err(|(filled, error)| Broken::Off(error, written + filled as u64))?;
            hasher.update(&buffer[..filled]);
            let mut file = temp.file();
            file.write_all(&buffer[..filled]).map_err(local)?;
            written += filled as u64;
            if told.elapsed() >= PROGRESS_EVERY {
                told = Instant::now();
                progress(written);
            }
            let wait = pacer.as_mut().map(|pacer| pacer.take(filled as u64, began.elapsed()));
            if cancel.sleep(wait.unwrap_or_default()) {
                return Err(Fault::Cancelled.into());
            }
        }
        Ok(ContentHash(*hasher.finalize().as_bytes()))
    }

    /// Whom to blame for bytes that stopped coming. A source that is there, and again closes the
    /// connection at the same byte, cannot read the file there: then the file backs off, and the
    /// source is free for others.
    fn broke_off(
        &self,
        error: &std::io::Error,
        addr: SocketAddr,
        path: &str,
        (arrived, size): (u64, u64),
        cancel: &Cancel,
    ) -> Fault {
        let closed = error.kind() == ErrorKind::UnexpectedEof && !cancel.is_cancelled();
        if closed && self.cannot_read(addr, path, arrived, cancel) {
            let reason =
                format!("the source cannot read the master behind byte {arrived} of {size}");
            return Fault::Blamed(Blame::File, reason);
        }
        let reason =
            format!("the source broke off after {arrived} of {size} bytes: {}", in_words(error));
        Fault::Blamed(Blame::Source, reason)
    }

    /// Whether a source promises the byte at `position` and then does not send it, or has none.
    fn cannot_read(&self, addr: SocketAddr, path: &str, position: u64, cancel: &Cancel) -> bool {
        let Ok(mut link) = self.connect(addr, cancel) else { return false };
        let range = format!("bytes={position}-{position}");
        match self.ask(&mut link, addr, path, Some(&range)) {
            Ok(head) if head.status == 206 => link
                .read_body(&mut [0])
                .is_err_and(|error| error.kind() == ErrorKind::UnexpectedEof),
            Ok(head) => head.status == 416,
            Err(_) => false,
        }
    }

    /// Compares what arrived with what the source says it has.
    fn compare(
        &self,
        order: &CopyOrder,
        mut link: SourceLink,
        addr: SocketAddr,
        sent: &AnswerHead,
        copied: Copied,
        cancel: &Cancel,
    ) -> Result<(), Fault> {
        let path = master_path(&order.dir, &order.name, true);
        let until =
            Instant::now() + HASH_PATIENCE + Duration::from_secs(copied.size / SLOWEST_HASH);
        if !sent.keep_alive {
            link = self.connect(addr, cancel)?;
        }
        loop {
            let head = self.ask(&mut link, addr, &path, None)?;
            match head.status {
                200 => {
                    let text = link.read_text(&head);
                    let text = text.map_err(|error| remote("its hash did not arrive", &error))?;
                    return verdict(sent, &head, &text, copied);
                }
                202 if Instant::now() < until => {
                    link.read_text(&head).map_err(|error| remote("it broke off", &error))?;
                    if !head.keep_alive {
                        link = self.connect(addr, cancel)?;
                    }
                }
                202 => {
                    let reason = "it took too long to hash the master".to_owned();
                    return Err(Fault::Blamed(Blame::Source, reason));
                }
                409 => return Err(changed()),
                _ => return Err(refused(&mut link, &head, "the master's hash")),
            }
        }
    }
}

/// Why the bytes did not all arrive.
enum Broken {
    /// The source sent no more, after so many.
    Off(std::io::Error, u64),
    Fault(Fault),
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Broken::Fault(fault)
    }
}

/// Fills `buffer` as far as bytes come within one step's time. An error comes with how many bytes
/// had come before it.
fn fill(link: &mut SourceLink, buffer: &mut [u8]) -> Result<usize, (usize, std::io::Error)> {
    let began = Instant::now();
    let mut filled = 0;
    while filled < buffer.len() {
        filled += link.read_body(&mut buffer[filled..]).map_err(|error| (filled, error))?;
        if began.elapsed() >= LONGEST_STEP {
            break;
        }
    }
    Ok(filled)
}

fn verdict(sent: &AnswerHead, head: &AnswerHead, text: &[u8], copied: Copied) -> Result<(), Fault> {
    let Ok(source) = serde_json::from_slice::<FileHash>(text) else {
        let reason = "its answer about the master's hash does not read".to_owned();
        return Err(Fault::Blamed(Blame::Source, reason));
    };
    // The tag is the file's identity: another one means another file by now.
    if head.etag != sent.etag || source.size != copied.size {
        return Err(changed());
    }
    if source.blake3 != copied.hash {
        let reason = format!(
            "the bytes arrived other than they were sent: blake3 {} here, {} at the source",
            copied.hash, source.blake3
        );
        return Err(Fault::Blamed(Blame::Pair, reason));
    }
    Ok(())
}
