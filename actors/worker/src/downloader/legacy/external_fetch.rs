//! A copy from an old cfw: the external program fetches it, and the worker hashes it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use reelyard_protocol::worker::{Blame, ContentHash};

use super::external_program::{LOOK_EVERY, pair};
use crate::downloader::copying::cancel::CopyCancellation;
use crate::downloader::copying::order::CopyOrder;
use crate::downloader::fetching::fault::{CopyFault, local, publishing};
use crate::downloader::fetching::fetch::{
    CommittedCopy, FetchProgressCallback, Fetcher, meanwhile,
};

/// How much of a copy is hashed in one step.
const STEP: usize = 1 << 20;

impl Fetcher {
    /// Makes a copy from an old cfw. A failure leaves nothing behind.
    pub(in crate::downloader) fn fetch_externally(
        &self,
        order: &CopyOrder,
        cancel: &CopyCancellation,
        progress: &FetchProgressCallback<'_>,
    ) -> Result<CommittedCopy, CopyFault> {
        let Some(program) = &*self.external.now() else {
            return Err(CopyFault::Blamed(Blame::Pair, not_configured(order)));
        };
        if cancel.is_cancelled() {
            return Err(CopyFault::Cancelled);
        }
        // If the size of the master is unknown, only one check is possible: the disk is not full.
        let room = self.reserve(order.size.unwrap_or(0))?;
        self.base.remove_temp(order.id).map_err(local)?;
        let here = AtomicU64::new(0);
        let counted = |bytes: u64| {
            self.received.add(bytes.saturating_sub(here.fetch_max(bytes, Ordering::Relaxed)));
            progress(bytes);
        };
        let ran = program.run(order, cancel, &counted);
        let left = self.base.adopt_temp(order.id);
        if left.is_err() {
            // Another entry than a file may be there. If it cannot be removed, the error is reported
            // later.
            let _ = self.base.remove_temp(order.id);
        }
        ran?;
        let temp = left.map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                pair("the external downloader reported success but left no file".to_owned())
            }
            _ => local(error),
        })?;
        let (size, hash) = hash(temp.file(), cancel, progress)?;
        if let Some(planned) = order.size.filter(|planned| *planned != size) {
            // The master was replaced, or a part of it did not arrive.
            let reason = format!(
                "the external downloader left {size} bytes instead of the planned {planned}"
            );
            return Err(CopyFault::Blamed(Blame::File, reason));
        }
        if cancel.is_cancelled() {
            return Err(CopyFault::Cancelled);
        }
        meanwhile(size, progress, || temp.publish(&order.name)).map_err(publishing)?;
        room.consume();
        Ok(CommittedCopy { size, hash, verified: false })
    }
}

fn hash(
    mut file: &File,
    cancel: &CopyCancellation,
    progress: &FetchProgressCallback<'_>,
) -> Result<(u64, ContentHash), CopyFault> {
    let mut reported = Instant::now();
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; STEP];
    let mut size = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((size, ContentHash(*hasher.finalize().as_bytes()))),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                size += count as u64;
                if reported.elapsed() >= LOOK_EVERY {
                    reported = Instant::now();
                    progress(size);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(local(error)),
        }
        if cancel.is_cancelled() {
            return Err(CopyFault::Cancelled);
        }
    }
}

fn not_configured(order: &CopyOrder) -> String {
    let source = order.source;
    format!(
        "the source {source} is an old cfw, which has no data port: set external_downloader.program \
         on this worker, or replace that cfw by a worker"
    )
}
