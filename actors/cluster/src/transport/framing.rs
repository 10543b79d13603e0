//! Frames on a connection. A length is checked before memory is taken for the frame.

use std::io::{self, IoSlice};
use std::time::Duration;

use reelyard_protocol::cluster::{ConnectionUse, FRAME_LENGTH_BYTES, FrameTooLarge, frame_length};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// Time limit for a frame of which the first byte has arrived, and for one that is written.
const FRAME_TIME: Duration = Duration::from_secs(30);
/// Memory for a frame before its bytes arrive.
const FIRST_BYTES: usize = 64 << 10;

/// Why no frame was read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The frame is over the limit.
    #[error(transparent)]
    TooLarge(#[from] FrameTooLarge),
    /// The other side closed the connection within a frame.
    #[error("the connection ended within a frame")]
    Cut,
    /// The frame took too long.
    #[error("a frame was not complete after {} s", FRAME_TIME.as_secs())]
    Slow,
    /// The frame has no head.
    #[error("a frame is shorter than its head")]
    NoHead,
}

/// The longest frame of a connection in each direction, and the bytes that wait on one side. The journal sends
/// appends of at most 4 MiB and parts of snapshots of at most 1 MiB.
pub(super) fn largest_frame(purpose: ConnectionUse) -> usize {
    match purpose {
        ConnectionUse::Vote => 256 << 10,
        ConnectionUse::Log => 16 << 20,
        ConnectionUse::Snapshot => 4 << 20,
        ConnectionUse::Forward => 0,
        ConnectionUse::Join => reelyard_protocol::cluster::LARGEST_JOIN,
    }
}

/// Reads the length of the next frame. None if the other side has closed the connection.
pub(super) async fn read_length(
    reader: &mut (impl AsyncRead + Unpin),
    limit: usize,
) -> Result<Option<usize>, FrameError> {
    let mut bytes = [0; FRAME_LENGTH_BYTES];
    if reader.read(&mut bytes[..1]).await? == 0 {
        return Ok(None);
    }
    in_time(async { Ok(reader.read_exact(&mut bytes[1..]).await.map(drop)?) }).await?;
    let length = u32::from_be_bytes(bytes);
    match usize::try_from(length) {
        Ok(length) if length <= limit => Ok(Some(length)),
        _ => Err(FrameTooLarge { length: u64::from(length), limit }.into()),
    }
}

/// Reads a frame of `length` bytes. Its memory grows with the bytes that arrive.
pub(super) async fn read_body(
    reader: &mut (impl AsyncRead + Unpin),
    length: usize,
) -> Result<Vec<u8>, FrameError> {
    let mut frame = Vec::with_capacity(length.min(FIRST_BYTES));
    let mut body = reader.take(length as u64);
    in_time(async { Ok(body.read_to_end(&mut frame).await.map(drop)?) }).await?;
    if frame.len() == length { Ok(frame) } else { Err(FrameError::Cut) }
}

/// Reads a frame of `length` bytes that a member sends: its head, and the rest. All memory is taken at once, because a
/// member has few connections.
pub(super) async fn read_with_head<const HEAD: usize>(
    reader: &mut (impl AsyncRead + Unpin),
    length: usize,
) -> Result<([u8; HEAD], Vec<u8>), FrameError> {
    let rest = length.checked_sub(HEAD).ok_or(FrameError::NoHead)?;
    let (mut head, mut frame) = ([0; HEAD], Vec::with_capacity(rest));
    let mut body = (&mut *reader).take(length as u64);
    in_time(async {
        body.read_exact(&mut head).await?;
        // A full vector would grow before the end is noticed.
        while frame.len() < rest {
            if body.read_buf(&mut frame).await? == 0 {
                return Err(FrameError::Cut);
            }
        }
        Ok(())
    })
    .await?;
    Ok((head, frame))
}

/// Reads the next frame. None if the other side has closed the connection.
pub(super) async fn read_frame(
    reader: &mut (impl AsyncRead + Unpin),
    limit: usize,
) -> Result<Option<Vec<u8>>, FrameError> {
    match read_length(reader, limit).await? {
        Some(length) => read_body(reader, length).await.map(Some),
        None => Ok(None),
    }
}

