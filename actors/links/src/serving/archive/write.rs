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
const PIECE: usize = 256 << 10;

/// A message from the writer of an archive.
pub(super) enum ArchiveChunk {
    /// The next bytes of the archive.
    Bytes(Vec<u8>),
    /// The archive is complete.
    End,
    /// The archive cannot be completed.
    Failed(io::Error),
}

/// Writes the archive of the directory `top` with the name `name` into the channel.
pub(super) fn archive(top: File, name: &str, pieces: mpsc::Sender<ArchiveChunk>) {
    let ending = match write(&top, name, &pieces) {
        Ok(()) => ArchiveChunk::End,
        // The receiver is gone.
        Err(NoArchive::Failed(error)) if error.kind() == ErrorKind::BrokenPipe => return,
        Err(NoArchive::Failed(error)) => ArchiveChunk::Failed(error),
        Err(why) => ArchiveChunk::Failed(io::Error::other(why)),
    };
    // This fails only if the receiver is gone.
    let _ = pieces.blocking_send(ending);
}

fn write(top: &File, name: &str, pieces: &mpsc::Sender<ArchiveChunk>) -> Result<(), NoArchive> {
    let out = Out { pieces: pieces.clone(), piece: Vec::with_capacity(PIECE) };
    let (zip, pieces) = (ZipArchiveWriter::new(out), pieces.clone());
    let mut archive = Archive { zip, pieces, buffer: vec![0; PIECE] };
    tree::walk(top, name, &mut archive)?;
    let mut out = archive.zip.finish().map_err(broken)?;
    Ok(out.flush()?)
}

struct Archive {
    zip: ZipArchiveWriter<Out>,
    pieces: mpsc::Sender<ArchiveChunk>,
    buffer: Vec<u8>,
}

impl ArchiveVisitor for Archive {
    fn goes_on(&self) -> io::Result<()> {
        if self.pieces.is_closed() { Err(ErrorKind::BrokenPipe.into()) } else { Ok(()) }
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
            let most = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
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

/// The I/O error inside an error of the ZIP library, most often because the receiver is gone.
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
    pieces: mpsc::Sender<ArchiveChunk>,
    piece: Vec<u8>,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PIECE - self.piece.len();
        let count = bytes.len().min(room);
        self.piece.extend_from_slice(&bytes[..count]);
        if self.piece.len() == PIECE {
            self.flush()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        let sent = self.pieces.blocking_send(ArchiveChunk::Bytes(piece));
        sent.map_err(|_| ErrorKind::BrokenPipe.into())
    }
}
