//! The tasks that cfm's list shows, and how it shows them.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_protocol::legacy::cfm::{
    CfmTask, FASTEST_ON_THE_WIRE, OldState, carries, write_task_list,
};

use crate::task_manager::Task;

/// How long an ended task stays on cfm's list, so that a polling client still sees its result.
pub const ENDED_TASKS_SHOWN_FOR: Duration = Duration::from_secs(60);

/// The form of `task` at `now` in cfm's protocol. None for tasks that [`listed_state`] leaves out,
/// and for a file whose name the protocol cannot carry. The planner never gives such a file to a
/// host that reads this list. A cfw that replaced a Reelyard worker must not try it.
pub fn cfm_task(task: &Task, now: Millis) -> Option<CfmTask> {
    let status = listed_state(task, now)?;
    let name = task.name.as_utf8().filter(|_| carries(&task.name))?;
    Some(CfmTask {
        id: task.id.0,
        ctime: task.created.unix_seconds(),
        mtime: task.changed.unix_seconds(),
        status,
        src_ip: task.source.ip().to_string(),
        dst_ip: task.destination.ip().to_string(),
        file_path: path_of(&task.dir, name),
        file_name: name.to_owned(),
        grade: task.grade,
        copy_speed: task.copy_speed.unwrap_or(FASTEST_ON_THE_WIRE).0,
        src_addr: task.source.to_string(),
        dst_addr: task.destination.to_string(),
    })
}

/// The state in which cfm's list shows a task at `now`. None for a cancelled task, and for one that
/// ended longer than [`ENDED_TASKS_SHOWN_FOR`] ago.
pub fn listed_state(task: &Task, now: Millis) -> Option<OldState> {
    if !task.state.is_open() && now.since(task.changed) > ENDED_TASKS_SHOWN_FOR {
        return None;
    }
    task.old_state()
}

/// The path of a master, as in a task.
fn path_of(dir: &str, name: &str) -> String {
    format!("{}/{name}", dir.trim_end_matches('/'))
}

/// The body of `GET /tasks` at `now`.
pub fn write_tasks<'a>(tasks: impl IntoIterator<Item = &'a Task>, now: Millis) -> Vec<u8> {
    write_task_list(tasks.into_iter().filter_map(|task| cfm_task(task, now)).collect())
}

#[cfg(test)]
mod tests {
    use reelyard_core::host::BitsPerSecond;
    use reelyard_core::names::FileName;
    use reelyard_protocol::legacy::cfm::LONGEST_NAME_CARRIED;
    use reelyard_protocol::worker::TaskId;

    use super::*;
    use crate::task_manager::TaskState;

    fn task(name: &[u8]) -> Task {
        Task {
            id: TaskId(1_795_240_648_713_846_374),
            name: FileName::new(name).unwrap(),
            dir: "/data2".to_owned(),
            source: "127.0.0.11:28888".parse().unwrap(),
            destination: "127.0.0.22:28888".parse().unwrap(),
            grade: 7,
            hits: 0,
            size: 1,
            copy_speed: Some(BitsPerSecond(80_000_000)),
            state: TaskState::Ready,
            created: Millis(1_795_240_648_713),
            changed: Millis(1_795_240_648_713),
            claimed_done: false,
            reason: None,
            is_unverified: false,
            blame: None,
            hash: None,
            asked_by: None,
        }
    }

    #[test]
    fn a_task_is_written_as_cfm_writes_it() {
        let body = write_tasks([&task(b"E.mpg")], Millis(1_795_240_649_000));
        assert_eq!(
            String::from_utf8(body).unwrap(),
            "[{\"id\":\"1795240648713846374\",\"ctime\":1795240648,\"mtime\":1795240648,\
             \"status\":\"ready\",\"src_ip\":\"127.0.0.11\",\"dst_ip\":\"127.0.0.22\",\
             \"file_path\":\"/data2/E.mpg\",\"file_name\":\"E.mpg\",\"grade\":7,\
             \"copy_speed\":\"80000000\",\"src_addr\":\"127.0.0.11:28888\",\
             \"dst_addr\":\"127.0.0.22:28888\"}]\n"
        );
        assert_eq!(write_tasks([], Millis(0)), b"[]\n");
    }

    #[test]
    fn only_the_four_old_states_and_recent_ends_are_shown() {
        let now = Millis(1_795_240_700_000);
        let listed = |state, claimed_done, age: u64| {
            let changed = now.before(Duration::from_secs(age));
            let task = Task { state, claimed_done, changed, ..task(b"a") };
            cfm_task(&task, now).map(|task| task.status)
        };
        assert_eq!(listed(TaskState::Ready, false, 9000), Some(OldState::Ready));
        assert_eq!(listed(TaskState::Working, false, 9000), Some(OldState::Working));
        assert_eq!(listed(TaskState::Working, true, 9000), Some(OldState::Done));
        assert_eq!(listed(TaskState::Done, false, 60), Some(OldState::Done));
        assert_eq!(listed(TaskState::Done, false, 61), None);
        assert_eq!(listed(TaskState::Timeout, false, 1), Some(OldState::Timeout));
        assert_eq!(listed(TaskState::Failed, false, 1), Some(OldState::Timeout));
        assert_eq!(listed(TaskState::Cancelled, false, 1), None);
        let longest = [b'x'; LONGEST_NAME_CARRIED];
        assert!(cfm_task(&task(&longest), now).is_some());
        for name in [&b"\xff"[..], b"two\nlines", &[b'x'; LONGEST_NAME_CARRIED + 1]] {
            assert_eq!(cfm_task(&task(name), now), None);
        }
    }
}
