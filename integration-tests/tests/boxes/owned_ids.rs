//! The ownership of a worker's boxes, and tokens that only grow: over pools, restores and lost stores.

use std::time::{Duration, Instant};

use anyhow::Result;
use reelyard_boxes::box_lease::{
    AdoptPool, AuditCursor, AuditEntry, AuditFilter, BoxLeaseRequest, BoxLogEvent, BoxPhase,
    PoolSpec, SlotRange,
};
use reelyard_core::clock::Clock;
use reelyard_core::event::Epoch;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::boxes::box_host_rig::{HostRig, link_of, silence};
use reelyard_integration_tests::rigs::boxes::box_node::BoxNode;
use reelyard_integration_tests::rigs::boxes::box_yard::{
    BoxYard, START, ask, host, one, p, pool, refused, seconds,
};
use reelyard_protocol::boxes::{
    AdoptBoxes, BoxNumber, FenceToken, HookAnswer, HookKind, HookOutput, HookTarget, HooksName,
    IdRange, InspectBoxes, RunHook, SlotId,
};
use serde_json::json;

/// Hooks without an effect.
const HOOKS: &str = "[box.hooks.p]\ninit = [\"/bin/true\"]\ncleanup = [\"/bin/true\"]\n";

fn isolate(first: u32, size: u32) -> PoolSpec {
    let hooks = HooksName::new("isolate").ok();
    PoolSpec { host: Some(host(1)), hooks, ..PoolSpec::of(first, size) }
}

#[actix::test]
async fn two_pools_never_have_the_same_boxes_of_a_host() {
    let dir = tempfile::tempdir().unwrap();
    let yard = BoxYard::open(dir.path(), &Clock::manual(START)).await;
    yard.put_as(pool("java"), isolate(40, 4)).await.unwrap();
    let output = async |spec| refused(yard.put_as(pool("cpp"), spec).await).to_string();
    let answer = output(isolate(43, 2)).await;
    for word in ["cpp", "java", "43", "isolate", "10.0.0.1:8888"] {
        assert!(answer.contains(word), "{word}: {answer}");
    }
    // Drawn ids are ids of the host like all others.
    let range = SlotRange { first: SlotId(30), count: 11, rest: seconds(0) };
    let drawn = PoolSpec { slots: Some(range), ..isolate(0, 2) };
    assert!(output(drawn).await.contains("40"));
    // A pool without a hooks setting uses the hooks with its own name.
    let by_name = PoolSpec { hooks: None, ..isolate(40, 1) };
    assert!(yard.put_as(pool("isolate"), by_name).await.is_err());
    // Pools with other numbers, other hooks, another host or no host never conflict.
    yard.put_as(pool("cpp"), isolate(44, 4)).await.unwrap();
    let other = PoolSpec { hooks: HooksName::new("docker").ok(), ..isolate(40, 1) };
    yard.put_as(pool("other"), other).await.unwrap();
    yard.put_as(pool("there"), PoolSpec { host: Some(host(2)), ..isolate(40, 1) }).await.unwrap();
    yard.put_as(pool("logical"), PoolSpec::of(40, 4)).await.unwrap();
    // A pool that shrinks keeps its box until the lease ends.
    let lease = one(yard.acquire(BoxLeaseRequest { pool: pool("java"), ..ask("a", 60) }).await);
    yard.put_as(pool("java"), isolate(50, 4)).await.unwrap();
    assert!(output(isolate(lease.number.0, 1)).await.contains("java"));
    yard.release(&lease).await.unwrap();
    eventually("the box is gone", || yard.views.one_box(&pool("java"), lease.number).is_err())
        .await;
    yard.put_as(pool("cpp"), isolate(lease.number.0, 1)).await.unwrap();
    yard.close().await;
}

#[actix::test]
async fn a_worker_serves_a_box_for_one_pool_also_after_restart() -> Result<()> {
    let mut rig = HostRig::start(HOOKS).await?;
    let of = |rig: &HostRig, pool: &str, number| {
        let mut hook = rig.hook(pool, HookKind::Init, number, 1);
        hook.place.hooks = HooksName::new("p").ok();
        hook
    };
    let done = |answer| matches!(answer, HookAnswer::Done { .. });
    assert!(done(rig.run(of(&rig, "java", 3)).await));
    for _ in 0..2 {
        let why = silence(rig.run(of(&rig, "cpp", 3)).await);
        for word in ["java", "3", "reelyard box pools adopt cpp"] {
            assert!(why.contains(word), "{word}: {why}");
        }
        assert!(done(rig.run(of(&rig, "java", 3)).await));
        rig.worker.kill();
        rig.worker.start_again()?;
        rig.is_up().await;
    }
    assert!(done(rig.run(of(&rig, "cpp", 4)).await), "no other pool has that box");
    Ok(())
}

