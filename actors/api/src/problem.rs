//! Problems: every kind of refusal of the API, declared once. The OpenAPI document and the table of the
//! guide come from this table.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The beginning of every `type`.
const URN: &str = "urn:reelyard:problem:";

/// A problem as in RFC 9457 (`application/problem+json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Problem {
    /// Names the kind of problem, for programs: a URI that stays the same.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of the problem as a short text.
    pub title: String,
    /// HTTP status of the answer.
    pub status: u16,
    /// Details of this occurrence.
    pub detail: String,
    /// The file with the token of the first administrator. Only a caller on the same host, without a token,
    /// learns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub token_file: Option<PathBuf>,
}

impl Problem {
    /// A problem of `kind`, with the details of this occurrence.
    pub fn new(kind: ProblemKind, detail: String) -> Self {
        let word = kind.word();
        Problem {
            kind: format!("{URN}{word}"),
            title: word.replace('-', " "),
            status: kind.status(),
            detail,
            token_file: None,
        }
    }

    /// The last part of its `type`.
    pub fn word(&self) -> &str {
        self.kind.rsplit(':').next().unwrap_or_default()
    }

    /// Whether the node did nothing and cannot answer now, so that another node may answer the same request.
    pub fn is_of_this_node(&self) -> bool {
        matches!(
            self.known_kind(),
            Some(
                ProblemKind::NotLeader
                    | ProblemKind::Starting
                    | ProblemKind::Deposed
                    | ProblemKind::Behind
                    | ProblemKind::Stale
                    | ProblemKind::TooManyListeners
            )
        )
    }

    /// Whether the request may have been carried out all the same. A proxy that lost its node also answers like this, and
    /// a later version may answer 503 with another kind.
    pub fn leaves_outcome_open(&self) -> bool {
        match self.known_kind() {
            Some(kind) => matches!(
                kind,
                ProblemKind::LeaderChanged | ProblemKind::Stopped | ProblemKind::OutcomeUnknown
            ),
            None => matches!(self.status, 502..=504),
        }
    }

    /// Its kind. None for a kind of a later version, and for a problem of another program.
    pub fn known_kind(&self) -> Option<ProblemKind> {
        let word = self.kind.strip_prefix(URN)?;
        ProblemKind::ALL.iter().copied().find(|kind| kind.word() == word)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.detail.is_empty() { f.write_str(&self.title) } else { f.write_str(&self.detail) }
    }
}

/// A set of kinds of problem, as a type: the problems that a call can answer. A type of [`refused`] stands
/// for one kind, a tuple for all kinds of its members, and `()` for none.
pub trait ProblemSet {
    /// The kinds of the set. A kind can occur twice.
    fn kinds() -> Vec<ProblemKind>;
}

macro_rules! sets_of_tuples {
    ($(($($member:ident),*))*) => {$(
        impl<$($member: ProblemSet),*> ProblemSet for ($($member,)*) {
            fn kinds() -> Vec<ProblemKind> {
                let members: Vec<Vec<ProblemKind>> = vec![$($member::kinds()),*];
                members.concat()
            }
        }
    )*};
}

sets_of_tuples! {
    () (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) (A, B, C, D, E, F, G)
    (A, B, C, D, E, F, G, H)
}

/// Declares the kinds. Each has an HTTP status, the last part of its `type`, its meaning with a remedy, and
/// an example of a `detail`.
macro_rules! problem_kinds {
    ($($kind:ident = $status:literal $word:literal, $advice:literal, $example:literal;)*) => {
        /// A kind of problem. Clients depend on its word and its status: neither changes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ProblemKind {
            $(#[doc = concat!($advice, ".")] $kind,)*
        }

        impl ProblemKind {
            /// All kinds, by HTTP status.
            pub const ALL: &[ProblemKind] = &[$(ProblemKind::$kind),*];

            /// HTTP status of the answer.
            pub const fn status(self) -> u16 {
                match self { $(ProblemKind::$kind => $status,)* }
            }

            /// Last part of the `type`.
            pub const fn word(self) -> &'static str {
                match self { $(ProblemKind::$kind => $word,)* }
            }

            /// Meaning and remedy.
            pub const fn advice(self) -> &'static str {
                match self { $(ProblemKind::$kind => $advice,)* }
            }

            /// Example of a `detail`.
            pub const fn example(self) -> &'static str {
                match self { $(ProblemKind::$kind => $example,)* }
            }
        }

        /// One type for each kind, as members of a [`ProblemSet`].
        pub mod refused {
            use super::{ProblemKind, ProblemSet};

            $(
                #[doc = concat!($advice, ".")]
                #[derive(Debug)]
                pub struct $kind;

                impl ProblemSet for $kind {
                    fn kinds() -> Vec<ProblemKind> {
                        vec![ProblemKind::$kind]
                    }
                }
            )*
        }
    };
}

