//! A yard whose hosts are old: what tests of a real node over old cfws share.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use crate::stand_in_cfw::{DownloaderBehavior, Polling, StandInCfw};
use crate::yard::{ProcessYard, RoleProcess, holds};

/// How often an old cfw of these tests asks for tasks.
pub const POLL: Duration = Duration::from_millis(30);

/// Settings of a node whose hosts are looked at often, so that no test waits for a look.
pub const QUICK: [(&str, &str); 2] =
    [("calls.inventory_interval", "300ms"), ("calls.disk_interval", "300ms")];

/// Starts the node with [`QUICK`] and `more`.
pub fn start_node(ground: &ProcessYard, more: &[(&str, &str)]) -> Result<RoleProcess> {
    ground.start_node(&[&QUICK[..], more].concat())
}

/// An old source: it answers heartbeats; what it serves, it serves by means of its own.
pub fn old_source(ground: &ProcessYard, number: usize) -> Result<StandInCfw> {
    Ok(StandInCfw::start_at(&ground.path("masters"), &ground.source(number).to_string())?)
}

/// An old destination that does not poll yet.
pub fn old_destination(ground: &ProcessYard, number: usize) -> Result<StandInCfw> {
    std::fs::create_dir_all(ground.copies(number))?;
    Ok(StandInCfw::start_at(&ground.copies(number), &ground.destination(number).to_string())?)
}

/// Has an old destination poll the node as cfw does, often.
pub fn polling(ground: &ProcessYard, host: &StandInCfw, how: DownloaderBehavior) -> Polling {
    host.poll(ground.node, POLL, how)
}

/// Whether destination `number` holds something under `name`.
pub fn is_on(ground: &ProcessYard, number: usize, name: &[u8]) -> bool {
    ground.copies(number).join(OsStr::from_bytes(name)).exists()
}

/// How many destinations hold `name` with exactly these bytes.
pub fn copies(ground: &ProcessYard, destinations: usize, name: &[u8], bytes: &[u8]) -> usize {
    let path = |number| ground.copies(number).join(OsStr::from_bytes(name));
    (0..destinations).filter(|number| holds(&path(*number), bytes)).count()
}

/// The newest task of `file` that `is_wanted` picks.
pub fn task(ground: &ProcessYard, file: &str, is_wanted: impl Fn(&Value) -> bool) -> Option<Value> {
    let tasks = ground.get("/api/v1/tasks?limit=200")?;
    let mut tasks = tasks["items"].as_array()?.iter();
    tasks.find(|task| task["name"] == file && is_wanted(task)).cloned()
}

/// The newest task of `file`, once it is in this state.
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
