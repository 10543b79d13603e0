//! The messages of the ShareFilesActor. Queries that only read use the `ShareFilesView`.

use actix::Message;
use reelyard_core::event::RequestId;

use crate::share_expiry::{MoveRefused, Moved, ShareError, ShareLocation};

/// Moves or renames a file or directory; every share of it and of its contents follows. A repetition
/// under the same id gets the earlier answer.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Moved, MoveError>")]
pub struct MoveFile {
    /// The current path of the file.
    pub from: ShareLocation,
    /// The new path of the file itself, not of its new parent directory.
    pub to: ShareLocation,
    /// Whether an existing file may be replaced, which ends its shares.
    pub overwrite: bool,
    /// The caller's name, for the audit.
    pub asked_by: String,
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// Why nothing was moved, or why the outcome is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// The move was refused.
    #[error(transparent)]
    Refused(#[from] MoveRefused),
    /// The move or its outcome could not be recorded.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// The outcome is not known yet. The actor checks the disk until it is known. A repeated request then
    /// gets the answer. Until then a request without a name is listed among the moves.
    #[error(
        "the outcome of the move is not known yet: {why}. See it in the list of moves (GET \
         /api/v1/files/moves, reelyard share moves), or repeat the request with the same \
         request_id"
    )]
    Unsettled {
        /// The error of the disk.
        why: String,
        /// The idempotency key for repetitions by actors. Outside of them only the name of a request is
        /// known.
        request: RequestId,
    },
}

/// Checks the paths of the roots now instead of at the next check. A directory that has appeared is
/// opened.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct CheckRoots;

/// Checks the roots, missing files and all shares now, without waiting. Operators and tests send it.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct SweepNow;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsettled_move_names_the_command_that_shows_its_outcome() {
        let request = RequestId(0xabcd);
        let message = MoveError::Unsettled { why: "no answer".to_owned(), request }.to_string();
        assert!(!message.contains(&request.to_string()), "{message}");
        assert!(message.contains("no answer"), "{message}");
        assert!(message.contains("GET /api/v1/files/moves"), "{message}");
        assert!(message.contains("reelyard share moves"), "{message}");
    }
}
