//! The files that no round plans, whatever their turn. For views of files.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use reelyard_core::names::FileId;
use roaring::RoaringBitmap;

use crate::task_manager::messages::Skip;

/// Files that are no candidates for reasons that only the planner knows. Empty if no round was
/// planned.
#[derive(Clone, Debug, Default)]
pub struct PassedOver {
    pub(in crate::task_manager::policy::plan) ignored: Arc<RoaringBitmap>,
    pub(in crate::task_manager::policy::plan) unschedulable: Vec<(Skip, Arc<RoaringBitmap>)>,
    /// Files whose masters did not exist at their last check.
    pub(in crate::task_manager::policy::plan) absent: Arc<RoaringBitmap>,
    pub(in crate::task_manager::policy::plan) unasked: Arc<HashSet<IpAddr>>,
}

impl PassedOver {
    /// Why a file is skipped that no host has and whose master is listed. hitcount.history lists
    /// it on `listed_on`.
    pub fn why(&self, file: FileId, listed_on: &[IpAddr]) -> Option<Skip> {
        if self.ignored.contains(file.0) {
            return Some(Skip::Ignored);
        }
        if self.is_listed(listed_on) {
            return Some(Skip::Listed);
        }
        if self.absent.contains(file.0) {
            return Some(Skip::MasterAbsent);
        }
        let unschedulable = self.unschedulable.iter().find(|(_, files)| files.contains(file.0));
        unschedulable.map(|(why, _)| *why)
    }

    /// The sets of files that [`PassedOver::why`] looks into behind the listed ones, in its order.
    pub fn behind_listed(&self) -> impl Iterator<Item = (Skip, &RoaringBitmap)> {
        let unschedulable = self.unschedulable.iter().map(|(why, files)| (*why, &**files));
        std::iter::once((Skip::MasterAbsent, &*self.absent)).chain(unschedulable)
    }

    /// The files that are set aside for this reason.
    pub fn set_aside(&self, why: Skip) -> impl Iterator<Item = FileId> + '_ {
        let unschedulable = self.unschedulable.iter().filter(move |(reason, _)| *reason == why);
        unschedulable.flat_map(|(_, files)| files.iter().map(FileId))
    }

    /// The files whose names begin with an ignored prefix.
    pub fn ignored(&self) -> &RoaringBitmap {
        &self.ignored
    }

    /// Whether the files of any destination were never read. Only then are files skipped because
    /// hitcount.history lists them there.
    pub fn has_unasked(&self) -> bool {
        !self.unasked.is_empty()
    }

    /// Whether one of these is a destination that was never asked.
    pub fn is_listed(&self, listed_on: &[IpAddr]) -> bool {
        !self.unasked.is_empty() && listed_on.iter().any(|ip| self.unasked.contains(ip))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_given_with_permanent_ones_first() {
        let files = |files: &[u32]| Arc::new(files.iter().copied().collect::<RoaringBitmap>());
        let ip: IpAddr = "10.0.0.21".parse().unwrap();
        let over = PassedOver {
            ignored: files(&[1]),
            unschedulable: vec![(Skip::TooBig, files(&[1, 3])), (Skip::NoRoom, files(&[4]))],
            absent: files(&[2]),
            unasked: Arc::new([ip].into()),
        };
        let why = |file| over.why(FileId(file), &[]);
        assert_eq!([1, 2, 3].map(why), [Skip::Ignored, Skip::MasterAbsent, Skip::TooBig].map(Some));
        assert_eq!([4, 5].map(why), [Some(Skip::NoRoom), None]);
        assert_eq!(over.why(FileId(5), &[ip]), Some(Skip::Listed));
        let behind: Vec<Skip> = over.behind_listed().map(|(why, _)| why).collect();
        assert_eq!(behind, [Skip::MasterAbsent, Skip::TooBig, Skip::NoRoom]);
        assert_eq!(over.set_aside(Skip::TooBig).collect::<Vec<_>>(), [FileId(1), FileId(3)]);
    }
}
