//! Whether a new leader may plan and remove by its inputs. It compares them with those of the last leader, which are on
//! record. Pure.

use std::fmt;
use std::time::Duration;

use reelyard_core::clock::Millis;
use serde::Serialize;

use crate::catalog::files::input_contents::{InputContents, RankingFiles};
use crate::task_manager::state::event::{RecordedFile, RecordedInputs, TaskEvent};
use crate::task_manager::state::recorded_inputs::InputsOnRecord;

/// The shortest time between two records of one leader. A source directory may change each second.
const RECORD_EVERY: Duration = Duration::from_secs(60);

/// An input that is on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedInput {
    /// The ranks of all files.
    GradeInfo,
    /// The sizes of files, and the hosts that hold them.
    HitcountHistory,
    /// The listing of the masters.
    SourceDirs,
}

impl fmt::Display for RecordedInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecordedInput::GradeInfo => "grade.info",
            RecordedInput::HitcountHistory => "hitcount.history",
            RecordedInput::SourceDirs => "the list of masters",
        })
    }
}

/// Why a new leader does not plan by one of its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum InputFault {
    /// This node has no such file.
    #[error("{input} is missing here, and node {node} planned by {rows} rows")]
    Missing {
        /// The input that is missing.
        input: RecordedInput,
        /// Its rows on record.
        rows: u64,
        /// The node that planned by them.
        node: u64,
    },
    /// Its content is another one, and was written earlier.
    #[error("{input} is of {modified} here, and node {node} planned by one of {recorded}")]
    Older {
        /// The input that is older.
        input: RecordedInput,
        /// When the file of this node was written.
        modified: Millis,
        /// When the file on record was written.
        recorded: Millis,
        /// The node that planned by it.
        node: u64,
    },
    /// More than a tenth of its rows are gone.
    #[error("{input} has {rows} rows here, and node {node} planned by {recorded} rows")]
    Shrunk {
        /// The input that is smaller.
        input: RecordedInput,
        /// Its rows here.
        rows: u64,
        /// Its rows on record.
        recorded: u64,
        /// The node that planned by them.
        node: u64,
    },
}

/// The inputs of this node, and whether it may plan by them.
#[derive(Clone, Debug, Default)]
pub struct InputGuard {
    /// The number of this node. Without one nothing is compared or recorded.
    pub node: Option<u64>,
    /// Whether the cluster has other nodes.
    pub has_others: bool,
    files: Option<RankingFiles>,
    masters: Option<u64>,
    /// Whether this node leads and was allowed to plan. It then sees each change of its inputs as an operator makes it.
    has_passed: bool,
    /// The faults in the last line of the log.
    logged: Vec<InputFault>,
}

impl InputGuard {
    /// Takes the files of a new ranking.
    pub fn set_files(&mut self, files: RankingFiles) {
        self.files = Some(files);
    }

    /// Takes the number of masters of a new listing.
    pub fn set_masters(&mut self, masters: u64) {
        self.masters = Some(masters);
    }

    /// This node begins or ends to lead.
    pub fn leader_changed(&mut self) {
        self.has_passed = false;
        self.logged.clear();
    }

    /// The faults that keep this node from planning and removing. Before its inputs are read there are none: planner and
    /// Remover wait for them.
    ///
    /// A node alone passes with inputs that it recorded itself: it is restarted, and an operator may have changed its
    /// files. In a cluster another leader may have been refused meanwhile, or the files may be lost.
    pub fn faults(&self, on_record: Option<&InputsOnRecord>, is_on: bool) -> Vec<InputFault> {
        let (Some(node), Some(files), Some(masters), Some(on_record)) =
            (self.node, self.files, self.masters, on_record)
        else {
            return Vec::new();
        };
        let recorded = &on_record.inputs;
        let is_alone = recorded.node == node && !self.has_others;
        if self.has_passed || !is_on || is_alone {
            return Vec::new();
        }
        faults_against(recorded, files, masters)
    }

    /// Whether this node leads and plans by its inputs.
    pub fn has_passed(&self) -> bool {
        self.has_passed
    }

    /// This node leads, and its inputs have no fault: it plans by them from now on.
    pub fn pass(&mut self) {
        self.has_passed = self.files.is_some() && self.masters.is_some();
    }

    /// The record of the inputs of this leader, if it is due. It is due at once if another leader with the same inputs
    /// would be refused by the one before.
    pub fn to_record(&self, on_record: Option<&InputsOnRecord>, now: Millis) -> Option<TaskEvent> {
        let (node, files, masters) = (self.node?, self.files?, self.masters?);
        let has_file = files.grade_info.is_some() || files.hitcount_history.is_some();
        if !self.has_passed || (on_record.is_none() && !has_file) {
            return None;
        }
        let inputs = RecordedInputs {
            node,
            grade_info: files.grade_info.map(|file| recorded(file, now)),
            hitcount_history: files.hitcount_history.map(|file| recorded(file, now)),
            masters,
        };
        let is_due = match on_record {
            None => true,
            Some(before) if before.inputs.node != node => true,
            Some(before) => {
                let is_worse = !faults_against(&before.inputs, files, masters).is_empty();
                let is_old = now.since(before.at) >= RECORD_EVERY;
                is_worse || (is_old && is_other(&before.inputs, &inputs))
            }
        };
        is_due.then_some(TaskEvent::InputsRecorded(inputs))
    }

