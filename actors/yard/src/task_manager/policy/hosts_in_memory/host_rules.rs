//! Decisions about hosts: operators' requests, silence, loss and return, and the tasks that a mode
//! cancels. Pure.

use std::collections::HashSet;
use std::mem::Discriminant;

use reelyard_core::clock::Millis;
use reelyard_core::host::{HostAddr, HostMode, HostRole};
use reelyard_replication::Outcomes;

use crate::heartbeat::Health;
use crate::task_manager::messages::HostRefused;
use crate::task_manager::policy::decision_context::TaskDecisionContext;
use crate::task_manager::state::event::TaskEvent;
use crate::task_manager::state::hosts::host_record::HostRecord;
use crate::task_manager::state::task::{Task, TaskState};
use crate::task_manager::state::task_book::TaskBook;

/// How many hosts one event names: the longest addresses take some 50 bytes each.
const HOSTS_AT_ONCE: usize = 500;

/// The host whose silence or return an event reports, and which of the two it is.
fn changed(event: &TaskEvent) -> Option<(HostAddr, Discriminant<TaskEvent>)> {
    match event {
        TaskEvent::HostSilent { host, .. }
        | TaskEvent::HostLost { host }
        | TaskEvent::HostRecovered { host } => Some((*host, std::mem::discriminant(event))),
        _ => None,
    }
}

/// The answer to a change of `host`, from the outcomes of its events.
///
/// # Errors
/// The first refusal, as the caller sees it.
pub(in crate::task_manager) fn host_answer(
    outcomes: Outcomes<TaskBook>,
    host: HostAddr,
) -> Result<(), HostRefused> {
    for outcome in outcomes {
        outcome.map_err(|refusal| HostRefused::at_apply(&refusal, host))?;
    }
    Ok(())
}

