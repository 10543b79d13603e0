//! Faults drawn from a seed, each with its end.

pub mod clock_step;
pub mod emptied_disk;
pub mod full_disk;
pub mod links;
pub mod membership;
pub mod other_settings;
pub mod processes;
pub mod shared_end;

use std::fmt;
use std::time::Duration;

use anyhow::Result;
use fastrand::Rng;

use super::chaos_cluster::{ChaosCluster, NodePlace};
use super::record::ChaosRecord;
use clock_step::WallClockStep;
use full_disk::FullDisk;
use links::LinkFault;
use membership::Impairment;
use other_settings::OtherSettings;
use processes::ProcessFault;

/// A killed process is started again after this time at the latest.
const LONGEST_KILL: Duration = Duration::from_secs(2);

/// One fault. Most of them hit one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChaosFault {
    /// The process is killed or stopped.
    Process(ProcessFault, NodePlace, Duration),
    /// The links are cut or slow.
    Links(LinkFault, NodePlace, Duration),
    /// The wall clock of a node is wrong for this time.
    Clock(WallClockStep, NodePlace, Duration),
    /// The disk of one node is full for this time.
    FullDisk(FullDisk, Duration),
    /// The disk of a node is emptied under its number.
    EmptiedDisk(NodePlace),
    /// The node leads by a file with other settings and inputs for this time.
    OtherSettings(OtherSettings, NodePlace, Duration),
    /// A fourth node joins, votes and is removed, while this one is impaired.
    Membership(Impairment, NodePlace),
}

impl fmt::Display for ChaosFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChaosFault::Process(fault, place, time) => write!(f, "{place} {fault} for {time:?}"),
            ChaosFault::Links(fault, place, time) => write!(f, "{place} {fault} for {time:?}"),
            ChaosFault::Clock(step, place, time) => {
                write!(f, "the clock of {place} is {step} for {time:?}")
            }
            ChaosFault::FullDisk(fault, time) => write!(f, "{fault} for {time:?}"),
            ChaosFault::EmptiedDisk(place) => write!(f, "the disk of {place} is emptied"),
            ChaosFault::OtherSettings(other, place, time) => {
                write!(f, "{place} leads with {other} for {time:?}")
            }
            ChaosFault::Membership(impairment, place) => {
                write!(f, "the members change while {place} is {impairment}")
            }
        }
    }
}

/// Whether a fault could be caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultOutcome {
    /// It was caused, and has ended.
    Ended,
    /// It cannot be caused on this machine, because this is missing.
    Skipped(&'static str),
}

impl ChaosFault {
    /// The next fault, of at most `longest`. Half of them hit the leader.
    pub fn draw(rng: &mut Rng, leader: Option<NodePlace>, longest: Duration) -> Self {
        let any = NodePlace::ALL[rng.usize(..3)];
        let hits_leader = rng.bool();
        let place = leader.filter(|_| hits_leader).unwrap_or(any);
        let longest = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX).max(200);
        let time = Duration::from_millis(rng.u64(100..longest));
        match rng.u8(..16) {
            0..=2 => ChaosFault::Process(ProcessFault::Killed, place, time.min(LONGEST_KILL)),
            3 | 4 => ChaosFault::Process(ProcessFault::Stopped, place, time),
            5..=9 => ChaosFault::Links(LinkFault::draw(rng), place, time),
            10 | 11 => ChaosFault::Clock(WallClockStep::draw(rng), place, time),
            12 => ChaosFault::FullDisk(FullDisk::draw(rng), time),
            // The token of the administrator is on the first disk.
            13 => ChaosFault::EmptiedDisk(NodePlace::FIRST.others()[rng.usize(..2)]),
            14 => ChaosFault::OtherSettings(OtherSettings::draw(rng), place, time),
            _ => ChaosFault::draw_membership(rng, place),
        }
    }

    /// Changes of the members while the node at `place` is impaired.
    pub fn draw_membership(rng: &mut Rng, place: NodePlace) -> Self {
        ChaosFault::Membership(Impairment::draw(rng), place)
    }

    /// Whether two of three nodes are whole all the time, so that changes must go on.
    pub fn leaves_a_quorum(&self) -> bool {
        !matches!(self, ChaosFault::Links(LinkFault::Slow(_), ..) | ChaosFault::EmptiedDisk(_))
    }

    /// Causes the fault, and ends it.
    ///
    /// # Errors
    /// A process or a command of the round failed.
    pub fn happen(&self, cluster: &mut ChaosCluster, record: &ChaosRecord) -> Result<FaultOutcome> {
        match self {
            ChaosFault::Process(fault, place, time) => fault.happen(cluster, *place, *time)?,
            ChaosFault::Links(fault, place, time) => fault.happen(cluster, *place, *time),
            ChaosFault::Clock(step, place, time) => return step.happen(cluster, *place, *time),
            ChaosFault::FullDisk(fault, time) => return fault.happen(cluster, *time),
            ChaosFault::EmptiedDisk(place) => emptied_disk::happen(cluster, *place, record)?,
            ChaosFault::OtherSettings(other, place, time) => {
                other.happen(cluster, *place, *time)?;
            }
            ChaosFault::Membership(impairment, place) => impairment.happen(cluster, *place)?,
        }
        Ok(FaultOutcome::Ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_faults() {
        let draw = |seed| {
            let mut rng = Rng::with_seed(seed);
            let longest = Duration::from_secs(3);
            let leader = Some(NodePlace::FIRST);
            (0..20).map(|_| ChaosFault::draw(&mut rng, leader, longest)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
