//! The memory of the overview. Pure but for its lock.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use reelyard_console::pages::yard::{EndedTrouble, Trouble};
use reelyard_console::parts::spark::HealthSpan;
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::TaskId;

use super::copy_rates::CopyRates;
use super::health_history::HealthHistory;
use super::link_traffic::{HostLinks, LinkSample, LinkTraffic};
use super::troubles::trouble_log::{TroubleHistory, TroubleLog};

/// The facts of one look at the yard that are remembered.
pub struct YardLook {
    /// The moment of the look.
    pub now: Millis,
    /// Everything that is wrong.
    pub troubles: Vec<Trouble>,
    /// The health of every host.
    pub health: Vec<(HostAddr, HealthSpan)>,
    /// The load of each link. Hosts that report none are left out.
    pub traffic: BTreeMap<HostAddr, LinkSample>,
    /// Bytes of each copy under way.
    pub progress: Vec<(TaskId, u64)>,
}

/// The memory of earlier looks at the yard.
#[derive(Debug, Default)]
pub struct OverviewMemory(Mutex<EarlierLooks>);

#[derive(Debug, Default)]
struct EarlierLooks {
    troubles: TroubleLog,
    health: HealthHistory,
    traffic: LinkTraffic,
    links: HostLinks,
    rates: CopyRates,
}

impl OverviewMemory {
    /// Adds a look. Only the task that looks at even intervals does it, so looks come in the order of time.
    pub fn observe(&self, look: YardLook) {
        let YardLook { now, troubles, health, traffic, progress } = look;
        let mut memory = self.lock();
        memory.troubles.observe(now, &troubles);
        memory.health.observe(now, health.into_iter());
        memory.traffic.observe(now, sum(&traffic));
        memory.links.observe(now, &traffic);
        memory.rates.observe(now, progress.into_iter());
    }

    /// Adds the begins to the troubles of a page.
    pub fn date(&self, now: Millis, troubles: &mut [Trouble]) -> TroubleHistory {
        self.lock().troubles.date(now, troubles)
    }

    /// The time of the first look, and the last troubles that ended since then, newest first.
    pub fn ended_troubles(&self) -> (Option<Millis>, Vec<EndedTrouble>) {
        self.lock().troubles.ended()
    }

    /// The rate of a copy in bytes a second, if it was seen before.
    pub fn rate(&self, task: TaskId, bytes: u64, now: Millis) -> Option<u64> {
        self.lock().rates.rate(task, bytes, now)
    }

    /// The worst health of a host in each half hour, oldest first.
    pub fn health(&self, host: HostAddr) -> Vec<HealthSpan> {
        self.lock().health.of(host).to_vec()
    }

    /// The load of the link of a host in the last hour, oldest first.
    pub fn link(&self, host: HostAddr) -> Vec<(Millis, LinkSample)> {
        self.lock().links.of(host)
    }

    /// The load of all links in the last hour.
    pub fn traffic(&self) -> LinkTraffic {
        self.lock().traffic.clone()
    }

    fn lock(&self) -> MutexGuard<'_, EarlierLooks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The load of all links. None if no host reports its load.
fn sum(links: &BTreeMap<HostAddr, LinkSample>) -> Option<LinkSample> {
    let mut sum: Option<LinkSample> = None;
    for link in links.values() {
        let sum = sum.get_or_insert_default();
        sum.sent = sum.sent.saturating_add(link.sent);
        sum.received = sum.received.saturating_add(link.received);
        sum.copies = sum.copies.saturating_add(link.copies);
    }
    sum
}

#[cfg(test)]
mod tests {
    use reelyard_console::pages::yard::{TroubleCause, TroublePlace};

    use super::*;

    fn warning(text: &str) -> Trouble {
        Trouble {
            cause: TroubleCause::Warning { text: text.to_owned(), remedy: TroublePlace::Settings },
            since: None,
        }
    }

    fn look(now: i64, troubles: Vec<Trouble>) -> YardLook {
        let (health, progress) = (Vec::new(), Vec::new());
        YardLook { now: Millis(now), troubles, health, traffic: BTreeMap::new(), progress }
    }

    #[test]
    fn a_page_that_was_computed_late_changes_no_memory() {
        let memory = OverviewMemory::default();
        memory.observe(look(1000, vec![warning("a")]));
        memory.observe(look(2000, vec![warning("a"), warning("b")]));
        // A page of an earlier moment, when nothing was wrong, and one of a later moment.
        for (moment, mut seen) in [(500, Vec::new()), (2500, vec![warning("c")])] {
            memory.date(Millis(moment), &mut seen);
        }
        let mut troubles = [warning("a"), warning("b"), warning("c")];
        let history = memory.date(Millis(3000), &mut troubles);
        let begins = troubles.map(|trouble| trouble.since.map(|since| since.0));
        assert_eq!(begins, [Some(1000), Some(2000), Some(3000)]);
        assert_eq!((history.cleared, history.fine_since), (0, None));
    }
}
