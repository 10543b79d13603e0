//! A copy that is not complete yet: its temporary file, and the known state of its bytes.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use reelyard_core::clock::Clock;
use reelyard_core::names::FileName;
use reelyard_file_server::tree_hash::{GROUP, TreeHasher, Trunk};
use reelyard_protocol::worker::TaskId;

use super::attempt::{CommittedCopy, Copying};
use super::fetcher::Fetcher;
use crate::downloader::copying::order::CopyOrder;
use crate::downloader::disk::base_dir::{BaseDir, TempFile};
use crate::downloader::disk::room::Reservation;
use crate::downloader::fetching::fault::{CopyFault, local};
use crate::downloader::fetching::partials::PartialClaim;
use crate::kept_state::partial::{MasterOrigin, Partial};

/// Files from this size on are written without the page cache.
const DIRECT_FROM: u64 = 16 << 10;

/// A copy that is not complete yet. If it is dropped, its file is removed.
pub(super) struct UnfinishedCopy {
    pub(super) temp: TempFile,
    /// Held if the file system itself has not reserved the room.
    reservation: Option<Reservation>,
    claim: Option<Arc<PartialClaim>>,
    name: FileName,
    began: TaskId,
    inode: u64,
    size: u64,
    origin: MasterOrigin,
    /// Has hashed every byte of the file. In a box, because it has two kilobytes and copies are
    /// moved.
    pub(super) hasher: Box<TreeHasher>,
    /// Whether its bytes arrived over more than one connection.
    pub(super) was_resumed: bool,
}

impl UnfinishedCopy {
    /// Begins a copy of `size` bytes. The room for all bytes is reserved before the first
    /// request.
    pub(super) fn begin(
        fetcher: &Fetcher,
        copying: &Copying<'_>,
        size: u64,
        origin: MasterOrigin,
    ) -> Result<Self, CopyFault> {
        let reservation = fetcher.reserve(size)?;
        let temp = fetcher.base.create_temp(copying.order.id).map_err(local)?;
        let inode = temp.file().metadata().map_err(local)?.ino();
        let mut unfinished = UnfinishedCopy {
            temp,
            reservation: None,
            claim: copying.claim.cloned(),
            name: copying.order.name.clone(),
            began: copying.order.id,
            inode,
            size,
            origin,
            hasher: Box::new(TreeHasher::resume(Trunk::default())),
            was_resumed: false,
        };
        unfinished.hold_reservation(reservation).map_err(local)?;
        Ok(unfinished)
    }

    /// Resumes the kept part of an earlier copy, if it still exists.
    ///
    /// # Errors
    /// There is no room for the rest now. The part is kept.
    pub(super) fn resume_kept(
        fetcher: &Fetcher,
        claim: &Arc<PartialClaim>,
    ) -> Result<Option<Self>, CopyFault> {
        let Some(kept) = claim.kept() else { return Ok(None) };
        let (length, size) = (kept.trunk.length(), kept.size);
        let temp = match open_kept(fetcher, &kept) {
            Ok(temp) => temp,
            Err(error) => {
                tracing::info!(file = kept.name.to_string(), %error, "an interrupted copy cannot be resumed");
                claim.forget(kept.began);
                return Ok(None);
            }
        };
        let reservation = match fetcher.reserve(size - length) {
            Ok(reservation) => reservation,
            Err(fault) => return Err(temp.keep(length).map_or_else(local, |()| fault)),
        };
        let mut unfinished = UnfinishedCopy {
            temp,
            reservation: None,
            claim: Some(Arc::clone(claim)),
            name: kept.name,
            began: kept.began,
            inode: kept.inode,
            size,
            origin: kept.origin,
            hasher: Box::new(TreeHasher::resume(kept.trunk)),
            was_resumed: true,
        };
        if let Err(error) = unfinished.hold_reservation(reservation) {
            return Err(unfinished.temp.keep(length).map_or_else(local, |()| local(error)));
        }
        tracing::info!(file = unfinished.name.to_string(), length, size, "copy resumed");
        Ok(Some(unfinished))
    }

