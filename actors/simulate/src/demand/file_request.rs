//! One request of a viewer.

use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;

/// A viewer requests a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRequest {
    /// Time of the request.
    pub at: Millis,
    /// Requested file.
    pub file: FileId,
}
