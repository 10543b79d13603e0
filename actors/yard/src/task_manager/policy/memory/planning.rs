//! Planning rounds, copies on request, and the checks of masters before them.

use reelyard_core::clock::Millis;
use reelyard_core::names::{FileId, FileName};

use super::{TaskPieceContext, TaskPolicy};
use crate::catalog::MasterLook;
use crate::task_manager::messages::{ByHandRefused, CopyFile};
use crate::task_manager::messages::{Explanation, PlanVerdict, PlannerWaits};
use crate::task_manager::policy::hosts_in_memory::hosts::HostTable;
use crate::task_manager::policy::hosts_in_memory::liveness::TaskLiveness;
use crate::task_manager::policy::plan::{ByHand, PlanningContext, PlanningRound};
use crate::task_manager::settings::TaskSettings;
use crate::task_manager::state::event::NewTask;

impl TaskPolicy {
    /// Plans one round.
    pub fn round(&mut self, context: TaskPieceContext<'_>) -> PlanningRound {
        self.counters.rounds += 1;
        let unrecorded = self.decision_context(context).destinations_not_on_record();
        if !unrecorded.is_empty() {
            let waiting = Some(PlannerWaits::FirstLook(unrecorded));
            return PlanningRound { waiting, ..PlanningRound::default() };
        }
        if !self.input_faults(context.book).is_empty() {
            return PlanningRound {
                waiting: Some(PlannerWaits::Inputs),
                ..PlanningRound::default()
            };
        }
        let TaskPolicy { planner, hosts, settings, liveness, .. } = self;
        planner.round(&yard(context, hosts, settings, liveness))
    }

    /// The file of that name, if its master must be checked before it is explained.
    pub fn wants_look(&self, name: &FileName, context: TaskPieceContext<'_>) -> Option<FileId> {
        let file = context.book.names().find(name.as_bytes())?;
        self.planner.wants_look(file, context.now).then_some(file)
    }

    /// Takes the result of a check of one file's master.
    pub fn learn(
        &mut self,
        file: FileId,
        seen: impl IntoIterator<Item = (FileId, MasterLook)>,
        now: Millis,
    ) {
        self.planner.learn([(file, MasterLook::Unknown)], &self.settings, now);
        self.planner.learn(seen, &self.settings, now);
    }

    /// Plans a copy that a user requested.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub fn by_hand(
        &mut self,
        asked: &CopyFile,
        context: TaskPieceContext<'_>,
    ) -> Result<NewTask, ByHandRefused> {
        let file = context.book.names().find(asked.name.as_bytes());
        let is_pinned = file.is_some_and(|file| self.removals.pins.contains_key(&file));
        let CopyFile { name, destination, source, asked_by, .. } = asked;
        let (destination, source) = (*destination, *source);
        let asked = ByHand { name, destination, source, asked_by, is_pinned };
        let TaskPolicy { planner, hosts, settings, liveness, .. } = self;
        planner.by_hand(&asked, &yard(context, hosts, settings, liveness))
    }

    /// Explains why a file is or is not planned. A name without a file number is explained too.
    pub fn explain(&mut self, name: &FileName, context: TaskPieceContext<'_>) -> Explanation {
        let has_faults = !self.input_faults(context.book).is_empty();
        let TaskPolicy { planner, hosts, settings, liveness, .. } = self;
        let explained = planner.explain(name, &yard(context, hosts, settings, liveness));
        let would_be_planned = [PlanVerdict::Goes, PlanVerdict::WaitsForTurn];
        if has_faults && would_be_planned.contains(&explained.verdict) {
            return Explanation { verdict: PlanVerdict::InputsRefused, ..explained };
        }
        explained
    }

    /// Whether to check these masters now: one list at a time.
    pub fn begin_looking(&mut self, files: &[FileId]) -> bool {
        !files.is_empty() && !std::mem::replace(&mut self.looking, true)
    }

    /// Takes the result of the check of `files`. A file without an answer is skipped for some time, so
    /// that it starves no other.
    pub fn looked(
        &mut self,
        files: Vec<FileId>,
        seen: impl IntoIterator<Item = (FileId, MasterLook)>,
        now: Millis,
    ) {
        self.looking = false;
        let unknown = files.into_iter().map(|file| (file, MasterLook::Unknown));
        self.planner.learn(unknown, &self.settings, now);
        self.planner.learn(seen, &self.settings, now);
    }
}

fn yard<'a>(
    context: TaskPieceContext<'a>,
    hosts: &'a HostTable,
    settings: &'a TaskSettings,
    liveness: &TaskLiveness,
) -> PlanningContext<'a> {
    PlanningContext {
        book: context.book,
        in_flight: context.in_flight,
        hosts,
        settings,
        leading_since: liveness.since(),
        now: context.now,
    }
}
