//! Troubles of the yard, as facts. The words are in `trouble_text`.

use crate::parts::verdict::Severity;
use crate::viewer::Moment;

/// A trouble and its begin.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// The kind of trouble, with its facts.
    pub cause: TroubleCause,
    /// Since when, if known.
    pub since: Option<Moment>,
}

/// A trouble that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedTrouble {
    /// The kind of trouble, with its facts when it was worst.
    pub cause: TroubleCause,
    /// Its begin.
    pub from: Moment,
    /// Its end.
    pub to: Moment,
}

/// A kind of trouble, with its facts.
#[derive(Clone, Debug, PartialEq)]
pub enum TroubleCause {
    /// A host does not answer.
    HostDown {
        /// Its address and port.
        host: String,
        /// Files that it holds, if known.
        files: Option<u64>,
        /// Files that no other host holds, if known.
        only_here: Option<u64>,
        /// Copies to it that failed in the last hour.
        failed_copies: u64,
        /// The instant from which it is presumed lost.
        lost_at: Option<Moment>,
        /// It is presumed lost already.
        is_lost: bool,
        /// It is a destination, and no other destination is up.
        is_last: bool,
        /// It only serves masters: it holds no copies.
        is_only_source: bool,
    },
    /// More than five hosts do not answer.
    ManyDown {
        /// Number of hosts.
        hosts: u64,
        /// No destination is up.
        is_last: bool,
    },
    /// A host answers slowly or not always.
    Suspect {
        /// Its address and port.
        host: String,
    },
    /// A disk is over its limit.
    OverLimit {
        /// Address and port of the host with the disk.
        host: String,
        /// Used, in percent.
        used: f64,
        /// Limit, in percent.
        limit: f64,
        /// The level to which copies are removed, in percent.
        low_water: f64,
        /// Copies that are being removed.
        removing: u64,
        /// Bytes of these copies.
        removing_bytes: u64,
    },
    /// An input cannot be read.
    InputUnreadable {
        /// Name of the file or setting.
        input: String,
        /// Why, in the words of the node.
        reason: String,
    },
    /// An input is not set.
    InputUnset {
        /// The setting.
        input: String,
    },
    /// Lines of an input cannot be read.
    BadRows {
        /// Name of the file.
        input: String,
        /// Number of such lines.
        rows: u64,
        /// The first such line.
        line: u64,
        /// Why this line cannot be read.
        reason: String,
    },
    /// No node leads.
    NoLeader,
    /// The node is starting, is full, or is without inputs.
    NotReady {
        /// Reasons in the words of the node, with what to do.
        reasons: Vec<String>,
        /// Where it ends.
        remedy: TroublePlace,
    },
    /// Planning is blocked.
    Blocked {
        /// Why, in the words of the node.
        reason: String,
    },
    /// A program that is no node of this yard commands a host.
    OtherManager {
        /// Its address and port.
        host: String,
    },
    /// A webhook fails.
    HookFails {
        /// Name of the webhook.
        hook: String,
        /// The last failure.
        reason: String,
    },
    /// Copies served few of the requests of the last hour.
    NotServed {
        /// Requests that no copy served in the last hour, in percent.
        now: f64,
        /// The same of the last day, if known.
        usual: Option<f64>,
    },
    /// At least half of the graded files have neither a master nor a copy.
    NoMasters {
        /// All listed files that neither a source nor a host has.
        files: u64,
    },
    /// A warning of the node.
    Warning {
        /// The warning in the words of the node.
        text: String,
        /// Where it ends.
        remedy: TroublePlace,
    },
}

/// The page on which a person sees or ends a trouble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TroublePlace {
    /// The settings and inputs.
    Settings,
    /// The nodes of the cluster.
    Cluster,
    /// The pools of boxes.
    Boxes,
    /// The share links.
    Shares,
    /// One host, by address and port.
    Host(String),
    /// The chapter of the manual about troubles: no page ends it.
    Manual,
}

impl TroubleCause {
    /// The address and port of the host that it is about, if it is about one.
    pub fn host(&self) -> Option<&str> {
        match self {
            TroubleCause::HostDown { host, .. }
            | TroubleCause::Suspect { host }
            | TroubleCause::OverLimit { host, .. }
            | TroubleCause::OtherManager { host }
            | TroubleCause::Warning { remedy: TroublePlace::Host(host), .. } => Some(host),
            _ => None,
        }
    }
}

impl Trouble {
    /// How urgent it is.
    pub fn severity(&self) -> Severity {
        match self.cause {
            TroubleCause::HostDown { .. }
            | TroubleCause::ManyDown { .. }
            | TroubleCause::NoLeader
            | TroubleCause::NotReady { .. }
            | TroubleCause::OtherManager { .. } => Severity::Bad,
            _ => Severity::Warn,
        }
    }
}

/// The troubles in the order of the page: worst first, then oldest.
pub fn by_urgency(troubles: &[Trouble]) -> Vec<&Trouble> {
    let mut sorted: Vec<&Trouble> = troubles.iter().collect();
    sorted.sort_by_key(|trouble| (trouble.severity(), trouble.since.unwrap_or(Moment(i64::MAX))));
    sorted
}
