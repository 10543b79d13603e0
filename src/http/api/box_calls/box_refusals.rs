//! Refusals of calls about boxes, leases and pools. Each meaning has its own problem kind, so that
//! a script does not have to parse words.

use std::time::Duration;

use reelyard_api::{ProblemKind, refused};
use reelyard_boxes::box_lease::{BoxError, BoxRefusal};
use reelyard_protocol::boxes::{BoxNumber, PoolName};

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

/// The refusal of a change of this box. The words of the actor do not name it.
pub(super) fn of_box(pool: &PoolName, number: BoxNumber, error: BoxError) -> ProblemResponse {
    let BoxError::Refused(refusal) = &error else { return error.into() };
    let state = match refusal {
        BoxRefusal::AlreadyQuarantined => {
            "already quarantined: unquarantine it to clean it and use it again"
        }
        BoxRefusal::NotQuarantined => "not quarantined: nothing is to be done",
        BoxRefusal::BoxInUse => "leased: revoke the lease first",
        _ => return error.into(),
    };
    ProblemResponse::new(kind_of(refusal), format!("box {number} of pool {pool} is {state}"))
}

/// The refusal of the revocation of a lease, with the box that it had. The words of the actor name neither.
pub(super) fn of_revocation(of: Option<(PoolName, BoxNumber)>, error: BoxError) -> ProblemResponse {
    let (BoxError::Refused(refusal), Some((pool, number))) = (&error, of) else {
        return error.into();
    };
    match refusal {
        BoxRefusal::AlreadyReleased
        | BoxRefusal::Expired
        | BoxRefusal::Revoked { .. }
        | BoxRefusal::NeverHeld => {
            let detail = format!(
                "nothing was done to box {number} of pool {pool}: {refusal}. The list of leases has those that can be \
                 revoked"
            );
            ProblemResponse::new(kind_of(refusal), detail)
        }
        _ => error.into(),
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
    use reelyard_console::text::{Language, node_words};

    use super::*;

    #[test]
    fn a_refused_change_names_its_box_and_the_next_step() {
        let pool = PoolName::new("judges").unwrap();
        let of = |refusal| of_box(&pool, BoxNumber(7), BoxError::Refused(refusal));
        let already = of(BoxRefusal::AlreadyQuarantined);
        assert_eq!(already.kind(), ProblemKind::AlreadyQuarantined);
        let words = "box 7 of pool judges is already quarantined: unquarantine it to clean it and use it again";
        assert_eq!(already.problem().detail, words);
        let revoked = BoxError::Refused(BoxRefusal::Revoked { reason: None });
        let ended = of_revocation(Some((pool.clone(), BoxNumber(7))), revoked);
        assert_eq!(ended.kind(), ProblemKind::LeaseRevoked);
        let words = "nothing was done to box 7 of pool judges: the lease was revoked. The list of leases has those that \
                     can be revoked";
        assert_eq!(ended.problem().detail, words);
        for refused in [already, of(BoxRefusal::NotQuarantined), of(BoxRefusal::BoxInUse), ended] {
            let english = &refused.problem().detail;
            let korean = node_words(Language::Korean, english);
            assert!(korean.contains("judges 7") && !korean.contains("the "), "{korean}");
        }
    }

    #[test]
    fn a_wait_that_ended_with_its_leader_may_be_repeated_soon() {
        let answer = ProblemResponse::from(BoxError::LeaderChanged).error_response();
        let after = answer.headers().get(RETRY_AFTER).map(|value| value.as_bytes());
        assert_eq!((answer.status().as_u16(), after), (503, Some(&b"1"[..])));
    }
}
