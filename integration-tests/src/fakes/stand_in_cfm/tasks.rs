//! The tasks of cfm and the changes that it allows.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// A task as `GET /tasks` shows it, in the order of its fields.
#[derive(Clone, Debug, Serialize)]
pub struct CfmTaskRow {
    /// Unix nanoseconds at creation, as text.
    pub id: String,
    /// Creation time in Unix seconds.
    pub ctime: u64,
    /// Time of the last change in Unix seconds.
    pub mtime: u64,
    /// ready, working, done or timeout.
    pub status: String,
    /// IP of the source.
    pub src_ip: String,
    /// IP of the destination.
    pub dst_ip: String,
    /// Path of the master.
    pub file_path: String,
    /// Base name of the master.
    pub file_name: String,
    /// Rank, 1 = best.
    pub grade: i32,
    /// bit/s, as text.
    pub copy_speed: String,
    /// Address of the source, with the port.
    pub src_addr: String,
    /// Address of the destination, with the port.
    pub dst_addr: String,
}

/// cfm's default of `tasker.task_copy_speed_bps`.
const COPY_SPEED: &str = "10000000";

/// Every task, by its number.
#[derive(Default)]
pub struct CfmTaskTable {
    by_id: BTreeMap<i64, (CfmTaskRow, SystemTime)>,
    planned: HashMap<String, usize>,
}

impl CfmTaskTable {
    /// The tasks in ascending order of number.
    pub fn rows(&self) -> Vec<CfmTaskRow> {
        self.by_id.values().map(|(task, _)| task.clone()).collect()
    }

    /// The task of that number.
    pub fn get(&self, id: i64) -> Option<&CfmTaskRow> {
        self.by_id.get(&id).map(|(task, _)| task)
    }

    /// Adds a task without changes.
    pub fn insert(&mut self, id: i64, task: CfmTaskRow) {
        self.by_id.insert(id, (task, SystemTime::now()));
    }

    /// The number of tasks that were created for `file`.
    pub fn times_planned(&self, file: &str) -> usize {
        self.planned.get(file).copied().unwrap_or_default()
    }

    /// Creates a task in the state ready.
    pub fn create(&mut self, master: &Path, grade: i32, source: SocketAddr, to: SocketAddr) {
        let now = SystemTime::now();
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let id = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        let name = master.file_name().unwrap_or_default().to_string_lossy().into_owned();
        *self.planned.entry(name.clone()).or_default() += 1;
        let task = CfmTaskRow {
            id: id.to_string(),
            ctime: since.as_secs(),
            mtime: since.as_secs(),
            status: "ready".to_owned(),
            src_ip: source.ip().to_string(),
            dst_ip: to.ip().to_string(),
            file_path: master.display().to_string(),
            file_name: name,
            grade,
            copy_speed: COPY_SPEED.to_owned(),
            src_addr: source.to_string(),
            dst_addr: to.to_string(),
        };
        self.by_id.insert(id, (task, now));
    }

    /// The status code of `PATCH` with this body.
    pub fn patch(&mut self, id: i64, body: &[u8]) -> u16 {
        let Ok(body) = serde_json::from_slice::<serde_json::Value>(body) else { return 400 };
        let to = match body.get("status") {
            None => None,
            Some(status) => match status.as_str() {
                Some(known @ ("ready" | "working" | "done" | "timeout")) => Some(known),
                _ => return 400,
            },
        };
        let Some((task, changed)) = self.by_id.get_mut(&id) else { return 404 };
        let allowed = match to {
            Some("working") => matches!(task.status.as_str(), "ready" | "working"),
            Some("done" | "timeout") => true,
            _ => false,
        };
        let Some(to) = to.filter(|_| allowed) else { return 409 };
        *changed = SystemTime::now();
        task.status = to.to_owned();
        task.mtime = changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        200
    }

    /// Removes a task. Returns whether it existed.
    pub fn remove(&mut self, id: i64) -> bool {
        self.by_id.remove(&id).is_some()
    }

    /// The clean-up of a round. Removes tasks that are done, too old, or have a host that
    /// is not healthy.
    pub fn clean(&mut self, timeout: Duration, is_well: impl Fn(&str) -> bool) {
        self.by_id.retain(|_, (task, changed)| {
            let age = changed.elapsed().unwrap_or_default();
            let hosts_are_well = is_well(&task.src_addr) && is_well(&task.dst_addr);
            task.status != "done" && age <= timeout && hosts_are_well
        });
    }
}
