//! Refusals of calls about boxes, leases and pools. Each meaning has its own problem kind, so that
//! a script does not have to parse words.

use std::time::Duration;

use reelyard_api::{ProblemKind, refused};
use reelyard_boxes::box_lease::{BoxError, BoxRefusal};

use crate::http::problem::ProblemResponse;

/// When a request may be repeated whose leader was replaced.
const NEXT_LEADER: Duration = Duration::from_secs(1);

/// The problems of a lease that has ended.
pub(super) type EndedLeaseProblems =
    (refused::LeaseReleased, refused::LeaseExpired, refused::LeaseRevoked, refused::LeaseNeverHeld);

/// The problems of a call that presents the token of a lease.
pub(super) type LeaseProblems =
    (refused::UnknownLease, refused::WrongToken, refused::NotReady, EndedLeaseProblems);

impl From<BoxError> for ProblemResponse {
    fn from(error: BoxError) -> Self {
        let detail = error.to_string();
        match error {
            BoxError::Refused(refusal) => refusal.into(),
            BoxError::TimedOut { .. } => ProblemResponse::new(ProblemKind::NoBoxInTime, detail),
            BoxError::QueueFull { retry_after, .. } => {
                ProblemResponse::new(ProblemKind::QueueFull, detail).retry_after(retry_after)
            }
            BoxError::Busy { retry_after } => {
                ProblemResponse::new(ProblemKind::Busy, detail).retry_after(retry_after)
            }
            BoxError::HostSilent { .. } => ProblemResponse::new(ProblemKind::HostSilent, detail),
            BoxError::LeaderChanged => {
                ProblemResponse::new(ProblemKind::LeaderChanged, detail).retry_after(NEXT_LEADER)
            }
            BoxError::Lost => ProblemResponse::new(ProblemKind::OutcomeUnknown, detail),
            BoxError::Journal(error) => error.into(),
        }
    }
}

impl From<BoxRefusal> for ProblemResponse {
    fn from(refusal: BoxRefusal) -> Self {
        ProblemResponse::new(kind_of(&refusal), refusal.to_string())
    }
}

fn kind_of(refusal: &BoxRefusal) -> ProblemKind {
    match refusal {
        BoxRefusal::NoPool { .. } => ProblemKind::NoPool,
        BoxRefusal::NoBox { .. } => ProblemKind::NoBox,
        BoxRefusal::UnknownLease => ProblemKind::UnknownLease,
        BoxRefusal::BadText(_) => ProblemKind::BadRequest,
        BoxRefusal::BadSpec(_) => ProblemKind::BadPool,
        BoxRefusal::BadTtl { .. } | BoxRefusal::BadCount { .. } => ProblemKind::Terms,
        BoxRefusal::IdsTaken { .. } => ProblemKind::IdsTaken,
        BoxRefusal::PoolInUse { .. } => ProblemKind::PoolInUse,
        BoxRefusal::PoolGoes { .. } => ProblemKind::PoolGoes,
        BoxRefusal::WrongToken => ProblemKind::WrongToken,
        BoxRefusal::NotReady => ProblemKind::NotReady,
        BoxRefusal::HeldTooLong => ProblemKind::HeldTooLong,
        BoxRefusal::OverQuota { .. } => ProblemKind::OverQuota,
        BoxRefusal::OtherRequest => ProblemKind::RequestIdReused,
        BoxRefusal::RequestOfOther { .. } => ProblemKind::RequestOfOther,
        BoxRefusal::BoxInUse => ProblemKind::BoxLeased,
        BoxRefusal::NotQuarantined => ProblemKind::NotQuarantined,
        BoxRefusal::AlreadyQuarantined => ProblemKind::AlreadyQuarantined,
        BoxRefusal::NotFree
        | BoxRefusal::NoSlot
        | BoxRefusal::IdInUse
        | BoxRefusal::GrantedBefore
        | BoxRefusal::WentOn => ProblemKind::ChangedMeanwhile,
        BoxRefusal::AlreadyReleased => ProblemKind::LeaseReleased,
        BoxRefusal::Expired => ProblemKind::LeaseExpired,
        BoxRefusal::Revoked { .. } => ProblemKind::LeaseRevoked,
        BoxRefusal::NeverHeld => ProblemKind::LeaseNeverHeld,
        BoxRefusal::NoRandomness(_) => ProblemKind::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use actix_web::ResponseError;
    use actix_web::http::header::RETRY_AFTER;

    use super::*;

    #[test]
    fn a_wait_that_ended_with_its_leader_may_be_repeated_soon() {
        let answer = ProblemResponse::from(BoxError::LeaderChanged).error_response();
        let after = answer.headers().get(RETRY_AFTER).map(|value| value.as_bytes());
        assert_eq!((answer.status().as_u16(), after), (503, Some(&b"1"[..])));
    }
}
