//! A worker with boxes in its own process, and a node's client for it.

use std::path::PathBuf;

use anyhow::Result;
use reelyard_boxes::box_lease::{BoxLink, BoxLinkSettings};
use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_core::manager::{ManagerIdentity, YardId};
use reelyard_core::token::{SharedToken, WorkerKeys};
use reelyard_protocol::boxes::{
    BoxNumber, FenceToken, Holder, HookAnswer, HookKind, HookTarget, InspectBoxes, InspectedBox,
    RunHook,
};
use rustix::process::Pid;
use tempfile::TempDir;

use crate::fakes::external_program::{is_alive, pid_in};
use crate::probes::waiting::{PATIENCE, eventually};
use crate::rigs::boxes::box_yard::pool;
use crate::rigs::worker::worker_rig::free_address;
use crate::rigs::yard::RoleProcess;

/// The shared token of the worker and its node.
const TOKEN: &str = "opensesame-0123456789";

/// A worker process with boxes and a client that runs hooks on it.
pub struct HostRig {
    /// Contains the configuration, state and log. It is deleted when the rig is dropped.
    pub place: TempDir,
    /// The address of the worker.
    pub host: HostAddr,
    /// The process of the worker. A test can kill or reload it.
    pub worker: RoleProcess,
    /// The node's client for this worker, with the token.
    pub link: BoxLink,
}

impl HostRig {
    /// Starts a worker with these box settings. `DIR` in the settings stands for its directory.
    pub async fn start(boxes: &str) -> Result<Self> {
        let (place, host) = (tempfile::tempdir()?, free_address());
        let file = place.path().join("worker.toml");
        std::fs::write(&file, configuration(&place, host, boxes))?;
        let worker = RoleProcess::start_by_file("worker", &file, place.path().join("worker.log"))?;
        let link = link_of(1)?;
        let rig = HostRig { place, host, worker, link };
        rig.is_up().await;
        Ok(rig)
    }

    /// Waits until the worker accepts connections.
    pub async fn is_up(&self) {
        let addr = self.host.socket();
        eventually("the worker listens", || {
            assert!(!self.worker.has_ended(), "{}", self.worker.log_text());
            std::net::TcpStream::connect(addr).is_ok()
        })
        .await;
    }

    /// A path in the directory of the worker.
    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// The content of a file in that directory; empty when the file does not exist.
    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Waits until the file exists and contains a complete line.
    pub async fn has(&self, name: &str) {
        eventually(&format!("{name} exists"), || self.text(name).ends_with('\n')).await;
    }

    /// Waits for a file with a process id, which a hook writes, and returns the id.
    pub async fn process(&self, name: &str) -> Pid {
        self.has(name).await;
        pid_in(&self.path(name)).unwrap_or_else(|| panic!("{name}: {}", self.text(name)))
    }

    /// Waits until a process has ended.
    pub async fn ended(&self, pid: Pid) {
        eventually(&format!("the process {pid} ends"), || !is_alive(pid)).await;
    }

    /// Makes the worker read its configuration again, with these box settings.
    pub fn reload(&self, boxes: &str) -> Result<()> {
        let text = configuration(&self.place, self.host, boxes);
        std::fs::write(self.path("worker.toml"), text)?;
        self.worker.hang_up()
    }

    /// An order to run a hook for one box. The pool has no hooks setting of its own.
    pub fn hook(&self, pool_name: &str, kind: HookKind, number: u32, token: u64) -> RunHook {
        RunHook {
            place: self.place_of(pool_name),
            kind,
            number: BoxNumber(number),
            box_id: number,
            token: Some(FenceToken(token)),
            holder: Holder::new("judge-7").ok(),
            attempt: 1,
        }
    }

    /// The address of a pool on this worker, as hooks and inspections need it.
    pub fn place_of(&self, pool_name: &str) -> HookTarget {
        HookTarget {
            host: self.host,
            epoch: Epoch(5),
            pool: pool(pool_name),
            hooks: None,
            cluster: None,
            ids: Vec::new(),
        }
    }

    /// Runs a hook on the worker and waits for its answer.
    pub async fn run(&self, hook: RunHook) -> HookAnswer {
        let answer = self.link.hosts().run.recipient().send(hook).await;
        answer.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Asks the worker to inspect boxes of a pool.
    pub async fn look(&self, pool_name: &str, count: u32) -> Result<Vec<InspectedBox>, String> {
        let boxes = (0..count).map(BoxNumber).collect();
        let last_token = FenceToken(u64::MAX);
        let look = InspectBoxes { place: self.place_of(pool_name), boxes, last_token };
        let answer = self.link.hosts().look.recipient().send(look).await;
        answer.unwrap_or_else(|error| panic!("{error}")).map(|looked| looked.boxes)
    }

    /// Sends a `GET` with the token to the worker. Returns the body.
    ///
    /// # Errors
    /// Fails on a status that is not a success.
    pub async fn get(&self, path: &str) -> Result<String> {
        let http = reelyard_protocol::http_client::without_tls().build()?;
        let request = http.get(format!("http://{}{path}", self.host)).bearer_auth(TOKEN);
        Ok(request.send().await?.error_for_status()?.text().await?)
    }
}

/// A client for workers, as a node of this cluster has it.
pub fn link_of(cluster: u128) -> Result<BoxLink> {
    let token = Some(SharedToken::new(TOKEN)?);
    let identity = ManagerIdentity::of_node(1);
    identity.set_cluster(YardId(cluster));
    Ok(BoxLink::start(BoxLinkSettings::new(token, PATIENCE), identity, WorkerKeys::default())?)
}

fn configuration(place: &TempDir, host: HostAddr, boxes: &str) -> String {
    let dir = place.path().display().to_string();
    format!(
        "listen = \"{host}\"\nstate_dir = \"{dir}/state\"\ntoken = \"{TOKEN}\"\n{}\n",
        boxes.replace("DIR", &dir)
    )
}

/// The output of a failed hook.
///
/// # Panics
/// Panics when the hook did not fail.
pub fn evidence(answer: HookAnswer) -> String {
    match answer {
        HookAnswer::Failed { output } => output.as_str().to_owned(),
        other => panic!("it did not fail: {other:?}"),
    }
}

/// The reason why the worker reported nothing about a box.
///
/// # Panics
/// Panics when the worker reported a result.
pub fn silence(answer: HookAnswer) -> String {
    match answer {
        HookAnswer::Silent { why } => why,
        other => panic!("it was not refused: {other:?}"),
    }
}
