//! A BoxLeaseActor over a real journal, with a manual clock and hosts that follow a script.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix::prelude::*;
use reelyard_boxes::box_lease::{
    AcquireRoutes, Acquisition, BoxError, BoxLease, BoxLeaseRequest, BoxLeaseSettings, BoxPhase,
    BoxRefusal, BoxViewHandle, Grant, Lease, LeaseAnswer, PoolPut, PoolSpec, ProcessDueBoxes,
    PutPool, ReleaseLease, RenewLease,
};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::PieceId;
use reelyard_core::host::HostAddr;
use reelyard_core::supervision::Route;
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_protocol::boxes::{
    AdoptBoxes, BoxHosts, BoxInspection, BoxNumber, FenceToken, Holder, HookAnswer, HookKind,
    HookOutput, InspectBoxes, InspectedBox, LeaseId, PoolName, ProbeFailure, ProbeHost, RunHook,
};
use tokio::sync::oneshot;

use crate::probes::waiting::eventually;

/// The time of the manual clock when a test begins.
pub const START: Millis = Millis(1_700_000_000_000);

/// The `n`-th token of a logical pool that was created at [`START`].
pub fn nth_token(n: u64) -> FenceToken {
    FenceToken(START.0.unsigned_abs() * 1000 + n)
}

/// The actor and the parts that it works with.
pub struct BoxYard {
    /// The journal of the actor, on disk.
    pub journal: Journal,
    /// The actor under test.
    pub actor: Addr<BoxLease>,
    /// The published state of the actor, as the API reads it.
    pub views: BoxViewHandle,
    /// The manual clock; only [`BoxYard::advance`] moves it.
    pub clock: Clock,
    /// The hosts of the pools, with scripted answers.
    pub hosts: ScriptedHosts,
}

/// A duration of `count` seconds.
pub fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A valid pool name.
pub fn pool(name: &str) -> PoolName {
    PoolName::new(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The pool that most tests use.
pub fn p() -> PoolName {
    pool("p")
}

/// A request for one box of [`p`] that waits at most `wait` seconds.
pub fn ask(holder: &str, wait: u64) -> BoxLeaseRequest {
    let holder = Holder::new(holder).unwrap_or_else(|error| panic!("{holder}: {error}"));
    BoxLeaseRequest { wait: seconds(wait), ..BoxLeaseRequest::one(p(), holder) }
}

/// The release of a lease by a caller who does not repeat it.
pub fn release_of(lease: &Lease) -> ReleaseLease {
    ReleaseLease { lease: lease.id, token: lease.token, may_be_repeated: false }
}

/// A host address that ends with `number`.
pub fn host(number: u8) -> HostAddr {
    HostAddr::from(std::net::SocketAddr::from(([10, 0, 0, number], 8888)))
}

/// A specification of a pool on host 1.
pub fn hosted(size: u32) -> PoolSpec {
    PoolSpec { host: Some(host(1)), ..PoolSpec::of(0, size) }
}

async fn journal_in(dir: &Path) -> Journal {
    let settings = JournalOptions::alone(dir, 1);
    let opened = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Boxes]).await;
    opened.unwrap_or_else(|error| panic!("{error}"))
}

impl BoxYard {
    /// Opens an actor with its journal in this directory.
    pub async fn open(dir: &Path, clock: &Clock) -> BoxYard {
        BoxYard::open_with(dir, clock, BoxLeaseSettings::default(), ScriptedHosts::default()).await
    }

    /// Opens an actor with these settings and hosts.
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

    /// Starts the actor on an open journal.
    pub fn start(
        journal: Journal,
        clock: &Clock,
        settings: BoxLeaseSettings,
        hosts: ScriptedHosts,
    ) -> BoxYard {
        let ways = hosts.start();
        BoxYard::start_on(journal, clock, settings, hosts, ways)
    }

    /// Opens an actor whose hosts the test supplies.
    pub async fn open_on(dir: &Path, clock: &Clock, ways: BoxHosts) -> BoxYard {
        let (settings, none) = (BoxLeaseSettings::default(), ScriptedHosts::default());
        let yard = BoxYard::start_on(journal_in(dir).await, clock, settings, none, ways);
        yard.leads().await;
        yard
    }

    async fn leads(&self) {
        eventually("this node leads", || self.views.view().epoch.is_some()).await;
    }

