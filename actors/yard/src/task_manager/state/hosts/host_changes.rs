//! The events that change the durable records of hosts. Pure and deterministic.

use std::collections::BTreeMap;
use std::sync::Arc;

use TaskOutcome::{AlreadySo, Applied};
use reelyard_core::clock::Millis;
use reelyard_core::host::{HostAddr, HostMode, HostRole};

use super::host_record::HostRecord;
use crate::task_manager::state::backoff::Blamed;
use crate::task_manager::state::event::{TaskApplyResult, TaskOutcome, TaskRefusal};
use crate::task_manager::state::task_book::TaskBook;

impl TaskBook {
    /// Checks a host that will take part in a new task.
    pub(in crate::task_manager) fn check_takes_part(
        &self,
        host: HostAddr,
        as_what: impl FnOnce(HostRole) -> bool,
    ) -> Result<(), TaskRefusal> {
        match self.hosts.get(&host) {
            Some(record) if !as_what(record.role) => Err(TaskRefusal::UnknownHost(host)),
            Some(record) if record.mode != HostMode::Active => {
                Err(TaskRefusal::NotActive { host, mode: record.mode })
            }
            Some(_) => Ok(()),
            None => Err(TaskRefusal::UnknownHost(host)),
        }
    }

    pub(in crate::task_manager) fn configure_hosts(
        &mut self,
        named: &[(HostAddr, HostRole)],
    ) -> TaskApplyResult {
        let mut hosts: BTreeMap<HostAddr, HostRecord> = BTreeMap::new();
        for (host, role) in named {
            let record = match self.hosts.get(host) {
                Some(known) => HostRecord { role: *role, configured: true, ..*known },
                None => HostRecord::new(*role, true),
            };
            hosts.insert(*host, record);
        }
        for (host, record) in self.hosts.iter().filter(|(_, record)| !record.configured) {
            hosts.entry(*host).or_insert(*record);
        }
        if *self.hosts == hosts {
            return Ok(AlreadySo);
        }
        self.replace_hosts(hosts);
        Ok(Applied)
    }

    pub(in crate::task_manager) fn name_hosts(
        &mut self,
        named: &[(HostAddr, HostRole)],
        dropped: &[HostAddr],
    ) -> TaskApplyResult {
        let mut hosts = BTreeMap::clone(&self.hosts);
        for host in dropped {
            if hosts.get(host).is_some_and(|record| record.configured) {
                hosts.remove(host);
            }
        }
        for (host, role) in named {
            let record = hosts.entry(*host).or_insert(HostRecord::new(*role, true));
            *record = HostRecord { role: *role, configured: true, ..*record };
        }
        if *self.hosts == hosts {
            return Ok(AlreadySo);
        }
        self.replace_hosts(hosts);
        Ok(Applied)
    }

    pub(in crate::task_manager) fn set_mode(
        &mut self,
        host: HostAddr,
        mode: HostMode,
    ) -> TaskApplyResult {
        if self.record(host)?.mode == mode {
            return Ok(AlreadySo);
        }
        self.alter_host(host, |record| {
            record.mode = mode;
            if mode == HostMode::Maintenance {
                record.silent_since = None;
            }
        })
    }

    pub(in crate::task_manager) fn add_host(
        &mut self,
        host: HostAddr,
        role: HostRole,
    ) -> TaskApplyResult {
        let record = match self.hosts.get(&host) {
            Some(known) if known.role == role => return Ok(AlreadySo),
            Some(known) if known.configured => return Err(TaskRefusal::Configured(host)),
            Some(known) => HostRecord { role, ..*known },
            None => HostRecord::new(role, false),
        };
        let mut hosts = BTreeMap::clone(&self.hosts);
        hosts.insert(host, record);
        self.replace_hosts(hosts);
        Ok(Applied)
    }

    pub(in crate::task_manager) fn remove_host(&mut self, host: HostAddr) -> TaskApplyResult {
        if self.record(host)?.configured {
            return Err(TaskRefusal::Configured(host));
        }
        let mut hosts = BTreeMap::clone(&self.hosts);
        hosts.remove(&host);
        self.replace_hosts(hosts);
        Ok(Applied)
    }

    pub(in crate::task_manager) fn record_silence(
        &mut self,
        host: HostAddr,
        since: Millis,
    ) -> TaskApplyResult {
        let record = self.record(host)?;
        if !record.is_asked() {
            return Err(TaskRefusal::InMaintenance(host));
        }
        if record.silent_since.is_some() {
            return Ok(AlreadySo);
        }
        self.alter_host(host, |record| record.silent_since = Some(since))
    }

    pub(in crate::task_manager) fn presume_lost(&mut self, host: HostAddr) -> TaskApplyResult {
        let record = self.record(host)?;
        if record.silent_since.is_none() {
            return Err(TaskRefusal::NotSilent(host));
        }
        if record.lost {
            return Ok(AlreadySo);
        }
        self.alter_host(host, |record| record.lost = true)
    }

