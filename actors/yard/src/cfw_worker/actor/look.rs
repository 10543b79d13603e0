//! Reads the state of a host: its program, its files and its disk.

use std::sync::Arc;

use actix::prelude::*;
use reelyard_core::actor_parts::Observer;
use reelyard_core::clock::Millis;
use reelyard_core::display_text::word;
use reelyard_core::host::{HostKind, HostRole};
use reelyard_core::names::NameTable;
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_protocol::worker::InventoryCursor;
use roaring::RoaringBitmap;
use tokio::sync::oneshot;
use tracing::info;

use crate::cfw_worker::calls::client::{HostClient, HostProgram, WorkerStatus};
use crate::cfw_worker::calls::refresh_reply::RefreshReply;
use crate::cfw_worker::lists::holdings::{Extent, InventoryAnswer};
use crate::cfw_worker::lists::list_body::ListFingerprint;
use crate::cfw_worker::{AskFailure, CfwWorker, HostCallKind, Inventory, Refresh};

/// The result of a read of a host.
struct HostLookResult {
    asked: Millis,
    program: Result<HostProgram, AskFailure>,
    /// The status that a Reelyard worker reports in addition.
    worker_status: Option<WorkerStatus>,
    /// None for a pure source.
    copies: Option<CopiesLookResult>,
}

/// The answer of a destination about its copies.
struct CopiesLookResult {
    answered: Result<InventoryAnswer, AskFailure>,
    /// None if it was not requested, because a list failed before.
    disk: Option<Result<DiskFigures, AskFailure>>,
}

/// The state before a read.
struct KnownBeforeLook {
    program: HostProgram,
    /// Its files. None if they were never read.
    inventory: Option<Arc<Inventory>>,
    /// The cursor from which it can report changes.
    cursor: Option<InventoryCursor>,
    /// The fingerprint of its last list, if that has exactly the known files.
    list: Option<ListFingerprint>,
    on_trial: bool,
}

/// One read: first the program of the host, then its files and its disk at the same time. On probation
/// the calls are sent one at a time, and the read stops at the first failure.
async fn look_at(
    client: HostClient,
    role: HostRole,
    names: NameTable,
    asked: Millis,
    known: KnownBeforeLook,
) -> HostLookResult {
    let (program, word) = match client.program().await {
        Ok(entry) => entry,
        Err(failure) => return HostLookResult::failed(asked, failure),
    };
    if !role.is_destination() {
        return HostLookResult { asked, program: Ok(program), worker_status: word, copies: None };
    }
    // Another program has other files.
    let since = known.cursor.filter(|_| program == known.program);
    let list = known.list.filter(|_| program == known.program);
    let no_files = RoaringBitmap::new();
    let files = known.inventory.as_ref().map_or(&no_files, |inventory| &inventory.files);
    let (answered, disk) = if known.on_trial {
        let answered = client.list(program.kind, names, files, since, list).await;
        let disk = if answered.is_ok() { Some(client.disk().await) } else { None };
        (answered, disk)
    } else {
        let listing = client.list(program.kind, names, files, since, list);
        let (answered, disk) = tokio::join!(listing, client.disk());
        (answered, Some(disk))
    };
    HostLookResult {
        asked,
        program: Ok(program),
        worker_status: word,
        copies: Some(CopiesLookResult { answered, disk }),
    }
}

impl HostLookResult {
    fn failed(asked: Millis, failure: AskFailure) -> Self {
        HostLookResult { asked, program: Err(failure), worker_status: None, copies: None }
    }
}

impl CfwWorker {
    /// Reads the host now. If a read is running, another one follows, because the first may have started
    /// before the change that the caller wants to see.
    pub(super) fn look_soon(&mut self, ctx: &mut Context<Self>, reply: Option<RefreshReply>) {
        if self.looking_for.is_some() {
            self.looking_next_for.get_or_insert_default().extend(reply);
        } else {
            self.look(ctx, reply.into_iter().collect());
        }
    }

    /// Begins a look. None is running.
    pub(super) fn look(&mut self, ctx: &mut Context<Self>, replies: Vec<RefreshReply>) {
        assert!(self.looking_for.is_none(), "two looks at one host at the same time");
        self.looks += 1;
        self.looking_for = Some(replies);
        let asked = self.shell.now();
        self.client.additions.lower(self.settings.list_limits(), asked);
        let known = KnownBeforeLook {
            program: self.program.clone(),
            inventory: self.holdings.inventory().cloned(),
            cursor: self.holdings.asked(asked, self.settings.full_inventory_interval),
            list: self.holdings.fingerprint(),
            on_trial: self.breaker.state(asked).on_probation(),
        };
        let look = look_at(self.client.clone(), self.role, self.names.clone(), asked, known);
        let looking = fut::wrap_future::<_, Self>(self.call_apart(look));
        ctx.spawn(looking.map(move |looked, worker, ctx| {
            let looked = looked.unwrap_or_else(|failure| HostLookResult::failed(asked, failure));
            worker.looked(looked, ctx);
        }));
    }

