//! Stand-ins for the downloader of an old cfw: shell scripts, called as `PROGRAM SRC_IP TMP_PATH
//! SRC_FILE_PATH BPS`.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

/// The script of a correct downloader.
pub const COPIES: &str = "cp \"$3\" \"$2\"\necho \"Successfully done\" >&2\n";

/// Writes the script `body` into `dir` and returns its path. The script finds `dir` in `$DIR`.
pub fn script(dir: &Path, body: &str) -> PathBuf {
    let path = dir.join("downloader");
    let text = format!("#!/bin/sh\nDIR='{}'\n{body}", dir.display());
    std::fs::write(&path, text).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
    path
}

/// The process id in a file; `None` until the file is complete.
pub fn pid_in(path: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(path).ok()?;
    Pid::from_raw(text.strip_suffix('\n')?.parse().ok()?)
}

/// Whether a process runs. A zombie does not run.
pub fn is_alive(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start().chars().next();
    state.is_some_and(|state| state != 'Z' && state != 'X')
}
