//! Why a copy is removed or kept: codes with the numbers that decided. Pure.

use crate::settings::remover::KeptBy;
use reelyard_core::counted::counted;
use reelyard_core::names::FileName;
use serde::{Deserialize, Serialize};

/// Why a copy is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = RemovalReason)]
pub enum Reason {
    /// There are surplus copies.
    Duplicate {
        /// Copies that count and were confirmed, including this one.
        copies: u32,
        /// The wanted number of copies.
        wanted: u32,
        /// The rule that selects the copies to keep.
        kept_by: KeptBy,
    },
    /// Its host is being drained, and there are enough copies elsewhere.
    Draining {
        /// Copies elsewhere that count and were confirmed.
        elsewhere: u32,
    },
    /// The disk of its host is over the limit, and this is the worst removable file on it.
    OverLimit {
        /// Bytes in use at the decision, without those of removals under way.
        used: u64,
        /// The limit in bytes.
        limit: u64,
        /// Removal continues until at most this many bytes are in use.
        low_water: u64,
        /// Its rank, 1 = best; none without a grade.
        #[schema(required)]
        grade: Option<u32>,
    },
    /// A much better file has no room anywhere.
    MakesRoom {
        /// For which file.
        better: FileName,
        /// That file's size in bytes.
        better_size: u64,
        /// That file's rank; none without a grade.
        #[schema(required)]
        better_grade: Option<u32>,
        /// That file's rising hits.
        better_hits: u32,
        /// Rank of the removed file; none without a grade.
        #[schema(required)]
        grade: Option<u32>,
    },
    /// A file with much more demand replaces it.
    Exchanged {
        /// The file that gets the room.
        better: FileName,
        /// That file's size in bytes.
        better_size: u64,
        /// Expected requests for that file, in thousandths of a request a day.
        better_demand: u64,
        /// The same for the removed file, with the longer memory of deletion.
        demand: u64,
    },
}

impl Reason {
    /// The file that gets the room, and its size in bytes. None if the removal is for no other file.
    pub fn better(&self) -> Option<(&FileName, u64)> {
        match self {
            Reason::MakesRoom { better, better_size, .. }
            | Reason::Exchanged { better, better_size, .. } => Some((better, *better_size)),
            Reason::Duplicate { .. } | Reason::Draining { .. } | Reason::OverLimit { .. } => None,
        }
    }

    /// The reason in words, with its numbers.
    pub fn words(&self) -> String {
        let graded = |grade: &Option<u32>| match grade {
            Some(grade) => format!("rank {grade}"),
            None => "no grade".to_owned(),
        };
        match self {
            Reason::Duplicate { copies, wanted, .. } => {
                format!("{}, {wanted} wanted", counted(copies, "copy", "copies"))
            }
            Reason::Draining { elsewhere } => {
                format!("its host is being drained; copies elsewhere: {elsewhere}")
            }
            Reason::OverLimit { used, limit, grade, .. } => format!(
                "the disk of its host is over its limit ({used} of {limit} bytes), and it is the least \
                 wanted file there (grade.info: {})",
                graded(grade)
            ),
            Reason::MakesRoom { better, better_grade, better_hits, grade, .. } => format!(
                "it makes room for {better} ({}, {better_hits} rising hits) and has {}",
                graded(better_grade),
                graded(grade)
            ),
            Reason::Exchanged { better, better_demand, demand, .. } => format!(
                "it is exchanged for {better} ({} expected requests a day), and {} requests a day are \
                 expected for it",
                per_day(*better_demand),
                per_day(*demand)
            ),
        }
    }

    /// The stable code of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            Reason::Duplicate { .. } => "duplicate",
            Reason::Draining { .. } => "draining",
            Reason::OverLimit { .. } => "over_limit",
            Reason::MakesRoom { .. } => "makes_room",
            Reason::Exchanged { .. } => "exchanged",
        }
    }
}

/// Thousandths of a request a day, as requests a day.
pub(in crate::remover) fn per_day(thousandths: u64) -> String {
    format!("{:.2}", thousandths as f64 / 1000.0)
}

/// Why a copy that was examined is kept.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Spared {
    /// No source directory lists its master, or a check did not find the master.
    NoMaster,
    /// Its master could not be checked.
    MasterUnknown,
    /// Its name begins with an ignored prefix.
    Ignored,
    /// The file is pinned.
    Pinned,
    /// Its hits rise now.
    Hot,
    /// It was copied there recently.
    CopiedLately,
    /// It is one of the wanted copies.
    Wanted,
    /// There is no other copy that counts and could be confirmed.
    OnlyCopy,
    /// The host of the copy to keep did not confirm that copy.
    NotConfirmed,
    /// Its host cannot be called now.
    HostNotAsked,
    /// It is not known yet whether an earlier removal of it was carried out.
    InDoubt,
    /// Other removals already free enough space.
    Enough,
    /// A removal of it is running.
    UnderWay,
    /// It was hot when it was copied there. Its grade may not show that yet.
    CameHot,
    /// It had to make room for a file that no longer needs the room.
    NotNeeded,
    /// It would be removed together with others, but one of them is kept, so the room would not be
    /// enough.
    InVain,
    /// It was copied there too recently for an exchange.
    MinStay,
}

impl Spared {
    /// The reason in words, for people.
    pub fn words(self) -> &'static str {
        match self {
            Spared::NoMaster => "it has no master: a removed file could not be restored",
            Spared::MasterUnknown => "its master could not be checked",
            Spared::Ignored => "its name begins with an ignored prefix",
            Spared::Pinned => "it is pinned",
            Spared::Hot => "it is hot",
            Spared::CopiedLately => "it was copied there recently",
            Spared::Wanted => "it is one of the wanted copies",
            Spared::OnlyCopy => "no other copy is confirmed",
            Spared::NotConfirmed => {
                "the host of the copy to keep did not confirm that it has the copy"
            }
            Spared::HostNotAsked => "its host cannot be called now",
            Spared::InDoubt => "the outcome of an earlier removal is not known yet",
            Spared::Enough => "other removals already free enough space",
            Spared::UnderWay => "a removal of it is under way",
            Spared::CameHot => "it was hot when it was copied, and its grade may not show that yet",
            Spared::NotNeeded => "the room is no longer needed",
            Spared::InVain => {
                "other files that had to be removed with it stay, so its removal would not \
                free enough room"
            }
            Spared::MinStay => "it was copied there too recently for an exchange",
        }
    }
}