    /// Takes the result of a read and answers the callers that waited for it.
    fn looked(&mut self, looked: HostLookResult, ctx: &mut Context<Self>) {
        let HostLookResult { asked, program, worker_status: word, copies } = looked;
        self.record_worker_status(word, asked);
        self.judge(HostCallKind::Info, &program);
        self.token_trouble = match &program {
            Err(AskFailure::Token(trouble)) => Some(*trouble),
            Err(_) => self.token_trouble,
            Ok(_) => None,
        };
        let answer = match (program, copies) {
            (Err(failure), _) => {
                self.record_failure("GET /info", &failure);
                Err(failure)
            }
            (Ok(program), copies) => {
                self.learn(program);
                copies.map(|copies| self.apply_copies(copies, asked)).unwrap_or_else(|| {
                    let why = "it is only a source: the file lists of sources are not read";
                    Err(AskFailure::NotAsked(why.to_owned()))
                })
            }
        };
        if matches!(answer, Ok(_) | Err(AskFailure::NotAsked(_))) {
            let interval = match self.holdings.follows_changes() {
                true => self.settings.changes_interval,
                false => self.settings.inventory_interval,
            };
            self.look_schedule.answered(asked, interval, fastrand::f64());
            if self.breaker.state(self.shell.now()).on_probation() {
                // The next step follows as soon as after a failure.
                self.look_schedule.failed(self.shell.now());
            }
            self.notify_subscribers();
        } else {
            self.failed_looks += 1;
            self.look_schedule.failed(self.shell.now());
        }
        // A list that arrived has already ended this. Any other end keeps the known files.
        self.holdings.not_answered();
        reply_to_all(self.looking_for.take(), &answer);
        if let Some(replies) = self.looking_next_for.take() {
            match self.not_to_be_asked() {
                Some(failure) => reply_to_all(Some(replies), &Err(failure)),
                None => self.look(ctx, replies),
            }
        }
        self.publish_view();
        self.tick(ctx);
    }

    fn learn(&mut self, program: HostProgram) {
        if program != self.program {
            let version = program.version.as_deref();
            info!(host = %self.host, kind = word(&program.kind), version, "host reports its program");
            self.program = program;
        }
    }

    fn apply_copies(
        &mut self,
        CopiesLookResult { answered, disk }: CopiesLookResult,
        asked: Millis,
    ) -> Result<Arc<Inventory>, AskFailure> {
        if let Some(disk) = disk {
            self.apply_disk(disk, asked);
        }
        self.judge(HostCallKind::List, &answered);
        match answered {
            Ok(answered) => {
                let is_whole = matches!(answered.extent, Extent::Whole | Extent::Unchanged);
                self.whole_lists += u64::from(is_whole);
                if self.client.additions.allows_more(self.settings.list_limits()) {
                    self.refused_list = None;
                }
                Ok(self.holdings.answered(answered, asked))
            }
            Err(failure) => {
                let call = match self.program.kind {
                    HostKind::Reelyard { .. } => "GET /inventory",
                    _ => "GET /files",
                };
                self.record_failure(call, &failure);
                if let AskFailure::TooMuch(why) = &failure {
                    self.refused_list = Some(why.clone());
                }
                if matches!(failure, AskFailure::Garbled(_) | AskFailure::TooMuch(_)) {
                    self.holdings.doubt();
                }
                Err(failure)
            }
        }
    }

    /// Asks for the disk alone, between two looks.
    pub(super) fn ask_disk(&mut self, ctx: &mut Context<Self>) {
        self.disk_asked = true;
        let looks = self.looks;
        let asked = self.shell.now();
        let client = self.client.clone();
        let asking = self.call_apart(async move { client.disk().await });
        let asking = fut::wrap_future::<_, Self>(asking);
        ctx.spawn(asking.map(move |disk, worker, ctx| {
            let disk = disk.flatten();
            worker.disk_asked = false;
            // A look that began meanwhile asks again, because this answer may arrive after its own.
            if worker.looks == looks && worker.apply_disk(disk, asked) {
                worker.notify_subscribers();
            }
            worker.check_breaker();
            worker.publish_view();
            worker.sleep_until_due(ctx);
        }));
    }

    /// Takes an answer of `GET /df`. Answers whether it was valid.
    fn apply_disk(&mut self, disk: Result<DiskFigures, AskFailure>, asked: Millis) -> bool {
        self.judge(HostCallKind::Disk, &disk);
        match disk {
            Ok(disk) => {
                self.disk = Some((disk, asked));
                let interval = self.settings.disk_interval;
                self.disk_schedule.answered(asked, interval, fastrand::f64());
                true
            }
            Err(failure) => {
                self.record_failure("GET /df", &failure);
                self.disk_schedule.failed(self.shell.now());
                false
            }
        }
    }
}

/// Answers all callers that waited. A caller that has left does not need the answer.
fn reply_to_all(replies: Option<Vec<RefreshReply>>, answer: &Result<Arc<Inventory>, AskFailure>) {
    for reply in replies.unwrap_or_default() {
        let _ = reply.send(answer.clone());
    }
}

impl Handler<Refresh> for CfwWorker {
    type Result = ResponseFuture<Result<Arc<Inventory>, AskFailure>>;

    fn handle(&mut self, _: Refresh, ctx: &mut Context<Self>) -> Self::Result {
        // On probation a running look is joined. No look starts beside another call.
        let beside = || self.is_on_trial().filter(|_| self.looking_for.is_none());
        if let Some(failure) = self.not_to_be_asked().or_else(beside) {
            return Box::pin(async { Err(failure) });
        }
        let (reply, answer) = oneshot::channel();
        self.look_soon(ctx, Some(reply));
        self.publish_view();
        Box::pin(async move {
            answer.await.unwrap_or_else(|_| {
                Err(AskFailure::NotAsked(
                    "the actor of the host stopped during the call".to_owned(),
                ))
            })
        })
    }
}
