//! Making boxes ready while leadership ends and begins again: answers and commits of an earlier epoch
//! change nothing in the present one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix::{Actor, Addr, Context, Handler, Message, ResponseFuture, System};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{Epoch, PieceId, RequestId};
use reelyard_core::supervision::Route;
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_protocol::boxes::{
    AdoptBoxes, BoxHosts, BoxInspection, Holder, HookAnswer, InspectBoxes, InspectedBox, LeaseId,
    PoolName, ProbeFailure, ProbeHost, RunHook,
};
use reelyard_replication::JournalCommand;
use tokio::sync::oneshot;

use crate::box_lease::samples::{hosted, output, p};
use crate::box_lease::{
    AcquireRoutes, Acquisition, BoxLease, BoxLeaseRequest, BoxLeaseSettings, BoxPhase,
    BoxViewHandle, ProcessDueBoxes, PutPool,
};

const PATIENCE: Duration = Duration::from_secs(60);

/// Does something in the actor, as one message.
#[derive(Message)]
#[rtype(result = "()")]
struct RunInBoxLease(
    #[allow(clippy::type_complexity)] Box<dyn FnOnce(&mut BoxLease, &mut Context<BoxLease>) + Send>,
);

impl Handler<RunInBoxLease> for BoxLease {
    type Result = ();

    fn handle(&mut self, RunInBoxLease(act): RunInBoxLease, ctx: &mut Context<Self>) {
        act(self, ctx);
    }
}

/// A host whose boxes are clean; the test sets its answers to hooks, in order.
#[derive(Clone, Default)]
struct ScriptedBoxHost(Arc<Mutex<Vec<Option<oneshot::Sender<HookAnswer>>>>>);

impl ScriptedBoxHost {
    fn asked(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn answer(&self, number: usize, answer: HookAnswer) {
        let asked = self.0.lock().unwrap_or_else(PoisonError::into_inner)[number].take();
        asked.unwrap().send(answer).unwrap();
    }
}

impl Actor for ScriptedBoxHost {
    type Context = Context<Self>;
}

impl Handler<RunHook> for ScriptedBoxHost {
    type Result = ResponseFuture<HookAnswer>;

    fn handle(&mut self, _: RunHook, _: &mut Context<Self>) -> Self::Result {
        let (answers, answer) = oneshot::channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Some(answers));
        Box::pin(async move { answer.await.unwrap_or(HookAnswer::Done { output: None }) })
    }
}

impl Handler<InspectBoxes> for ScriptedBoxHost {
    type Result = ResponseFuture<Result<BoxInspection, String>>;

    fn handle(&mut self, look: InspectBoxes, _: &mut Context<Self>) -> Self::Result {
        let clean = look.boxes.into_iter().map(|number| InspectedBox { number, dirt: None });
        let looked = BoxInspection { boxes: clean.collect(), highest: None };
        Box::pin(async move { Ok(looked) })
    }
}

impl Handler<AdoptBoxes> for ScriptedBoxHost {
    type Result = Result<Vec<PoolName>, String>;

    fn handle(&mut self, _: AdoptBoxes, _: &mut Context<Self>) -> Self::Result {
        Ok(Vec::new())
    }
}

impl Handler<ProbeHost> for ScriptedBoxHost {
    type Result = Result<(), ProbeFailure>;

    fn handle(&mut self, _: ProbeHost, _: &mut Context<Self>) -> Self::Result {
        Ok(())
    }
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The named request that this is about.
fn ask(actor: &Addr<BoxLease>) -> Acquisition {
    let routes = AcquireRoutes {
        acquire: Route::fixed(actor.clone().recipient()),
        leave: Route::fixed(actor.clone().recipient()),
    };
    let request = Some(RequestId::of("n", b"a box"));
    let ask = BoxLeaseRequest::one(p(), Holder::new("h").unwrap());
    Acquisition::begin(&routes, BoxLeaseRequest { request, ..ask }).unwrap()
}

/// This node leads no longer, and leads again in another epoch.
fn leads_again(actor: &mut BoxLease, epoch: Epoch, ctx: &mut Context<BoxLease>) {
    actor.handle(JournalCommand::LeaderStopped, ctx);
    actor.handle(JournalCommand::LeaderStarted { epoch }, ctx);
}

#[test]
fn a_failed_grant_of_an_earlier_epoch_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    System::new().block_on(async {
        let settings = JournalOptions::alone(dir.path(), 1);
        let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Boxes]).await.unwrap();
        let (clock, views, host) =
            (Clock::manual(Millis(0)), BoxViewHandle::default(), ScriptedBoxHost::default());
        let addr = host.clone().start();
        let hosts = BoxHosts {
            run: Route::fixed(addr.clone().recipient()),
            look: Route::fixed(addr.clone().recipient()),
            adopt: Route::fixed(addr.clone().recipient()),
            probe: Route::fixed(addr.recipient()),
        };
        let settings = BoxLeaseSettings::default();
        let actor =
            BoxLease::new(settings, clock.clone(), journal.clone(), hosts, views.clone()).start();
        until("it leads", || views.view().epoch.is_some()).await;
        let epoch = views.view().epoch.unwrap();
        let put = PutPool {
            pool: p(),
            spec: hosted(1),
            by_settings: None,
            asked_by: "a test".to_owned(),
            request: None,
        };
        actor.send(put).await.unwrap().unwrap();
        let in_phase = |phase| views.pool(&p()).unwrap().counts.of(phase) == 1;
        until("its box is looked at", || in_phase(BoxPhase::Free)).await;
        let earlier = ask(&actor);
        until("its box is made ready", || host.asked() == 1).await;

        // In an epoch that the journal does not know no commit succeeds. The failure comes back without an
        // outcome once the next epoch has begun and the box is made ready once more.
        let act = move |actor: &mut BoxLease, ctx: &mut Context<BoxLease>| {
            leads_again(actor, Epoch(epoch.0 + 1000), ctx);
            let leases: Vec<LeaseId> =
                actor.replica.piece().read().leases().map(|l| l.id).collect();
            actor.init_failed(leases[0], Some(output()), ctx);
            leads_again(actor, epoch, ctx);
        };
        actor.send(RunInBoxLease(Box::new(act))).await.unwrap();
        assert!(earlier.await.is_err());
        until("it is made ready twice more", || host.asked() == 3).await;
        // The request for a look at the boxes came back like that, too, and who leads, and the clocks of the leader.
        until("all came back", || views.view().uncommitted == 4).await;
        let again = ask(&actor);
        let failed = || HookAnswer::Failed { output: output() };
        host.answer(0, failed());
        host.answer(1, failed());
        // Unfinished work is resumed, and earlier answers are handled before it.
        for _ in 0..3 {
            clock.advance(Duration::from_secs(10));
            actor.send(ProcessDueBoxes).await.unwrap().unwrap();
        }
        host.answer(2, HookAnswer::Done { output: None });
        let grant = again.await.unwrap();
        assert_eq!(grant.leases[0].token.0, 1, "the lease that there was from the first");
        assert!(in_phase(BoxPhase::Leased));
        journal.stop().await;
    });
}
