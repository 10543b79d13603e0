//! The rates of copies: a rate for each copy and limits for hosts, by the time of day and week. A host's
//! limit is split among its copies. Pure.

mod share;
mod timetable;
mod timetable_text;

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

pub use share::{Flow, LEAST, split};
pub use timetable::{MinuteOfWeek, Timetable, TwiceInTimetable};
pub use timetable_text::BadTimetable;

use reelyard_core::clock::Millis;
use reelyard_core::host::{BitsPerSecond, HostAddr};

/// All settings of bandwidth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// The limit of each single copy.
    pub copy: Timetable,
    /// The most that a source sends in all copies together.
    pub sources: HostLimits,
    /// The most that a destination receives in all copies together.
    pub destinations: HostLimits,
    /// The time zone of the timetables.
    pub zone: TimeZone,
}

impl Default for Bandwidth {
    /// No limit at all.
    fn default() -> Self {
        Bandwidth {
            copy: Timetable::default(),
            sources: HostLimits::default(),
            destinations: HostLimits::default(),
            zone: TimeZone::UTC,
        }
    }
}

impl Bandwidth {
    /// No limit but `rate` for each copy, at all times.
    pub fn of_each_copy(rate: BitsPerSecond) -> Self {
        Bandwidth { copy: Timetable::always(Some(rate)), ..Bandwidth::default() }
    }

    /// The limits in force at `now`.
    pub fn at(&self, now: Millis) -> BandwidthInForce<'_> {
        BandwidthInForce { bandwidth: self, minute: MinuteOfWeek::of(now, &self.zone) }
    }
}

/// The limits of the hosts on one side of the copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostLimits {
    /// The timetable of hosts without their own.
    pub default: Timetable,
    /// The timetables of single hosts.
    pub by_host: BTreeMap<HostAddr, Timetable>,
}

impl HostLimits {
    fn of(&self, host: HostAddr) -> &Timetable {
        self.by_host.get(&host).unwrap_or(&self.default)
    }
}

/// The limits in force at one moment.
#[derive(Clone, Copy, Debug)]
pub struct BandwidthInForce<'a> {
    bandwidth: &'a Bandwidth,
    minute: MinuteOfWeek,
}

impl BandwidthInForce<'_> {
    /// The limit of each single copy.
    pub fn copy(&self) -> Option<BitsPerSecond> {
        self.bandwidth.copy.rate_at(self.minute)
    }

    /// The most that `host` sends.
    pub fn source(&self, host: HostAddr) -> Option<BitsPerSecond> {
        self.bandwidth.sources.of(host).rate_at(self.minute)
    }

    /// The most that `host` receives.
    pub fn destination(&self, host: HostAddr) -> Option<BitsPerSecond> {
        self.bandwidth.destinations.of(host).rate_at(self.minute)
    }
}
