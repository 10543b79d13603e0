//! A BoxLeaseActor over a real journal, with a manual clock and a host that does what a test says.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix::prelude::*;
use reelyard_boxes::box_lease::{
    AcquireRoutes, Acquisition, BoxError, BoxLease, BoxLeaseRequest, BoxLeaseSettings, BoxPhase,
    BoxRefusal, BoxViewHandle, Grant, Lease, PoolPut, PoolSpec, ProcessDueBoxes, PutPool,
    ReleaseLease, RenewLease,
};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::PieceId;
use reelyard_core::host::HostAddr;
use reelyard_core::supervision::Route;
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_protocol::boxes::{
    AdoptBoxes, BoxHosts, BoxInspection, BoxNumber, FenceToken, Holder, HookAnswer, HookKind,
    HookOutput, InspectBoxes, InspectedBox, LeaseId, NotHeard, PoolName, ProbeHost, RunHook,
};
use tokio::sync::oneshot;

use crate::waiting::eventually;

/// When every test begins.
pub const START: Millis = Millis(1_700_000_000_000);

/// The actor, and what it is joined to.
pub struct BoxYard {
    /// Its journal.
    pub journal: Journal,
    /// The actor.
    pub actor: Addr<BoxLease>,
    /// What it shows.
    pub board: BoxViewHandle,
    /// Its clock.
    pub clock: Clock,
    /// The hosts of its pools.
    pub hosts: ScriptedHosts,
}

/// So many seconds.
pub fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A pool of this name.
pub fn pool(name: &str) -> PoolName {
    PoolName::new(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The pool that most tests are about.
pub fn p() -> PoolName {
    pool("p")
}

/// A request for one box of [`p`], waiting so many seconds.
pub fn ask(holder: &str, wait: u64) -> BoxLeaseRequest {
    let holder = Holder::new(holder).unwrap_or_else(|error| panic!("{holder}: {error}"));
    BoxLeaseRequest { wait: seconds(wait), ..BoxLeaseRequest::one(p(), holder) }
}

/// A host by the last part of its address.
pub fn host(number: u8) -> HostAddr {
    HostAddr::from(std::net::SocketAddr::from(([10, 0, 0, number], 8888)))
}

/// A pool that is served by host 1.
pub fn hosted(size: u32) -> PoolSpec {
    PoolSpec { host: Some(host(1)), ..PoolSpec::of(0, size) }
}

async fn journal_in(dir: &Path) -> Journal {
    let settings = JournalOptions::alone(dir, 1);
    let opened = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Boxes]).await;
    opened.unwrap_or_else(|error| panic!("{error}"))
}

impl BoxYard {
    /// Opens a yard on this directory.
    pub async fn open(dir: &Path, clock: &Clock) -> BoxYard {
        BoxYard::open_with(dir, clock, BoxLeaseSettings::default(), ScriptedHosts::default()).await
    }

    /// The same with settings and hosts.
    pub async fn open_with(
        dir: &Path,
        clock: &Clock,
        settings: BoxLeaseSettings,
        hosts: ScriptedHosts,
    ) -> BoxYard {
        let yard = BoxYard::start(journal_in(dir).await, clock, settings, hosts);
        yard.leads().await;
        yard
    }

    /// Starts the actor on a journal.
    pub fn start(
        journal: Journal,
        clock: &Clock,
        settings: BoxLeaseSettings,
        hosts: ScriptedHosts,
    ) -> BoxYard {
        let ways = hosts.start();
        BoxYard::start_on(journal, clock, settings, hosts, ways)
    }

    /// Opens a yard on this directory whose hosts are elsewhere.
    pub async fn open_on(dir: &Path, clock: &Clock, ways: BoxHosts) -> BoxYard {
        let (settings, none) = (BoxLeaseSettings::default(), ScriptedHosts::default());
        let yard = BoxYard::start_on(journal_in(dir).await, clock, settings, none, ways);
        yard.leads().await;
        yard
    }

    async fn leads(&self) {
        eventually("this node leads", || self.board.view().epoch.is_some()).await;
    }

    fn start_on(
        journal: Journal,
        clock: &Clock,
        settings: BoxLeaseSettings,
        hosts: ScriptedHosts,
        ways: BoxHosts,
    ) -> BoxYard {
        let (board, clock) = (BoxViewHandle::default(), clock.clone());
        let actor =
            BoxLease::new(settings, clock.clone(), journal.clone(), ways, board.clone()).start();
        BoxYard { journal, actor, board, clock, hosts }
    }

    /// The ways to ask for boxes.
    pub fn routes(&self) -> AcquireRoutes {
        AcquireRoutes {
            acquire: Route::fixed(self.actor.clone().recipient()),
            leave: Route::fixed(self.actor.clone().recipient()),
        }
    }