    fn start_on(
        journal: Journal,
        clock: &Clock,
        settings: BoxLeaseSettings,
        hosts: ScriptedHosts,
        ways: BoxHosts,
    ) -> BoxYard {
        let (views, clock) = (BoxViewHandle::default(), clock.clone());
        let actor =
            BoxLease::new(settings, clock.clone(), journal.clone(), ways, views.clone()).start();
        BoxYard { journal, actor, views, clock, hosts }
    }

    /// The message routes for acquisitions of boxes.
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
        self.put_by(pool, spec, None).await
    }

    /// Creates or changes a pool for a version of the settings on record.
    pub async fn put_by(
        &self,
        pool: PoolName,
        spec: PoolSpec,
        by_settings: Option<u64>,
    ) -> Result<PoolPut, BoxError> {
        let asked_by = "a test".to_owned();
        self.send(PutPool { pool, spec, by_settings, asked_by, request: None }).await
    }

    /// Starts an acquisition of boxes.
    pub fn acquire(&self, ask: BoxLeaseRequest) -> Acquisition {
        Acquisition::begin(&self.routes(), ask).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Acquires one box of [`p`] that must be free.
    pub async fn take(&self, holder: &str) -> Arc<Lease> {
        one(self.acquire(ask(holder, 0)).await)
    }

    /// Sends a message to the actor and waits for the answer.
    pub async fn send<M>(&self, message: M) -> M::Result
    where
        M: Message + Send + 'static,
        M::Result: Send,
        BoxLease: Handler<M>,
    {
        self.actor.send(message).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Releases the box of a lease.
    pub async fn release(&self, lease: &Lease) -> Result<(), BoxError> {
        self.send(release_of(lease)).await
    }

    /// Renews a lease.
    pub async fn renew(&self, lease: &Lease) -> Result<LeaseAnswer, BoxError> {
        self.send(RenewLease { lease: lease.id, token: lease.token, ttl: None }).await
    }

    /// Moves the clock and makes the actor handle everything that is due.
    pub async fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.look().await;
    }

    /// Makes the actor handle everything that is due.
    pub async fn look(&self) {
        self.send(ProcessDueBoxes).await.unwrap_or_else(|error| panic!("{error}"));
    }

    /// The number of boxes of [`p`] in this phase.
    pub fn count(&self, phase: BoxPhase) -> u32 {
        self.views.pool(&p()).map_or(0, |pool| pool.counts.of(phase))
    }

    /// Waits until `count` boxes of [`p`] are in this phase.
    pub async fn until(&self, phase: BoxPhase, count: u32) {
        let what = format!("{count} boxes are {}", phase.word());
        eventually(&what, || self.count(phase) == count).await;
    }

    /// Whether a lease is live. The error says how it ended.
    pub fn verify(&self, lease: &Lease) -> Result<(), BoxRefusal> {
        self.views.verify(lease.id, lease.token).map(drop)
    }

    /// Waits until a lease has ended. Returns how it ended.
    pub async fn ended(&self, lease: &Lease) -> BoxRefusal {
        let (id, token): (LeaseId, FenceToken) = (lease.id, lease.token);
        eventually("the lease ends", || self.views.verify(id, token).is_err()).await;
        self.verify(lease).err().unwrap_or(BoxRefusal::UnknownLease)
    }

    /// Waits until `count` requests wait for boxes of [`p`].
    pub async fn until_waiting(&self, count: u64) {
        // Messages that were sent earlier are handled and published before this returns.
        self.look().await;
        let waiting = || self.views.view().queues.get(&p()).map_or(0, |queue| queue.waiting);
        eventually(&format!("{count} wait"), || waiting() == count).await;
    }

    /// Stops the journal. A test can then open the directory again.
    pub async fn close(self) {
        self.journal.stop().await;
    }
}

/// The lease of a request for one box.
pub fn one(answer: Result<Grant, BoxError>) -> Arc<Lease> {
    match answer {
        Ok(grant) => {
            assert_eq!(grant.leases.len(), 1);
            Arc::clone(&grant.leases[0].lease)
        }
        Err(error) => panic!("nothing was granted: {error}"),
    }
}

/// The reason of a refusal.
pub fn refused<T>(answer: Result<T, BoxError>) -> BoxRefusal {
    match answer {
        Err(BoxError::Refused(refusal)) => refusal,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was not refused"),
    }
}

