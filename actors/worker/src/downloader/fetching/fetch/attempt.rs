//! One running copy, and the end of an attempt to fetch it.

use std::io;
use std::sync::Arc;

use reelyard_protocol::worker::ContentHash;

use super::pipelining::RequestPipeline;
use crate::downloader::copying::cancel::CopyCancellation;
use crate::downloader::copying::order::CopyOrder;
use crate::downloader::fetching::fault::CopyFault;
use crate::downloader::fetching::live_rate::LiveRate;
use crate::downloader::fetching::partials::PartialClaim;
use crate::downloader::fetching::source_stream::SourcePort;

/// A copy, durable and in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommittedCopy {
    /// Its size in bytes.
    pub size: u64,
    /// BLAKE3 hash of the received bytes.
    pub hash: ContentHash,
    /// Whether the source reported the same hash.
    pub verified: bool,
}

/// Gets the number of bytes that have arrived.
pub type FetchProgressCallback<'a> = dyn Fn(u64) + Sync + 'a;

/// One running copy.
pub(super) struct Copying<'a> {
    pub(super) order: &'a CopyOrder,
    pub(super) port: SourcePort,
    /// The path of the master on its source.
    pub(super) path: String,
    pub(super) claim: Option<&'a Arc<PartialClaim>>,
    pub(super) cancel: &'a CopyCancellation,
    pub(super) rate: &'a LiveRate,
    /// Requests that were sent before its turn.
    pub(super) ahead: &'a RequestPipeline,
    pub(super) progress: &'a FetchProgressCallback<'a>,
}

/// Why an attempt failed.
pub(super) enum FetchAttemptFailure {
    /// The source is unreachable or silent, with the step that failed and the number of bytes
    /// before.
    Off { doing: String, error: io::Error, arrived: u64 },
    /// The source has no place for another connection now.
    Busy,
    /// All bytes have arrived, and differ from those of the master.
    Wrong(CopyFault),
    /// A retry is useless.
    Fault(CopyFault),
}

impl From<CopyFault> for FetchAttemptFailure {
    fn from(fault: CopyFault) -> Self {
        FetchAttemptFailure::Fault(fault)
    }
}
