//! After all faults are removed, every file that can have a copy gets one. No party waits for it without end,
//! every end is reported, and all nodes agree. A failure ends only its own task: files that cannot be read
//! may fail without end, and must not delay others.

use std::collections::BTreeSet;

use reelyard_boxes::box_lease::BoxPhase;
use reelyard_core::clock::Millis;
use reelyard_core::host::HostRole;
use reelyard_core::names::FileName;
use reelyard_protocol::legacy::cfm::carries;

use reelyard_yard::remover::RemovalMode;

use crate::simulation::hosts::host::{SimulatedHost, SimulatedProgram};
use crate::simulation::scene::IGNORED;
use crate::simulation::world::SimulationWorld;

/// The name of the invariant in a violation.
pub const NAME: &str = "liveness";

/// The time in which a due share is reclaimed, in milliseconds.
const RECLAIM_WITHIN: i64 = 10_000;

/// The missing results.
pub fn missing(world: &SimulationWorld) -> Vec<String> {
    let mut missing = Vec::new();
    let end = world.context.judge.record.history.len() as u64;
    for node in &world.nodes {
        if node.applied() != end || node.replica.last() != end {
            missing.push(format!("{} has applied {} of {end}", node.party(), node.applied()));
        }
    }
    if !world.nodes.iter().any(|node| node.epoch().is_some()) {
        missing.push("no node leads".to_owned());
    }
    let unreadable =
        |name: &FileName| world.yard.masters.get(name).is_none_or(|master| !master.readable);
    let record = &world.context.judge.record;
    for task in record.open.values().filter(|task| !unreadable(&task.name)) {
        missing.push(format!("{} of {:?} is open", task.id, task.name));
    }
    for name in placeable(world) {
        let held = record.holders.get(&name).is_some_and(|holders| {
            let on_disk = world.context.judge.on_disk.get(&name);
            holders.iter().any(|host| on_disk.is_some_and(|on_disk| on_disk.contains_key(host)))
        });
        if !held {
            missing.push(format!("{name:?} has no copy"));
        }
    }
    for host in &world.hosts {
        if let SimulatedProgram::Ours(ours) = &host.program
            && ours.unacknowledged().next().is_some()
        {
            missing.push(format!("{} has reports that no node accepted", host.party()));
        }
    }
    missing.extend(missing_of_removals(world));
    missing.extend(missing_of_boxes(world));
    let deadline = Millis(world.context.wall().0 - RECLAIM_WITHIN);
    for share in world.context.judge.shares.overdue(deadline) {
        missing.push(format!("{share:?} is due and was not reclaimed"));
    }
    missing
}

/// Removals without an end, and copies that are too many.
fn missing_of_removals(world: &SimulationWorld) -> Vec<String> {
    let judge = &world.context.judge;
    let mut missing = Vec::new();
    for (host, name) in judge.removals.open() {
        missing.push(format!("the removal of {name:?} on {host} has no end"));
    }
    if world.scene.removals.mode != RemovalMode::On {
        return missing;
    }
    let may_go = |name: &FileName| {
        let is_kept = name.as_bytes().starts_with(IGNORED) || judge.removals.is_pinned(name);
        !is_kept && carries(name) && world.yard.masters.contains_key(name)
    };
    for (name, holders) in judge.on_disk.iter().filter(|(name, _)| may_go(name)) {
        if holders.len() > 1 {
            missing.push(format!("{name:?} has {} copies", holders.len()));
        }
    }
    missing
}

/// Jobs that still wait or work, and boxes that are not free again.
fn missing_of_boxes(world: &SimulationWorld) -> Vec<String> {
    let mut missing = Vec::new();
    for job in world.jobs.iter().filter(|job| !job.is_idle()) {
        missing.push(format!("{} has no answer or still works", job.party()));
    }
    for (pool, number) in world.context.judge.leases.leased() {
        missing.push(format!("box {number:?} of {pool} is leased"));
    }
    for node in &world.nodes {
        for (pool, counts) in node.pools() {
            let (free, all) = (counts.of(BoxPhase::Free), counts.all());
            if free != all {
                missing.push(format!("{}: {free} of {all} boxes of {pool} are free", node.party()));
            }
        }
    }
    missing
}

/// The files that must have a copy.
fn placeable(world: &SimulationWorld) -> BTreeSet<FileName> {
    let yard = &world.yard;
    let hot = world.scene.settings.ungraded_hot.then_some(&yard.hot);
    let wanted = yard.ranking.iter().chain(hot.into_iter().flat_map(|hot| hot.keys()));
    wanted
        .filter(|name| !name.as_bytes().starts_with(IGNORED))
        .filter(|name| yard.masters.get(*name).is_some_and(|master| master.readable))
        .filter(|name| has_a_pair(world, name))
        .cloned()
        .collect()
}

fn has_a_pair(world: &SimulationWorld, name: &FileName) -> bool {
    let is_ours = |host: &SimulatedHost| matches!(host.program, SimulatedProgram::Ours(_));
    let from_old = |host: &SimulatedHost| match &host.program {
        SimulatedProgram::Ours(ours) => ours.fetches_from_old(),
        SimulatedProgram::Old(_) => true,
    };
    world.hosts.iter().filter(|to| to.role.is_destination()).any(|to| {
        let wire = is_ours(to) || carries(name);
        let is_source = |role: HostRole| role.is_source();
        let source = world.hosts.iter().any(|from| {
            is_source(from.role) && from.id != to.id && (is_ours(from) || from_old(to))
        });
        wire && source
    })
}
