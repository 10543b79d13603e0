//! The failed copies of the last hour, grouped by their cause.

use std::collections::{BTreeMap, BTreeSet};

use reelyard_console::Moment;
use reelyard_console::pages::tasks::{BlamedSide, FailureCause};
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::{Blame, TaskId};
use reelyard_yard::task_manager::{Task, TaskManagerView};

use crate::http::node_state::NodeHttpState;
use crate::http::overview::HOUR_MILLIS;

/// Parts of the hour in the curve of a cause.
const CURVE_PARTS: usize = 12;

/// Most copies that one action retries.
const MOST_RETRIED: usize = 1000;

/// Two failures are alike if they have the same blamed side, host and reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CauseKey {
    blame: Option<u8>,
    host: Option<HostAddr>,
    reason: String,
}

impl CauseKey {
    fn of(task: &Task) -> Self {
        let host = match task.blame {
            Some(Blame::Source) => Some(task.source),
            Some(Blame::Destination) => Some(task.destination),
            _ => None,
        };
        // Numbers differ from copy to copy, such as sizes and attempts.
        let reason = task.reason_in_words().unwrap_or_default();
        let reason = reason.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        CauseKey { blame: task.blame.map(|blame| blame as u8), host, reason }
    }

    /// The key as addresses have it.
    fn text(&self) -> String {
        let host = self.host.map(|host| host.to_string()).unwrap_or_default();
        let digest = blake3::hash(format!("{:?}/{host}/{}", self.blame, self.reason).as_bytes());
        digest.to_hex().chars().take(16).collect()
    }
}

/// The key of a task's cause, as addresses have it.
pub fn cause_key(task: &Task) -> String {
    CauseKey::of(task).text()
}

/// The number of these times in even parts of the last hour, oldest first.
fn curve(times: impl Iterator<Item = i64>, now: Millis) -> Vec<f32> {
    let mut curve = vec![0.0; CURVE_PARTS];
    for time in times {
        let passed = (time - (now.0 - HOUR_MILLIS)).clamp(0, HOUR_MILLIS - 1);
        let part = passed * CURVE_PARTS as i64 / HOUR_MILLIS;
        if let Some(failures) = usize::try_from(part).ok().and_then(|part| curve.get_mut(part)) {
            *failures += 1.0;
        }
    }
    curve
}

/// The failures of the last hour by cause, most copies first.
pub fn by_cause(tasks: &TaskManagerView, now: Millis) -> Vec<FailureCause> {
    let mut groups: BTreeMap<CauseKey, Vec<&Task>> = BTreeMap::new();
    for task in tasks.ended.values().filter(|task| task.has_failed()) {
        if now.0 - task.changed.0 < HOUR_MILLIS {
            groups.entry(CauseKey::of(task)).or_default().push(task);
        }
    }
    let settled = settled(tasks);
    let mut causes = Vec::new();
    for (key, failed) in groups {
        let times = failed.iter().map(|task| task.changed.0);
        let files: BTreeSet<_> = failed.iter().map(|task| &task.name).collect();
        let last = failed.iter().max_by_key(|task| task.changed);
        causes.push(FailureCause {
            key: key.text(),
            copies: failed.len() as u64,
            cause: last.and_then(|task| task.reason_in_words()).unwrap_or_default(),
            blamed: last.and_then(|task| blamed(task.blame?)),
            host: key.host.map(|host| host.to_string()),
            files: files.len() as u64,
            first: Moment(times.clone().min().unwrap_or_default()),
            last: Moment(times.clone().max().unwrap_or_default()),
            curve: curve(times.clone(), now),
            retryable: files.iter().filter(|name| !settled.contains(*name)).count() as u64,
        });
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.copies));
    causes
}

fn blamed(blame: Blame) -> Option<BlamedSide> {
    match blame {
        Blame::Source => Some(BlamedSide::Source),
        Blame::Destination => Some(BlamedSide::Destination),
        Blame::File => Some(BlamedSide::File),
        Blame::Pair => None,
    }
}

/// The files that need no retry: a task copies them, or their last task did not fail.
fn settled(tasks: &TaskManagerView) -> BTreeSet<&FileName> {
    let mut settled: BTreeSet<&FileName> = tasks.open.values().map(|task| &task.name).collect();
    let mut last: BTreeMap<&FileName, &Task> = BTreeMap::new();
    for task in tasks.ended.values() {
        let newest = last.entry(&task.name).or_insert(task);
        if newest.id < task.id {
            *newest = task;
        }
    }
    settled.extend(last.into_iter().filter(|(_, task)| !task.has_failed()).map(|(name, _)| name));
    settled
}

/// The last failed task of each file with this cause, or with any cause. Files that need no retry are left out.
pub fn retryable(state: &NodeHttpState, cause: Option<&str>) -> Vec<TaskId> {
    let now = state.clock.now();
    let is_wanted = |task: &Task| {
        now.0 - task.changed.0 < HOUR_MILLIS && cause.is_none_or(|cause| cause_key(task) == cause)
    };
    last_failed(state, is_wanted).into_iter().take(MOST_RETRIED).collect()
}

/// The last failed task of each file, however old. Files that need no retry are left out.
pub fn retryable_of_any_age(state: &NodeHttpState) -> Vec<TaskId> {
    last_failed(state, |_| true)
}

fn last_failed(state: &NodeHttpState, is_wanted: impl Fn(&Task) -> bool) -> Vec<TaskId> {
    let tasks = state.actors.task_views.load();
    let settled = settled(&tasks);
    let mut last = BTreeMap::new();
    for task in tasks.ended.values().filter(|task| task.has_failed()) {
        if is_wanted(task) && !settled.contains(&task.name) {
            last.insert(&task.name, task.id);
        }
    }
    last.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_counts_failures_by_their_time() {
        let now = Millis(10 * HOUR_MILLIS);
        let times = [now.0 - HOUR_MILLIS + 1, now.0 - 1, now.0, now.0 + 1];
        let curve = curve(times.into_iter(), now);
        assert_eq!((curve.len(), curve[0], curve[CURVE_PARTS - 1]), (CURVE_PARTS, 1.0, 3.0));
        assert_eq!(curve.iter().sum::<f32>(), 4.0);
    }
}
