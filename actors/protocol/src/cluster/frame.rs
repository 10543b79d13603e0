//! Frames of calls and answers: the length, a head of fixed size, and the bytes of the journal.
//!
//! Version 1 of the calls between nodes has these heads. All numbers are big-endian.

use reelyard_core::clock::Millis;

/// Bytes of the length before each frame. The length does not count itself.
pub const FRAME_LENGTH_BYTES: usize = 4;

/// A frame that is longer than its connection allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {length} bytes is over the limit of {limit} bytes")]
pub struct FrameTooLarge {
    /// The length that it claims, in bytes.
    pub length: u64,
    /// The longest frame of the connection.
    pub limit: usize,
}

/// The length that begins the frame of `bytes` bytes.
///
/// # Errors
/// When it is over `limit`, or does not fit into 32 bits.
pub fn frame_length(bytes: usize, limit: usize) -> Result<[u8; FRAME_LENGTH_BYTES], FrameTooLarge> {
    let too_large = FrameTooLarge { length: bytes as u64, limit };
    let length = u32::try_from(bytes).map_err(|_| too_large)?;
    if bytes > limit { Err(too_large) } else { Ok(length.to_be_bytes()) }
}

/// The beginning of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallHead {
    /// Number of the call on its connection. The answer repeats it.
    pub id: u64,
}

impl CallHead {
    /// Number of bytes.
    pub const BYTES: usize = 8;

    /// The bytes at the beginning of the frame.
    pub fn encode(self) -> [u8; Self::BYTES] {
        self.id.to_be_bytes()
    }

    /// Splits a frame into its head and the request. None for a shorter frame.
    pub fn split(frame: &[u8]) -> Option<(Self, &[u8])> {
        let (id, request) = frame.split_first_chunk()?;
        Some((CallHead { id: u64::from_be_bytes(*id) }, request))
    }
}

/// The beginning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallAnswerHead {
    /// Number of the answered call.
    pub id: u64,
    /// Wall clock of the answering node at the end of the work.
    pub clock: Millis,
    /// Duration of the work of the answering node, in microseconds. The rest of the time was on the way.
    pub work_us: u32,
}

impl CallAnswerHead {
    /// Number of bytes.
    pub const BYTES: usize = 20;

    /// The bytes at the beginning of the frame.
    pub fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.id.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.clock.0.to_be_bytes());
        bytes[16..].copy_from_slice(&self.work_us.to_be_bytes());
        bytes
    }

    /// Splits a frame into its head and the answer. None for a shorter frame.
    pub fn split(frame: &[u8]) -> Option<(Self, &[u8])> {
        let (id, rest) = frame.split_first_chunk()?;
        let (clock, rest) = rest.split_first_chunk()?;
        let (work, answer) = rest.split_first_chunk()?;
        let head = CallAnswerHead {
            id: u64::from_be_bytes(*id),
            clock: Millis(i64::from_be_bytes(*clock)),
            work_us: u32::from_be_bytes(*work),
        };
        Some((head, answer))
    }
}
