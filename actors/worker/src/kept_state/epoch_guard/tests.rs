//! Tests: the cluster that a worker obeys, and the clusters whose boxes it serves.

use std::sync::atomic::{AtomicU64, Ordering};

use super::super::known_epochs::MOST_CLUSTERS;
use super::*;

const OURS: Option<YardId> = Some(YardId(1));
const OTHER: Option<YardId> = Some(YardId(2));

fn guard(dir: &tempfile::TempDir) -> EpochGuard {
    EpochGuard::open(Arc::new(StateStore::open(dir.path()).unwrap())).unwrap()
}

fn deposed(given: u64, highest: u64) -> NotObeyed {
    NotObeyed::Deposed(Deposed { given: Epoch(given), highest: Epoch(highest) })
}

#[test]
fn an_older_leader_is_refused_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    {
        let guard = guard(&dir);
        assert_eq!(guard.accept_leader(OURS, Epoch(3)).unwrap(), Ok(()));
        assert_eq!(guard.accept_leader(OURS, Epoch(3)).unwrap(), Ok(()));
    }
    let guard = guard(&dir);
    assert_eq!(guard.accept_leader(OURS, Epoch(2)).unwrap(), Err(deposed(2, 3)));
    assert_eq!(guard.accept_leader(None, Epoch(2)).unwrap(), Err(deposed(2, 3)));
    assert_eq!(guard.highest(), Epoch(3));
}

#[test]
fn only_plausible_epochs_of_the_obeyed_cluster_count() {
    let dir = tempfile::tempdir().unwrap();
    let guard = guard(&dir);
    let absurd = guard.accept_leader(OURS, Epoch(u64::MAX)).unwrap().unwrap_err();
    assert!(matches!(absurd, NotObeyed::TooFarAhead { .. }), "{absurd}");
    assert_eq!(guard.accept_leader(None, Epoch(50)).unwrap(), Ok(()));
    assert_eq!(guard.highest(), Epoch(0), "nobody says who leads");
    guard.accept_leader(OURS, Epoch(7)).unwrap().unwrap();
    let foreign = guard.accept_leader(OTHER, Epoch(8)).unwrap().unwrap_err();
    assert!(matches!(foreign, NotObeyed::Foreign { .. }), "{foreign}");
    assert!(foreign.to_string().contains("hosts adopt"), "{foreign}");
    for absurd in [7 + MOST_AHEAD + 1, u64::MAX] {
        let refusal = guard.accept_leader(OURS, Epoch(absurd)).unwrap().unwrap_err();
        assert!(matches!(refusal, NotObeyed::TooFarAhead { .. }), "{refusal}");
        let refusal = guard.answered(OURS, Epoch(absurd)).unwrap().unwrap_err();
        assert!(matches!(refusal, NotObeyed::TooFarAhead { .. }), "{refusal}");
    }
    assert_eq!(guard.highest(), Epoch(7));
    // After a restore, and after another restore that this worker did not see.
    assert_eq!(guard.accept_leader(OURS, Epoch(7 + 1_000)).unwrap(), Ok(()));
    assert_eq!(guard.accept_leader(OURS, Epoch(7 + 3_100)).unwrap(), Ok(()));
}

#[test]
fn a_worker_accepts_any_first_epoch_of_its_own_node_only() {
    const FAR: u64 = 20 * MOST_AHEAD;
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let fresh = guard(&dirs[0]);
    let too_far = |result: Result<(), NotObeyed>| {
        matches!(result, Err(NotObeyed::TooFarAhead { .. } | NotObeyed::BoxesTooFarAhead { .. }))
    };
    assert!(too_far(fresh.accept_leader(OURS, Epoch(FAR)).unwrap()), "called from outside");
    assert!(too_far(fresh.serve(OURS, Epoch(FAR)).unwrap()), "called from outside");
    assert!(too_far(fresh.answered(None, Epoch(FAR)).unwrap()), "of no cluster");
    assert_eq!(fresh.answered(OURS, Epoch(FAR)).unwrap(), Ok(()));
    assert_eq!(fresh.accept_leader(OURS, Epoch(FAR + 1)).unwrap(), Ok(()));
    for absurd in [FAR + 2 + MOST_AHEAD, u64::MAX] {
        assert!(too_far(fresh.answered(OURS, Epoch(absurd)).unwrap()));
    }
    // The worker gets another node.
    assert_eq!(fresh.answered(OTHER, Epoch(FAR)).unwrap(), Ok(()));
    assert!(too_far(fresh.answered(OTHER, Epoch(u64::MAX)).unwrap()));
    // A worker that knows an epoch of before clusters had ids compares with that.
    let old = guard(&dirs[1]);
    old.answered(None, Epoch(4)).unwrap().unwrap();
    assert!(too_far(old.answered(OURS, Epoch(FAR)).unwrap()));
}