/// Writes `head` and `body` as one frame.
pub(super) async fn write_frame(
    writer: &mut (impl AsyncWrite + Unpin),
    limit: usize,
    head: &[u8],
    body: &[u8],
) -> Result<(), FrameError> {
    let length = frame_length(head.len() + body.len(), limit)?;
    // One write is one packet, if the frame is small.
    let mut parts = [&length, head, body].map(IoSlice::new);
    let mut left = &mut parts[..];
    IoSlice::advance_slices(&mut left, 0);
    in_time(async {
        while !left.is_empty() {
            match writer.write_vectored(left).await? {
                0 => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                written => IoSlice::advance_slices(&mut left, written),
            }
        }
        Ok(writer.flush().await?)
    })
    .await
}

async fn in_time(work: impl Future<Output = Result<(), FrameError>>) -> Result<(), FrameError> {
    match timeout(FRAME_TIME, work).await {
        Ok(Err(FrameError::Io(error))) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(FrameError::Cut)
        }
        Ok(done) => done,
        Err(_) => Err(FrameError::Slow),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_are_read_as_they_were_written() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, 9, b"head", b"body").await.unwrap();
        write_frame(&mut bytes, 9, b"", b"").await.unwrap();
        let mut reader = &bytes[..];
        assert_eq!(read_frame(&mut reader, 9).await.unwrap(), Some(b"headbody".to_vec()));
        assert_eq!(read_frame(&mut reader, 9).await.unwrap(), Some(Vec::new()));
        assert_eq!(read_frame(&mut reader, 9).await.unwrap(), None);
    }

    #[tokio::test]
    async fn the_frame_of_a_member_comes_without_its_head() {
        let mut bytes = Vec::new();
        for body in [&b"body"[..], b"", &[7; 300_000]] {
            write_frame(&mut bytes, 1 << 20, b"head", body).await.unwrap();
        }
        let mut reader = tokio::io::BufReader::new(&bytes[..]);
        for body in [&b"body"[..], b"", &[7; 300_000]] {
            let length = read_length(&mut reader, 1 << 20).await.unwrap().unwrap();
            let (head, frame) = read_with_head::<4>(&mut reader, length).await.unwrap();
            assert_eq!((&head, &*frame), (b"head", body));
            assert!(frame.capacity() <= body.len().max(64), "its memory is not for its bytes");
        }
        let error = read_with_head::<4>(&mut &b"hea"[..], 3).await.unwrap_err();
        assert!(matches!(error, FrameError::NoHead), "{error}");
        for half in [&b"hea"[..], b"headbod"] {
            let error = read_with_head::<4>(&mut &*half, 8).await.unwrap_err();
            assert!(matches!(error, FrameError::Cut), "{error}");
        }
    }

    #[tokio::test]
    async fn a_frame_over_the_limit_is_neither_read_nor_written() {
        let too_large = |length| FrameTooLarge { length, limit: 8 }.to_string();
        let mut long = &[0xff, 0xff, 0xff, 0xff, 0][..];
        let error = read_frame(&mut long, 8).await.unwrap_err();
        assert_eq!(error.to_string(), too_large(u64::from(u32::MAX)));
        let error = write_frame(&mut Vec::new(), 8, b"", &[0; 9]).await.unwrap_err();
        assert_eq!(error.to_string(), too_large(9));
    }

    #[tokio::test]
    async fn a_half_frame_is_an_error_and_takes_little_memory() {
        for half in [&[0][..], &[0, 0, 1], &[0, 0xff, 0xff, 0xff], &[0, 0, 0, 2, 7]] {
            let mut reader = half;
            let error = read_frame(&mut reader, 16 << 20).await.unwrap_err();
            assert!(matches!(error, FrameError::Cut), "{error}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_frame_that_stops_half_way_ends_its_connection() {
        let (mut ours, mut theirs) = tokio::io::duplex(64);
        theirs.write_all(&[0, 0, 0, 9, 1]).await.unwrap();
        let error = read_frame(&mut ours, 9).await.unwrap_err();
        assert!(matches!(error, FrameError::Slow), "{error}");
        let error = write_frame(&mut ours, 1000, b"", &[0; 100]).await.unwrap_err();
        assert!(matches!(error, FrameError::Slow), "{error}");
    }
}