    /// Creates or changes [`p`].
    pub async fn put(&self, spec: PoolSpec) -> PoolPut {
        self.put_as(p(), spec).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Creates or changes a pool.
    pub async fn put_as(&self, pool: PoolName, spec: PoolSpec) -> Result<PoolPut, BoxError> {
        let asked_by = "a test".to_owned();
        self.send(PutPool { pool, spec, asked_by }).await
    }

    /// Asks for boxes.
    pub fn acquire(&self, ask: BoxLeaseRequest) -> Acquisition {
        Acquisition::begin(&self.routes(), ask).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Gets one box of [`p`] at once.
    pub async fn take(&self, holder: &str) -> Arc<Lease> {
        one(self.acquire(ask(holder, 0)).await)
    }

    /// Asks the actor.
    pub async fn send<M>(&self, message: M) -> M::Result
    where
        M: Message + Send + 'static,
        M::Result: Send,
        BoxLease: Handler<M>,
    {
        self.actor.send(message).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Gives a box back.
    pub async fn release(&self, lease: &Lease) -> Result<(), BoxError> {
        self.send(ReleaseLease { lease: lease.id, token: lease.token }).await
    }

    /// Renews a lease.
    pub async fn renew(&self, lease: &Lease) -> Result<Arc<Lease>, BoxError> {
        self.send(RenewLease { lease: lease.id, token: lease.token, ttl: None }).await
    }

    /// Time passes, and the actor looks at what is due.
    pub async fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.look().await;
    }

    /// The actor looks at what is due.
    pub async fn look(&self) {
        self.send(ProcessDueBoxes).await.unwrap_or_else(|error| panic!("{error}"));
    }

    /// How many boxes of [`p`] stand there.
    pub fn count(&self, phase: BoxPhase) -> u32 {
        self.board.pool(&p()).map_or(0, |pool| pool.counts.of(phase))
    }

    /// Waits until so many boxes of [`p`] stand there.
    pub async fn until(&self, phase: BoxPhase, count: u32) {
        let what = format!("{count} boxes are {}", phase.word());
        eventually(&what, || self.count(phase) == count).await;
    }

    /// Whether a lease is live, or how it ended.
    pub fn verify(&self, lease: &Lease) -> Result<(), BoxRefusal> {
        self.board.verify(lease.id, lease.token).map(drop)
    }

    /// Waits until a lease has ended, and tells how.
    pub async fn ended(&self, lease: &Lease) -> BoxRefusal {
        let (id, token): (LeaseId, FenceToken) = (lease.id, lease.token);
        eventually("the lease ends", || self.board.verify(id, token).is_err()).await;
        self.verify(lease).err().unwrap_or(BoxRefusal::UnknownLease)
    }

    /// Waits until so many wait for boxes of [`p`].
    pub async fn until_waiting(&self, count: u64) {
        // What was sent before is handled before that, and shown.
        self.look().await;
        let waiting = || self.board.view().lines.get(&p()).map_or(0, |line| line.waiting);
        eventually(&format!("{count} wait"), || waiting() == count).await;
    }

    /// Stops the journal, so that the directory can be opened again.
    pub async fn close(self) {
        self.journal.stop().await;
    }
}

/// The lease of who asked for one box.
pub fn one(answer: Result<Grant, BoxError>) -> Arc<Lease> {
    match answer {
        Ok(grant) => {
            assert_eq!(grant.leases.len(), 1);
            Arc::clone(&grant.leases[0])
        }
        Err(error) => panic!("nothing was granted: {error}"),
    }
}

/// Why something was refused.
pub fn refused<T>(answer: Result<T, BoxError>) -> BoxRefusal {
    match answer {
        Err(BoxError::Refused(refusal)) => refusal,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was not refused"),
    }
}

/// Hosts that do what a test says. Clones are the same hosts.
#[derive(Clone, Default)]
pub struct ScriptedHosts(Arc<Mutex<BoxHostScript>>);

#[derive(Default)]
struct BoxHostScript {
    /// What is answered next, by host and kind; what is not here is done.
    answers: HashMap<(HostAddr, HookKind), Vec<HookAnswer>>,
    /// Boxes that are found dirty when they are looked at.
    dirty: HashMap<BoxNumber, HookOutput>,
    /// Hosts that answer nothing until they are let.
    stuck: HashMap<HostAddr, Vec<oneshot::Sender<()>>>,
    /// Looks that fail, by host.
    blind: HashMap<HostAddr, u32>,
    /// Hosts that answer no probe.
    dead: HashSet<HostAddr>,
    /// Whether the node cannot ask any host.
    no_descriptor: bool,
    /// How many probes there were.
    probes: usize,
    /// What was asked, in order.
    asked: Vec<RunHook>,
    looks: Vec<InspectBoxes>,
}

impl ScriptedHosts {
    fn script(&self) -> MutexGuard<'_, BoxHostScript> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) -> BoxHosts {
        let addr = HostsActor(self.clone()).start();
        BoxHosts {
            run: Route::fixed(addr.clone().recipient()),
            look: Route::fixed(addr.clone().recipient()),
            adopt: Route::fixed(addr.clone().recipient()),
            probe: Route::fixed(addr.recipient()),
        }
    }

    /// The next things of this kind that host 1 runs end so; all others are done.
    pub fn answer(&self, kind: HookKind, answers: impl IntoIterator<Item = HookAnswer>) {
        let mut script = self.script();
        script.answers.entry((host(1), kind)).or_default().extend(answers);
    }

    /// A box is found dirty when it is looked at.
    pub fn dirty(&self, number: u32, said: &str) {
        self.script().dirty.insert(BoxNumber(number), HookOutput::cut(said));
    }

    /// So many looks of a host fail.
    pub fn blind(&self, host: HostAddr, looks: u32) {
        self.script().blind.insert(host, looks);
    }

    /// A host answers nothing any more.
    pub fn stick(&self, host: HostAddr) {
        self.script().stuck.entry(host).or_default();
    }

    /// It answers what it was asked, and whatever it is asked.
    pub fn let_go(&self, host: HostAddr) {
        self.script().stuck.remove(&host);
    }

    /// A host answers no probe any more, or does again.
    pub fn answers_probes(&self, host: HostAddr, answers: bool) {
        let mut script = self.script();
        if answers {
            script.dead.remove(&host);
        } else {
            script.dead.insert(host);
        }
    }

    /// The node has no file descriptor for a probe any more.
    pub fn run_out_of_descriptors(&self) {
        self.script().no_descriptor = true;
    }

    /// How many probes there were.
    pub fn probes(&self) -> usize {
        self.script().probes
    }

    /// What was asked so far, as kind, box and attempt.
    pub fn asked(&self) -> Vec<(HookKind, u32, u32)> {
        let script = self.script();
        script.asked.iter().map(|hook| (hook.kind, hook.number.0, hook.attempt)).collect()
    }

    /// How often a box was asked for of this kind.
    pub fn count(&self, kind: HookKind) -> usize {
        self.script().asked.iter().filter(|hook| hook.kind == kind).count()
    }

    /// The last thing that was asked.
    pub fn last(&self) -> Option<RunHook> {
        self.script().asked.last().cloned()
    }

    /// Every look that was asked for.
    pub fn looks(&self) -> Vec<InspectBoxes> {
        self.script().looks.clone()
    }

    /// What holds a host's answer back, if it is stuck.
    fn held_back(&self, host: HostAddr) -> Option<oneshot::Receiver<()>> {
        let mut script = self.script();
        let stuck = script.stuck.get_mut(&host)?;
        let (let_go, held) = oneshot::channel();
        stuck.push(let_go);
        Some(held)
    }
}

struct HostsActor(ScriptedHosts);

impl Actor for HostsActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.set_mailbox_capacity(100_000);
    }
}

