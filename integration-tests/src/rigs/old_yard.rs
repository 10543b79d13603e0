//! Shared parts of tests with a real node and old cfws.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use crate::fakes::stand_in_cfw::{DownloaderBehavior, Polling, StandInCfw};
use crate::rigs::yard::{ProcessYard, RoleProcess, holds};

/// The polling interval of an old cfw in these tests.
pub const POLL: Duration = Duration::from_millis(30);

/// Settings of a node that observes its hosts often, to keep tests short.
pub const QUICK: [(&str, &str); 2] =
    [("calls.inventory_interval", "300ms"), ("calls.disk_interval", "300ms")];

/// Starts a node with the settings [`QUICK`] and `more`.
pub fn start_node(ground: &ProcessYard, more: &[(&str, &str)]) -> Result<RoleProcess> {
    ground.start_node(&[&QUICK[..], more].concat())
}

/// Starts an old source. It answers heartbeats; its files are served outside of Reelyard.
pub fn old_source(ground: &ProcessYard, number: usize) -> Result<StandInCfw> {
    Ok(StandInCfw::start_at(&ground.path("masters"), &ground.source(number).to_string())?)
}

/// Starts an old destination that does not poll yet.
pub fn old_destination(ground: &ProcessYard, number: usize) -> Result<StandInCfw> {
    std::fs::create_dir_all(ground.copies(number))?;
    Ok(StandInCfw::start_at(&ground.copies(number), &ground.destination(number).to_string())?)
}

/// Makes an old destination poll the node often, as cfw does.
pub fn polling(ground: &ProcessYard, host: &StandInCfw, how: DownloaderBehavior) -> Polling {
    host.poll(ground.node, POLL, how)
}

/// Whether destination `number` holds a file under `name`.
pub fn is_on(ground: &ProcessYard, number: usize, name: &[u8]) -> bool {
    ground.copies(number).join(OsStr::from_bytes(name)).exists()
}

/// The number of destinations that hold `name` with exactly these bytes.
pub fn copies(ground: &ProcessYard, destinations: usize, name: &[u8], bytes: &[u8]) -> usize {
    let path = |number| ground.copies(number).join(OsStr::from_bytes(name));
    (0..destinations).filter(|number| holds(&path(*number), bytes)).count()
}

/// The newest task of `file` that `is_wanted` accepts.
pub fn task(ground: &ProcessYard, file: &str, is_wanted: impl Fn(&Value) -> bool) -> Option<Value> {
    let tasks = ground.get("/api/v1/tasks?limit=200")?;
    let mut tasks = tasks["items"].as_array()?.iter();
    tasks.find(|task| task["name"] == file && is_wanted(task)).cloned()
}

/// The newest task of `file` if it is in this state.
pub fn task_in(ground: &ProcessYard, file: &str, state: &str) -> Option<Value> {
    task(ground, file, |task| task["state"] == state)
}

/// The file as `/api/v1/files` shows it.
pub fn file(ground: &ProcessYard, name: &str) -> Option<Value> {
    let files = ground.get("/api/v1/files?limit=200")?;
    files["items"].as_array()?.iter().find(|file| file["name"] == name).cloned()
}

/// Whether no task is open.
pub fn no_task_open(ground: &ProcessYard) -> Option<()> {
    let tasks = ground.get("/api/v1/tasks?state=open")?;
    tasks["items"].as_array()?.is_empty().then_some(())
}