    pub(in crate::task_manager) fn record_recovery(&mut self, host: HostAddr) -> TaskApplyResult {
        let record = self.record(host)?;
        if record.silent_since.is_none() && !record.lost {
            return Ok(AlreadySo);
        }
        self.alter_host(host, |record| {
            record.silent_since = None;
            record.lost = false;
        })
    }

    fn record(&self, host: HostAddr) -> Result<HostRecord, TaskRefusal> {
        self.hosts.get(&host).copied().ok_or(TaskRefusal::UnknownHost(host))
    }

    fn alter_host(
        &mut self,
        host: HostAddr,
        change: impl FnOnce(&mut HostRecord),
    ) -> TaskApplyResult {
        if let Some(record) = Arc::make_mut(&mut self.hosts).get_mut(&host) {
            change(record);
        }
        Ok(Applied)
    }

    /// The yard consists of these hosts: the records of all others are deleted. The leader cancels
    /// open tasks from and to them.
    fn replace_hosts(&mut self, hosts: BTreeMap<HostAddr, HostRecord>) {
        self.placements
            .retain(|host, _| hosts.get(host).is_some_and(|record| record.role.is_destination()));
        let known = |host: &HostAddr| hosts.contains_key(host);
        Arc::make_mut(&mut self.back_offs).retain(|blamed, _| match blamed {
            Blamed::Source(host) | Blamed::Destination(host) => known(host),
            Blamed::Pair(source, destination) => known(source) && known(destination),
            Blamed::File(_) => true,
        });
        self.hosts = Arc::new(hosts);
    }
}

#[cfg(test)]
mod tests {
    use reelyard_replication::Piece;

    use super::*;
    use crate::task_manager::samples::{host, name, new_task};
    use crate::task_manager::state::event::{NewTask, TaskEvent};

    fn configured(hosts: &[(HostAddr, HostRole)]) -> TaskEvent {
        TaskEvent::HostsConfigured { hosts: hosts.to_vec() }
    }

    fn named(hosts: &[(HostAddr, HostRole)], dropped: &[HostAddr]) -> TaskEvent {
        TaskEvent::HostsNamed { named: hosts.to_vec(), dropped: dropped.to_vec() }
    }

    fn mode_set(host: HostAddr, mode: HostMode) -> TaskEvent {
        TaskEvent::HostModeSet { host, mode, asked_by: "op".to_owned() }
    }

    fn added(host: HostAddr, role: HostRole) -> TaskEvent {
        TaskEvent::HostAdded { host, role, asked_by: "op".to_owned() }
    }

    fn removed(host: HostAddr) -> TaskEvent {
        TaskEvent::HostRemoved { host, asked_by: "op".to_owned() }
    }

    fn book() -> TaskBook {
        let mut book = TaskBook::default();
        let hosts = [(host(1), HostRole::Both), (host(21), HostRole::Destination)];
        apply(&mut book, configured(&hosts)).unwrap();
        book
    }

    fn apply(book: &mut TaskBook, event: TaskEvent) -> TaskApplyResult {
        book.apply(Millis(1), &event)
    }

    fn applied(book: &mut TaskBook, event: TaskEvent) {
        assert_eq!(apply(book, event), Ok(Applied));
    }

    #[test]
    fn a_removed_host_loses_its_record() {
        let mut book = book();
        let placed = TaskEvent::Placed { host: host(21), name: name("a.mpg") };
        applied(&mut book, placed.clone());
        applied(&mut book, configured(&[(host(1), HostRole::Both)]));
        assert!(book.placement(host(21)).is_none());
        assert_eq!(apply(&mut book, placed), Err(TaskRefusal::UnknownHost(host(21))));
    }

    #[test]
    fn differences_of_the_configuration_come_to_the_same_as_the_whole() {
        let mut book = book();
        applied(&mut book, TaskEvent::Placed { host: host(21), name: name("a.mpg") });
        applied(&mut book, mode_set(host(1), HostMode::Draining));
        applied(&mut book, added(host(22), HostRole::Source));
        let mut other = book.clone();
        let hosts = [(host(1), HostRole::Source), (host(22), HostRole::Both)];
        applied(&mut other, configured(&hosts));
        applied(&mut book, named(&hosts[..1], &[]));
        applied(&mut book, named(&hosts[1..], &[host(21)]));
        assert_eq!(book.hosts(), other.hosts());
        assert!(book.placement(host(21)).is_none());
        assert_eq!(apply(&mut book, named(&hosts, &[host(21)])), Ok(AlreadySo));
    }

    #[test]
    fn a_host_that_was_added_stays_where_the_configuration_drops_it() {
        let mut book = book();
        applied(&mut book, added(host(22), HostRole::Destination));
        assert_eq!(apply(&mut book, named(&[], &[host(22), host(9)])), Ok(AlreadySo));
    }

