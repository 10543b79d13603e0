//! A node's knowledge of its hosts: probes and observations, after the HeartbeatSupervisor and the
//! CfwWorkers. Health, schedules, lists and holdings are the code under test.

mod observing;

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::{HostAddr, HostKind};
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_yard::cfw_worker::HostObserved;
use reelyard_yard::cfw_worker::holdings::HeldFiles;
use reelyard_yard::cfw_worker::schedule::PollSchedule;
use reelyard_yard::heartbeat::health::HostHealth;

use super::outbox::ListReply;

/// The interval of complete lists.
const LIST_EVERY: Duration = Duration::from_secs(30);
/// The interval of disk requests.
const DISK_EVERY: Duration = Duration::from_secs(15);
/// The number of intervals for which a disk answer is valid.
const DISK_KEPT: u32 = 4;

/// A pending call of a node to a host.
#[derive(Clone, Copy, Debug)]
pub enum PendingHostCall {
    Probe,
    /// The first call of an observation, with the time of the request.
    Info(Millis),
    /// A request for a list, with its time on the node's clock and its true time.
    List(Millis, u64),
    /// A request for the disk use, with its time, and whether it is part of an observation.
    Disk(Millis, bool),
}

/// An observation in progress.
struct PendingObservation {
    asked: Millis,
    lists: bool,
    disks: bool,
    listed: bool,
    /// The Refreshes that wait for it.
    refresh: Vec<ListReply>,
}

/// The knowledge of a node about one host.
pub struct HostWatch {
    health: HostHealth,
    next_probe: Millis,
    probing: bool,
    answers: Option<bool>,
    kind: HostKind,
    holdings: HeldFiles,
    /// The true time of the request for the list behind the holdings.
    listed: Option<u64>,
    /// The true request time of the list that the TaskManager received last.
    reported: Option<u64>,
    disk: Option<(DiskFigures, Millis)>,
    list_schedule: PollSchedule,
    disk_schedule: PollSchedule,
    look: Option<PendingObservation>,
    /// A request for another observation after this one, with the Refreshes that wait for it.
    look_again: Option<Vec<ListReply>>,
    disk_asked: bool,
}

impl HostWatch {
    /// A host without any call yet.
    pub fn new(now: Millis) -> Self {
        HostWatch {
            health: HostHealth::default(),
            next_probe: now,
            probing: false,
            answers: None,
            kind: HostKind::Unknown,
            holdings: HeldFiles::default(),
            listed: None,
            reported: None,
            disk: None,
            list_schedule: PollSchedule::new(LIST_EVERY),
            disk_schedule: PollSchedule::new(DISK_EVERY),
            look: None,
            look_again: None,
            disk_asked: false,
        }
    }

    fn observed(&self, host: HostAddr, now: Millis) -> Option<HostObserved> {
        (self.kind != HostKind::Unknown).then(|| HostObserved {
            host,
            kind: self.kind,
            inventory: self.holdings.inventory().cloned(),
            disk: self.disk.filter(|(_, at)| now.since(*at) <= DISK_EVERY * DISK_KEPT),
            traffic: None,
            at: now,
        })
    }
}
