//! A worker in a process of its own that hosts boxes, and a node's way to it.

use std::path::PathBuf;

use anyhow::Result;
use reelyard_boxes::box_lease::{BoxLink, BoxLinkSettings};
use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_core::manager::{ClusterId, ManagerIdentity};
use reelyard_core::token::SharedToken;
use reelyard_protocol::boxes::{
    BoxNumber, FenceToken, Holder, HookAnswer, HookKind, HookTarget, InspectBoxes, InspectedBox,
    RunHook,
};
use rustix::process::Pid;
use tempfile::TempDir;

use crate::box_yard::pool;
use crate::external_program::{is_alive, pid_in};
use crate::waiting::eventually;
use crate::worker_rig::free_address;
use crate::yard::RoleProcess;

/// What the worker and its node share.
const TOKEN: &str = "opensesame-0123456789";

/// The worker, and a way to it.
pub struct HostRig {
    /// Its directories; gone with the rig.
    pub place: TempDir,
    /// Where it is.
    pub host: HostAddr,
    /// The process.
    pub worker: RoleProcess,
    /// The way.
    pub link: BoxLink,
}

impl HostRig {
    /// Starts a worker with these settings of boxes; `DIR` in them is its directory.
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

    /// Waits until it answers.
    pub async fn is_up(&self) {
        let addr = self.host.socket();
        eventually("the worker listens", || {
            assert!(!self.worker.has_ended(), "{}", self.worker.log_text());
            std::net::TcpStream::connect(addr).is_ok()
        })
        .await;
    }

    /// A path in its directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// What stands in a file there, if it is there.
    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Waits until a file is there, with a line in it.
    pub async fn has(&self, name: &str) {
        eventually(&format!("{name} is there"), || self.text(name).ends_with('\n')).await;
    }

    /// Waits for the process whose number a hook wrote.
    pub async fn process(&self, name: &str) -> Pid {
        self.has(name).await;
        pid_in(&self.path(name)).unwrap_or_else(|| panic!("{name}: {}", self.text(name)))
    }

    /// Waits until a process has ended.
    pub async fn ended(&self, pid: Pid) {
        eventually(&format!("the process {pid} ends"), || !is_alive(pid)).await;
    }

    /// Has it read its configuration again, with these settings of boxes.
    pub fn reload(&self, boxes: &str) -> Result<()> {
        let text = configuration(&self.place, self.host, boxes);
        std::fs::write(self.path("worker.toml"), text)?;
        self.worker.hang_up()
    }

    /// What is to be run for a box of a pool, under the pool's own name.
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

    /// A pool on it.
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

    /// Has something run.
    pub async fn run(&self, hook: RunHook) -> HookAnswer {
        let answer = self.link.hosts().run.recipient().send(hook).await;
        answer.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Has boxes of a pool looked at.
    pub async fn look(&self, pool_name: &str, count: u32) -> Result<Vec<InspectedBox>, String> {
        let boxes = (0..count).map(BoxNumber).collect();
        let last_token = FenceToken(u64::MAX);
        let look = InspectBoxes { place: self.place_of(pool_name), boxes, last_token };
        let answer = self.link.hosts().look.recipient().send(look).await;
        answer.unwrap_or_else(|error| panic!("{error}")).map(|looked| looked.boxes)
    }

    /// `GET` of it.
    pub async fn get(&self, path: &str) -> Result<String> {
        let http = reelyard_protocol::http_client::without_tls().build()?;
        let request = http.get(format!("http://{}{path}", self.host)).bearer_auth(TOKEN);
        Ok(request.send().await?.error_for_status()?.text().await?)
    }
}

/// A way to workers of the node of a cluster.
pub fn link_of(cluster: u128) -> Result<BoxLink> {
    let token = Some(SharedToken::new(TOKEN)?);
    let badge = ManagerIdentity::of_node(1);
    badge.set_cluster(ClusterId(cluster));
    Ok(BoxLink::start(BoxLinkSettings { token, ..BoxLinkSettings::default() }, badge)?)
}

fn configuration(place: &TempDir, host: HostAddr, boxes: &str) -> String {
    let dir = place.path().display().to_string();
    format!(
        "listen = \"{host}\"\nstate_dir = \"{dir}/state\"\ntoken = \"{TOKEN}\"\n{}\n",
        boxes.replace("DIR", &dir)
    )
}

/// What a failed hook said.
pub fn evidence(answer: HookAnswer) -> String {
    match answer {
        HookAnswer::Failed { said } => said.as_str().to_owned(),
        other => panic!("it did not fail: {other:?}"),
    }
}

/// Why nothing was said of a box.
pub fn silence(answer: HookAnswer) -> String {
    match answer {
        HookAnswer::Silent { why } => why,
        other => panic!("it was not refused: {other:?}"),
    }
}
