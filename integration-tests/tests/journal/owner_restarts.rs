//! Owners of pieces that fail: their supervisor and the journal rebuild them. When `apply` fails, the process
//! ends.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use actix::{Actor, Arbiter, AsyncContext, Context, Handler};
use reelyard_core::clock::Millis;
use reelyard_core::event::{Commit, Epoch, PieceId, RequestId};
use reelyard_core::supervision::{RestartPolicy, Supervised, Supervision};
use reelyard_integration_tests::fakes::stoppable_disk::StoppableDisk;
use reelyard_integration_tests::probes::journal_probe::{
    AccountsView, CommitEvents, PanicAccounts, ProbeActor, ReadAccounts, request_of,
    small_snapshots, transfer,
};
use reelyard_integration_tests::probes::waiting::{eventually, eventually_some};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_replication::{
    Apply, CommitAnswer, CommitError, JournalCommand, Piece, ReplicaHandle,
};
use reelyard_yard::remover::RemovalBook;
use tokio::sync::oneshot;

async fn open(dir: &tempfile::TempDir) -> Journal {
    let settings = small_snapshots(dir.path(), 1);
    Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]).await.unwrap()
}

/// A supervision that restarts at once, without a limit.
fn patient() -> Supervision {
    let policy = RestartPolicy {
        first_delay: Duration::from_millis(1),
        longest_delay: Duration::from_millis(10),
        too_many: usize::MAX,
        ..RestartPolicy::default()
    };
    Supervision { policy, ..Supervision::of("probe") }
}

async fn leading(probe: &Supervised<ProbeActor>) -> AccountsView {
    eventually_some("the probe leads", || async {
        let view = probe.addr().send(ReadAccounts).await.ok()?;
        view.epoch.is_some().then_some(view)
    })
    .await
}

/// Commits until an answer arrives, always under the same request id.
async fn commit(probe: &Supervised<ProbeActor>, id: u64) {
    eventually_some("a commit is answered", || async {
        let message = CommitEvents { request: request_of(id), events: transfer(id, 1) };
        match probe.addr().send(message).await {
            Ok(Ok(outcomes)) => (outcomes.len() == 2).then_some(()),
            Ok(Err(
                CommitError::TooLarge { .. } | CommitError::Stopped | CommitError::DiskFull { .. },
            )) => unreachable!(),
            Ok(Err(_)) | Err(_) => None,
        }
    })
    .await;
}

#[test]
fn an_owner_that_panics_is_rebuilt_and_continues() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let journal = open(&dir).await;
        // On its own arbiter: the journal must not depend on the threads of its owners.
        let arbiter = Arbiter::new();
        let own = journal.clone();
        let probe = Supervised::start_on(&arbiter.handle(), patient(), move || {
            ProbeActor::new(own.clone())
        });
        leading(&probe).await;
        let next = AtomicU64::new(0);
        let done = AtomicBool::new(false);
        let writer = || async {
            while !done.load(Ordering::Relaxed) {
                commit(&probe, next.fetch_add(1, Ordering::Relaxed)).await;
            }
        };
        let panics = async {
            for panics in 1..=5 {
                let until = next.load(Ordering::Relaxed) + 100;
                eventually_some("commits continue", || async {
                    (next.load(Ordering::Relaxed) >= until).then_some(())
                })
                .await;
                probe.addr().do_send(PanicAccounts);
                eventually_some("the panic is noticed", || async {
                    (probe.status().failures == panics).then_some(())
                })
                .await;
            }
            done.store(true, Ordering::Relaxed);
        };
        futures::join!(panics, writer(), writer(), writer(), writer());

        let view = leading(&probe).await;
        view.books.assert_whole();
        assert_eq!(view.books.taken.len() as u64, next.load(Ordering::Relaxed));
        assert_eq!(view.in_flight, 0);
        assert_eq!(view.installs, 1, "each incarnation is given its piece once");
        assert!(journal.status().snapshot.is_some());
        let status = probe.status();
        assert_eq!((status.starts, status.running), (6, true));
        assert_eq!(status.last_failure.as_deref(), Some("the probe was asked to panic"));
        probe.stop().await;
        assert!(!probe.status().running);
        journal.stop().await;
        arbiter.stop();
    });
}

#[test]
fn an_actor_that_fails_too_often_is_not_restarted() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let journal = open(&dir).await;
        let given_up = Arc::new(AtomicBool::new(false));
        let has_given_up = given_up.clone();
        let supervision = Supervision {
            policy: RestartPolicy { first_delay: Duration::ZERO, ..RestartPolicy::default() },
            give_up: Arc::new(move |status| {
                assert_eq!(status.failures, 3);
                has_given_up.store(true, Ordering::SeqCst);
            }),
            ..Supervision::of("probe")
        };
        let own = journal.clone();
        let probe = Supervised::start(supervision, move || ProbeActor::new(own.clone()));
        for failures in 1..=3 {
            probe.addr().do_send(PanicAccounts);
            eventually_some("the panic is noticed", || async {
                (probe.status().failures == failures).then_some(())
            })
            .await;
        }
        eventually_some("the actor is given up", || async {
            given_up.load(Ordering::SeqCst).then_some(())
        })
        .await;
        journal.stop().await;
    });
}

#[test]
fn a_panic_while_applying_ends_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_journal_writer"))
        .arg(dir.path())
        .arg("poison")
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.signal(), Some(rustix::process::Signal::ABORT.as_raw()), "{status}");
}

