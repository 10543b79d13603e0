//! Room for files that fit on no destination: the files that need room, the rooms that were made,
//! and the decisions. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, NameText};
use serde::{Deserialize, Serialize};

use crate::remover::policy::arrivals::is_within;
use crate::remover::settings::RemoverSettings;
use crate::remover::state::ending::Ending;
use crate::remover::state::reason::{Reason, per_day};
use crate::remover::state::removal_book::RemovalBook;
use crate::room::{CountedRoom, RoomMade, WantsRoom};

/// The files for which the planner has no room, as last reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoomWanted {
    /// Hot files that fit nowhere, hottest first, and then those with the most demand.
    pub files: Vec<WantsRoom>,
    /// The room of each destination that takes copies. A copy that began before the disk was read counts as
    /// included: a larger figure only delays removals.
    pub rooms: BTreeMap<HostAddr, CountedRoom>,
}

impl RoomWanted {
    /// Whether a file still needs room. Room that is no exchange is only for a hot file.
    pub fn needs(&self, file: FileId, by_exchange: bool) -> bool {
        self.files.iter().any(|wish| wish.file == file && (by_exchange || wish.is_hot()))
    }
}

/// How many files a round judges, besides those for which no room is possible.
pub(super) const MOST_JUDGED: usize = 32;

/// How many files a round shows for which no room is possible.
const MOST_IMPOSSIBLE: usize = 16;

/// The number of files that a round has judged. Files for which no room is possible do not keep others from it.
#[derive(Debug, Default)]
pub(super) struct RoomsJudged {
    possible: usize,
    impossible: usize,
}

impl RoomsJudged {
    pub(super) fn are_enough(&self) -> bool {
        self.possible == MOST_JUDGED
    }

    /// Adds a decision to those of the round.
    pub(super) fn add(
        &mut self,
        sought: RoomSought,
        is_impossible: bool,
        rooms: &mut Vec<RoomSought>,
    ) {
        let count = if is_impossible { &mut self.impossible } else { &mut self.possible };
        *count += 1;
        if !is_impossible || *count <= MOST_IMPOSSIBLE {
            rooms.push(sought);
        }
    }
}

/// A file that fits on no destination, and the decision on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomSought {
    /// The file and its size, as the planner reported it.
    pub wish: WantsRoom,
    /// The Remover's decision on the file.
    pub verdict: RoomVerdict,
}

/// The decision on a file that fits on no destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoomVerdict {
    /// Room is made for it by this round.
    Made {
        /// The host that removes other copies for it.
        host: HostAddr,
        /// Bytes that were short there.
        lacking: u64,
        /// Bytes that are removed for it.
        goes: u64,
    },
    /// Room was made for it earlier, and the copy has not arrived yet.
    MadeEarlier {
        /// The host where room was made.
        host: HostAddr,
    },
    /// It is not hot enough.
    TooFewHits {
        /// Rising hits from which on room is made.
        from: u32,
    },
    /// It may fit on a host whose disk was read while copies to it ran. The next read decides.
    MayFit {
        /// The first host whose room may suffice.
        host: HostAddr,
    },
    /// The masters of removable files are checked first, to know their sizes.
    SizesUnknown,
    /// It replaces other copies by this round.
    Exchanged {
        /// Whether this is only shown: the mode is "shadow" or "dry-run", one of the copies is kept after all, or the
        /// next round decides.
        #[serde(default)]
        is_only_shown: bool,
        /// The host that removes other copies for it.
        host: HostAddr,
        /// The files whose copies are removed for it, those with the least demand first.
        #[serde(default)]
        files: Vec<NameText>,
        /// Bytes that are removed for it.
        goes: u64,
        /// Expected requests for it, in thousandths of a request a day.
        demand: u64,
        /// The same for the removed copies, in the proportion of the bytes that the file uses.
        lost: u64,
    },
    /// Every host would lose too much demand for it.
    TooLittleDemand {
        /// Expected requests for it, in thousandths of a request a day.
        demand: u64,
        /// The demand that an exchange needs, in the same unit. None if no host can make room now.
        #[schema(required)]
        needed: Option<u64>,
        /// The host that would lose the least demand.
        #[serde(default)]
        host: Option<HostAddr>,
    },
    /// The hosts that could make room for it do so for other files in this round.
    AfterOthers,
    /// The event log was observed for a shorter time than a copy stays, so the demand is not known well
    /// enough.
    TooShortLog {
        /// The time from the oldest to the newest request, in seconds.
        observed: u64,
        /// The time that exchanges need, in seconds.
        needed: u64,
    },
    /// Copies were exchanged for it, and its copy did not arrive.
    DidNotArrive {
        /// The host where the copies were removed.
        host: HostAddr,
        /// The time until the next exchange for it, in seconds.
        wait: u64,
    },
    /// The exchanges of the last 24 hours used the budget.
    BudgetSpent {
        /// Bytes that would be removed for it.
        goes: u64,
        /// Bytes that are left of the budget.
        left: u64,
    },
    /// Every host would have to remove more for it than is allowed for one file, or than it may remove.
    TooMuch {
        /// The smallest number of missing bytes on any host; none when no host could be examined.
        #[schema(required)]
        lacking: Option<u64>,
    },
}