    /// Whether these faults differ from those in the last line of the log. They are in it from now on.
    pub fn is_news(&mut self, faults: &[InputFault]) -> bool {
        if self.logged == faults {
            return false;
        }
        self.logged = faults.to_vec();
        true
    }
}

/// The record of a file at `now`. A time in the future would make the files of all other nodes older.
fn recorded(contents: InputContents, now: Millis) -> RecordedFile {
    let InputContents { digest, rows, modified } = contents;
    RecordedFile { digest, rows, modified: modified.min(now) }
}

/// The faults of inputs, compared with those on record.
fn faults_against(recorded: &RecordedInputs, files: RankingFiles, masters: u64) -> Vec<InputFault> {
    let grade_info = (RecordedInput::GradeInfo, files.grade_info, recorded.grade_info);
    let (history, before) = (files.hitcount_history, recorded.hitcount_history);
    let history = (RecordedInput::HitcountHistory, history, before);
    let mut faults = Vec::new();
    for (input, here, before) in [grade_info, history] {
        let Some(before) = before else { continue };
        faults.extend(fault_of_file(input, here, before, recorded.node));
    }
    let (input, before) = (RecordedInput::SourceDirs, recorded.masters);
    if is_shrunk(masters, before) {
        let node = recorded.node;
        faults.push(InputFault::Shrunk { input, rows: masters, recorded: before, node });
    }
    faults
}

/// Whether planning by the one could differ from planning by the other. A file that is written again with the same
/// content is the same.
fn is_other(one: &RecordedInputs, other: &RecordedInputs) -> bool {
    let digest = |file: Option<RecordedFile>| file.map(|file| file.digest);
    digest(one.grade_info) != digest(other.grade_info)
        || digest(one.hitcount_history) != digest(other.hitcount_history)
        || one.masters != other.masters
}

fn fault_of_file(
    input: RecordedInput,
    here: Option<InputContents>,
    before: RecordedFile,
    node: u64,
) -> Option<InputFault> {
    let Some(here) = here else {
        return Some(InputFault::Missing { input, rows: before.rows, node });
    };
    if here.digest == before.digest {
        return None;
    }
    if is_shrunk(here.rows, before.rows) {
        return Some(InputFault::Shrunk { input, rows: here.rows, recorded: before.rows, node });
    }
    let (modified, recorded) = (here.modified, before.modified);
    (modified < recorded).then_some(InputFault::Older { input, modified, recorded, node })
}

/// Whether more than a tenth is gone.
fn is_shrunk(now: u64, before: u64) -> bool {
    u128::from(now) * 10 < u128::from(before) * 9
}

#[cfg(test)]
mod tests {
    use reelyard_protocol::worker::ContentHash;

    use super::*;

    const HOUR: u64 = 3_600;

    /// Hour 12, the time of the record.
    const AT: Millis = Millis(12 * 3_600_000);

    fn contents(digest: u8, rows: u64, hour: i64) -> InputContents {
        let modified = Millis(hour * 3_600_000);
        InputContents { digest: ContentHash([digest; 32]), rows, modified }
    }

    /// A guard of `node` that has read these files, and 100 masters.
    fn guard(node: u64, grade_info: Option<InputContents>) -> InputGuard {
        let mut guard = InputGuard { node: Some(node), ..InputGuard::default() };
        guard.set_files(RankingFiles { grade_info, hitcount_history: None });
        guard.set_masters(100);
        guard
    }

    /// The record of node 1, with a ranking of 100 rows of hour 10.
    fn on_record() -> InputsOnRecord {
        let mut leader = guard(1, Some(contents(1, 100, 10)));
        leader.pass();
        let Some(TaskEvent::InputsRecorded(inputs)) = leader.to_record(None, AT) else {
            panic!("nothing is recorded")
        };
        InputsOnRecord { at: AT, inputs }
    }

    fn faults(guard: &InputGuard) -> Vec<String> {
        let faults = guard.faults(Some(&on_record()), true);
        faults.iter().map(InputFault::to_string).collect()
    }

