//! The hosts of the yard in the form of the console.

use reelyard_api::{BreakerState, HostView};
use reelyard_console::Moment;
use reelyard_console::pages::hosts::{
    HostCondition, HostLine, HostModeWord, HostRoleWord, HostTotals, LinkShare,
};
use reelyard_console::pages::why::HostObstacle;
use reelyard_console::parts::bars::DiskLevel;
use reelyard_core::clock::Millis;
use reelyard_core::host::{HostMode, HostRole};
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_yard::heartbeat::Health;
use reelyard_yard::task_manager::TaskManagerView;
use reelyard_yard::task_manager::Unusable;

use crate::http::node_state::NodeHttpState;

/// A disk that was not seen for this long is shown as old, in milliseconds. So is the disk of a host that is down.
const OLD_DISK_MILLIS: i64 = 5 * 60 * 1000;

/// The marks of disks in percent, from the settings.
#[derive(Clone, Copy)]
pub struct DiskMarks {
    /// `storage.limit_percent`.
    pub limit: f64,
    /// `storage.low_water_percent`.
    pub low_water: f64,
}

impl DiskMarks {
    /// The marks in force.
    pub fn of(state: &NodeHttpState) -> Self {
        let in_force = state.live.now();
        let storage = &in_force.config.yard.storage;
        DiskMarks {
            limit: f64::from(storage.limit_percent.get()),
            low_water: f64::from(storage.low_water()),
        }
    }

    /// How full a disk is, with the copies on their way to it.
    pub fn level(self, disk: &DiskFigures, coming: u64, is_old: bool) -> DiskLevel {
        let capacity = (disk.used + disk.avail).max(1) as f64;
        DiskLevel {
            used: disk.used as f64 * 100.0 / capacity,
            others: None,
            coming: coming as f64 * 100.0 / capacity,
            limit: self.limit,
            low_water: self.low_water,
            is_old,
        }
    }
}

/// The state of a host in one word.
pub fn condition(host: &HostView) -> HostCondition {
    let is_on_probation = host.breakers.iter().any(|one| one.state == BreakerState::Probation);
    match host.health {
        _ if host.mode == HostMode::Maintenance => HostCondition::NotAsked,
        _ if host.lost => HostCondition::Lost,
        Health::Down => HostCondition::Down,
        Health::Suspect => HostCondition::Suspect,
        Health::Up if is_on_probation => HostCondition::Probation,
        Health::Up => HostCondition::Up,
        Health::Unknown => HostCondition::Unknown,
    }
}

/// The row of a host.
pub fn line(host: &HostView, tasks: &TaskManagerView, marks: DiskMarks, now: Millis) -> HostLine {
    let planned = tasks.host(host.host);
    let is_destination = host.role.is_destination();
    let coming = planned.map_or(0, |planned| planned.on_its_way);
    let is_unseen = host.observed.is_none_or(|at| now.0 - at.0 > OLD_DISK_MILLIS);
    let is_old = is_unseen || host.health == Health::Down;
    let obstacle = planned.and_then(|planned| match host.role {
        HostRole::Source => planned.no_source,
        HostRole::Destination => planned.no_destination,
        HostRole::Both => planned.no_destination.or(planned.no_source),
    });
    let disk = host.disk.as_ref().map(|disk| marks.level(disk, coming, is_old));
    HostLine {
        host: host.host.to_string(),
        condition: condition(host),
        since: host.health_since.map(|at| Moment(at.0)),
        role: match host.role {
            HostRole::Source => HostRoleWord::Source,
            HostRole::Destination => HostRoleWord::Destination,
            HostRole::Both => HostRoleWord::Both,
        },
        mode: match host.mode {
            HostMode::Active => HostModeWord::Active,
            HostMode::Draining => HostModeWord::Draining,
            HostMode::Maintenance => HostModeWord::Maintenance,
        },
        disk: disk.filter(|_| is_destination),
        room: host.room.filter(|_| is_destination),
        files: host.files,
        link: link(host),
        copies_in: u64::from(host.fetching),
        copies_out: u64::from(host.serving),
        obstacle: obstacle.map(obstacle_of),
        is_contested: !host.foreign_managers.is_empty(),
    }
}

fn link(host: &HostView) -> Option<LinkShare> {
    let traffic = host.traffic.as_ref()?;
    let speed = traffic.speed.filter(|speed| speed.0 > 0)?.0;
    let percent = |rate: u64| rate as f64 * 100.0 / speed as f64;
    let (out, inward) = (percent(traffic.all.sends.0), percent(traffic.all.receives.0));
    Some(LinkShare { out, inward, speed })
}

/// Why nothing goes to a host.
pub fn obstacle_of(why: Unusable) -> HostObstacle {
    match why {
        Unusable::Draining => HostObstacle::Draining,
        Unusable::Maintenance => HostObstacle::Maintenance,
        Unusable::Lost => HostObstacle::Lost,
        Unusable::NotUp => HostObstacle::NotUp,
        Unusable::KindUnknown => HostObstacle::KindUnknown,
        Unusable::InventoryUnknown => HostObstacle::InventoryUnknown,
        Unusable::DiskUnknown => HostObstacle::DiskUnknown,
        Unusable::BacksOff => HostObstacle::BacksOff,
        Unusable::CallsFail => HostObstacle::CallsFail,
        Unusable::OnTrial => HostObstacle::OnTrial,
        Unusable::BusyLink => HostObstacle::BusyLink,
    }
}

/// Counts hosts by state.
pub fn totals(lines: &[HostLine]) -> HostTotals {
    let count =
        |is: &dyn Fn(&HostLine) -> bool| lines.iter().filter(|line| is(line)).count() as u64;
    let of = |condition: HostCondition| count(&|line| line.condition == condition);
    HostTotals {
        sources: count(&|line| line.role.is_source()),
        destinations: count(&|line| line.role.is_destination()),
        up: of(HostCondition::Up) + of(HostCondition::Probation),
        suspect: of(HostCondition::Suspect),
        down: of(HostCondition::Down) + of(HostCondition::Lost),
        unknown: of(HostCondition::Unknown) + of(HostCondition::NotAsked),
        over_limit: count(&|line| line.disk.is_some_and(|disk| disk.used > disk.limit)),
        probation: of(HostCondition::Probation),
        draining: count(&|line| line.mode == HostModeWord::Draining),
        maintenance: count(&|line| line.mode == HostModeWord::Maintenance),
    }
}
