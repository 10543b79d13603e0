//! All problem kinds of the API.

use reelyard_api::Problem;

/// A problem kind: its constant parts.
#[derive(Clone, Copy, Debug)]
pub struct ProblemKind {
    /// Last part of the `type` URN.
    pub name: &'static str,
    /// HTTP status of the answer.
    pub status: u16,
    /// Meaning and remedy, for the OpenAPI document.
    pub means: &'static str,
    /// Example of a `detail`, for the OpenAPI document.
    pub example: &'static str,
}

impl ProblemKind {
    const fn new(
        status: u16,
        name: &'static str,
        means: &'static str,
        example: &'static str,
    ) -> Self {
        ProblemKind { name, status, means, example }
    }

    /// A problem of this kind.
    pub fn problem(&self, detail: impl Into<String>) -> Problem {
        super::problem(self.name, self.status, detail.into())
    }
}

/// All problem kinds of the API. Clients depend on the names: never rename one.
pub const KINDS: &[ProblemKind] = &[
    ProblemKind::new(
        400,
        "bad-request",
        "A value of the request is not valid",
        "limit: expected a number of at least 1, not \"0\"",
    ),
    ProblemKind::new(
        400,
        "bad-body",
        "The body is not valid for this call",
        "the body: EOF at column 1",
    ),
    ProblemKind::new(
        401,
        "unauthorized",
        "The token is missing or wrong",
        "a token is needed: Authorization: Bearer <token>",
    ),
    ProblemKind::new(
        403,
        "unknown-host",
        "The host does not belong to this yard",
        "10.0.0.99:8888 is not a host of this yard",
    ),
    ProblemKind::new(
        404,
        "not-found",
        "The requested thing does not exist",
        "task 17 does not exist",
    ),
    ProblemKind::new(
        404,
        "no-pool",
        "No pool has this name; nothing was done",
        "no pool is named judges",
    ),
    ProblemKind::new(
        404,
        "no-box",
        "The pool has no box with this number",
        "pool judges has no box 17",
    ),
    ProblemKind::new(
        404,
        "unknown-lease",
        "The lease is unknown, or it ended long ago: stop using the box",
        "the lease does not exist",
    ),
    ProblemKind::new(
        405,
        "method-not-allowed",
        "The path does not support this method",
        "/api/v1/plan accepts GET, HEAD, not POST",
    ),
    ProblemKind::new(
        409,
        "transition",
        "The state of the task does not allow it",
        "a task in state Done cannot change to Working",
    ),
    ProblemKind::new(
        409,
        "not-allowed",
        "The rules of the yard do not allow it now",
        "10.0.0.21:8888: the file does not fit",
    ),
    ProblemKind::new(
        409,
        "configured",
        "The configuration names the host and sets its role: change it there",
        "10.0.0.21:8888 is named by the configuration: change it there",
    ),
    ProblemKind::new(
        409,
        "changed-meanwhile",
        "Another request changed it at the same time; nothing was done: try again",
        "the share changed at the same time: nothing was done, try again",
    ),
    ProblemKind::new(
        409,
        "request-id-reused",
        "Another request used this request_id; nothing was done",
        "another request used this request id: choose another one",
    ),
    ProblemKind::new(
        409,
        "being-moved",
        "The path, or one above or below it, is being moved: try again in a moment",
        "the path, or one above or below it, is being moved: try again in a moment",
    ),
    ProblemKind::new(
        409,
        "clock-unconfirmed",
        "The wall clock is far ahead and not confirmed, so the deadline is not known; try again \
         after Retry-After",
        "the wall clock is 2h ahead of the confirmed time, so new deadlines are not possible: \
         correct the clock, or wait 14m until it is confirmed, or run \"reelyard share \
         confirm-clock\" if it is right",
    ),
    ProblemKind::new(
        409,
        "target-exists",
        "The new path exists, and overwriting is not allowed or not possible",
        "the new path already exists; set overwrite to replace it",
    ),
    ProblemKind::new(
        409,
        "other-file-system",
        "The two paths are on different file systems",
        "the two paths are on different file systems: copy the file, and share the copy",
    ),
    ProblemKind::new(
        409,
        "limit-reached",
        "The limit is reached",
        "the limit of 1000 shares is reached (share.max_shares)",
    ),
    ProblemKind::new(
        409,
        "no-box-in-time",
        "No box was free within the wait: try again, or wait longer",
        "no box of pool judges was free within 10s",
    ),
    ProblemKind::new(
        409,
        "request-of-other",
        "Another holder used this request_id and may still use the box. If that holder has ended, \
         repeat with take_over",
        "this request was granted to holder judge-7, not to judge-8",
    ),
    ProblemKind::new(
        409,
        "ids-taken",
        "Another pool has the same box numbers, hooks and host: choose other numbers, or remove \
         that pool first",
        "pool cpp cannot have box 40 of the hooks \"isolate\" on 10.0.0.21:8888: pool java has them",
    ),
    ProblemKind::new(
        409,
        "over-quota",
        "The quota of the holder is reached: release a box first",
        "this holder has or waits for 2 boxes; its quota is 2: release a box or raise the quota",
    ),
    ProblemKind::new(
        409,
        "pool-goes",
        "The pool is being removed and grants no more boxes",
        "pool judges is being removed",
    ),
    ProblemKind::new(
        409,
        "pool-in-use",
        "Host, hooks and ids of a pool change only while none of its boxes is in use: try again then",
        "pool judges is in use: its host, hooks and ids can change only while no box is leased, \
         being cleaned or quarantined",
    ),
    ProblemKind::new(
        409,
        "wrong-token",
        "The fencing token belongs to another lease; nothing was done: the lease is not yours",
        "the fencing token belongs to another lease",
    ),
    ProblemKind::new(
        409,
        "not-ready",
        "The box of the lease is being prepared: try again in a moment",
        "the box of the lease is not ready yet",
    ),
    ProblemKind::new(
        409,
        "held-too-long",
        "The lease reached max_hold: finish, and acquire another box",
        "the lease reached max_hold of its pool and cannot be renewed",
    ),
    ProblemKind::new(
        409,
        "box-leased",
        "The box is leased: revoke the lease first",
        "the box is leased: revoke the lease first",
    ),
    ProblemKind::new(
        409,
        "already-quarantined",
        "The box is already in quarantine",
        "the box is already quarantined",
    ),
    ProblemKind::new(
        409,
        "not-quarantined",
        "The box is not in quarantine",
        "the box is not quarantined",
    ),
    ProblemKind::new(
        410,
        "gone",
        "It existed and has ended",
        "the share has ended: expired at 2026-12-31T18:00:00.000Z",
    ),
    ProblemKind::new(
        410,
        "lease-released",
        "The lease was already released; nothing was done",
        "the lease was already released",
    ),
    ProblemKind::new(
        410,
        "lease-expired",
        "The lease has expired: stop using the box",
        "the lease has expired",
    ),
    ProblemKind::new(
        410,
        "lease-revoked",
        "The lease was revoked: stop using the box",
        "the lease was revoked: maintenance",
    ),
    ProblemKind::new(
        410,
        "lease-never-held",
        "The lease was never given to a holder: acquire a box again",
        "the lease was never given to a holder",
    ),
    ProblemKind::new(
        412,
        "condition-failed",
        "The condition of the request does not hold; nothing was done",
        "the condition does not hold: the share ends 2026-12-31T18:00:00.000Z",
    ),
    ProblemKind::new(
        413,
        "too-large",
        "The body is larger than the limit, or too large for one journal entry",
        "the body: JSON payload (2097152 bytes) is larger than allowed (limit: 1048576 bytes)",
    ),
    ProblemKind::new(
        415,
        "unsupported-media-type",
        "The content type of the body is not supported",
        "the body: expected content type application/json",
    ),
    ProblemKind::new(
        422,
        "bad-configuration",
        "The configuration has faults, all of which are listed; the running one stays in force",
        "the running configuration stays in use: /etc/reelyard/node.toml:12: storage.limit_percent: expected \
         a percentage from 1 to 100, not 101",
    ),
    ProblemKind::new(
        422,
        "terms",
        "The node does not allow these terms",
        "a share lasts at most 365 d",
    ),
    ProblemKind::new(
        422,
        "bad-pool",
        "The settings of the pool are not valid",
        "a pool has at most 65536 boxes, and their numbers are below 2^32",
    ),
    ProblemKind::new(
        429,
        "queue-full",
        "The queue of the pool is full: try again after Retry-After",
        "1000 requests already wait for boxes of pool judges; retry in 12 s",
    ),
    ProblemKind::new(
        502,
        "host-refused",
        "The host could not be reached, or it refused; nothing was done",
        "10.0.0.21:8888 was not adopted: cannot be reached: Connection refused",
    ),
    ProblemKind::new(
        503,
        "starting",
        "The node has not read its journal yet: try again in a moment",
        "the node is starting: it has not read its journal yet",
    ),
    ProblemKind::new(
        503,
        "unreadable",
        "The file or directory cannot be read now",
        "movies/a.mpg: it cannot be opened: Input/output error (os error 5)",
    ),
    ProblemKind::new(
        503,
        "not-leader",
        "Another node is the leader, or no node is",
        "this node does not lead the yard; the leader is node 2",
    ),
    ProblemKind::new(
        503,
        "deposed",
        "This node stopped leading during the request; nothing was done",
        "leadership changed during the request: nothing was done, try again",
    ),
    ProblemKind::new(
        503,
        "leader-changed",
        "Another node is the leader now, and the queue position is lost: try again",
        "leadership changed while the request waited: try again",
    ),
    ProblemKind::new(
        503,
        "host-silent",
        "The worker of the pool did not execute the call; the detail has the reason",
        "the host of pool judges did not carry out the call: the worker 10.0.0.21:8888 does not answer",
    ),
    ProblemKind::new(503, "stopped", "The node is stopping", "the journal has stopped"),
    ProblemKind::new(
        503,
        "busy",
        "The node is busy: try again after Retry-After",
        "too many requests are waiting, retry in 1 s",
    ),
    ProblemKind::new(
        503,
        "too-many-listeners",
        "The number of event listeners is at its limit: try again after Retry-After",
        "64 clients follow the changes: the limit is reached",
    ),
    ProblemKind::new(
        504,
        "outcome-unknown",
        "The outcome is unknown: repeat the request with the same request_id, or check the state \
         first; idempotent calls are safe to repeat",
        "outcome unknown: the actor restarted while it had the request",
    ),
    ProblemKind::new(
        507,
        "disk-full",
        "The disk of the node is full: try again after Retry-After",
        "nothing was changed: the disk of /var/lib/reelyard is full, 12.0 MiB are free: make room for at least \
         52.0 MiB there; until then everything can be read, links can be revoked, and nothing else \
         can be changed",
    ),
];

#[cfg(test)]
mod tests {
    use reelyard_core::supervision::AskError;
    use reelyard_replication::CommitError;

    use super::*;

    #[test]
    fn examples_equal_the_texts_of_the_program() {
        for (name, answer) in [
            ("not-leader", CommitError::NotLeader { leader: Some(2) }.to_string()),
            ("deposed", CommitError::Deposed.to_string()),
            ("stopped", CommitError::Stopped.to_string()),
            ("busy", AskError::Busy.to_string()),
            ("outcome-unknown", AskError::Unknown.to_string()),
        ] {
            let kind = KINDS.iter().find(|kind| kind.name == name).unwrap();
            assert_eq!(kind.example, answer, "{name}");
        }
    }
}