    #[test]
    fn a_new_configuration_keeps_modes_and_silence_of_remaining_hosts() {
        let mut book = book();
        applied(&mut book, mode_set(host(21), HostMode::Draining));
        applied(&mut book, TaskEvent::HostSilent { host: host(1), since: Millis(7) });
        let hosts = [
            (host(1), HostRole::Source),
            (host(21), HostRole::Destination),
            (host(22), HostRole::Destination),
        ];
        applied(&mut book, configured(&hosts));
        assert_eq!(book.host(host(21)).unwrap().mode, HostMode::Draining);
        let source = book.host(host(1)).unwrap();
        assert_eq!((source.role, source.silent_since), (HostRole::Source, Some(Millis(7))));
        assert_eq!(book.host(host(22)), Some(&HostRecord::new(HostRole::Destination, true)));
        assert_eq!(apply(&mut book, configured(&hosts)), Ok(AlreadySo));
    }

    #[test]
    fn a_host_added_at_run_time_stays_until_it_is_removed() {
        let mut book = book();
        applied(&mut book, added(host(22), HostRole::Destination));
        assert_eq!(apply(&mut book, added(host(22), HostRole::Destination)), Ok(AlreadySo));
        applied(&mut book, TaskEvent::Placed { host: host(22), name: name("a.mpg") });
        applied(&mut book, configured(&[(host(1), HostRole::Both)]));
        assert!(book.placement(host(22)).is_some());
        applied(&mut book, removed(host(22)));
        assert!(book.placement(host(22)).is_none() && book.host(host(22)).is_none());
        let refused = Err(TaskRefusal::UnknownHost(host(22)));
        assert_eq!(apply(&mut book, removed(host(22))), refused);
    }

    #[test]
    fn configured_hosts_cannot_be_removed_or_changed() {
        let mut book = book();
        let refused = Err(TaskRefusal::Configured(host(21)));
        assert_eq!(apply(&mut book, removed(host(21))), refused);
        assert_eq!(apply(&mut book, added(host(21), HostRole::Source)), refused);
        assert_eq!(apply(&mut book, added(host(21), HostRole::Destination)), Ok(AlreadySo));
        // One that was added and is named later is the configuration's from then on.
        applied(&mut book, added(host(22), HostRole::Destination));
        applied(&mut book, added(host(22), HostRole::Source));
        applied(&mut book, mode_set(host(22), HostMode::Maintenance));
        applied(&mut book, configured(&[(host(22), HostRole::Both)]));
        let record =
            HostRecord { mode: HostMode::Maintenance, ..HostRecord::new(HostRole::Both, true) };
        assert_eq!(book.hosts().iter().collect::<Vec<_>>(), [(&host(22), &record)]);
    }

    #[test]
    fn a_host_that_is_not_active_gets_no_task() {
        let mut book = book();
        for (mode, blocked) in [
            (HostMode::Draining, host(21)),
            (HostMode::Maintenance, host(21)),
            (HostMode::Draining, host(1)),
        ] {
            applied(&mut book, mode_set(blocked, mode));
            let refused = Err(TaskRefusal::NotActive { host: blocked, mode });
            assert_eq!(apply(&mut book, TaskEvent::Created(new_task(1, "a.mpg"))), refused);
            applied(&mut book, mode_set(blocked, HostMode::Active));
        }
        let unknown = NewTask { destination: host(9), ..new_task(1, "a.mpg") };
        let refused = Err(TaskRefusal::UnknownHost(host(9)));
        assert_eq!(apply(&mut book, TaskEvent::Created(unknown)), refused);
        applied(&mut book, TaskEvent::Created(new_task(1, "a.mpg")));
    }

    #[test]
    fn a_host_is_lost_only_by_silence_and_found_by_an_answer() {
        let mut book = book();
        let lost = TaskEvent::HostLost { host: host(21) };
        let silent = TaskEvent::HostSilent { host: host(21), since: Millis(5) };
        let recovered = TaskEvent::HostRecovered { host: host(21) };
        assert_eq!(apply(&mut book, lost.clone()), Err(TaskRefusal::NotSilent(host(21))));
        assert_eq!(apply(&mut book, recovered.clone()), Ok(AlreadySo));
        applied(&mut book, silent.clone());
        assert_eq!(apply(&mut book, silent.clone()), Ok(AlreadySo));
        assert!(book.host(host(21)).unwrap().counts());
        applied(&mut book, lost.clone());
        assert!(!book.host(host(21)).unwrap().counts());
        assert!(!book.host(host(21)).unwrap().takes_copies());
        applied(&mut book, recovered);
        assert_eq!(book.host(host(21)), Some(&HostRecord::new(HostRole::Destination, true)));
    }

    #[test]
    fn maintenance_ends_a_silence_and_keeps_another_from_beginning() {
        let mut book = book();
        let silent = TaskEvent::HostSilent { host: host(21), since: Millis(5) };
        applied(&mut book, silent.clone());
        applied(&mut book, mode_set(host(21), HostMode::Maintenance));
        let record = book.host(host(21)).unwrap();
        assert!(record.silent_since.is_none() && record.counts() && !record.takes_copies());
        assert_eq!(apply(&mut book, silent), Err(TaskRefusal::InMaintenance(host(21))));
        let lost = TaskEvent::HostLost { host: host(21) };
        assert_eq!(apply(&mut book, lost), Err(TaskRefusal::NotSilent(host(21))));
    }
}
