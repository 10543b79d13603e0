//! Writes an archive in chunks from its own thread.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;

use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use tokio::sync::mpsc;

use super::tree::{self, ArchiveVisitor, NoArchive};
use crate::access::roots::OpenedShare;

/// Size of a chunk in bytes.
const CHUNK: usize = 256 << 10;

/// A message from the writer of an archive.
pub(crate) enum ArchiveChunk {
    /// The next bytes of the archive.
    Bytes(Vec<u8>),
    /// The archive is complete.
    End,
    /// The archive cannot be completed.
    Failed(io::Error),
}

/// Writes the archive of the directory `top` with the name `name` into the channel.
pub(super) fn archive(top: File, name: &str, chunks: mpsc::Sender<ArchiveChunk>) {
    let ending = match write(&top, name, &chunks) {
        Ok(()) => ArchiveChunk::End,
        // The receiver no longer exists.
        Err(NoArchive::Failed(error)) if error.kind() == ErrorKind::BrokenPipe => return,
        Err(NoArchive::Failed(error)) => ArchiveChunk::Failed(error),
        Err(why) => ArchiveChunk::Failed(io::Error::other(why)),
    };
    // This fails only if the receiver no longer exists.
    let _ = chunks.blocking_send(ending);
}

fn write(top: &File, name: &str, chunks: &mpsc::Sender<ArchiveChunk>) -> Result<(), NoArchive> {
    let out = Out { chunks: chunks.clone(), chunk: Vec::with_capacity(CHUNK) };
    let (zip, chunks) = (ZipArchiveWriter::new(out), chunks.clone());
    let mut archive = Archive { zip, chunks, buffer: vec![0; CHUNK] };
    tree::walk(top, name, &mut archive)?;
    let mut out = archive.zip.finish().map_err(broken)?;
    Ok(out.flush()?)
}

struct Archive {
    zip: ZipArchiveWriter<Out>,
    chunks: mpsc::Sender<ArchiveChunk>,
    buffer: Vec<u8>,
}

impl ArchiveVisitor for Archive {
    fn goes_on(&self) -> io::Result<()> {
        if self.chunks.is_closed() { Err(ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }

    fn directory(&mut self, dir: &File, name: &str) -> io::Result<()> {
        let metadata = dir.metadata()?;
        self.zip
            .new_dir(format!("{name}/"))
            .last_modified(UtcDateTime::from_unix(metadata.mtime()))
            .unix_permissions(metadata.mode() & 0o777)
            .create()
            .map_err(broken)?;
        Ok(())
    }

    /// Adds a file with the contents that it had when it was opened. Aborts the archive if they
    /// change.
    fn file(&mut self, opened: &OpenedShare, name: &str) -> io::Result<()> {
        let (mut file, metadata) = (&opened.file, &opened.metadata);
        let (mut entry, config) = self
            .zip
            .new_file(name)
            .compression_method(CompressionMethod::STORE)
            .last_modified(UtcDateTime::from_unix(metadata.mtime()))
            .unix_permissions(metadata.mode() & 0o777)
            .start()
            .map_err(broken)?;
        let mut data = config.wrap(&mut entry);
        let mut left = metadata.size();
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            match file.read(&mut self.buffer[..most]) {
                Ok(0) => return Err(changed(name)),
                Ok(count) => {
                    data.write_all(&self.buffer[..count])?;
                    left -= count as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let (_, descriptor) = data.finish().map_err(broken)?;
        entry.finish(descriptor).map_err(broken)?;
        if opened.is_unchanged()? { Ok(()) } else { Err(changed(name)) }
    }
}

fn changed(name: &str) -> io::Error {
    io::Error::other(format!("\"{name}\" was changed while it was read"))
}

/// The I/O error inside an error of the ZIP library. Most often the receiver no longer exists.
fn broken(error: rawzip::Error) -> io::Error {
    match error.kind() {
        rawzip::ErrorKind::IO(inner) if inner.kind() == ErrorKind::BrokenPipe => {
            ErrorKind::BrokenPipe.into()
        }
        _ => io::Error::other(error),
    }
}

/// Collects bytes into chunks.
struct Out {
    chunks: mpsc::Sender<ArchiveChunk>,
    chunk: Vec<u8>,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = CHUNK - self.chunk.len();
        let count = bytes.len().min(room);
        self.chunk.extend_from_slice(&bytes[..count]);
        if self.chunk.len() == CHUNK {
            self.flush()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        let sent = self.chunks.blocking_send(ArchiveChunk::Bytes(chunk));
        sent.map_err(|_| ErrorKind::BrokenPipe.into())
    }
}
