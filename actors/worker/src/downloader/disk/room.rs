//! The assumed size of a destination's disk, and the part of it that is reserved for unfinished copies.
//! Several copies at once can never reserve the same bytes twice.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reelyard_protocol::legacy::cfw::DiskFigures;

/// How long a count of the base directory is valid. Other programs may write there too.
const COUNT_IS_GOOD_FOR: Duration = Duration::from_secs(5);

/// How the size of a destination's disk is determined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Capacity {
    /// The file system that the base directory is on.
    #[default]
    FileSystem,
    /// At most this many bytes, for a file system that other programs use too.
    Quota(u64),
}

/// Why room cannot be reserved.
#[derive(Debug, thiserror::Error)]
pub enum NoRoom {
    /// There is not enough of it.
    #[error("the destination's disk has room for {room} bytes, not for {wanted}")]
    Full {
        /// Bytes free and not promised.
        room: u64,
        /// Requested bytes.
        wanted: u64,
    },
    /// The figures of the file system cannot be read.
    #[error("the free space of the destination's disk cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// The reserved bytes and the last count. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Arc<Mutex<Accounts>>);

#[derive(Debug, Default)]
struct Accounts {
    /// Reserved bytes that neither the file system nor a count includes.
    promised: u64,
    /// Bytes in the base directory: the last count, plus what was added since.
    counted: Option<(Instant, u64)>,
}

/// Room for one copy, reserved before its first byte. Its unused part is free again when this is dropped.
#[derive(Debug)]
pub struct Reservation {
    ledger: Ledger,
    bytes: u64,
}

impl Ledger {
    /// The disk with the size in `capacity`, if the file system has the figures `disk`. `count` counts
    /// the bytes in the base directory; it is not called each time.
    pub fn figures(
        &self,
        capacity: Capacity,
        disk: DiskFigures,
        count: impl FnOnce() -> io::Result<u64>,
    ) -> io::Result<DiskFigures> {
        self.accounts().figures(capacity, disk, count)
    }

    /// Reserves `bytes` that are neither used nor reserved.
    pub fn reserve(
        &self,
        bytes: u64,
        capacity: Capacity,
        disk: DiskFigures,
        count: impl FnOnce() -> io::Result<u64>,
    ) -> Result<Reservation, NoRoom> {
        let mut accounts = self.accounts();
        let figures = accounts.figures(capacity, disk, count)?;
        let room = figures.avail.saturating_sub(accounts.promised);
        if bytes > room {
            return Err(NoRoom::Full { room, wanted: bytes });
        }
        accounts.promised += bytes;
        Ok(Reservation { ledger: self.clone(), bytes })
    }

    /// A file was removed from the base directory. Its size is counted again when it is needed.
    pub fn recount(&self) {
        self.accounts().counted = None;
    }

    fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Accounts {
    fn figures(
        &mut self,
        capacity: Capacity,
        disk: DiskFigures,
        count: impl FnOnce() -> io::Result<u64>,
    ) -> io::Result<DiskFigures> {
        let Capacity::Quota(total) = capacity else { return Ok(disk) };
        let used = match self.counted {
            Some((at, used)) if at.elapsed() < COUNT_IS_GOOD_FOR => used,
            _ => {
                let used = count()?;
                self.counted = Some((Instant::now(), used));
                used
            }
        };
        // Room counts only if the file system has it, even if the quota would allow more.
        let free = total.saturating_sub(used).min(disk.avail);
        let used_percent = percent_of(used, used.saturating_add(free));
        Ok(DiskFigures { total, used, avail: free, free, used_percent })
    }
}

impl Reservation {
    /// The bytes are now in the base directory, and count as used there.
    pub fn consume(mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut accounts = self.ledger.accounts();
        accounts.promised -= bytes;
        // A count meanwhile may already include them. Then too much is reserved for a moment, never too
        // little.
        if let Some((_, used)) = &mut accounts.counted {
            *used = used.saturating_add(bytes);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.ledger.accounts().promised -= self.bytes;
    }
}

/// The disk figures from sizes in bytes, rounded as cfw rounds them: half a percent up.
pub fn disk_figures(total: u64, free: u64, avail: u64) -> DiskFigures {
    let used = total.saturating_sub(free);
    let used_percent = percent_of(used, used.saturating_add(avail));
    DiskFigures { total, used, avail, free, used_percent }
}

fn percent_of(used: u64, capacity: u64) -> u32 {
    let (used, capacity) = (u128::from(used), u128::from(capacity));
    // floor(100 * used / capacity + 1/2), in whole numbers.
    let percent = (200 * used + capacity).checked_div(2 * capacity).unwrap_or(0);
    u32::try_from(percent).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUOTA: Capacity = Capacity::Quota(1000);

    fn disk(avail: u64) -> DiskFigures {
        disk_figures(1_000_000, avail, avail)
    }

    fn counted(bytes: u64) -> impl FnOnce() -> io::Result<u64> {
        move || Ok(bytes)
    }

    #[test]
    fn percent_is_rounded_half_up_and_zero_for_an_empty_disk() {
        // The figures of a real cfw.
        let figures = disk_figures(314_913_513_472, 113_976_459_264, 97_956_167_680);
        assert_eq!(figures.used, 200_937_054_208);
        assert_eq!(figures.used_percent, 67);
        assert_eq!(disk_figures(200, 199, 199).used_percent, 1);
        assert_eq!(disk_figures(1000, 996, 996).used_percent, 0);
        assert_eq!(disk_figures(0, 0, 0).used_percent, 0);
    }

    #[test]
    fn a_quota_is_a_disk_of_that_size_within_its_file_system() {
        let of =
            |used, avail| Ledger::default().figures(QUOTA, disk(avail), counted(used)).unwrap();
        let all = |total, used, avail, used_percent| DiskFigures {
            total,
            used,
            avail,
            free: avail,
            used_percent,
        };
        assert_eq!(of(250, 5000), all(1000, 250, 750, 25));
        assert_eq!(of(250, 250), all(1000, 250, 250, 50));
        assert_eq!(of(1200, 5000), all(1000, 1200, 0, 100));
    }

    #[test]
    fn the_same_bytes_are_never_promised_twice() {
        for (capacity, avail) in [(QUOTA, 5000), (Capacity::FileSystem, 1000)] {
            let ledger = Ledger::default();
            let reserve = |bytes| ledger.reserve(bytes, capacity, disk(avail), counted(0));
            let first = reserve(600).unwrap();
            let refused = reserve(401).unwrap_err();
            assert!(matches!(refused, NoRoom::Full { room: 400, wanted: 401 }), "{refused}");
            drop(reserve(400).unwrap());
            drop(first);
            assert!(reserve(1000).is_ok());
        }
    }

    #[test]
    fn a_consumed_reservation_counts_as_used() {
        let ledger = Ledger::default();
        let reserve = |bytes| ledger.reserve(bytes, QUOTA, disk(5000), counted(100));
        reserve(600).unwrap().consume();
        assert!(matches!(reserve(301), Err(NoRoom::Full { room: 300, .. })));
        ledger.recount();
        assert!(reserve(900).is_ok(), "the count says that it is gone again");
    }
}