impl RoomSought {
    /// The same decision, of which nothing follows.
    pub(in crate::remover::policy) fn only_shown(mut self) -> Self {
        self.verdict.show_only();
        self
    }
}

impl RoomVerdict {
    /// Nothing follows of this decision.
    pub(in crate::remover::policy) fn show_only(&mut self) {
        if let RoomVerdict::Exchanged { is_only_shown, .. } = self {
            *is_only_shown = true;
        }
    }

    /// In words, for people.
    pub fn words(&self) -> String {
        match self {
            RoomVerdict::Made { host, lacking, goes } => {
                format!(
                    "room is made on {host}: {lacking} bytes are missing, {goes} bytes are removed"
                )
            }
            RoomVerdict::MadeEarlier { host } => format!("room was made for it on {host}"),
            RoomVerdict::TooFewHits { from } => {
                format!("it is not hot enough: room is made for files with at least {from} hits")
            }
            RoomVerdict::Exchanged { is_only_shown, host, goes, demand, lost, files } => {
                let replaces = if *is_only_shown { "would replace" } else { "replaces" };
                let files: Vec<&str> = files.iter().map(|file| &*file.name).collect();
                format!(
                    "it {replaces} copies on {host}: {} ({goes} bytes). Expected requests a day: {} instead \
                     of {}",
                    files.join(", "),
                    per_day(*demand),
                    per_day(*lost)
                )
            }
            RoomVerdict::TooLittleDemand { demand, needed: Some(needed), host } => {
                let at = host.map(|host| format!(" on {host}")).unwrap_or_default();
                format!(
                    "an exchange{at} needs {} expected requests a day, and it has {}",
                    per_day(*needed),
                    per_day(*demand)
                )
            }
            RoomVerdict::TooLittleDemand { needed: None, .. } => {
                "no host can exchange copies for it now".to_owned()
            }
            RoomVerdict::AfterOthers => {
                "the hosts that could make room for it do so for other files first".to_owned()
            }
            RoomVerdict::TooShortLog { observed, needed } => {
                let (observed, needed) = (rounded_time(*observed), rounded_time(*needed));
                format!("exchanges need {needed} of event log, and {observed} are known")
            }
            RoomVerdict::DidNotArrive { host, wait } => format!(
                "copies on {host} were exchanged for it, and its copy did not arrive. The next exchange for it \
                 can follow in {}",
                rounded_time(*wait)
            ),
            RoomVerdict::BudgetSpent { goes, left } => format!(
                "the daily budget of exchanges is used: {goes} bytes would be removed, and {left} bytes \
                 are left"
            ),
            RoomVerdict::MayFit { host } => format!(
                "it may fit on {host}: copies to it ran when its disk was read, and the next read decides"
            ),
            RoomVerdict::SizesUnknown => {
                "the sizes of the files that may be removed for it are being read".to_owned()
            }
            RoomVerdict::TooMuch { lacking: Some(lacking) } => format!(
                "every host would have to remove more than is allowed for one file (at least {lacking} \
                 bytes are missing)"
            ),
            RoomVerdict::TooMuch { lacking: None } => "no host can make room now".to_owned(),
        }
    }
}

/// A time in whole minutes, for people.
fn rounded_time(seconds: u64) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_secs(seconds / 60 * 60))
}

impl RemovalBook {
    /// Hosts where room is being made, or was made recently and is still reserved, and the files for
    /// which it is made.
    pub fn rooms_made(
        &self,
        settings: &RemoverSettings,
        now: Millis,
    ) -> BTreeMap<HostAddr, RoomMade> {
        let mut made: BTreeMap<HostAddr, RoomMade> = BTreeMap::new();
        let keep = settings.keep_room_for;
        let mut add_room = |host: HostAddr, reason: &Reason, at: Millis, freed: u64| {
            let Some((better, size)) = reason.better() else { return };
            let file = self.file(better);
            let is_exchange = matches!(reason, Reason::Exchanged { .. });
            let room = RoomMade { file, size, until: at.after(keep), freed: 0, is_exchange };
            // If there are several, the latest applies.
            let room = made.entry(host).or_insert(room);
            if room.file == file {
                room.freed = room.freed.saturating_add(freed);
            }
        };
        for (copy, open) in self.open.iter() {
            add_room(copy.0, &open.intent.reason, now, 0);
        }
        let ended = self.history.newest_first().map(|(_, record)| record);
        for record in ended.filter(|record| is_within(record.at, keep, now)) {
            if matches!(record.ending, Ending::Removed | Ending::Absent) {
                add_room(record.host, &record.reason, record.at, record.size.unwrap_or(0));
            }
        }
        made
    }
}
