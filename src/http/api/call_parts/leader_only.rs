//! Refuses calls that only the deciding node can answer.

use reelyard_core::event::Epoch;
use reelyard_replication::{CommitError, Leadership};

use crate::http::problem::ProblemResponse;
use reelyard_api::refused;

/// The problems of a call that only the deciding node can answer.
pub type LeaderProblems =
    (refused::Starting, refused::NotLeader, refused::Deposed, refused::Stopped);

/// Refuses unless the owner of the state runs here and decides. This keeps clients from reading
/// stale state as current.
pub fn require_leader(
    is_up: bool,
    decides_in: Option<Epoch>,
    leadership: Leadership,
) -> Result<(), ProblemResponse> {
    match (is_up, decides_in, leadership) {
        (false, ..) => Err(ProblemResponse::starting()),
        (true, Some(_), _) => Ok(()),
        // It leads, but has not started to decide.
        (true, None, Leadership::Leading { .. }) => Err(CommitError::Deposed.into()),
        (true, None, Leadership::Following { leader }) => {
            Err(CommitError::NotLeader { leader: Some(leader) }.into())
        }
        (true, None, Leadership::Nobody) => Err(CommitError::NotLeader { leader: None }.into()),
        (true, None, Leadership::Stopped) => Err(CommitError::Stopped.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_deciding_leader_answers() {
        let leading = Leadership::Leading { epoch: Epoch(3) };
        assert!(require_leader(true, Some(Epoch(3)), leading).is_ok());
        for (is_up, decides_in, leadership, words) in [
            (false, None, Leadership::Nobody, "the node is starting"),
            (false, Some(Epoch(3)), leading, "the node is starting"),
            (true, None, Leadership::Following { leader: 2 }, "the leader is node 2"),
            (true, None, Leadership::Nobody, "does not lead the yard"),
            (true, None, leading, "leadership changed"),
            (true, None, Leadership::Stopped, "stop"),
        ] {
            let refusal = require_leader(is_up, decides_in, leadership).unwrap_err();
            assert!(refusal.to_string().contains(words), "{refusal}");
        }
    }
}