    #[test]
    fn a_new_leader_compares_its_inputs_with_the_record() {
        let of = |digest, rows, hour| faults(&guard(2, Some(contents(digest, rows, hour))));
        assert!(of(1, 100, 3).is_empty(), "the same content may have an earlier time");
        assert!(of(2, 90, 10).is_empty(), "a tenth may be gone");
        assert_eq!(of(2, 89, 11), ["grade.info has 89 rows here, and node 1 planned by 100 rows"]);
        let older = of(2, 100, 9);
        assert!(older[0].starts_with("grade.info is of 1970-01-01T09"), "{older:?}");
        let missing = faults(&guard(2, None));
        assert_eq!(missing, ["grade.info is missing here, and node 1 planned by 100 rows"]);
        let mut without_masters = guard(2, Some(contents(1, 100, 10)));
        without_masters.set_masters(89);
        let masters = "the list of masters has 89 rows here, and node 1 planned by 100 rows";
        assert_eq!(faults(&without_masters), [masters]);
    }

    #[test]
    fn a_node_alone_an_unread_input_and_the_setting_pass() {
        let mut same = guard(1, Some(contents(2, 1, 1)));
        assert!(faults(&same).is_empty());
        same.has_others = true;
        assert_eq!(faults(&same).len(), 1, "it leads again, perhaps after another one");
        let unread = InputGuard { node: Some(2), ..InputGuard::default() };
        assert!(faults(&unread).is_empty());
        assert!(guard(2, None).faults(Some(&on_record()), false).is_empty());
        assert!(guard(2, None).faults(None, true).is_empty());
    }

    #[test]
    fn a_leader_that_passed_records_a_smaller_list() {
        let mut leader = guard(2, Some(contents(1, 100, 10)));
        leader.pass();
        leader.set_files(RankingFiles {
            grade_info: Some(contents(3, 5, 11)),
            ..RankingFiles::default()
        });
        assert!(faults(&leader).is_empty());
        let event = leader.to_record(Some(&on_record()), AT);
        let Some(TaskEvent::InputsRecorded(inputs)) = event else { panic!("it is recorded") };
        assert_eq!((inputs.node, inputs.grade_info.unwrap().rows), (2, 5));
        leader.leader_changed();
        assert_eq!(faults(&leader).len(), 1, "in another term it is a new leader");
    }

    #[test]
    fn a_leader_records_changes_only_and_at_most_once_a_minute() {
        let (mut leader, before) = (guard(1, Some(contents(1, 100, 10))), on_record());
        let after = |seconds| AT.after(Duration::from_secs(seconds));
        assert_eq!(leader.to_record(None, after(0)), None, "it has not passed");
        leader.pass();
        assert_eq!(leader.to_record(Some(&before), after(HOUR)), None, "nothing changed");
        leader.set_masters(101);
        assert_eq!(leader.to_record(Some(&before), after(59)), None);
        assert!(leader.to_record(Some(&before), after(60)).is_some());
    }

    #[test]
    fn a_leader_records_at_once_when_others_would_be_refused() {
        let (mut leader, before) = (guard(1, Some(contents(2, 50, 11))), on_record());
        leader.pass();
        let event = leader.to_record(Some(&before), AT);
        let Some(TaskEvent::InputsRecorded(inputs)) = event else { panic!("it is recorded") };
        let after = InputsOnRecord { at: AT, inputs };
        assert_eq!(leader.to_record(Some(&after), AT), None, "it is on record");
        let other = guard(2, Some(contents(2, 50, 11)));
        assert_eq!(other.faults(Some(&before), true).len(), 1);
        assert!(other.faults(Some(&after), true).is_empty());
        leader.set_masters(89);
        assert!(leader.to_record(Some(&after), AT).is_some(), "masters are gone");
    }

    #[test]
    fn a_time_in_the_future_makes_no_other_file_older() {
        let mut leader = guard(1, Some(contents(1, 100, 100)));
        leader.pass();
        let event = leader.to_record(None, AT);
        let Some(TaskEvent::InputsRecorded(inputs)) = event else { panic!("it is recorded") };
        let on_record = InputsOnRecord { at: AT, inputs };
        let of = |hour| guard(2, Some(contents(2, 100, hour))).faults(Some(&on_record), true);
        assert!(of(13).is_empty());
        assert!(matches!(of(11)[..], [InputFault::Older { recorded: AT, .. }]));
    }

    #[test]
    fn a_node_without_input_files_records_nothing() {
        let mut leader = guard(1, None);
        leader.pass();
        assert_eq!(leader.to_record(None, Millis(0)), None);
        let gone = leader.to_record(Some(&on_record()), AT.after(RECORD_EVERY));
        assert!(gone.is_some(), "the file on record is not configured any more");
    }

    #[test]
    fn each_change_of_the_faults_is_logged_once() {
        let (mut leader, fault) = (guard(2, None), guard(2, None).faults(Some(&on_record()), true));
        assert!(!leader.is_news(&[]), "nothing is wrong");
        assert!(leader.is_news(&fault) && !leader.is_news(&fault));
        assert!(leader.is_news(&[]) && !leader.is_news(&[]));
    }
}
