//! The other nodes, as a node uses them whose directory of a root is away.
//!
//! The link, its password, its downloads and its deadline are checked by the node that the visitor called. The other
//! node is only the disk.

use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;

use actix_web::web::Bytes;
use reelyard_protocol::cluster::shared_files::{NotPassed, SharedContents, SharedFileFacts};
use reelyard_shares::share_expiry::{RootName, ShareError, ShareId, TakeDownload};
use tokio::sync::mpsc;

/// A future of a trait object.
pub type Passing<'f, T> = Pin<Box<dyn Future<Output = T> + Send + 'f>>;

/// Bytes of a file or an archive, as they arrive. A failure ends them.
pub type PassedBytes = mpsc::Receiver<io::Result<Bytes>>;

/// A file at another node.
pub trait PassedFile: Send + Sync {
    /// Its state when it was found.
    fn facts(&self) -> &SharedFileFacts;

    /// Fetches these bytes of this state.
    ///
    /// # Errors
    /// The node does not answer, or the file has changed.
    fn fetch(&mut self, range: Range<u64>) -> Passing<'_, io::Result<PassedBytes>>;
}

/// Finds files and directories at the other nodes.
pub trait OtherNodes: Send + Sync {
    /// The file of a share at a node that sees its root.
    ///
    /// # Errors
    /// No node has it.
    fn find(
        &self,
        id: ShareId,
        root: RootName,
    ) -> Passing<'_, Result<Box<dyn PassedFile>, NotPassed>>;

    /// The contents of a share at a node that sees its root, for its page.
    ///
    /// # Errors
    /// No node has it.
    fn contents(
        &self,
        id: ShareId,
        root: RootName,
    ) -> Passing<'_, Result<SharedContents, NotPassed>>;

    /// The archive of a shared directory at a node that sees its root. With `is_checked` all its files were opened
    /// before.
    ///
    /// # Errors
    /// No node has it, or a file in it cannot be opened.
    fn archive(
        &self,
        id: ShareId,
        root: RootName,
        is_checked: bool,
    ) -> Passing<'_, Result<PassedBytes, NotPassed>>;

    /// Lets the leader count a download.
    ///
    /// # Errors
    /// It is refused, or may not be counted. Then the same request can be sent again.
    fn take(&self, asked: TakeDownload) -> Passing<'_, Result<(), ShareError>>;
}
