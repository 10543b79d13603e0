//! The requests of the last day, and how many of them a destination served. Pure.

use std::time::Duration;

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};

/// Requests are counted in slots of this many seconds.
const SLOT_SECONDS: i64 = 300;

/// The slots of a day, and some more, so that late rows find their slot.
const SLOTS: usize = 300;

const SLOTS_OF_AN_HOUR: i64 = 3600 / SLOT_SECONDS;

/// Hours of the curve.
const HOURS: usize = 24;

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The share of requests that destinations served from their copies, by the event log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ServedShares {
    /// How many requests `last_hour` is a share of. With few, it says little.
    #[serde(default)]
    pub requests_last_hour: u64,
    /// Share in the last hour, from 0 to 1. Missing without a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_hour: Option<f64>,
    /// The same for the last 24 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_day: Option<f64>,
}

/// The requests of one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServedSlot {
    /// Unix time divided by the length of a slot.
    pub number: i64,
    /// Requests with a time in this slot.
    pub requests: u32,
    /// Requests that a destination served from its copy.
    pub served: u32,
}

/// The requests of the last day by time, in bounded memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedRequests {
    /// The slot with the number `n` is at the position `n` modulo the length. Never empty.
    slots: Vec<ServedSlot>,
}

impl Default for ServedRequests {
    fn default() -> Self {
        ServedRequests { slots: vec![ServedSlot::default(); SLOTS] }
    }
}

impl ServedRequests {
    /// No requests but those of these slots. Of two slots for one position the later one counts.
    pub fn of(slots: impl IntoIterator<Item = ServedSlot>) -> Self {
        let mut requests = ServedRequests::default();
        for slot in slots {
            let position = position(slot.number);
            if requests.slots[position].number < slot.number {
                requests.slots[position] = slot;
            }
        }
        requests
    }

    /// The slots with requests.
    pub fn slots(&self) -> impl Iterator<Item = ServedSlot> + '_ {
        self.slots.iter().copied().filter(|slot| slot.requests > 0)
    }

    /// Counts a request at `at`. One that is older than all slots is ignored.
    pub fn count(&mut self, at: Millis, is_served: bool) {
        let number = at.unix_seconds().div_euclid(SLOT_SECONDS);
        let slot = &mut self.slots[position(number)];
        if slot.number < number {
            *slot = ServedSlot { number, requests: 0, served: 0 };
        }
        if slot.number == number {
            slot.requests = slot.requests.saturating_add(1);
            slot.served = slot.served.saturating_add(u32::from(is_served));
        }
    }

    /// The shares of the last hour and of the last day.
    pub fn shares(&self, now: Millis) -> ServedShares {
        let (requests_last_hour, _) = self.within(now, HOUR);
        let (last_hour, last_day) = (self.share(now, HOUR), self.share(now, DAY));
        ServedShares { requests_last_hour, last_hour, last_day }
    }

    /// The share of requests in each of the last 24 hours that were served, oldest first. Hours without a request are
    /// left out.
    pub fn by_hour(&self, now: Millis) -> Vec<f64> {
        let last = now.unix_seconds().div_euclid(SLOT_SECONDS);
        let mut hours = [(0_u64, 0_u64); HOURS];
        for slot in self.slots() {
            // The slot of `now` and later ones belong to the last hour: clocks differ by seconds.
            let age = usize::try_from((last - slot.number).max(0) / SLOTS_OF_AN_HOUR);
            if let Some(hour) = age.ok().and_then(|age| hours.get_mut(age)) {
                hour.0 += u64::from(slot.requests);
                hour.1 += u64::from(slot.served);
            }
        }
        let counted = hours.iter().rev().filter(|(requests, _)| *requests > 0);
        counted.map(|(requests, served)| *served as f64 / *requests as f64).collect()
    }

    /// The share of requests within `span` before `now` that were served, from 0 to 1. None without a request.
    fn share(&self, now: Millis, span: Duration) -> Option<f64> {
        let (requests, served) = self.within(now, span);
        (requests > 0).then(|| served as f64 / requests as f64)
    }

    /// The requests within `span` before `now`, and how many of them were served. The slot of `now` and later ones
    /// belong to the span: clocks differ by seconds.
    fn within(&self, now: Millis, span: Duration) -> (u64, u64) {
        let first = now.before(span).unix_seconds().div_euclid(SLOT_SECONDS) + 1;
        let mut requests = 0_u64;
        let mut served = 0_u64;
        for slot in self.slots().filter(|slot| slot.number >= first) {
            requests += u64::from(slot.requests);
            served += u64::from(slot.served);
        }
        (requests, served)
    }
}

fn position(number: i64) -> usize {
    // The remainder is at least 0 and below the number of slots.
    number.rem_euclid(SLOTS as i64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 1_780_000_000;
    fn at(second: i64) -> Millis {
        Millis::from_unix_seconds(second)
    }

    fn count(requests: &mut ServedRequests, second: i64, served: u32, missed: u32) {
        for number in 0..served + missed {
            requests.count(at(second), number < served);
        }
    }

    #[test]
    fn the_share_is_that_of_the_span() {
        let mut requests = ServedRequests::default();
        assert_eq!(requests.share(at(NOON), DAY), None);
        count(&mut requests, NOON - 20 * 3600, 1, 3);
        count(&mut requests, NOON - 60, 3, 1);
        assert_eq!(requests.share(at(NOON), HOUR), Some(0.75));
        assert_eq!(requests.shares(at(NOON)).requests_last_hour, 4);
        assert_eq!(requests.share(at(NOON), DAY), Some(0.5));
        assert_eq!(requests.share(at(NOON + 5 * 3600), DAY), Some(0.75));
        assert_eq!(requests.share(at(NOON + 2 * 86_400), DAY), None);
    }

    #[test]
    fn the_curve_has_each_hour_with_requests() {
        let mut requests = ServedRequests::default();
        assert!(requests.by_hour(at(NOON)).is_empty());
        count(&mut requests, NOON - 20 * 3600, 1, 3);
        count(&mut requests, NOON - 60, 3, 1);
        count(&mut requests, NOON + 60, 4, 0);
        assert_eq!(requests.by_hour(at(NOON)), [0.25, 0.875]);
        assert_eq!(requests.by_hour(at(NOON + 5 * 3600)), [0.875]);
    }

    #[test]
    fn old_rows_change_nothing_and_slots_come_back() {
        let mut requests = ServedRequests::default();
        count(&mut requests, NOON, 1, 0);
        count(&mut requests, NOON - 400 * 86_400, 0, 1_000);
        assert_eq!(requests.share(at(NOON), DAY), Some(1.0));
        assert_eq!(ServedRequests::of(requests.slots()).share(at(NOON), DAY), Some(1.0));
        let seconds = SLOT_SECONDS * SLOTS as i64;
        count(&mut requests, NOON - seconds, 0, 5);
        assert_eq!(requests.share(at(NOON), DAY), Some(1.0), "its slot has newer requests");
    }
}
