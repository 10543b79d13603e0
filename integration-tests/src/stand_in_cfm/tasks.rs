//! The tasks of cfm, and which changes it allows them (spec 2.1).

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
    /// Unix seconds.
    pub ctime: u64,
    /// Unix seconds of the last change.
    pub mtime: u64,
    /// ready, working, done or timeout.
    pub status: String,
    /// IP of the source.
    pub src_ip: String,
    /// IP of the destination.
    pub dst_ip: String,
    /// Path of the master.
    pub file_path: String,
    /// Its base name.
    pub file_name: String,
    /// Rank, 1 = best.
    pub grade: i32,
    /// bit/s, as text.
    pub copy_speed: String,
    /// The source.
    pub src_addr: String,
    /// The destination.
    pub dst_addr: String,
}

/// cfm's default of `tasker.task_copy_speed_bps` (spec 3.1).
const COPY_SPEED: &str = "10000000";

/// Every task, by its number.
#[derive(Default)]
pub struct CfmTaskTable {
    by_id: BTreeMap<i64, (CfmTaskRow, SystemTime)>,
    planned: HashMap<String, usize>,
}

impl CfmTaskTable {
    /// By number.
    pub fn rows(&self) -> Vec<CfmTaskRow> {
        self.by_id.values().map(|(task, _)| task.clone()).collect()
    }

    /// The one of that number.
    pub fn get(&self, id: i64) -> Option<&CfmTaskRow> {
        self.by_id.get(&id).map(|(task, _)| task)
    }

    /// Puts one among them as it is.
    pub fn insert(&mut self, id: i64, task: CfmTaskRow) {
        self.by_id.insert(id, (task, SystemTime::now()));
    }

    /// How often one was made for `file`.
    pub fn times_planned(&self, file: &str) -> usize {
        self.planned.get(file).copied().unwrap_or_default()
    }

    /// Makes one that is ready.
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

    /// Whether there was one.
    pub fn remove(&mut self, id: i64) -> bool {
        self.by_id.remove(&id).is_some()
    }

    /// The clean-up of a round (spec 4.4 step 2): what is done, too old, or has a host that is not
    /// well.
    pub fn clean(&mut self, timeout: Duration, is_well: impl Fn(&str) -> bool) {
        self.by_id.retain(|_, (task, changed)| {
            let age = changed.elapsed().unwrap_or_default();
            let hosts_are_well = is_well(&task.src_addr) && is_well(&task.dst_addr);
            task.status != "done" && age <= timeout && hosts_are_well
        });
    }
}
