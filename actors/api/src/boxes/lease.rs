//! Leases of boxes: requests and answers of the API.

use std::sync::Arc;

use reelyard_boxes::box_lease::{
    BoxLeaseRequest, EndedLease, Grant, Lease, LeaseAnswer, LeaseEnd, Priority,
};
use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_protocol::boxes::{BoxNumber, FenceToken, Holder, LeaseId, PoolName, Reason};
use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::ToSchema;

use crate::instant::Rfc3339;
use crate::request_name::request_name;
use crate::span::Span;

/// Request for boxes. The holder gets all of them or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedLease {
    /// Name of the holder, chosen by itself.
    #[serde(deserialize_with = "readable_holder")]
    pub holder: Holder,
    /// Term of the lease from its grant. Default: the default of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Span>,
    /// Longest wait for the boxes; "0s" tries once. Default: "0s". The time to prepare a box does not count.
    #[serde(default)]
    pub wait: Span,
    /// Urgency: a higher number is served first. Default: 0.
    #[serde(default)]
    pub priority: Priority,
    /// Number of boxes. Default: 1.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 256)]
    pub count: u32,
    /// Idempotency key. The same holder, pool and key get the same leases.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "request_name")]
    #[schema(min_length = 1, max_length = 200)]
    pub request_id: Option<String>,
    /// Takes over the leases of another holder that used this request_id. Set it only after that holder
    /// has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub take_over: bool,
}

impl WantedLease {
    /// A request for one box, without waiting.
    pub fn by(holder: Holder) -> Self {
        WantedLease {
            holder,
            ttl: None,
            wait: Span::default(),
            priority: Priority::default(),
            count: one(),
            request_id: None,
            take_over: false,
        }
    }

    /// The request for boxes of this pool. Request ids are scoped by pool. The separator is safe: a pool name
    /// never contains a slash.
    pub fn of_pool(self, pool: PoolName) -> BoxLeaseRequest {
        let named = |name: &String| RequestId::of(&format!("{pool}/{name}"), &self.compared());
        let request = self.request_id.as_ref().map(named);
        let WantedLease { holder, ttl, wait, priority, count, request_id: _, take_over } = self;
        let ttl = ttl.map(|Span(ttl)| ttl);
        BoxLeaseRequest { pool, holder, ttl, wait: wait.0, priority, count, request, take_over }
    }

    /// The request without the wait and the holder, for the comparison of repeated requests. A client
    /// that returns may have less time left, and may be another process that continues the same work.
    fn compared(&self) -> Vec<u8> {
        let WantedLease { ttl, priority, count, .. } = self;
        format!("acquire {ttl:?} {} {count}", priority.get()).into_bytes()
    }
}

/// Reads a holder and refuses characters that change the direction of text.
fn readable_holder<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Holder, D::Error> {
    let holder = Holder::deserialize(deserializer)?;
    match holder.as_str().chars().find(|c| changes_direction(*c)) {
        Some(c) => Err(de::Error::custom(format!(
            "a holder must not contain U+{:04X}, because it changes the direction of writing",
            u32::from(c)
        ))),
        None => Ok(holder),
    }
}

fn changes_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn one() -> u32 {
    1
}

/// A lease, for its holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GrantedLease {
    /// Id of the lease. Use it to renew and release the lease.
    pub lease_id: LeaseId,
    /// Id of the box for its holder: its number, or the id that the pool drew for this lease.
    #[serde(rename = "box")]
    pub box_id: u32,
    /// Fencing token. It is higher than the tokens of all earlier leases of the pool.
    pub token: FenceToken,
    /// End of the term without a renewal.
    pub expires_at: Rfc3339,
    /// Time that the lease certainly lasts. Use it if the clock of the holder may be wrong. It can be
    /// shorter than the time until `expires_at`, by up to 1 % of the term: the clock of the node may run slowly.
    pub left: Span,
}

impl GrantedLease {
    /// The answer to the holder of a lease at `now`.
    pub fn of(lease: &LeaseAnswer, now: Millis) -> Self {
        GrantedLease {
            lease_id: lease.id,
            box_id: lease.box_id(),
            token: lease.token,
            // A lease is only reported once its end is set.
            expires_at: Rfc3339(lease.expires_at.unwrap_or(lease.granted)),
            left: Span(lease.left(now)),
        }
    }
}

/// Boxes that were granted: the first lease, and all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Granted {
    /// The id of the first lease.
    pub lease_id: LeaseId,
    /// Id of the first box for its holder: its number, or the id that the pool drew for this lease.
    #[serde(rename = "box")]
    pub box_id: u32,
    /// Fencing token of the first lease. It is higher than the tokens of all earlier leases of the pool.
    pub token: FenceToken,
    /// End of the term without a renewal.
    pub expires_at: Rfc3339,
    /// Time that the lease certainly lasts.
    pub left: Span,
    /// All leases, in the order of their tokens.
    pub leases: Vec<GrantedLease>,
}

impl Granted {
    /// The answer to a grant at `now`; none for a grant without leases.
    pub fn of(grant: &Grant, now: Millis) -> Option<Self> {
        let reported = grant.leases.iter().map(|lease| GrantedLease::of(lease, now));
        let leases: Vec<GrantedLease> = reported.collect();
        let GrantedLease { lease_id, box_id, token, expires_at, left } = leases.first()?.clone();
        Some(Granted { lease_id, box_id, token, expires_at, left, leases })
    }
}

/// Progress of a wait for boxes: the data of an event `waiting`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueWait {
    /// Position in the queue: 1 is served next.
    pub position: u64,
    /// Expected wait, estimated from how long boxes were held recently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Span>,
}

/// Request to extend a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedRenewal {
    /// Fencing token of the lease.
    pub token: FenceToken,
    /// New term from now. Default: the term of the first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Span>,
}

