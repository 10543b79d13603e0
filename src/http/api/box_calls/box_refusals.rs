//! Refusals of calls about boxes, leases and pools. Each meaning has its own problem kind, so that
//! a script does not have to parse words.

use actix_web::http::StatusCode;
use reelyard_boxes::box_lease::{BoxError, BoxRefusal};

use crate::http::problem::ProblemResponse;

/// Problem kinds of a call that presents the token of a lease.
pub(in crate::http::api) const LEASE_KINDS: &[&str] = &[
    "unknown-lease",
    "wrong-token",
    "lease-released",
    "lease-expired",
    "lease-revoked",
    "lease-never-held",
    "not-ready",
];

impl From<BoxError> for ProblemResponse {
    fn from(error: BoxError) -> Self {
        let detail = error.to_string();
        let unavailable =
            |kind| ProblemResponse::new(StatusCode::SERVICE_UNAVAILABLE, kind, detail.clone());
        match error {
            BoxError::Refused(refusal) => refusal.into(),
            BoxError::TimedOut { .. } => {
                ProblemResponse::new(StatusCode::CONFLICT, "no-box-in-time", detail)
            }
            BoxError::QueueFull { retry_after, .. } => {
                ProblemResponse::new(StatusCode::TOO_MANY_REQUESTS, "queue-full", detail)
                    .retry_after(retry_after)
            }
            BoxError::Busy { retry_after } => unavailable("busy").retry_after(retry_after),
            BoxError::HostSilent { .. } => unavailable("host-silent"),
            BoxError::LeaderChanged => unavailable("leader-changed"),
            BoxError::Lost => {
                ProblemResponse::new(StatusCode::GATEWAY_TIMEOUT, "outcome-unknown", detail)
            }
            BoxError::Journal(error) => error.into(),
        }
    }
}

impl From<BoxRefusal> for ProblemResponse {
    fn from(refusal: BoxRefusal) -> Self {
        let detail = refusal.to_string();
        let (status, kind) = status_and_kind(&refusal);
        ProblemResponse::new(status, kind, detail)
    }
}

fn status_and_kind(refusal: &BoxRefusal) -> (StatusCode, &'static str) {
    let absent = |kind| (StatusCode::NOT_FOUND, kind);
    let conflict = |kind| (StatusCode::CONFLICT, kind);
    let ended = |kind| (StatusCode::GONE, kind);
    let unprocessable = |kind| (StatusCode::UNPROCESSABLE_ENTITY, kind);
    match refusal {
        BoxRefusal::NoPool { .. } => absent("no-pool"),
        BoxRefusal::NoBox { .. } => absent("no-box"),
        BoxRefusal::UnknownLease => absent("unknown-lease"),
        BoxRefusal::BadText(_) => (StatusCode::BAD_REQUEST, "bad-request"),
        BoxRefusal::BadSpec(_) => unprocessable("bad-pool"),
        BoxRefusal::BadTtl { .. } | BoxRefusal::BadCount { .. } => unprocessable("terms"),
        BoxRefusal::IdsTaken { .. } => conflict("ids-taken"),
        BoxRefusal::PoolInUse { .. } => conflict("pool-in-use"),
        BoxRefusal::PoolGoes { .. } => conflict("pool-goes"),
        BoxRefusal::WrongToken => conflict("wrong-token"),
        BoxRefusal::NotReady => conflict("not-ready"),
        BoxRefusal::HeldTooLong => conflict("held-too-long"),
        BoxRefusal::OverQuota { .. } => conflict("over-quota"),
        BoxRefusal::OtherRequest => conflict("request-id-reused"),
        BoxRefusal::RequestOfOther { .. } => conflict("request-of-other"),
        BoxRefusal::BoxInUse => conflict("box-leased"),
        BoxRefusal::NotQuarantined => conflict("not-quarantined"),
        BoxRefusal::AlreadyQuarantined => conflict("already-quarantined"),
        BoxRefusal::NotFree
        | BoxRefusal::NoSlot
        | BoxRefusal::IdInUse
        | BoxRefusal::GrantedBefore
        | BoxRefusal::WentOn => conflict("changed-meanwhile"),
        BoxRefusal::AlreadyReleased => ended("lease-released"),
        BoxRefusal::Expired => ended("lease-expired"),
        BoxRefusal::Revoked { .. } => ended("lease-revoked"),
        BoxRefusal::NeverHeld => ended("lease-never-held"),
        BoxRefusal::NoRandomness(_) => (StatusCode::SERVICE_UNAVAILABLE, "unreadable"),
    }
}
