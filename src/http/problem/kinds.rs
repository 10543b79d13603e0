//! Every kind of problem that the API knows.

use reelyard_actors::wire::api::Problem;

/// A kind of problem: what stays the same however often it is met.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The last part of its `type`.
    pub name: &'static str,
    /// The status that it comes with.
    pub status: u16,
    /// What it means, for the document.
    pub means: &'static str,
    /// A `detail` that it may have.
    pub example: &'static str,
}

impl Kind {
    const fn new(
        status: u16,
        name: &'static str,
        means: &'static str,
        example: &'static str,
    ) -> Self {
        Kind { name, status, means, example }
    }

    /// A problem of this kind.
    pub fn problem(&self, detail: impl Into<String>) -> Problem {
        super::problem(self.name, self.status, detail.into())
    }
}

/// Every kind of problem that the API knows. Clients go by them: none is renamed.
pub const KINDS: &[Kind] = &[
    Kind::new(
        400,
        "bad-request",
        "The request says something that cannot be meant",
        "limit: a number of items from 1 on is wanted, not \"0\"",
    ),
    Kind::new(400, "bad-body", "The body is not what the call takes", "the body: EOF at column 1"),
    Kind::new(
        401,
        "unauthorized",
        "The token is missing or another",
        "a token is needed: Authorization: Bearer <token>",
    ),
    Kind::new(
        403,
        "unknown-host",
        "The host is not one of this yard",
        "10.0.0.99:8888 is no host of this yard",
    ),
    Kind::new(404, "not-found", "What was asked for is not there", "there is no task 17"),
    Kind::new(
        404,
        "no-pool",
        "There is no pool of this name; nothing was done",
        "there is no pool judges",
    ),
    Kind::new(404, "no-box", "The pool has no box of this number", "pool judges has no box 17"),
    Kind::new(
        404,
        "unknown-lease",
        "There is no such lease, or it ended so long ago that nothing is known of it: stop using the box",
        "there is no such lease",
    ),
    Kind::new(405, "method-not-allowed", "The path takes other methods", "/api/v1/plan takes GET"),
    Kind::new(
        409,
        "transition",
        "The task is where it cannot do that",
        "a task that is Done cannot become Some(Working)",
    ),
    Kind::new(
        409,
        "not-allowed",
        "The rules of the yard do not allow it as things are",
        "10.0.0.21:8888: the file does not fit",
    ),
    Kind::new(
        409,
        "configured",
        "The configuration names the host, and decides what it is for",
        "10.0.0.21:8888 is named by the configuration: change it there",
    ),
    Kind::new(
        409,
        "changed-meanwhile",
        "It was changed between deciding and doing; nothing was done, ask again",
        "the share was changed meanwhile: nothing was changed, ask again",
    ),
    Kind::new(
        409,
        "request-id-reused",
        "Another request was made by this request_id; nothing was done",
        "another request was made by this name: choose another one",
    ),
    Kind::new(
        409,
        "being-moved",
        "It is being moved, or what is above or below it; ask again in a moment",
        "it is being moved, or what is above or below it: ask again in a moment",
    ),
    Kind::new(
        409,
        "clock-unconfirmed",
        "The wall clock is far ahead and not confirmed, so the deadline is not known; ask again after Retry-After",
        "the wall clock is 2h ahead of the confirmed time, so it is not known when a new deadline would come: \
         correct the clock, or wait 14m until it is confirmed, or run \"reelyard share confirm-clock\" if it is right",
    ),
    Kind::new(
        409,
        "target-exists",
        "Something is at the new path, and is not to be overwritten or cannot be",
        "there is something at the new path already, and it is not to be overwritten",
    ),
    Kind::new(
        409,
        "other-file-system",
        "The two paths are on different file systems",
        "the two paths are on different file systems: copy it, and share the copy",
    ),
    Kind::new(
        409,
        "limit-reached",
        "There are as many as there may be",
        "no more than 1000 shares may be",
    ),
    Kind::new(
        409,
        "no-box-in-time",
        "No box was free within the wait; ask again, or wait longer",
        "no box of pool judges was free within 10s",
    ),
    Kind::new(
        409,
        "request-of-other",
        "The request_id was given to another holder, which may still use the box; take_over says that this one goes on with it",
        "this request was granted to holder judge-7, not to judge-8",
    ),
    Kind::new(
        409,
        "ids-taken",
        "Another pool has boxes of the same numbers, hooks and host; choose other numbers, or remove that pool first",
        "pool cpp cannot have box 40 of the hooks \"isolate\" on 10.0.0.21:8888: pool java has them",
    ),
    Kind::new(
        409,
        "over-quota",
        "The holder has or waits for as many boxes as a holder may have; give one back first",
        "this holder has or waits for 2 boxes, and may have 2",
    ),
    Kind::new(
        409,
        "pool-goes",
        "The pool is being removed: nothing is granted any more",
        "pool judges is being removed",
    ),
    Kind::new(
        409,
        "pool-in-use",
        "What serves the pool is changed only while nobody uses its boxes; ask again then",
        "pool judges is in use: its host, hooks and ids are changed when no box is leased, being cleaned or quarantined",
    ),
    Kind::new(
        409,
        "wrong-token",
        "The token is that of another lease; nothing was done, and the lease is not yours",
        "the token is not that of this lease",
    ),
    Kind::new(
        409,
        "not-ready",
        "The box of the lease is being made ready; ask again in a moment",
        "the box of the lease is not ready yet",
    ),
    Kind::new(
        409,
        "held-too-long",
        "The lease has been held as long as it may be in all: finish, and ask for another box",
        "the lease has been held as long as it may be in all: it is not renewed",
    ),
    Kind::new(
        409,
        "box-leased",
        "Somebody has the box; revoke the lease first",
        "the box is leased: revoke the lease first",
    ),
    Kind::new(
        409,
        "already-quarantined",
        "The box is out of use already",
        "the box is quarantined already",
    ),
    Kind::new(409, "not-quarantined", "The box is not out of use", "the box is not quarantined"),
    Kind::new(
        410,
        "gone",
        "It was there and has ended",
        "the share has ended: expired at 2026-12-31T18:00:00.000Z",
    ),
    Kind::new(
        410,
        "lease-released",
        "The lease was given back already; nothing was done",
        "the lease was released already",
    ),
    Kind::new(
        410,
        "lease-expired",
        "The term of the lease was over: stop using the box",
        "the lease has expired",
    ),
    Kind::new(
        410,
        "lease-revoked",
        "The lease was taken away: stop using the box",
        "the lease was revoked: maintenance",
    ),
    Kind::new(
        410,
        "lease-never-held",
        "The lease was never handed out: ask for a box anew",
        "the lease was never handed out",
    ),
    Kind::new(
        412,
        "condition-failed",
        "The condition of the request does not hold; nothing was done",
        "the condition does not hold: the share ends 2026-12-31T18:00:00.000Z",
    ),
    Kind::new(
        413,
        "too-large",
        "The body is longer than the node takes, or does not fit one entry of its journal",
        "the body: JSON payload (2097152 bytes) is larger than allowed (limit: 1048576 bytes)",
    ),
    Kind::new(
        415,
        "unsupported-media-type",
        "The body is said to be of another type",
        "the body: content type application/json is wanted",
    ),
    Kind::new(
        422,
        "bad-configuration",
        "The configuration has faults, all of which are told; the one in force stays",
        "the configuration in force stays: /etc/reelyard/node.toml:12: storage.limit_percent: a \
         percentage from 1 to 100 is wanted, not 101",
    ),
    Kind::new(422, "terms", "The node does not allow these terms", "a share lasts at most 365days"),
    Kind::new(
        422,
        "bad-pool",
        "A pool cannot be so",
        "a pool has at most 65536 boxes, and their numbers are below 2^32",
    ),
    Kind::new(
        429,
        "queue-full",
        "As many wait for boxes of the pool as may; ask again after Retry-After",
        "1000 wait for boxes of pool judges already, retry in 12s",
    ),
    Kind::new(
        502,
        "host-refused",
        "The host could not be asked, or refused; nothing was done",
        "10.0.0.21:8888 was not adopted: cannot be reached: Connection refused",
    ),
    Kind::new(
        503,
        "starting",
        "The node has not read its journal yet; ask again in a moment",
        "the node is starting: it has not read its journal yet",
    ),
    Kind::new(
        503,
        "unreadable",
        "What was asked for cannot be read now",
        "movies/a.mpg: it cannot be opened: Input/output error (os error 5)",
    ),
    Kind::new(
        503,
        "not-leader",
        "Another node decides, or none does at present",
        "this node does not lead the yard; node 2 does",
    ),
    Kind::new(
        503,
        "deposed",
        "This node stopped deciding meanwhile; nothing was done",
        "this node no longer leads in the epoch that this was decided in",
    ),
    Kind::new(
        503,
        "leader-changed",
        "Another node decides now, and the place in the queue is lost; ask again",
        "leadership changed while the request waited: ask again",
    ),
    Kind::new(
        503,
        "host-silent",
        "The worker of the pool did not do what it was asked; the detail says why",
        "the host of pool judges did not do it: the worker 10.0.0.21:8888 does not answer",
    ),
    Kind::new(503, "stopped", "The node is stopping", "the journal has stopped"),
    Kind::new(
        503,
        "busy",
        "Too much waits; ask again after Retry-After",
        "too many requests are waiting, retry in 1 s",
    ),
    Kind::new(
        503,
        "too-many-listeners",
        "As many follow the events as may; ask again after Retry-After",
        "64 listen to the changes already, and no more may",
    ),
    Kind::new(
        504,
        "outcome-unknown",
        "Whether it was done is not known; asking again under the same request_id is safe, \
         as is any call that asked twice comes to the same",
        "outcome unknown: the actor restarted while it had the request",
    ),
    Kind::new(
        507,
        "disk-full",
        "The node's disk is full; ask again after Retry-After",
        "the disk of the journal is full: make room for at least 16 MiB",
    ),
];
