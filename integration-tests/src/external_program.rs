//! Stand-ins for the program that an old cfw downloads with: shell scripts, called as
//! `PROGRAM SRC_IP TMP_PATH SRC_FILE_PATH BPS` (spec 2.5).
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

/// What a good one does.
pub const COPIES: &str = "cp \"$3\" \"$2\"\necho \"Successfully done\" >&2\n";

/// Writes the script `body` into `dir` and answers its path. It finds `dir` in `$DIR`.
pub fn script(dir: &Path, body: &str) -> PathBuf {
    let path = dir.join("downloader");
    let text = format!("#!/bin/sh\nDIR='{}'\n{body}", dir.display());
    std::fs::write(&path, text).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
    path
}

/// The process whose number is in a file, once it is there.
pub fn pid_in(path: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(path).ok()?;
    Pid::from_raw(text.strip_suffix('\n')?.parse().ok()?)
}

/// Whether a process runs. One that ended and was not waited for does not.
pub fn is_alive(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start().chars().next();
    state.is_some_and(|state| state != 'Z' && state != 'X')
}