#[actix::test]
async fn the_epochs_of_two_clusters_on_one_worker_are_compared_apart() -> Result<()> {
    let hooks = HOOKS.to_owned() + &HOOKS.replace("hooks.p", "hooks.q");
    let mut rig = HostRig::start(&hooks).await?;
    // The worker obeys cluster 1. Cluster 2 has boxes on it, in a pool of the same name.
    let of = |rig: &HostRig, cluster: u128, epoch| {
        let mut hook = rig.hook("p", HookKind::Init, 3, 1);
        hook.place.hooks = HooksName::new(if cluster == 1 { "p" } else { "q" }).ok();
        hook.place.epoch = Epoch(epoch);
        hook
    };
    let other = link_of(2)?;
    let run_other = async |hook: RunHook| other.hosts().run.recipient().send(hook).await.unwrap();
    let done = |answer| matches!(answer, HookAnswer::Done { .. });
    assert!(done(rig.run(of(&rig, 1, 50)).await));
    for _ in 0..2 {
        let answer = run_other(of(&rig, 2, 3)).await;
        assert!(done(answer.clone()), "{answer:?}");
        rig.worker.kill();
        rig.worker.start_again()?;
        rig.is_up().await;
        let why = silence(run_other(of(&rig, 2, 2)).await);
        assert!(
            why.starts_with("epoch 2 is out of date: this worker knows a leader of epoch 3"),
            "{why}"
        );
        let why = silence(rig.run(of(&rig, 1, 49)).await);
        assert!(why.starts_with("epoch 49 is out of date"), "{why}");
    }
    let place = HookTarget { ids: vec![IdRange { first: 3, count: 1 }], ..of(&rig, 2, 2).place };
    let look = InspectBoxes {
        place: place.clone(),
        boxes: vec![BoxNumber(3)],
        last_token: FenceToken(u64::MAX),
    };
    let why = other.hosts().look.recipient().send(look).await?.unwrap_err();
    assert!(why.starts_with("epoch 2 is out of date"), "{why}");
    let adopt = |epoch| AdoptBoxes { place: HookTarget { epoch: Epoch(epoch), ..place.clone() } };
    let why = other.hosts().adopt.recipient().send(adopt(2)).await?.unwrap_err();
    assert!(why.contains("epoch 2 is out of date"), "{why}");
    // An order of an operator of cluster 2 is accepted, but its epochs have no effect on those of cluster 1.
    other.hosts().adopt.recipient().send(adopt(1_000_000)).await?.unwrap();
    assert!(done(run_other(of(&rig, 2, 1_000_000)).await));
    assert!(done(rig.run(of(&rig, 1, 50)).await));
    Ok(())
}

#[test]
fn tokens_continue_above_all_earlier_ones_after_a_restore() -> Result<()> {
    let mut node = BoxNode::start(&[])?;
    node.put("p", json!({ "size": 1 }));
    let token_of = |node: &BoxNode, pool: &str| {
        let lease = node.take(pool, json!({ "holder": "a" }));
        assert_eq!(node.with(&lease, "release").status, 200);
        lease["token"].as_u64().unwrap()
    };
    let token = |node: &BoxNode| token_of(node, "p");
    let first = token(&node);
    let data = node.ground.path("node");
    let backup = node.ground.path("backup");
    let (data, backup) = (data.to_str().unwrap().to_owned(), backup.to_str().unwrap().to_owned());
    let store =
        |command: &str, file: &str| binary::run(&["store", command, file, "--data-dir", &data]);
    node.node.terminate()?;
    assert_eq!(store("backup", &backup).code, Some(0));
    let mut highest = first;
    let mut highest_of_later_pool = 0;
    for _ in 0..2 {
        node.node.start_again()?;
        node.until_it_decides()?;
        // The backup does not have this pool.
        node.put("later", json!({ "size": 1 }));
        let of_later_pool = token_of(&node, "later");
        assert!(of_later_pool > highest_of_later_pool, "{of_later_pool}");
        highest_of_later_pool = of_later_pool;
        let before = highest;
        for _ in 0..3 {
            highest = token(&node);
        }
        assert!(highest > before, "{highest} after {before}");
        node.node.terminate()?;
        std::fs::remove_dir_all(&data)?;
        let restored = store("restore", &backup);
        assert_eq!(restored.code, Some(0), "{restored:?}");
    }
    node.node.start_again()?;
    node.until_it_decides()?;
    let next = token(&node);
    assert!(next > highest, "{next} after {highest}");
    // A restart alone raises no token.
    node.node.kill();
    node.node.start_again()?;
    node.until_it_decides()?;
    assert_eq!(token(&node), next + 1);
    Ok(())
}

