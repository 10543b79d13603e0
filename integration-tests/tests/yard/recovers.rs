//! Real processes that are killed in the middle of their work. Nothing is lost, nothing is done twice, and no
//! partial copy is ever in place.

use anyhow::Result;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, holds, wait_for};

const NAMES: [&[u8]; 6] = [b"1.mpg", b"2.mpg", b"3.mpg", b"4.mpg", b"5.mpg", b"6.mpg"];
const SIZE: usize = 1_500_000;

struct RecoveryYard {
    ground: ProcessYard,
    masters: Vec<Vec<u8>>,
    source: RoleProcess,
    destinations: Vec<RoleProcess>,
    node: RoleProcess,
}

/// One source, two destinations, and six files that take a minute each until [`RecoveryYard::hurry`].
fn slow_yard() -> Result<RecoveryYard> {
    let ground = ProcessYard::new(1, 2)?;
    let masters = NAMES.iter().map(|name| ground.master(name, SIZE)).collect::<Result<_>>()?;
    ground.grade(&NAMES)?;
    let source = ground.start_source(0, &[])?;
    let destinations = vec![ground.start_destination(0, &[])?, ground.start_destination(1, &[])?];
    let node = ground.start_node(&[("task.copy_speed", "200kbit/s")])?;
    Ok(RecoveryYard { ground, masters, source, destinations, node })
}

impl RecoveryYard {
    fn roles(&self) -> Vec<&RoleProcess> {
        [&self.node, &self.source].into_iter().chain(&self.destinations).collect()
    }

    fn copies(&self, number: usize) -> usize {
        let name = String::from_utf8_lossy(NAMES[number]);
        let is_whole =
            |i: &usize| holds(&self.ground.copies(*i).join(&*name), &self.masters[number]);
        (0..2).filter(is_whole).count()
    }

    /// The id of a task with progress.
    fn working_task(&self) -> Result<String> {
        wait_for("a running copy", &self.roles(), || {
            let tasks = self.ground.get("/api/v1/tasks?state=working")?;
            let task = tasks["items"].as_array()?.first()?.clone();
            Some(task["id"].as_str()?.to_owned())
        })
    }

    /// Removes the rate limit of the copies.
    fn hurry(&mut self) -> Result<()> {
        self.node.start_again_with(&[("task.copy_speed", "100Mbit/s")])
    }

    fn all_placed_once(&self) -> Result<()> {
        wait_for("every file placed", &self.roles(), || {
            (0..NAMES.len()).all(|i| self.copies(i) == 1).then_some(())
        })?;
        wait_for("no task open any more", &self.roles(), || {
            let tasks = self.ground.get("/api/v1/tasks?state=open")?;
            tasks["items"].as_array()?.is_empty().then_some(())
        })?;
        for (i, name) in NAMES.iter().enumerate() {
            let name = String::from_utf8_lossy(name);
            let present = (0..2).filter(|d| self.ground.copies(*d).join(&*name).exists()).count();
            assert_eq!((self.copies(i), present), (1, 1), "{name}");
        }
        Ok(())
    }
}

#[test]
fn a_node_killed_in_the_middle_continues_the_same_task() -> Result<()> {
    let mut yard = slow_yard()?;
    let task = yard.working_task()?;
    yard.node.kill();
    yard.node.start_again()?;
    let after = wait_for("the task after the restart", &yard.roles(), || {
        yard.ground.get(&format!("/api/v1/tasks/{task}"))
    })?;
    assert_ne!(after["state"], "cancelled", "{after}");
    yard.hurry()?;
    yard.all_placed_once()?;
    let ended = yard.ground.get(&format!("/api/v1/tasks/{task}"));
    assert_eq!(ended.map(|task| task["state"].clone()), Some("done".into()));
    Ok(())
}

#[test]
fn a_destination_killed_in_the_middle_leaves_nothing_half_copied() -> Result<()> {
    let mut yard = slow_yard()?;
    yard.working_task()?;
    for destination in &mut yard.destinations {
        destination.kill();
    }
    for destination in &mut yard.destinations {
        destination.start_again()?;
    }
    yard.hurry()?;
    yard.all_placed_once()
}

#[test]
fn a_source_killed_in_a_copy_is_blamed_and_used_again_later() -> Result<()> {
    let mut yard = slow_yard()?;
    let task = yard.working_task()?;
    yard.source.kill();
    let failed = wait_for("the copy to fail", &yard.roles(), || {
        let task = yard.ground.get(&format!("/api/v1/tasks/{task}"))?;
        (task["state"] == "failed").then_some(task)
    })?;
    assert_eq!(failed["blame"], "source", "{failed}");
    yard.source.start_again()?;
    yard.hurry()?;
    yard.all_placed_once()
}

#[test]
fn every_role_stops_cleanly_on_request() -> Result<()> {
    let mut yard = slow_yard()?;
    yard.working_task()?;
    for role in [&mut yard.node, &mut yard.source].into_iter().chain(&mut yard.destinations) {
        let status = role.terminate()?;
        assert!(status.success(), "{status}: {}", role.log_text());
    }
    Ok(())
}