    fn hold_reservation(&mut self, reservation: Reservation) -> io::Result<()> {
        // A file that is written in one step needs no allocation beforehand.
        self.reservation = if self.size <= GROUP as u64 {
            Some(reservation)
        } else {
            self.temp.preallocate(self.size, reservation)?
        };
        if self.size >= DIRECT_FROM {
            self.temp.write_directly();
        }
        Ok(())
    }

    /// The size of the whole file.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// How many bytes are here.
    pub(super) fn position(&self) -> u64 {
        self.hasher.position()
    }

    /// The entity tag of the master whose bytes are here.
    pub(super) fn etag(&self) -> Option<&str> {
        self.origin.etag.as_deref()
    }

    /// Whether its bytes come from the source and path in `order`.
    pub(super) fn is_of(&self, order: &CopyOrder) -> bool {
        self.origin.source == order.source && self.origin.dir == order.dir
    }

    /// The next bytes arrive over another connection.
    pub(super) fn go_on_from(&mut self, origin: MasterOrigin) {
        self.origin = origin;
        self.was_resumed = true;
    }

    /// The finished copy when all bytes have arrived.
    pub(super) fn copied(&self) -> CommittedCopy {
        CommittedCopy { size: self.size, hash: self.hasher.finalize(), verified: true }
    }

    /// The part that would be kept now.
    pub(super) fn partial(&self, clock: &Clock) -> Partial {
        Partial {
            name: self.name.clone(),
            began: self.began,
            inode: self.inode,
            size: self.size,
            origin: self.origin.clone(),
            trunk: self.hasher.trunk(self.size),
            at: clock.now(),
        }
    }

    /// Stores the progress of a copy. The copy continues, even if that fails.
    pub(super) fn store_progress(claim: &PartialClaim, partial: &Partial) {
        if let Err(error) = claim.keep(partial) {
            tracing::warn!(file = partial.name.to_string(), %error, "the progress of a copy could not be \
                stored");
        }
    }

    pub(super) fn claim(&self) -> Option<&PartialClaim> {
        self.claim.as_deref()
    }

    /// Keeps it for a later copy of that name, if it has enough bytes.
    pub(super) fn keep(self, clock: &Clock) {
        let partial = self.partial(clock);
        let length = partial.trunk.length();
        let Some(claim) = self.claim.clone().filter(|_| length > 0) else { return self.discard() };
        let kept = self.temp.sync().and_then(|()| {
            UnfinishedCopy::store_progress(&claim, &partial);
            self.temp.keep(length)
        });
        match kept {
            Ok(()) => tracing::info!(
                file = partial.name.to_string(),
                length,
                "an interrupted copy is kept for a later resume"
            ),
            Err(error) => {
                tracing::warn!(file = partial.name.to_string(), %error, "an interrupted copy cannot be kept");
                claim.forget(partial.began);
            }
        }
    }

    /// Removes it and everything that is known of it.
    pub(super) fn discard(self) {
        drop(self.temp);
        if let Some(claim) = self.claim {
            claim.forget(self.began);
        }
    }

    /// Makes many copies durable and renames them. Answers in their order.
    pub(super) fn publish(
        base: &BaseDir,
        unfinished_copies: Vec<UnfinishedCopy>,
    ) -> Vec<io::Result<()>> {
        let apart = |UnfinishedCopy { temp, name, reservation, claim, .. }| {
            ((temp, name), (reservation, claim))
        };
        let (files, held): (Vec<_>, Vec<_>) = unfinished_copies.into_iter().map(apart).unzip();
        let placed = base.publish(files);
        for (_, (reservation, claim)) in
            placed.iter().zip(held).filter(|(placed, _)| placed.is_ok())
        {
            reservation.into_iter().for_each(Reservation::consume);
            if let Some(claim) = claim {
                claim.is_in_place();
            }
        }
        placed
    }
}

/// Opens the stored part of an interrupted copy, cut to its durable length.
fn open_kept(fetcher: &Fetcher, kept: &Partial) -> io::Result<TempFile> {
    let temp = fetcher.base.open_temp(kept.began)?;
    let found = temp.file().metadata()?;
    if found.len() < kept.trunk.length() || found.ino() != kept.inode {
        return Err(io::Error::other("another file has taken its place"));
    }
    // After a kill the room of the whole file may still be reserved.
    temp.cut(kept.trunk.length())?;
    Ok(temp)
}
