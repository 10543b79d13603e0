//! Boxes of isolate from end to end: the BoxLeaseActor, a node's client for a worker, and a stand-in for
//! isolate. The worker runs it with the shipped configuration.

use anyhow::Result;
use reelyard_boxes::box_lease::{BoxPhase, BoxState, PoolSpec, UnquarantineBox};
use reelyard_core::clock::Clock;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::boxes::box_host_rig::HostRig;
use reelyard_integration_tests::rigs::boxes::box_yard::{BoxYard, START, ask, one, p, seconds};
use reelyard_protocol::boxes::{BoxNumber, HookAnswer, HookKind};

/// The shipped hooks, with the settings that differ on test machines.
fn hooks() -> String {
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/pools/isolate.toml");
    let isolate = env!("CARGO_BIN_EXE_stand_in_isolate");
    let called =
        |what: &str| format!("[\"{isolate}\", \"--cg\", \"--box-id={{box}}\", \"--{what}\"]");
    let (init, cleanup) = (called("init"), called("cleanup"));
    format!(
        "[box.hooks.p]\nfile = \"{shipped}\"\ninit = {init}\ncleanup = {cleanup}\n\
         env = {{ STAND_IN_ISOLATE = \"DIR/isolate\" }}\nfirst_uid = 612500\n\
         no_directory = [\"DIR/isolate/{{box}}\"]\nno_cgroup = [\"DIR/cgroup/box-{{box}}\"]\n"
    )
}

#[actix::test]
async fn a_box_is_leased_used_cleaned_and_free_again() -> Result<()> {
    let rig = HostRig::start(&hooks()).await?;
    let (dir, clock) = (tempfile::tempdir()?, Clock::manual(START));
    let yard = BoxYard::open_on(dir.path(), &clock, rig.link.hosts()).await;
    // Remains of another program are cleaned before the first grant.
    std::fs::create_dir_all(rig.path("isolate/1/box"))?;
    yard.put(PoolSpec { host: Some(rig.host), clean_attempts: 2, ..PoolSpec::of(0, 2) }).await;
    yard.until(BoxPhase::Free, 2).await;
    assert!(!rig.path("isolate/1").exists());
    let lease = one(yard.acquire(ask("judge-7", 60)).await);
    let number = lease.box_id();
    let of_box = rig.path(&format!("isolate/{number}"));
    assert!(of_box.join("box").is_dir(), "it was made ready");
    // isolate is busy once, as it can be in reality.
    std::fs::write(rig.path(&format!("isolate/busy-{number}")), "")?;
    yard.release(&lease).await.unwrap();
    yard.until(BoxPhase::Free, 2).await;
    assert!(!of_box.exists());
    let totals = yard.views.pool(&p()).unwrap().totals;
    assert_eq!((totals.cleaned, totals.clean_failures), (2, 0));
    yard.close().await;
    Ok(())
}

#[actix::test]
async fn a_box_that_stays_dirty_is_quarantined_with_the_evidence() -> Result<()> {
    let rig = HostRig::start(&hooks()).await?;
    let (dir, clock) = (tempfile::tempdir()?, Clock::manual(START));
    let yard = BoxYard::open_on(dir.path(), &clock, rig.link.hosts()).await;
    yard.put(PoolSpec { host: Some(rig.host), clean_attempts: 2, ..PoolSpec::of(0, 1) }).await;
    yard.until(BoxPhase::Free, 1).await;
    let lease = one(yard.acquire(ask("judge-7", 60)).await);
    // Its control group stays, but cleanup reports 0.
    let group = rig.path("cgroup/box-0");
    std::fs::create_dir_all(&group)?;
    yard.release(&lease).await.unwrap();
    let failures = || yard.views.pool(&p()).unwrap().totals.clean_failures;
    eventually("a cleaning failed", || failures() == 1).await;
    yard.look().await;
    yard.advance(seconds(1)).await;
    yard.until(BoxPhase::Quarantined, 1).await;
    let boxes = yard.views.boxes(&p(), BoxNumber(0), 9).unwrap().lines;
    let BoxState::Quarantined { output, .. } = &boxes[0].record.state else {
        panic!("{:?}", boxes[0].record.state)
    };
    let shown = group.display();
    let evidence = format!("the control group {shown} is there, without processes");
    assert!(output.as_str().contains(&evidence), "{output:?}");
    let (pool, number, asked_by) = (p(), BoxNumber(0), "an operator".to_owned());
    let unquarantine = UnquarantineBox { pool, number, asked_by, request: None };
    std::fs::remove_dir(&group)?;
    yard.send(unquarantine).await.unwrap();
    yard.until(BoxPhase::Free, 1).await;
    yard.close().await;
    Ok(())
}

#[actix::test]
async fn the_stand_in_has_the_habits_of_isolate() -> Result<()> {
    let rig = HostRig::start(&hooks()).await?;
    let init = |number| rig.hook("p", HookKind::Init, number, 1);
    for _ in 0..2 {
        // It resets an existing box.
        let HookAnswer::Done { output: Some(output) } = rig.run(init(3)).await else {
            panic!("it is not made ready")
        };
        let path = rig.path("isolate/3").display().to_string();
        assert_eq!(output.as_str(), format!("stdout: {path}"));
    }
    let HookAnswer::Failed { output } = rig.run(init(1000)).await else { panic!("it is in range") };
    let others = "box 1000 does not belong to this worker: its hooks are for boxes below 1000";
    assert_eq!(output.as_str(), others);
    Ok(())
}
