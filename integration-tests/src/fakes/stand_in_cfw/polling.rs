//! The loop of an old cfw: it polls for tasks, copies one at a time, and reports `done` for every
//! result.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fs, io};

use reelyard_core::host::HostAddr;
use reelyard_protocol::http_client::without_tls;
use reelyard_protocol::legacy::cfm::{CfmTask, OldState};
use tokio::sync::watch;

use super::used_percent;

/// The result of its external downloader for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownloaderBehavior {
    /// Copies the file at `file_path`, which must be on this machine.
    Copies,
    /// Writes nothing, but the loop still reports `done`.
    Fails,
    /// Never ends.
    Hangs,
}

/// Timeout of its calls to the node.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// A host takes no tasks above this use of its disk, in percent.
const FULL_ABOVE: u64 = 99;

/// A running loop. Dropping it stops it.
pub struct Polling {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Polling {
    pub(super) fn start(
        own: HostAddr,
        dir: PathBuf,
        node: SocketAddr,
        every: Duration,
        how: DownloaderBehavior,
    ) -> Polling {
        let (stop, mut stopped) = watch::channel(false);
        let thread = std::thread::spawn(move || {
            actix_rt::System::new().block_on(async move {
                let until_stopped = async move {
                    // An error means that the handle was dropped, which also ends the loop.
                    let _ = stopped.wait_for(|is_stopped| *is_stopped).await;
                };
                tokio::select! {
                    () = until_stopped => {}
                    () = run(own, dir, node, every, how) => {}
                }
            });
        });
        Polling { stop, thread: Some(thread) }
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn run(
    own: HostAddr,
    dir: PathBuf,
    node: SocketAddr,
    every: Duration,
    how: DownloaderBehavior,
) {
    let temp = dir.join("temp.downloaded");
    let _ = fs::remove_dir_all(&temp);
    let Ok(http) = without_tls().timeout(CALL_TIMEOUT).no_proxy().build() else {
        return;
    };
    loop {
        let Some(task) = next_task(&http, own, &dir, node).await else {
            tokio::time::sleep(every).await;
            continue;
        };
        // The real cfw only logs a refusal and continues.
        patch_status(&http, node, task.id, "working").await;
        match how {
            // A failed copy is reported as done too.
            DownloaderBehavior::Copies => drop(copy(&task, &dir, &temp)),
            DownloaderBehavior::Fails => {}
            DownloaderBehavior::Hangs => std::future::pending().await,
        }
        patch_status(&http, node, task.id, "done").await;
    }
}

/// The first ready task of the list for this host.
async fn next_task(
    http: &reqwest::Client,
    own: HostAddr,
    dir: &Path,
    node: SocketAddr,
) -> Option<CfmTask> {
    if used_percent(dir).ok()? > FULL_ABOVE {
        return None;
    }
    let request =
        http.get(format!("http://{node}/tasks")).header("Content-Type", "application/json");
    let body = request.send().await.ok()?.bytes().await.ok()?;
    let tasks: Vec<CfmTask> = serde_json::from_slice(&body).ok()?;
    let own = own.to_string();
    tasks.into_iter().find(|task| task.dst_addr == own && task.status == OldState::Ready)
}

async fn patch_status(http: &reqwest::Client, node: SocketAddr, task: i64, status: &str) {
    let request = http.patch(format!("http://{node}/tasks/{task}"));
    let _ = request.body(format!("{{\"status\":\"{status}\"}}")).send().await;
}

fn copy(task: &CfmTask, dir: &Path, temp: &Path) -> io::Result<()> {
    fs::create_dir_all(temp)?;
    let part = temp.join(format!("{}.{}", task.file_name, task.id));
    fs::copy(&task.file_path, &part)?;
    fs::rename(&part, dir.join(&task.file_name))
}
