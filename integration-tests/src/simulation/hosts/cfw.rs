//! An old Go cfw: it polls, copies one file at a time without checking it, and reports `done` for
//! every result. It sends each report once, and its downloader may hang without end. It
//! keeps no state over a restart.

use std::collections::BTreeMap;

use reelyard_protocol::legacy::cfm::{CfmTask, OldState};
use reelyard_protocol::worker::TaskId;

use super::disk::{SimulatedCopy, joined};
use super::host::{SimulatedHost, SimulatedProgram, parsed};
use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::{SimulatedCall, SimulatedResponse};
use crate::simulation::environment::parties::PartyTimer;
use crate::trace;

/// The polling interval in milliseconds.
const POLL: u64 = 5000;
/// The timeout of its calls in milliseconds.
const PATIENCE: u64 = 10_000;
/// The bytes of a master in one read.
const STEP: u64 = 10_000_000;

enum PendingCfwCall {
    Tasks,
    Working,
    Done,
    Read,
}

/// The download in progress.
struct Download {
    task: CfmTask,
    size: Option<u64>,
    got: u64,
    pieces: Vec<u64>,
}

/// The state of an old cfw, which a restart clears.
pub struct SimulatedCfw {
    download: Option<Download>,
    calls: BTreeMap<u64, PendingCfwCall>,
    /// The probabilities, in percent, that its downloader fails, hangs or truncates a file.
    pub faults: [u32; 3],
}

impl Default for SimulatedCfw {
    /// A cfw that was never started.
    fn default() -> Self {
        SimulatedCfw { download: None, calls: BTreeMap::new(), faults: [8, 4, 4] }
    }
}

impl SimulatedCfw {
    pub(super) fn restart(&mut self) {
        *self = SimulatedCfw { faults: self.faults, ..SimulatedCfw::default() };
    }
}

impl SimulatedHost {
    #[allow(clippy::panic, reason = "callers have checked the program of the host")]
    fn old(&mut self) -> &mut SimulatedCfw {
        match &mut self.program {
            SimulatedProgram::Old(old) => old,
            SimulatedProgram::Ours(_) => panic!("one of our workers runs here"),
        }
    }

    pub(super) fn ring_old(&mut self, context: &mut Context, timer: PartyTimer) {
        match timer {
            PartyTimer::Ask => {
                if self.disk.figures().used_percent > 90 {
                    return context.after(POLL, self.party(), self.life, PartyTimer::Ask);
                }
                self.say(context, SimulatedCall::Tasks, PendingCfwCall::Tasks);
            }
            PartyTimer::CallIsOver(id) => self.answered_old(context, id, None),
            PartyTimer::Read(_) => self.download_on(context),
            _ => {}
        }
    }

    fn say(&mut self, context: &mut Context, call: SimulatedCall, asking: PendingCfwCall) {
        let to = context.service();
        let id = context.call(self.party(), self.life, to, call, PATIENCE);
        self.old().calls.insert(id, asking);
    }

    fn patch(&mut self, context: &mut Context, task: i64, status: &str, asking: PendingCfwCall) {
        let body = format!("{{\"status\":\"{status}\"}}").into_bytes();
        self.say(context, SimulatedCall::Patch { id: task.to_string(), body }, asking);
    }

    pub(super) fn answered_old(
        &mut self,
        context: &mut Context,
        id: u64,
        answer: Option<SimulatedResponse>,
    ) {
        let Some(asking) = self.old().calls.remove(&id) else { return };
        match asking {
            PendingCfwCall::Tasks => self.polled(context, answer),
            // It only logs a refusal and continues.
            PendingCfwCall::Working => self.begin(context),
            PendingCfwCall::Done => {
                context.after(1, self.party(), self.life, PartyTimer::Ask);
            }
            PendingCfwCall::Read => self.downloaded(context, answer),
        }
    }

    fn polled(&mut self, context: &mut Context, answer: Option<SimulatedResponse>) {
        let own = self.addr.to_string();
        let tasks: Vec<CfmTask> =
            answer.and_then(|answer| serde_json::from_slice(&answer.body).ok()).unwrap_or_default();
        let mine = |task: &CfmTask| task.dst_addr == own && task.status == OldState::Ready;
        let Some(task) = tasks.into_iter().find(mine) else {
            return context.after(POLL, self.party(), self.life, PartyTimer::Ask);
        };
        let id = task.id;
        trace!(context, "{} takes {id} {}", self.party(), task.file_name);
        self.old().download = Some(Download { task, size: None, got: 0, pieces: Vec::new() });
        self.patch(context, id, "working", PendingCfwCall::Working);
    }

    fn begin(&mut self, context: &mut Context) {
        let [fails, hangs, _] = self.old().faults;
        let draw = context.rng.u32(0..100);
        if draw < fails {
            self.end(context, "fails");
        } else if draw < fails + hangs {
            trace!(context, "{}: the downloader hangs", self.party());
        } else {
            self.download_on(context);
        }
    }

    fn download_on(&mut self, context: &mut Context) {
        let Some(download) = &self.old().download else { return };
        let source = download.task.src_addr.parse().ok();
        let Some(source) = source.and_then(|source| context.judge.party_at(source)) else { return };
        let name = download.task.file_name.clone();
        let Ok(name) = reelyard_core::names::FileName::new(name) else { return };
        let call = SimulatedCall::Read { name, offset: download.got, length: STEP };
        let id = context.call(self.party(), self.life, source, call, 3000);
        self.old().calls.insert(id, PendingCfwCall::Read);
    }

    fn downloaded(&mut self, context: &mut Context, answer: Option<SimulatedResponse>) {
        let cut_chance = self.old().faults[2];
        let reply = answer.filter(|answer| answer.status == 200).and_then(|answer| parsed(&answer));
        let Some((content, size, bytes)) = reply else {
            return self.end(context, "breaks off");
        };
        let cut_short = context.chance(cut_chance);
        let Some(download) = &mut self.old().download else { return };
        let whole = *download.size.get_or_insert(size);
        download.got += bytes;
        download.pieces.push(content);
        let (got, task) = (download.got, TaskId(download.task.id));
        if !self.disk.write(task, bytes) {
            return self.end(context, "finds the disk full");
        }
        if got < whole && bytes > 0 && !cut_short {
            let after = context.rng.u64(200..2500);
            return context.after(after, self.party(), self.life, PartyTimer::Read(task));
        }
        // It renames the file without a check.
        self.disk.partial.remove(&task);
        let Some(download) = &self.old().download else { return };
        let content = if got < whole { 1 << 63 } else { joined(&download.pieces) };
        if let Ok(name) = reelyard_core::names::FileName::new(download.task.file_name.clone()) {
            context.judge.published(self.addr, &name, content, Some(task), false);
            self.disk.files.insert(name, SimulatedCopy { content, size: got, task: Some(task) });
        }
        self.end(context, "ends");
    }

    /// Reports `done` for every result.
    fn end(&mut self, context: &mut Context, how: &str) {
        let Some(download) = self.old().download.take() else { return };
        let task = download.task.id;
        trace!(context, "{}: the download of {task} {how}; it says done", self.party());
        self.disk.partial.remove(&TaskId(task));
        self.patch(context, task, "done", PendingCfwCall::Done);
    }
}