#[test]
fn a_logical_pool_of_a_lost_store_continues_above_its_tokens() -> Result<()> {
    let mut node = BoxNode::start(&[])?;
    let mut highest = 0;
    for _ in 0..2 {
        node.put("p", json!({ "size": 1 }));
        for _ in 0..3 {
            let lease = node.take("p", json!({ "holder": "a" }));
            assert_eq!(node.with(&lease, "release").status, 200);
            let token = lease["token"].as_u64().unwrap();
            assert!(token > highest, "{token} after {highest}");
            highest = token;
        }
        node.node.kill();
        std::fs::remove_dir_all(node.ground.path("node"))?;
        node.node.start_again()?;
        node.until_it_decides()?;
    }
    Ok(())
}

#[actix::test]
async fn a_lost_store_continues_above_the_tokens_that_its_worker_saw() -> Result<()> {
    let mut rig = HostRig::start(HOOKS).await?;
    let spec = PoolSpec { host: Some(rig.host), ..PoolSpec::of(0, 2) };
    let clock = Clock::manual(START);
    let lease = async |yard: &BoxYard| {
        let lease = one(yard.acquire(ask("a", 60)).await);
        yard.release(&lease).await.unwrap();
        yard.until(BoxPhase::Free, 2).await;
        lease.token
    };
    let dirs = [tempfile::tempdir()?, tempfile::tempdir()?];
    let mut highest = FenceToken(0);
    {
        let yard = BoxYard::open_on(dirs[0].path(), &clock, rig.link.hosts()).await;
        yard.put(spec.clone()).await;
        for _ in 0..5 {
            highest = lease(&yard).await;
        }
        yard.close().await;
    }
    // The same holds after a restart of the worker.
    rig.worker.kill();
    rig.worker.start_again()?;
    rig.is_up().await;
    // A node with an empty store is another cluster.
    let link = link_of(2)?;
    let yard = BoxYard::open_on(dirs[1].path(), &clock, link.hosts()).await;
    yard.put(spec).await;
    let silence = || yard.views.view().queues.get(&p()).and_then(|queue| queue.silence.clone());
    eventually("the worker refuses it", || silence().is_some()).await;
    let why = silence().unwrap();
    assert!(why.contains("boxes 0 to 1") && why.contains("box pools adopt p"), "{why}");
    let error = yard.acquire(ask("a", 0)).await.unwrap_err().to_string();
    assert!(error.contains("box pools adopt p"), "{error}");
    let adopt = AdoptPool { pool: p(), asked_by: "an operator".to_owned() };
    assert_eq!(yard.send(adopt).await.unwrap(), [p()]);
    // The audit record names the caller.
    let filter = AuditFilter { what: Some("adopted".to_owned()), ..AuditFilter::of(p()) };
    let lines = yard.views.audit(&filter, AuditCursor::NEWEST, 9).lines;
    let [AuditEntry::BoxLog(line)] = lines.as_slice() else { panic!("{lines:?}") };
    let output = HookOutput::cut("pool p lost boxes");
    assert_eq!(line.news, BoxLogEvent::Adopted { output, by: "an operator".to_owned() });
    let next = lease(&yard).await;
    assert!(next > highest, "{next} after {highest}");
    assert_eq!((lease(&yard).await.0, silence()), (next.0 + 1, None));
    yard.close().await;
    Ok(())
}

/// Stops a process, or continues it.
fn signal(rig: &HostRig, signal: rustix::process::Signal) {
    let pid = rig.worker.process().and_then(|pid| rustix::process::Pid::from_raw(pid as i32));
    rustix::process::kill_process(pid.unwrap(), signal).unwrap();
}

#[actix::test]
async fn a_worker_that_hangs_is_reported_and_delays_no_client() -> Result<()> {
    let slow = "[box.hooks.p]\ninit = [\"/bin/sleep\", \"1.5\"]\ncleanup = [\"/bin/true\"]\n";
    let rig = HostRig::start(slow).await?;
    let dir = tempfile::tempdir()?;
    let yard = BoxYard::open_on(dir.path(), &Clock::system(), rig.link.hosts()).await;
    yard.put(PoolSpec { host: Some(rig.host), ..PoolSpec::of(0, 3) }).await;
    yard.until(BoxPhase::Free, 3).await;
    // The initialization of a box may take longer than the wait.
    one(yard.acquire(ask("slow", 0)).await);
    signal(&rig, rustix::process::Signal::STOP);
    let stopped = Instant::now();
    let error = yard.acquire(ask("a", 1)).await.unwrap_err().to_string();
    let took = stopped.elapsed();
    assert!(took < Duration::from_millis(2000), "{took:?}: {error}");
    assert!(
        error.contains("within 1 s: nothing is done for them on its host")
            && error.contains("does not answer"),
        "{error}"
    );
    let silence = || yard.views.view().queues.get(&p()).and_then(|queue| queue.silence.clone());
    eventually("it is shown as silent", || silence().is_some()).await;
    assert!(stopped.elapsed() < Duration::from_secs(10));
    signal(&rig, rustix::process::Signal::CONT);
    one(yard.acquire(ask("b", 20)).await);
    eventually("it is not silent any more", || silence().is_none()).await;
    yard.close().await;
    Ok(())
}