problem_kinds! {
    BadRequest = 400 "bad-request",
        "A value of the request is not valid",
        "limit: expected a number of at least 1, not \"0\"";
    BadBody = 400 "bad-body",
        "The body is not valid for this call",
        "the body: EOF at column 1";
    Unauthorized = 401 "unauthorized",
        "The token is missing or wrong",
        "a token is needed: \"Authorization: Bearer TOKEN\". \"reelyard token create\" makes one";
    Forbidden = 403 "forbidden",
        "The rights of the caller do not allow the call",
        "this call needs yard:write, and token ci has scope yard:read: use a token with that scope, or ask an \
         administrator";
    ForeignRequest = 403 "foreign-request",
        "The request is meant for another server, or a page of another site caused it",
        "This node is not called 'evil.example'. Call it by its address, or add the name to http.names and \
         restart the node.";
    UnknownHost = 403 "unknown-host",
        "The host does not belong to this yard",
        "10.0.0.99:8888 is not a host of this yard";
    NotFound = 404 "not-found",
        "The requested thing does not exist",
        "task 17 does not exist";
    NoPool = 404 "no-pool",
        "No pool has this name; nothing was done",
        "no pool is named judges";
    NoBox = 404 "no-box",
        "The pool has no box with this number",
        "pool judges has no box 17";
    UnknownLease = 404 "unknown-lease",
        "The lease is unknown, or it ended long ago: stop using the box",
        "the lease does not exist";
    MethodNotAllowed = 405 "method-not-allowed",
        "The path does not support this method",
        "/api/v1/plan accepts GET, HEAD, not POST";
    Transition = 409 "transition",
        "The state of the task does not allow it",
        "a task in state done cannot change to working";
    NotAllowed = 409 "not-allowed",
        "The rules of the yard do not allow it now",
        "10.0.0.21:8888: the file does not fit";
    Configured = 409 "configured",
        "The configuration names the host and sets its role: change it there",
        "10.0.0.21:8888 is named by the configuration: change it there";
    ChangedMeanwhile = 409 "changed-meanwhile",
        "Another request changed it at the same time; nothing was done: try again",
        "the share changed at the same time: nothing was done, try again";
    NameTaken = 409 "name-taken",
        "The name is in use: choose another one",
        "a token named ci exists already: rotate or revoke it, or choose another name";
    RequestIdReused = 409 "request-id-reused",
        "Another request used this request_id; nothing was done",
        "another request used this request id: choose another one";
    BeingMoved = 409 "being-moved",
        "The path, or one above or below it, is being moved: try again in a moment",
        "the path, or one above or below it, is being moved: try again in a moment";
    ClockUnconfirmed = 409 "clock-unconfirmed",
        "The wall clock is far ahead and not confirmed, so the deadline is not known; try again \
         after Retry-After",
        "the wall clock is 2h ahead of the confirmed time, so new deadlines are not possible. Correct the \
         clock, or wait 14m until it is confirmed. If it is right, run \"reelyard share confirm-clock\"";
    TargetExists = 409 "target-exists",
        "The new path exists, and overwriting is not allowed or not possible",
        "the new path already exists; set overwrite to replace it";
    OtherFileSystem = 409 "other-file-system",
        "The two paths are on different file systems",
        "the two paths are on different file systems: copy the file, and share the copy";
    LimitReached = 409 "limit-reached",
        "The limit is reached",
        "the limit of 1000 shares is reached (share.max_shares)";
    NoBoxInTime = 409 "no-box-in-time",
        "No box was free within the wait: try again, or wait longer",
        "no box of pool judges was free within 10s";
    RequestOfOther = 409 "request-of-other",
        "Another holder used this request_id and may still use the box. If that holder has \
         ended, repeat with take_over",
        "this request was granted to holder judge-7, not to judge-8";
    IdsTaken = 409 "ids-taken",
        "Another pool has the same box numbers, hooks and host: choose other numbers, or remove \
         that pool first",
        "pool cpp cannot have box 40 of the hooks \"isolate\" on 10.0.0.21:8888: pool java has \
         them";
    OverQuota = 409 "over-quota",
        "The quota of the holder is reached: release a box first",
        "this holder has or waits for 2 boxes; its quota is 2: release a box or raise the quota";
    PoolGoes = 409 "pool-goes",
        "The pool is being removed and grants no more boxes",
        "pool judges is being removed";
    PoolInUse = 409 "pool-in-use",
        "Host, hooks and ids of a pool change only while none of its boxes is in use: try again \
         then",
        "pool judges is in use: its host, hooks and ids can change only while no box is leased, \
         being cleaned or quarantined";
    WrongToken = 409 "wrong-token",
        "The fencing token belongs to another lease; nothing was done: the lease is not yours",
        "the fencing token belongs to another lease";
    NotReady = 409 "not-ready",
        "The box of the lease is being prepared: try again in a moment",
        "the box of the lease is not ready yet";
    HeldTooLong = 409 "held-too-long",
        "The lease reached max_hold: finish, and acquire another box",
        "the lease reached max_hold of its pool and cannot be renewed";
    BoxLeased = 409 "box-leased",
        "The box is leased: revoke the lease first",
        "box 7 of pool judges is leased: revoke the lease first";
    AlreadyQuarantined = 409 "already-quarantined",
        "The box is already in quarantine",
        "box 7 of pool judges is already quarantined: unquarantine it to clean it and use it again";
    NotQuarantined = 409 "not-quarantined",
        "The box is not in quarantine",
        "box 7 of pool judges is not quarantined: nothing is to be done";
    Gone = 410 "gone",
        "It existed and has ended",
        "the share has ended: expired at 2026-12-31T18:00:00.000Z";
    LeaseReleased = 410 "lease-released",
        "The lease was already released; nothing was done",
        "the lease was already released";
    LeaseExpired = 410 "lease-expired",
        "The lease has expired: stop using the box",
        "the lease has expired";
    LeaseRevoked = 410 "lease-revoked",
        "The lease was revoked: stop using the box",
        "the lease was revoked: maintenance";
    LeaseNeverHeld = 410 "lease-never-held",
        "The lease was never given to a holder: acquire a box again",
        "the lease was never given to a holder";
    ConditionFailed = 412 "condition-failed",
        "The condition of the request does not hold; nothing was done",
        "the condition does not hold: the share ends 2026-12-31T18:00:00.000Z";
    TooLarge = 413 "too-large",
        "The body is larger than the limit, or too large for one journal entry",
        "the body: JSON payload (2097152 bytes) is larger than allowed (limit: 1048576 bytes)";
    UnsupportedMediaType = 415 "unsupported-media-type",
        "The content type of the body is not supported",
        "the body: expected content type application/json";
    BadConfiguration = 422 "bad-configuration",
        "The configuration has faults, and all are listed; the running one stays in force",
        "the running configuration stays in use: /etc/reelyard/node.toml:12: \
         storage.limit_percent: expected a percentage from 1 to 100, not 101";
    Terms = 422 "terms",
        "The node does not allow these terms",
        "a share lasts at most 365 d";
    BadPool = 422 "bad-pool",
        "The settings of the pool are not valid",
        "a pool has at most 65536 boxes, and their numbers are below 2^32";
    QueueFull = 429 "queue-full",
        "The queue of the pool is full: try again after Retry-After",
        "1000 requests already wait for boxes of pool judges; retry in 12 s";
    TooManyAttempts = 429 "too-many-attempts",
        "Too many wrong tokens or passwords from this address or for this account: try again after \
         Retry-After",
        "too many failed attempts: try again in 7 s";
    HostRefused = 502 "host-refused",
        "The host could not be reached, or it refused; nothing was done",
        "10.0.0.21:8888 was not adopted: cannot be reached: Connection refused";
    Starting = 503 "starting",
        "The node has not read its journal yet: try again in a moment",
        "the node is starting: it has not read its journal yet";
    Unreadable = 503 "unreadable",
        "The file or directory cannot be read now",
        "movies/a.mpg: it cannot be opened: Input/output error (os error 5)";
    NotLeader = 503 "not-leader",
        "Another node is the leader, or no node is",
        "this node does not lead the yard; the leader is node 2";
    Behind = 503 "behind",
        "The node does not show the entry of the journal yet that the read asks for: try again, or ask another node",
        "this node shows the journal up to entry 1200, and did not reach entry 1207 within 3000 ms. Repeat the \
         request, or send it to another node";
    Stale = 503 "stale",
        "The node has not heard the leader for longer than the read accepts: ask another node",
        "the answer of this node can be 5 s old, and max_staleness is 2s: ask another node, or accept an older answer";
    Deposed = 503 "deposed",
        "This node stopped leading during the request; nothing was done",
        "leadership changed during the request: nothing was done, try again";
    LeaderChanged = 503 "leader-changed",
        "Another node is the leader now, and the queue position is lost: try again",
        "leadership changed while the request waited: try again";
    HostSilent = 503 "host-silent",
        "The worker of the pool did not execute the call; the detail has the reason",
        "the host of pool judges did not carry out the call: the worker 10.0.0.21:8888 does not \
         answer";
    Stopped = 503 "stopped",
        "The node is stopping",
        "the journal has stopped";
    Busy = 503 "busy",
        "The node is busy: try again after Retry-After",
        "too many requests are waiting, retry in 1 s";
    TooManyListeners = 503 "too-many-listeners",
        "The number of event listeners is at its limit: try again after Retry-After",
        "64 clients follow the changes: the limit is reached";
    OutcomeUnknown = 504 "outcome-unknown",
        "The outcome is unknown: repeat the request with the same Idempotency-Key or \
         request_id, or check the state first",
        "outcome unknown: the actor restarted while it had the request";
    DiskFull = 507 "disk-full",
        "The disk of the node is full: try again after Retry-After",
        "nothing was changed: the disk of /var/lib/reelyard is full, 12.0 MiB are free: make \
         room for at least 52.0 MiB there. Until then everything can be read, links can be \
         revoked, and nothing else can be changed";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_kind_has_a_type_of_its_own() {
        let types = ProblemKind::ALL.iter().map(|kind| Problem::new(*kind, String::new()).kind);
        let types: BTreeSet<String> = types.collect();
        assert_eq!(types.len(), ProblemKind::ALL.len());
        assert!(types.contains("urn:reelyard:problem:no-box-in-time"), "{types:?}");
    }

    #[test]
    fn kinds_are_in_the_order_of_their_status() {
        assert!(ProblemKind::ALL.is_sorted_by_key(|kind| kind.status()));
    }

    #[test]
    fn a_problem_of_another_program_has_no_known_kind() {
        let mut problem = Problem::new(ProblemKind::Busy, "retry in 1 s".to_owned());
        assert_eq!(problem.known_kind(), Some(ProblemKind::Busy));
        problem.kind = "about:blank".to_owned();
        assert_eq!((problem.known_kind(), problem.word()), (None, "blank"));
        assert!(!problem.is_of_this_node());
    }

    #[test]
    fn another_node_is_asked_after_an_unknown_refusal_of_one_node() {
        let asked_elsewhere =
            |problem: &Problem| problem.is_of_this_node() || problem.leaves_outcome_open();
        let mut problem = Problem::new(ProblemKind::Busy, "retry in 1 s".to_owned());
        assert!(!asked_elsewhere(&problem));
        for kind in ["urn:reelyard:problem:no-leader", "urn:reelyard:problem:moving", "about:blank"]
        {
            problem.kind = kind.to_owned();
            assert!(asked_elsewhere(&problem), "{kind}");
        }
        problem.status = 500;
        assert!(!asked_elsewhere(&problem));
    }
}