#[test]
fn the_cluster_of_the_ordering_node_is_obeyed_and_none_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let guard = guard(&dir);
    // Of a node that does not know its cluster yet.
    guard.answered(None, Epoch(4)).unwrap().unwrap();
    assert_eq!(guard.answered(OURS, Epoch(3)).unwrap(), Err(deposed(3, 4)));
    guard.answered(OURS, Epoch(5)).unwrap().unwrap();
    // The node was set up again.
    guard.answered(OTHER, Epoch(1)).unwrap().unwrap();
    assert_eq!(guard.highest(), Epoch(1));
    assert!(guard.accept_leader(OURS, Epoch(9)).unwrap().is_err(), "it leads no longer");
    assert_eq!(guard.answered(OURS, Epoch(4)).unwrap(), Err(deposed(4, 5)));
    guard.answered(OURS, Epoch(5)).unwrap().unwrap();
    assert_eq!(guard.accept_leader(OURS, Epoch(5)).unwrap(), Ok(()));
}

#[test]
fn a_cluster_with_only_boxes_here_has_its_own_epochs() {
    let dir = tempfile::tempdir().unwrap();
    {
        let guard = guard(&dir);
        guard.accept_leader(OURS, Epoch(50)).unwrap().unwrap();
        guard.serve(OTHER, Epoch(3)).unwrap().unwrap();
        guard.serve(OTHER, Epoch(4)).unwrap().unwrap();
        assert_eq!((guard.highest(), guard.highest_of(OTHER)), (Epoch(50), Epoch(4)));
    }
    let guard = guard(&dir);
    assert_eq!(guard.serve(OTHER, Epoch(3)).unwrap(), Err(deposed(3, 4)));
    assert_eq!(guard.would_serve(OTHER, Epoch(3)), Err(deposed(3, 4)));
    assert_eq!(guard.serve(OURS, Epoch(49)).unwrap(), Err(deposed(49, 50)));
    guard.serve(OURS, Epoch(51)).unwrap().unwrap();
    guard.serve(OTHER, Epoch(5)).unwrap().unwrap();
    let absurd = guard.serve(OTHER, Epoch(u64::MAX)).unwrap().unwrap_err();
    assert!(absurd.to_string().contains("box pools adopt"), "{absurd}");
    assert!(matches!(
        guard.accept_leader(OTHER, Epoch(6)).unwrap(),
        Err(NotObeyed::Foreign { .. })
    ));
    assert_eq!((guard.highest(), guard.highest_of(OTHER)), (Epoch(51), Epoch(5)));
    // The number of stored clusters is bounded, and stored ones remain.
    let most = MOST_CLUSTERS as u128;
    for cluster in 3..=most {
        guard.serve(Some(YardId(cluster)), Epoch(1)).unwrap().unwrap();
    }
    let refusal = guard.serve(Some(YardId(most + 1)), Epoch(1)).unwrap().unwrap_err();
    assert!(matches!(refusal, NotObeyed::TooManyClusters { .. }), "{refusal}");
    assert_eq!(guard.serve(OTHER, Epoch(4)).unwrap(), Err(deposed(4, 5)));
    // The cluster is obeyed one day, and continues from its epochs.
    assert_eq!(guard.answered(OTHER, Epoch(4)).unwrap(), Err(deposed(4, 5)));
    guard.answered(OTHER, Epoch(5)).unwrap().unwrap();
    assert_eq!(guard.serve(OURS, Epoch(50)).unwrap(), Err(deposed(50, 51)));
}

#[test]
fn an_operator_can_make_a_worker_obey_any_cluster() {
    let dir = tempfile::tempdir().unwrap();
    {
        // A worker from a version whose epochs had no cluster, with an epoch that no cluster reaches.
        let store = StateStore::open(dir.path()).unwrap();
        store.raise_epoch_as_before(Epoch(u64::MAX)).unwrap();
    }
    {
        let guard = guard(&dir);
        assert_eq!(guard.accept_leader(OURS, Epoch(9)).unwrap(), Err(deposed(9, u64::MAX)));
        assert_eq!(guard.adopt(YardId(1), Epoch(9)).unwrap(), Epoch(u64::MAX));
    }
    let guard = guard(&dir);
    assert_eq!(guard.accept_leader(OURS, Epoch(9)).unwrap(), Ok(()));
    assert_eq!(guard.highest(), Epoch(9));
}

#[test]
fn a_later_leader_waits_for_the_running_order_of_an_earlier_one() {
    let dir = tempfile::tempdir().unwrap();
    let guard = guard(&dir);
    let done = Arc::new(AtomicU64::new(0));
    let (later, seen) = (guard.clone(), Arc::clone(&done));
    let (about_to_speak, speaks) = std::sync::mpsc::channel();
    let hearing = guard.obey(OURS, Epoch(3), || {
        let hearing = std::thread::spawn(move || {
            about_to_speak.send(()).unwrap();
            assert_eq!(later.accept_leader(OURS, Epoch(4)).unwrap(), Ok(()));
            seen.load(Ordering::SeqCst)
        });
        speaks.recv().unwrap();
        assert_eq!(guard.highest(), Epoch(3), "the highest is read without waiting");
        done.store(1, Ordering::SeqCst);
        hearing
    });
    assert_eq!(hearing.unwrap().unwrap().join().unwrap(), 1);
    assert_eq!(guard.obey(OURS, Epoch(3), || ()).unwrap(), Err(deposed(3, 4)));
}
