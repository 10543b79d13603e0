//! Results of checks of masters (directory and size), while they are recent enough.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;
use roaring::RoaringBitmap;

use crate::catalog::MasterLook;
use crate::task_manager::messages::Skip;

/// How many results are kept at least, before outdated ones are dropped.
const DROP_BEYOND: usize = 8192;

/// Recent checks of masters.
#[derive(Clone, Debug, Default)]
pub struct MasterCache {
    by_file: HashMap<FileId, CachedMasterLook>,
    /// How many were still valid at the last clean-up.
    kept: usize,
    /// Files whose masters did not exist at their last check.
    absent: Arc<RoaringBitmap>,
}

#[derive(Clone, Debug)]
struct CachedMasterLook {
    seen: MasterLook,
    good_until: Millis,
}

/// The place of a master, and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedMaster {
    /// Its source directory, as configured.
    pub dir: Arc<str>,
    /// Size of the master in bytes.
    pub size: u64,
    /// The end of the validity of the result.
    pub good_until: Millis,
}

impl MasterCache {
    /// Takes the result of a check at `now`. A definite answer is valid for `fresh_for`, an indefinite
    /// one until `ask_again_after`.
    pub fn learn(
        &mut self,
        seen: &[(FileId, MasterLook)],
        now: Millis,
        fresh_for: Duration,
        ask_again_after: Duration,
    ) {
        for (file, seen) in seen {
            let unknown = *seen == MasterLook::Unknown;
            let good_until = now.after(if unknown { ask_again_after } else { fresh_for });
            let absent = *seen == MasterLook::Absent;
            if absent != self.absent.contains(file.0) {
                let all = Arc::make_mut(&mut self.absent);
                if absent {
                    all.insert(file.0)
                } else {
                    all.remove(file.0)
                };
            }
            self.by_file.insert(*file, CachedMasterLook { seen: seen.clone(), good_until });
        }
        // Twice the number of kept results, so that many valid ones are not examined each time.
        if self.by_file.len() > DROP_BEYOND.max(self.kept * 2) {
            self.by_file.retain(|_, look| now < look.good_until);
            self.kept = self.by_file.len();
        }
    }

    /// Forgets that masters were absent: the listing changed.
    pub fn forget_absent(&mut self) {
        self.by_file.retain(|_, look| look.seen != MasterLook::Absent);
        self.absent = Arc::default();
    }

    /// The files whose masters did not exist at their last check.
    pub fn absent(&self) -> &Arc<RoaringBitmap> {
        &self.absent
    }

    /// The master of `file`, if a fresh result exists; none when it must be checked.
    pub fn get(&self, file: FileId, now: Millis) -> Option<Result<CachedMaster, Skip>> {
        let look = self.by_file.get(&file).filter(|look| now < look.good_until)?;
        Some(match &look.seen {
            MasterLook::Found { dir, size, .. } => {
                let good_until = look.good_until;
                Ok(CachedMaster { dir: Arc::clone(dir), size: *size, good_until })
            }
            MasterLook::Absent => Err(Skip::MasterAbsent),
            MasterLook::Unknown => Err(Skip::MasterUnknown),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_looks_are_dropped_now_and_then() {
        let (fresh_for, again) = (Duration::from_secs(300), Duration::from_secs(5));
        let mut looks = MasterCache::default();
        let mut learn = |files: std::ops::Range<u32>, now| {
            for file in files {
                looks.learn(&[(FileId(file), MasterLook::Absent)], Millis(now), fresh_for, again);
            }
            (looks.by_file.len(), looks.kept)
        };
        assert_eq!(learn(0..10_000, 0), (10_000, 8_193), "gone through once: all are good");
        let later = 300_000;
        assert_eq!(learn(10_000..16_386, later), (16_386, 8_193));
        assert_eq!(learn(16_386..16_387, later), (6_387, 6_387));
        assert_eq!(looks.get(FileId(0), Millis(later)), None);
        assert!(looks.get(FileId(16_386), Millis(later)).is_some());
    }
}