impl TaskDecisionContext<'_> {
    /// Decides to set the mode of a host.
    ///
    /// # Errors
    /// `NoSuchHost`.
    pub fn set_host_mode(
        &self,
        host: HostAddr,
        mode: HostMode,
        asked_by: &str,
    ) -> Result<Vec<TaskEvent>, HostRefused> {
        self.book.host(host).ok_or(HostRefused::NoSuchHost(host))?;
        Ok(vec![TaskEvent::HostModeSet { host, mode, asked_by: asked_by.to_owned() }])
    }

    /// Decides to add a host, or to change the role of an added one.
    ///
    /// # Errors
    /// `Configured` if the configuration sets the role.
    pub fn add_host(
        &self,
        host: HostAddr,
        role: HostRole,
        asked_by: &str,
    ) -> Result<Vec<TaskEvent>, HostRefused> {
        match self.book.host(host) {
            Some(known) if known.configured && known.role != role => {
                Err(HostRefused::Configured(host))
            }
            _ => Ok(vec![TaskEvent::HostAdded { host, role, asked_by: asked_by.to_owned() }]),
        }
    }

    /// Decides to remove a host that was added.
    ///
    /// # Errors
    /// `NoSuchHost`, and `Configured` for one that the configuration names.
    pub fn remove_host(
        &self,
        host: HostAddr,
        asked_by: &str,
    ) -> Result<Vec<TaskEvent>, HostRefused> {
        if self.book.host(host).ok_or(HostRefused::NoSuchHost(host))?.configured {
            return Err(HostRefused::Configured(host));
        }
        Ok(vec![TaskEvent::HostRemoved { host, asked_by: asked_by.to_owned() }])
    }

    /// Events about hosts that are due now.
    pub(in crate::task_manager) fn due_of_hosts(&self) -> Vec<TaskEvent> {
        let mut events = Vec::new();
        if !self.in_flight_has(|event| matches!(event, TaskEvent::HostsNamed { .. })) {
            events.extend(self.new_configuration());
        }
        // Collected once: thousands of hosts may become silent together.
        let under_way: HashSet<_> = self.in_flight.events().filter_map(changed).collect();
        for (&host, record) in self.book.hosts().iter() {
            let due = self.due_of_host(host, record);
            events
                .extend(due.filter(|due| !changed(due).is_some_and(|it| under_way.contains(&it))));
        }
        events
    }

    /// Events that update the record to the configured hosts, in parts that each fit into a journal
    /// entry.
    fn new_configuration(&self) -> Vec<TaskEvent> {
        let (recorded, configured) = (self.book.hosts(), self.hosts.configured());
        let is_new = |host: &HostAddr, role: HostRole| {
            !recorded.get(host).is_some_and(|record| record.configured && record.role == role)
        };
        let named: Vec<(HostAddr, HostRole)> = configured
            .iter()
            .map(|(host, role)| (*host, *role))
            .filter(|(host, role)| is_new(host, *role))
            .collect();
        let dropped: Vec<HostAddr> = recorded
            .iter()
            .filter(|(host, record)| record.configured && !configured.contains_key(host))
            .map(|(host, _)| *host)
            .collect();
        if named.is_empty() && dropped.is_empty() {
            return Vec::new();
        }
        if named.len() + dropped.len() <= HOSTS_AT_ONCE {
            return vec![TaskEvent::HostsNamed { named, dropped }];
        }
        let names = named.chunks(HOSTS_AT_ONCE);
        let names =
            names.map(|part| TaskEvent::HostsNamed { named: part.to_vec(), dropped: Vec::new() });
        let drops = dropped.chunks(HOSTS_AT_ONCE);
        let drops =
            drops.map(|part| TaskEvent::HostsNamed { named: Vec::new(), dropped: part.to_vec() });
        names.chain(drops).collect()
    }

    /// The destinations that are configured here and not recorded as such yet: they may hold any
    /// file.
    pub(in crate::task_manager) fn destinations_not_on_record(&self) -> Vec<HostAddr> {
        let configured = self.hosts.configured().iter();
        let is_missing = |(host, role): &(&HostAddr, &HostRole)| {
            role.is_destination()
                && !self.book.host(**host).is_some_and(|record| record.role.is_destination())
        };
        configured.filter(is_missing).map(|(host, _)| *host).collect()
    }

    fn due_of_host(&self, host: HostAddr, record: &HostRecord) -> Option<TaskEvent> {
        let seen = self.hosts.get(host).filter(|_| record.is_asked())?;
        match (seen.health, record.silent_since) {
            (Health::Up, Some(_)) => Some(TaskEvent::HostRecovered { host }),
            (Health::Up, None) if record.lost => Some(TaskEvent::HostRecovered { host }),
            (Health::Down, None) => {
                let since = seen.health_since.unwrap_or(self.now);
                Some(TaskEvent::HostSilent { host, since })
            }
            // A host that is silent only by the record may answer: a new leader must first probe
            // it.
            (Health::Down, Some(since)) if !record.lost && self.is_lost_at(since) <= self.now => {
                Some(TaskEvent::HostLost { host })
            }
            _ => None,
        }
    }

    fn is_lost_at(&self, silent_since: Millis) -> Millis {
        silent_since.after(self.settings.presumed_lost_after)
    }

    /// When hosts that are silent will be lost.
    pub(in crate::task_manager) fn losses_to_come(&self) -> impl Iterator<Item = Millis> {
        let silent = self.book.hosts().values().filter(|record| !record.lost);
        let lost = silent.filter_map(|record| record.silent_since);
        lost.map(|since| self.is_lost_at(since)).filter(|at| *at > self.now)
    }

    /// Why the mode of a host takes back an open task of this host. Maintenance takes back all
    /// tasks, draining only those that have not begun.
    pub(in crate::task_manager) fn taken_back_by(
        &self,
        host: HostAddr,
        task: &Task,
    ) -> Option<String> {
        let begun = task.state == TaskState::Working || self.liveness.of(task.id).is_some();
        match self.book.host(host)?.mode {
            HostMode::Active => None,
            HostMode::Draining => (!begun).then(|| format!("{host} is being drained")),
            HostMode::Maintenance => Some(format!("{host} is in maintenance")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reelyard_core::event::RequestId;
    use reelyard_protocol::worker::TaskId;
    use reelyard_replication::{InFlight, Piece};

    use super::*;
    use crate::heartbeat::HealthChanged;
    use crate::task_manager::policy::hosts_in_memory::hosts::HostTable;
    use crate::task_manager::policy::hosts_in_memory::liveness::TaskLiveness;
    use crate::task_manager::samples::{host, new_task};
    use crate::task_manager::settings::{HostSetting, TaskSettings};
    use crate::task_manager::state::event::{GivenUp, NewTask, TaskEnding};

    const DAY: i64 = 24 * 60 * 60 * 1000;

    /// A source, a destination, and the decisions about them.
    struct HostRulesFixture {
        book: TaskBook,
        in_flight: InFlight<TaskEvent>,
        hosts: HostTable,
        liveness: TaskLiveness,
        settings: TaskSettings,
        now: Millis,
    }

    impl HostRulesFixture {
        fn new() -> Self {
            let hosts = [
                HostSetting { addr: host(1), role: HostRole::Source },
                HostSetting { addr: host(21), role: HostRole::Destination },
            ];
            let mut yard = HostRulesFixture {
                book: TaskBook::default(),
                in_flight: InFlight::default(),
                hosts: HostTable::new(&hosts),
                liveness: TaskLiveness::default(),
                settings: TaskSettings {
                    presumed_lost_after: Duration::from_secs(3 * 24 * 60 * 60),
                    ..TaskSettings::default()
                },
                now: Millis(0),
            };
            yard.apply_due();
            yard
        }

        fn decision_context(&self) -> TaskDecisionContext<'_> {
            TaskDecisionContext {
                book: &self.book,
                in_flight: &self.in_flight,
                hosts: &self.hosts,
                liveness: &self.liveness,
                settings: &self.settings,
                now: self.now,
            }
        }

        fn apply(&mut self, event: &TaskEvent) {
            self.book.apply(self.now, event).unwrap();
            self.hosts.adopt_recorded(&self.book);
        }

        /// Applies due events until none is left.
        fn apply_due(&mut self) -> Vec<TaskEvent> {
            let mut all = Vec::new();
            loop {
                let events = self.decision_context().due();
                if events.is_empty() {
                    return all;
                }
                events.iter().for_each(|event| self.apply(event));
                all.extend(events);
            }
        }

        fn set(&mut self, host: HostAddr, mode: HostMode) {
            let events = self.decision_context().set_host_mode(host, mode, "op").unwrap();
            events.iter().for_each(|event| self.apply(event));
        }

        fn health(&mut self, host: HostAddr, to: Health) {
            let (from, at) = (Health::Unknown, self.now);
            self.hosts.health_changed(&HealthChanged { host, from, to, at });
        }

        fn create(&mut self, id: i64) {
            let task = NewTask { source_cap: 9, ..new_task(id, &format!("{id}.mpg")) };
            self.apply(&TaskEvent::Created(task));
        }
    }

    fn taken_back(events: &[TaskEvent]) -> Vec<(i64, &str)> {
        let mut ends = Vec::new();
        for event in events {
            if let TaskEvent::Ended { id, ending: TaskEnding { how, reason, blame }, .. } = event {
                assert_eq!((*how, *blame), (GivenUp::Cancelled, None));
                ends.push((id.0, reason.as_str()));
            }
        }
        ends
    }

    #[test]
    fn the_configuration_is_put_on_record_and_leaves_added_hosts_alone() {
        let mut yard = HostRulesFixture::new();
        let events =
            yard.decision_context().add_host(host(22), HostRole::Destination, "op").unwrap();
        events.iter().for_each(|event| yard.apply(event));
        assert_eq!(yard.apply_due(), []);
        assert!(yard.hosts.get(host(22)).is_some());
        let named = |addr| HostSetting { addr, role: HostRole::Destination };
        yard.hosts.configure(&[named(host(22)), named(host(23))]);
        assert!(matches!(yard.apply_due()[..], [TaskEvent::HostsNamed { .. }]));
        let hosts: Vec<_> = yard.book.hosts().keys().copied().collect();
        assert_eq!(hosts, [host(22), host(23)]);
        assert!(yard.hosts.get(host(21)).is_none() && yard.hosts.get(host(23)).is_some());
    }

    #[test]
    fn only_added_hosts_can_be_removed() {
        let mut yard = HostRulesFixture::new();
        let remove =
            |yard: &HostRulesFixture, host| yard.decision_context().remove_host(host, "op");
        assert_eq!(remove(&yard, host(21)), Err(HostRefused::Configured(host(21))));
        assert_eq!(remove(&yard, host(22)), Err(HostRefused::NoSuchHost(host(22))));
        let decided = yard.decision_context().set_host_mode(host(22), HostMode::Draining, "op");
        assert_eq!(decided, Err(HostRefused::NoSuchHost(host(22))));
        let added =
            yard.decision_context().add_host(host(22), HostRole::Destination, "op").unwrap();
        added.iter().for_each(|event| yard.apply(event));
        yard.apply(&TaskEvent::Created(NewTask { destination: host(22), ..new_task(1, "a.mpg") }));
        let removed = remove(&yard, host(22)).unwrap();
        removed.iter().for_each(|event| yard.apply(event));
        let reason = format!("{} left the yard", host(22));
        assert_eq!(taken_back(&yard.apply_due()), [(1, reason.as_str())]);
    }

    #[test]
    fn maintenance_takes_back_all_tasks_and_draining_only_unbegun_ones() {
        for (mode, kept) in [(HostMode::Draining, 2), (HostMode::Maintenance, 0)] {
            for who in [host(1), host(21)] {
                let mut yard = HostRulesFixture::new();
                (1..=4).for_each(|id| yard.create(id));
                yard.apply(&TaskEvent::Began { id: TaskId(2) });
                yard.liveness.record(TaskId(3), yard.now, None);
                yard.set(who, mode);
                let events = yard.apply_due();
                let ends = taken_back(&events);
                assert_eq!((ends.len(), yard.book.open().len()), (4 - kept, kept), "{mode}");
                assert!(ends.iter().all(|(_, why)| why.starts_with(&who.to_string())), "{ends:?}");
            }
        }
    }

    #[test]
    fn silence_is_recorded_once_and_a_long_one_is_a_loss() {
        let mut yard = HostRulesFixture::new();
        let lost = TaskEvent::HostLost { host: host(21) };
        yard.now = Millis(5);
        yard.health(host(21), Health::Down);
        yard.now = Millis(9);
        let silent = TaskEvent::HostSilent { host: host(21), since: Millis(5) };
        assert_eq!(yard.apply_due(), [silent]);
        assert_eq!(yard.decision_context().next_deadline(), Some(Millis(5 + 3 * DAY)));
        yard.now = Millis(4 + 3 * DAY);
        assert_eq!(yard.apply_due(), []);
        yard.now = Millis(5 + 3 * DAY);
        assert_eq!(yard.decision_context().due(), std::slice::from_ref(&lost));
        yard.in_flight.begin(RequestId(1), vec![lost.clone()]);
        assert_eq!(yard.decision_context().due(), []);
        yard.in_flight.clear();
        assert_eq!(yard.apply_due(), [lost]);
        yard.health(host(21), Health::Up);
        assert_eq!(yard.apply_due(), [TaskEvent::HostRecovered { host: host(21) }]);
        assert!(yard.book.host(host(21)).unwrap().takes_copies());
    }

    #[test]
    fn a_host_that_was_not_probed_yet_is_not_lost() {
        let mut yard = HostRulesFixture::new();
        yard.apply(&TaskEvent::HostSilent { host: host(21), since: Millis(0) });
        yard.now = Millis(4 * DAY);
        assert_eq!(yard.apply_due(), []);
        yard.health(host(21), Health::Suspect);
        assert_eq!(yard.apply_due(), []);
        yard.health(host(21), Health::Down);
        assert_eq!(yard.apply_due(), [TaskEvent::HostLost { host: host(21) }]);
    }

    #[test]
    fn a_host_in_maintenance_is_neither_silent_nor_lost() {
        let mut yard = HostRulesFixture::new();
        yard.health(host(21), Health::Down);
        yard.apply_due();
        yard.set(host(21), HostMode::Maintenance);
        yard.now = Millis(30 * DAY);
        assert_eq!(yard.apply_due(), []);
        // Its silence restarts when it is called again.
        yard.set(host(21), HostMode::Active);
        yard.health(host(21), Health::Down);
        assert!(matches!(yard.apply_due()[..], [TaskEvent::HostSilent { .. }]));
    }
}