impl Handler<RunHook> for HostsActor {
    type Result = ResponseFuture<HookAnswer>;

    fn handle(&mut self, hook: RunHook, _: &mut Context<Self>) -> Self::Result {
        let (host, kind) = (hook.place.host, hook.kind);
        let mut script = self.0.script();
        script.asked.push(hook);
        let answers = script.answers.get_mut(&(host, kind)).filter(|answers| !answers.is_empty());
        let answer = answers.map_or(HookAnswer::Done { said: None }, |answers| answers.remove(0));
        drop(script);
        let held = self.0.held_back(host);
        Box::pin(async move {
            if let Some(held) = held {
                // Let go, or the test is over.
                let _ = held.await;
            }
            answer
        })
    }
}

impl Handler<InspectBoxes> for HostsActor {
    type Result = ResponseFuture<Result<BoxInspection, String>>;

    fn handle(&mut self, look: InspectBoxes, _: &mut Context<Self>) -> Self::Result {
        let mut script = self.0.script();
        let host = look.place.host;
        let found = look.boxes.iter().map(|number| {
            let dirt = script.dirty.get(number).cloned();
            InspectedBox { number: *number, dirt }
        });
        let found: Vec<InspectedBox> = found.collect();
        script.looks.push(look);
        let blind = script.blind.get_mut(&host).filter(|left| **left > 0);
        let answer = match blind {
            Some(left) => {
                *left -= 1;
                Err("the host does not answer".to_owned())
            }
            None => Ok(BoxInspection { boxes: found, highest: None }),
        };
        drop(script);
        let held = self.0.held_back(host);
        Box::pin(async move {
            if let Some(held) = held {
                let _ = held.await;
            }
            answer
        })
    }
}

impl Handler<AdoptBoxes> for HostsActor {
    type Result = Result<Vec<PoolName>, String>;

    fn handle(&mut self, _: AdoptBoxes, _: &mut Context<Self>) -> Self::Result {
        Ok(Vec::new())
    }
}

impl Handler<ProbeHost> for HostsActor {
    type Result = Result<(), NotHeard>;

    fn handle(&mut self, probe: ProbeHost, _: &mut Context<Self>) -> Self::Result {
        let mut script = self.0.script();
        script.probes += 1;
        if script.no_descriptor {
            return Err(NotHeard::NotAsked("this node has no free file descriptor".to_owned()));
        }
        let is_dead = script.dead.contains(&probe.host);
        if is_dead { Err(NotHeard::Silent("no answer in time".to_owned())) } else { Ok(()) }
    }
}
