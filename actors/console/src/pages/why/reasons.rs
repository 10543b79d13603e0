//! Why a file is not planned, and why a host gets nothing. The words of the API are kept.

use crate::parts::icon::Glyph;
use crate::parts::mark::{StateMark, Tone};
use crate::text::{Text, why};

macro_rules! reason_texts {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal, $text:expr;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// Every value.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The value that the API has for it.
            pub const fn api_word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            /// The value with this word of the API.
            pub fn of_api(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|value| value.api_word() == word)
            }

            /// The words for people.
            pub const fn words(self) -> Text {
                match self { $($name::$variant => $text),+ }
            }
        }
    };
}

reason_texts! {
    /// Why the planner passed over a file: `Skip` of the planner.
    PassedReason {
        /// It has no grade.
        Ungraded = "ungraded", why::R_UNGRADED;
        /// No source has it.
        NoMaster = "no_master", why::R_NO_MASTER;
        /// Its name begins with an ignored prefix.
        Ignored = "ignored", why::R_IGNORED;
        /// A host holds it.
        Placed = "placed", why::R_PLACED;
        /// It is listed on a host whose files were not read yet.
        Listed = "listed", why::R_LISTED;
        /// A task copies it.
        UnderWay = "under_way", why::R_UNDER_WAY;
        /// It backs off after a failure.
        BacksOff = "backs_off", why::R_BACKS_OFF;
        /// Its master is no regular file.
        MasterAbsent = "master_absent", why::R_MASTER_ABSENT;
        /// Its master could not be checked.
        MasterUnknown = "master_unknown", why::R_MASTER_UNKNOWN;
        /// Its master is being checked.
        LookUnderWay = "look_under_way", why::R_LOOK;
        /// It is larger than any room.
        TooBig = "too_big", why::R_TOO_BIG;
        /// No destination has room now.
        NoRoom = "no_room", why::R_NO_ROOM;
        /// Only old hosts have room.
        NameNotCarried = "name_not_carried", why::R_NAME;
        /// Every free source is busy.
        NoPair = "no_pair", why::R_NO_PAIR;
    }
}

impl PassedReason {
    /// The colour of its bar.
    pub const fn tone(self) -> Tone {
        match self {
            PassedReason::Placed | PassedReason::Ignored | PassedReason::Ungraded => Tone::Plain,
            PassedReason::NoPair | PassedReason::UnderWay | PassedReason::LookUnderWay => {
                Tone::Work
            }
            PassedReason::NoRoom
            | PassedReason::TooBig
            | PassedReason::NoMaster
            | PassedReason::MasterAbsent => Tone::Bad,
            _ => Tone::Warn,
        }
    }
}

reason_texts! {
    /// The answer to "why": `PlanVerdict` of the planner, without its skips.
    WhyAnswer {
        /// The next round would plan it.
        Goes = "goes", why::ANSWER_GOES;
        /// It waits for a source.
        WaitsForTurn = "waits_for_turn", why::ANSWER_TURN;
        /// The ranking was not read.
        RankingUnread = "ranking_unread", why::ANSWER_UNREAD;
        /// The sources were not listed.
        MastersUnlisted = "masters_unlisted", why::ANSWER_UNLISTED;
        /// A destination was not listed.
        FirstLook = "first_look", why::ANSWER_FIRST_LOOK;
        /// No destination takes copies.
        NoDestination = "no_destination", why::ANSWER_NO_DESTINATION;
        /// Planning is switched off.
        SwitchedOff = "switched_off", why::ANSWER_OFF;
        /// The leader does not plan by its inputs.
        InputsRefused = "inputs_refused", why::ANSWER_INPUTS;
    }
}

reason_texts! {
    /// Why a host gets no copy, in the order in which it would be met.
    HostObstacle {
        /// Nothing.
        Usable = "yes", why::H_USABLE;
        /// It is being drained.
        Draining = "draining", why::H_DRAINING;
        /// A person has set this mode, so nobody asks it.
        Maintenance = "maintenance", why::H_MAINTENANCE;
        /// It is presumed lost.
        Lost = "lost", why::H_LOST;
        /// It does not answer its probes.
        NotUp = "not_up", why::H_NOT_UP;
        /// Its program is not known.
        KindUnknown = "kind_unknown", why::H_KIND;
        /// Its files were never listed.
        InventoryUnknown = "inventory_unknown", why::H_INVENTORY;
        /// Its disk is not known.
        DiskUnknown = "disk_unknown", why::H_DISK;
        /// It gets no copy for a while after a failure.
        BacksOff = "backs_off", why::H_BACKS_OFF;
        /// It answers its probes, but the node gets errors from it.
        CallsFail = "calls_fail", why::H_CALLS;
        /// It is on probation.
        OnTrial = "on_trial", why::H_TRIAL;
        /// Others use more of its network than its mark allows.
        BusyLink = "busy_link", why::H_LINK;
        /// It holds the file.
        Holds = "holds", why::H_HOLDS;
        /// The file does not fit.
        TooBig = "too_big", why::H_TOO_BIG;
        /// Copies under way need the room.
        NoRoom = "no_room", why::H_NO_ROOM;
        /// It cannot carry the name.
        NameNotCarried = "name_not_carried", why::H_NAME;
        /// No source can serve it.
        NoSource = "no_source", why::H_NO_SOURCE;
        /// A source serves as many as it may.
        Busy = "busy", why::H_BUSY;
        /// A source does not have the file.
        NoFile = "no_file", why::H_NO_FILE;
        /// Its disk is fuller than the setting allows.
        OverLimit = "over_limit", why::H_OVER;
    }
}

impl HostObstacle {
    /// Shape, colour and words.
    pub const fn mark(self) -> StateMark {
        let (glyph, tone) = match self {
            HostObstacle::Usable => (Glyph::Up, Tone::Ok),
            HostObstacle::Draining => (Glyph::Drain, Tone::Hold),
            HostObstacle::Maintenance => (Glyph::Maintenance, Tone::Hold),
            HostObstacle::Lost | HostObstacle::NotUp => (Glyph::Down, Tone::Bad),
            HostObstacle::BacksOff | HostObstacle::CallsFail | HostObstacle::OnTrial => {
                (Glyph::Probation, Tone::Warn)
            }
            HostObstacle::KindUnknown
            | HostObstacle::InventoryUnknown
            | HostObstacle::DiskUnknown => (Glyph::Unknown, Tone::Off),
            HostObstacle::TooBig
            | HostObstacle::NoRoom
            | HostObstacle::NameNotCarried
            | HostObstacle::OverLimit => (Glyph::Warn, Tone::Warn),
            HostObstacle::Holds => (Glyph::Done, Tone::Ok),
            HostObstacle::BusyLink
            | HostObstacle::NoSource
            | HostObstacle::Busy
            | HostObstacle::NoFile => (Glyph::Wait, Tone::Off),
        };
        StateMark::new(glyph, tone, self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_of_the_api_is_read_back() {
        for reason in PassedReason::ALL {
            assert_eq!(PassedReason::of_api(reason.api_word()), Some(*reason));
        }
        for obstacle in HostObstacle::ALL {
            assert_eq!(HostObstacle::of_api(obstacle.api_word()), Some(*obstacle));
        }
        assert_eq!(WhyAnswer::of_api("other"), None);
    }
}
