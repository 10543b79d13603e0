//! Why files have no copy: the shared source of this answer.

use std::sync::Arc;

use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::task_manager::Skip;
use reelyard_yard::task_manager::TaskManagerView;
use roaring::{MultiOps, RoaringBitmap};

use crate::http::node_state::NodeHttpState;
use crate::node::ActiveConfig;

/// The views of the Catalog and the TaskManager at one moment.
pub struct PlanningSnapshot {
    in_force: Arc<ActiveConfig>,
    pub catalog: Arc<CatalogView>,
    pub tasks: Arc<TaskManagerView>,
}

impl PlanningSnapshot {
    /// Takes the current views.
    pub fn new(state: &NodeHttpState) -> Self {
        let catalog = state.actors.catalog_view.load();
        let in_force = state.live.now();
        PlanningSnapshot { in_force, catalog, tasks: state.actors.task_views.load() }
    }

    /// Why a file without any copy is not a candidate. None if it waits for its turn.
    pub fn why_not(&self, file: FileId, name: &FileName) -> Option<Skip> {
        let ranking = self.catalog.ranking.as_ref();
        let passed_over = || {
            let listed_on = ranking.map_or(&[][..], |ranking| ranking.listed_on(file));
            self.tasks.plan.passed_over.why(file, listed_on)
        };
        let mut ignored = self.in_force.ignore_prefixes.iter();
        if ignored.any(|prefix| name.as_bytes().starts_with(prefix)) {
            Some(Skip::Ignored)
        } else if !self.has_master(file) {
            Some(Skip::NoMaster)
        } else if ranking.and_then(|ranking| ranking.rank(file)).is_none()
            && !self.in_force.config.yard.catalog.ungraded_hot
        {
            Some(Skip::Ungraded)
        } else {
            passed_over()
        }
    }

    /// The reasons of [`PlanningSnapshot::why_not`] for many files without a copy, each with its files, and the files
    /// that wait for their turn.
    pub fn reasons_of(
        &self,
        files: RoaringBitmap,
        names: &NameTable,
    ) -> (Vec<(Skip, RoaringBitmap)>, RoaringBitmap) {
        let ranking = self.catalog.ranking.as_ref();
        let over = &self.tasks.plan.passed_over;
        let mut left = files;
        let mut reasons = Vec::new();
        let mut set_aside = |left: &mut RoaringBitmap, why: Skip, of_reason: RoaringBitmap| {
            *left -= &of_reason;
            reasons.push((why, of_reason));
        };
        let prefixes = &self.in_force.ignore_prefixes;
        let is_ignored = |name: &[u8]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        if !prefixes.is_empty() {
            let ignored = names.selected(&left, is_ignored);
            set_aside(&mut left, Skip::Ignored, ignored);
        }
        let without_master = match &self.catalog.masters {
            Some(masters) => &left - &masters.files,
            None => left.clone(),
        };
        set_aside(&mut left, Skip::NoMaster, without_master);
        if !self.in_force.config.yard.catalog.ungraded_hot {
            let ungraded = match ranking {
                Some(ranking) => &left - ranking.set(),
                None => left.clone(),
            };
            set_aside(&mut left, Skip::Ungraded, ungraded);
        }
        let ignored = &left & over.ignored();
        set_aside(&mut left, Skip::Ignored, ignored);
        if let Some(ranking) = ranking.filter(|_| over.has_unasked()) {
            let is_listed = |file: &u32| over.is_listed(ranking.listed_on(FileId(*file)));
            let listed = left.iter().filter(is_listed).collect();
            set_aside(&mut left, Skip::Listed, listed);
        }
        for (why, of_reason) in over.behind_listed() {
            let of_reason = &left & of_reason;
            set_aside(&mut left, why, of_reason);
        }
        (reasons, left)
    }

    /// Number of graded files that a round does not examine, by reason, in the order of `why_not`.
    pub fn never_looked_at(&self) -> Vec<(Skip, u64)> {
        let ranking = self.catalog.ranking.as_ref();
        let graded = ranking.map(|ranking| ranking.set()).cloned().unwrap_or_default();
        let held: RoaringBitmap = self.tasks.placements.values().map(|files| &**files).union();
        let over = &self.tasks.plan.passed_over;
        let placed = (&graded & &held).len();
        let mut left = graded - held;
        let ignored = left.intersection_len(over.ignored());
        left -= over.ignored();
        let missing = match &self.catalog.masters {
            Some(masters) => {
                let all = left.len();
                left &= &masters.files;
                all - left.len()
            }
            None => 0,
        };
        let listed = match ranking.filter(|_| over.has_unasked()) {
            Some(ranking) => {
                let is_listed = |file: &u32| over.is_listed(ranking.listed_on(FileId(*file)));
                left.iter().filter(is_listed).count() as u64
            }
            None => 0,
        };
        let reasons = [
            (Skip::Placed, placed),
            (Skip::Ignored, ignored),
            (Skip::NoMaster, missing),
            (Skip::Listed, listed),
        ];
        reasons.into_iter().filter(|(_, files)| *files > 0).collect()
    }

    /// The best-ranked file that is set aside for this reason.
    pub fn best_set_aside(&self, why: Skip) -> Option<FileId> {
        let ranking = self.catalog.ranking.as_ref()?;
        let files = self.tasks.plan.passed_over.set_aside(why);
        files.min_by_key(|file| ranking.rank(*file).unwrap_or(u32::MAX))
    }

    fn has_master(&self, file: FileId) -> bool {
        self.catalog.masters.as_ref().is_some_and(|masters| masters.files.contains(file.0))
    }
}