#[test]
fn a_commit_of_another_epoch_than_its_entry_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let journal = open(&dir).await;
        let own = journal.clone();
        let probe = Supervised::start(patient(), move || ProbeActor::new(own.clone()));
        let epoch = leading(&probe).await.epoch.unwrap();
        let commit = |epoch| Commit {
            request: RequestId(1),
            remember: true,
            asked_by: "a deposed leader".to_owned(),
            epoch,
            at: Millis(0),
            piece: PieceId::Probe,
            events: vec![],
        };
        // Refused early where the journal has newer knowledge...
        let stale = Epoch(epoch.0 - 1);
        assert_eq!(journal.commit(commit(stale)).await, Err(CommitError::Deposed));
        // ... and in any case when it is applied.
        let (reply, answers) = oneshot::channel();
        probe.addr().do_send(JournalCommand::Apply(Apply {
            index: 1000,
            term: epoch,
            commits: vec![Arc::new(commit(stale)), Arc::new(commit(epoch))],
            reply,
        }));
        let answers = answers.await.unwrap();
        assert_eq!(answers, vec![CommitAnswer::Deposed, CommitAnswer::Applied(vec![])]);
        probe.stop().await;
        journal.stop().await;
    });
}

#[test]
fn an_actor_whose_arbiter_is_gone_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let journal = open(&dir).await;
        let start = |arbiter: &Arbiter| {
            let own = journal.clone();
            Supervised::start_on(&arbiter.handle(), patient(), move || ProbeActor::new(own.clone()))
        };
        let arbiter = Arbiter::new();
        let probe = start(&arbiter);
        leading(&probe).await;
        arbiter.stop();
        tokio::time::timeout(Duration::from_secs(30), probe.stop())
            .await
            .expect("it has ended with its arbiter");
        assert!(!probe.status().running);
        let late = start(&arbiter);
        tokio::time::timeout(Duration::from_secs(30), late.stop())
            .await
            .expect("it was never started");
        journal.stop().await;
    });
}

/// An owner of another piece, which only restarts.
struct Bystander(ReplicaHandle<RemovalBook>, Journal);

impl Actor for Bystander {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.1.register(RemovalBook::ID, ctx.address().recipient());
    }
}

impl Handler<JournalCommand> for Bystander {
    type Result = ();

    fn handle(&mut self, order: JournalCommand, _: &mut Context<Self>) {
        self.0.handle_command(order);
    }
}

impl Handler<PanicAccounts> for Bystander {
    type Result = ();

    fn handle(&mut self, _: PanicAccounts, _: &mut Context<Self>) {
        panic!("the bystander was asked to panic");
    }
}

#[test]
fn an_owner_that_is_rebuilt_strands_no_commit_of_another() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let settings = small_snapshots(dir.path(), 1);
        let pieces = [PieceId::Probe, PieceId::Removals];
        let journal = Journal::open(settings, Arc::new(NoPeers), &pieces).await.unwrap();
        let own = journal.clone();
        let probe = Supervised::start(patient(), move || ProbeActor::new(own.clone()));
        let own = journal.clone();
        let bystander = Supervised::start(patient(), move || {
            Bystander(ReplicaHandle::new(RemovalBook::default(), own.clone()), own.clone())
        });
        let epoch = leading(&probe).await.epoch;
        let (next, done) = (AtomicU64::new(0), AtomicBool::new(false));
        // Each commit has its own id and is not repeated: with any result it is over.
        let writer = || async {
            while !done.load(Ordering::Relaxed) {
                let id = next.fetch_add(1, Ordering::Relaxed);
                let message = CommitEvents { request: request_of(id), events: transfer(id, 1) };
                let _ = probe.addr().send(message).await;
            }
        };
        let panics = async {
            for panics in 1..=40 {
                let until = next.load(Ordering::Relaxed) + 20;
                eventually_some("commits continue", || async {
                    (next.load(Ordering::Relaxed) >= until).then_some(())
                })
                .await;
                bystander.addr().do_send(PanicAccounts);
                eventually_some("the panic is noticed", || async {
                    (bystander.status().failures == panics).then_some(())
                })
                .await;
            }
            done.store(true, Ordering::Relaxed);
        };
        futures::join!(panics, writer(), writer(), writer(), writer());
        let view = eventually_some("nothing is in flight", || async {
            let view = probe.addr().send(ReadAccounts).await.ok()?;
            (view.in_flight == 0).then_some(view)
        })
        .await;
        view.books.assert_whole();
        assert_eq!(view.epoch, epoch, "it led all the time");
        probe.stop().await;
        bystander.stop().await;
        journal.stop().await;
    });
}

#[test]
fn waiting_decisions_of_a_former_incarnation_are_not_written() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let disk = Arc::new(StoppableDisk::default());
        let settings =
            JournalOptions { observer: Some(disk.clone()), ..small_snapshots(dir.path(), 1) };
        let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]).await.unwrap();
        let own = journal.clone();
        let probe = Supervised::start(patient(), move || ProbeActor::new(own.clone()));
        let epoch = leading(&probe).await.epoch.unwrap();
        let commit = |request| {
            journal.commit(Commit {
                request,
                remember: true,
                asked_by: "an owner".to_owned(),
                epoch,
                at: Millis(0),
                piece: PieceId::Probe,
                events: vec![],
            })
        };
        disk.stop(true);
        let written = actix::spawn(commit(RequestId(1)));
        eventually("the first commit is being written", || disk.is_waited_for()).await;
        let waiting = actix::spawn(commit(RequestId(2)));
        eventually("the second commit waits", || journal.status().queued == 1).await;
        probe.addr().do_send(PanicAccounts);
        // The owner restarts while the disk is stopped.
        let unknown = CommitError::Unknown { request: RequestId(1) };
        assert_eq!(written.await.unwrap(), Err(unknown));
        assert_eq!(waiting.await.unwrap(), Err(CommitError::Deposed));
        disk.stop(false);
        self::commit(&probe, 3).await;
        probe.stop().await;
        journal.stop().await;
    });
}