/// Fencing token. Calls for this lease need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseToken {
    /// Fencing token of the lease, as proof that the caller holds it.
    pub token: FenceToken,
}

/// Request to revoke a lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedLeaseRevocation {
    /// Reason. The holder receives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// State of a lease after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseEnded {
    /// Id of the lease that ended.
    pub lease_id: LeaseId,
    /// State after the end.
    pub state: LeaseState,
}

/// A valid lease, for the service that guards the resource behind the box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseVerified {
    /// Id of the valid lease.
    pub lease_id: LeaseId,
    /// Pool of the box.
    pub pool: PoolName,
    /// Id of the box for its holder: its number, or the id that the pool drew for this lease.
    #[serde(rename = "box")]
    pub box_id: u32,
    /// Fencing token of the lease.
    pub token: FenceToken,
    /// Name of the holder of the lease.
    pub holder: Holder,
    /// End of the term without a renewal.
    pub expires_at: Rfc3339,
}

impl From<&Lease> for LeaseVerified {
    fn from(lease: &Lease) -> Self {
        LeaseVerified {
            lease_id: lease.id,
            pool: lease.pool.clone(),
            box_id: lease.box_id(),
            token: lease.token,
            holder: lease.holder.clone(),
            // A lease without an end was not given to a holder yet.
            expires_at: Rfc3339(lease.expires_at.unwrap_or(lease.granted)),
        }
    }
}

/// State of a lease, from its grant to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeaseState {
    /// The box is being prepared. Its holder has not received the lease yet.
    Preparing,
    /// The holder has the box.
    Held,
    /// Its holder gave it back.
    Released,
    /// The term of the lease ended.
    Expired,
    /// An operator or the node revoked the lease.
    Revoked,
    /// The requester stopped waiting, so no holder received the lease.
    NotTaken,
    /// The box could not be prepared, so no holder received the lease.
    InitFailed,
}

impl From<LeaseEnd> for LeaseState {
    fn from(how: LeaseEnd) -> Self {
        match how {
            LeaseEnd::Released => LeaseState::Released,
            LeaseEnd::Expired => LeaseState::Expired,
            LeaseEnd::Revoked => LeaseState::Revoked,
            LeaseEnd::NotTaken => LeaseState::NotTaken,
            LeaseEnd::InitFailed => LeaseState::InitFailed,
        }
    }
}

/// A lease, for operators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseInfo {
    /// Id of the lease in the API.
    pub lease_id: LeaseId,
    /// Pool of the box.
    pub pool: PoolName,
    /// The number of the box in its pool.
    pub number: BoxNumber,
    /// Id of the box for its holder: its number, or the id that the pool drew for this lease.
    #[serde(rename = "box")]
    pub box_id: u32,
    /// Fencing token of the lease.
    pub token: FenceToken,
    /// Current or last holder.
    pub holder: Holder,
    /// State of the lease.
    pub state: LeaseState,
    /// Time of the grant.
    pub granted_at: Rfc3339,
    /// End of the term without a renewal. An ended lease shows its last planned end. Missing while the box
    /// is prepared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// Default term after a renewal.
    pub ttl: Span,
    /// Number of renewals.
    pub renewals: u32,
    /// Time of the end; missing for a live lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Rfc3339>,
    /// Operator who ended it. Missing when the holder or a timer ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// Reason that was given for a revocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

impl LeaseInfo {
    /// View of a live lease.
    pub fn live(lease: &Arc<Lease>) -> Self {
        let state = if lease.is_held() { LeaseState::Held } else { LeaseState::Preparing };
        LeaseInfo::in_state(lease, state)
    }

    /// View of an ended lease.
    pub fn ended(ended: &EndedLease) -> Self {
        LeaseInfo {
            ended_at: Some(Rfc3339(ended.at)),
            ended_by: ended.by.clone(),
            reason: ended.reason.clone(),
            ..LeaseInfo::in_state(&ended.lease, ended.how.into())
        }
    }

    fn in_state(lease: &Lease, state: LeaseState) -> Self {
        LeaseInfo {
            lease_id: lease.id,
            pool: lease.pool.clone(),
            number: lease.number,
            box_id: lease.box_id(),
            token: lease.token,
            holder: lease.holder.clone(),
            state,
            granted_at: Rfc3339(lease.granted),
            expires_at: lease.expires_at.map(Rfc3339),
            ttl: Span(lease.ttl),
            renewals: lease.renewals,
            ended_at: None,
            ended_by: None,
            reason: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The request id of a request with this name for a box of this pool.
    fn request(pool: &str, name: &str, more: &str) -> RequestId {
        let text = format!("{{\"holder\": \"a\", \"request_id\": \"{name}\"{more}}}");
        let wanted: WantedLease = serde_json::from_str(&text).unwrap();
        wanted.of_pool(PoolName::new(pool).unwrap()).request.unwrap()
    }

    #[test]
    fn a_request_is_the_same_but_for_its_wait() {
        let read = |more: &str| request("p", "r", more);
        assert_eq!(read(""), read(", \"wait\": \"9s\""));
        for other in [", \"ttl\": \"9s\"", ", \"count\": 2", ", \"priority\": 1"] {
            assert_ne!(read(""), read(other), "{other}");
            assert_eq!(read("").name(), read(other).name());
        }
    }

    #[test]
    fn each_pool_has_names_of_its_own() {
        assert_ne!(request("p", "r", "").name(), request("q", "r", "").name());
        // The pool separates request names, whatever characters a name contains.
        assert_ne!(request("p", "q/r", "").name(), request("q", "r", "").name());
        assert_ne!(request("p", "r", "").name(), request("p", "p/r", "").name());
    }
}
