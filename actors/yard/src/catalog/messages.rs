//! The messages of the Catalog, and its reports to its subscribers.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use actix::Message;
use reelyard_core::actor_parts::SubscriberList;
use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;

use super::ranking::Ranking;
use crate::catalog::load_balancer::rising::RisingHits;
use crate::catalog::sources::masters::Masters;

/// The ranking was read again: grade.info or hitcount.history changed.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct RankingChanged(pub Arc<Ranking>);

/// The hot files changed: hits were added or left the window.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct RisingChanged(pub Arc<RisingHits>);

/// The listing of the source directories changed.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct MastersChanged(pub Arc<Masters>);

/// The receivers of reports.
#[derive(Clone, Default)]
pub struct Subscribers {
    /// Receivers of each new ranking.
    pub ranking: SubscriberList<RankingChanged>,
    /// Receivers of the hot files, whenever they or their hits change.
    pub rising: SubscriberList<RisingChanged>,
    /// Receivers of each new listing of the masters.
    pub masters: SubscriberList<MastersChanged>,
}

/// Adds subscribers and sends them the current state at once. For actors that start, or restart, after
/// the Catalog.
#[derive(Message)]
#[rtype(result = "()")]
pub struct SubscribeToCatalog(pub Subscribers);

/// These are the destinations' addresses from now on.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct SetDestinations {
    /// The complete set: it replaces the previous one.
    pub ips: BTreeSet<IpAddr>,
}

/// A kind of input with its own checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// grade.info and hitcount.history.
    Ranking,
    /// The source directories.
    Masters,
    /// The event log, from which rising hits are counted.
    EventLog,
}

/// An input may have changed: it is checked soon. Sent by the watch over it.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct InputMayHaveChanged(pub InputKind);

/// Checks every input now. Answered once the check is complete: by then the subscribers have its
/// results, and the view shows them.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct CheckInputsNow;

/// Reads the event log and saves the demand, before an orderly end. Answered once the checkpoint is
/// written, or could not be written.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct SaveDemand;

/// Asks for the masters of some files on the disk: one `stat` each, outside of the actors' threads.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Vec<(FileId, MasterLook)>")]
pub struct LookUpMasters {
    /// The files to look up.
    pub files: Vec<FileId>,
}

/// The result of a check of a master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MasterLook {
    /// It is a regular file.
    Found {
        /// Its directory, as configured: the first of `source_dirs` with this name.
        dir: Arc<str>,
        /// Size of the master in bytes.
        size: u64,
        /// When it was last written.
        modified: Millis,
    },
    /// No source directory has it as a regular file.
    Absent,
    /// The directories could not be read.
    Unknown,
}