/// Hosts with scripted answers. Clones share the same script.
#[derive(Clone, Default)]
pub struct ScriptedHosts(Arc<Mutex<BoxHostScript>>);

#[derive(Default)]
struct BoxHostScript {
    /// The next answers, by host and kind of hook. Without an entry a hook succeeds.
    answers: HashMap<(HostAddr, HookKind), Vec<HookAnswer>>,
    /// Boxes that an inspection finds dirty.
    dirty: HashMap<BoxNumber, HookOutput>,
    /// Hosts that delay every answer until [`ScriptedHosts::release`].
    stuck: HashMap<HostAddr, Vec<oneshot::Sender<()>>>,
    /// The number of inspections that still fail, by host.
    blind: HashMap<HostAddr, u32>,
    /// Hosts that do not answer probes.
    dead: HashSet<HostAddr>,
    /// Whether the node has no file descriptor for calls.
    no_descriptor: bool,
    /// The number of probes so far.
    probes: usize,
    /// The hooks that were requested, in order.
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

    /// Sets the results of the next hooks of this kind on host 1. Further hooks succeed.
    pub fn answer(&self, kind: HookKind, answers: impl IntoIterator<Item = HookAnswer>) {
        let mut script = self.script();
        script.answers.entry((host(1), kind)).or_default().extend(answers);
    }

    /// Makes inspections find this box dirty, with this output.
    pub fn dirty(&self, number: u32, output: &str) {
        self.script().dirty.insert(BoxNumber(number), HookOutput::cut(output));
    }

    /// Makes the next `looks` inspections of a host fail.
    pub fn blind(&self, host: HostAddr, looks: u32) {
        self.script().blind.insert(host, looks);
    }

    /// Makes a host delay every answer.
    pub fn stick(&self, host: HostAddr) {
        self.script().stuck.entry(host).or_default();
    }

    /// Makes a delayed host answer its earlier and later calls.
    pub fn release(&self, host: HostAddr) {
        self.script().stuck.remove(&host);
    }

    /// Sets whether a host answers probes.
    pub fn answers_probes(&self, host: HostAddr, answers: bool) {
        let mut script = self.script();
        if answers {
            script.dead.remove(&host);
        } else {
            script.dead.insert(host);
        }
    }

    /// Makes every later probe fail because the node has no file descriptor.
    pub fn run_out_of_descriptors(&self) {
        self.script().no_descriptor = true;
    }

    /// The number of probes so far.
    pub fn probes(&self) -> usize {
        self.script().probes
    }

    /// The hooks that were requested so far, as kind, box and attempt.
    pub fn asked(&self) -> Vec<(HookKind, u32, u32)> {
        let script = self.script();
        script.asked.iter().map(|hook| (hook.kind, hook.number.0, hook.attempt)).collect()
    }

    /// The number of hooks of this kind that were requested.
    pub fn count(&self, kind: HookKind) -> usize {
        self.script().asked.iter().filter(|hook| hook.kind == kind).count()
    }

    /// The last hook that was requested.
    pub fn last(&self) -> Option<RunHook> {
        self.script().asked.last().cloned()
    }

    /// Every inspection that was requested.
    pub fn looks(&self) -> Vec<InspectBoxes> {
        self.script().looks.clone()
    }

    /// A receiver that delays the answer of a stuck host.
    fn held_back(&self, host: HostAddr) -> Option<oneshot::Receiver<()>> {
        let mut script = self.script();
        let stuck = script.stuck.get_mut(&host)?;
        let (release, held) = oneshot::channel();
        stuck.push(release);
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
        let answer = answers.map_or(HookAnswer::Done { output: None }, |answers| answers.remove(0));
        drop(script);
        let held = self.0.held_back(host);
        Box::pin(async move {
            if let Some(held) = held {
                // The test lets the host answer, or the test has ended.
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
    type Result = Result<(), ProbeFailure>;

    fn handle(&mut self, probe: ProbeHost, _: &mut Context<Self>) -> Self::Result {
        let mut script = self.0.script();
        script.probes += 1;
        if script.no_descriptor {
            return Err(ProbeFailure::NotAsked("this node has no free file descriptor".to_owned()));
        }
        let is_dead = script.dead.contains(&probe.host);
        if is_dead { Err(ProbeFailure::Silent("no answer in time".to_owned())) } else { Ok(()) }
    }
}
