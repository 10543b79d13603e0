//! Failures of commands: a text on stderr and a documented exit code.

use std::io;

use reelyard_api::{Problem, ProblemKind};

use crate::cluster_client::NoNodeAnswered;
use crate::config::ConfigFaults;
use crate::logging::AlreadyStarted;

/// Exit code of every command if no box was free in time.
pub const NO_BOX: u8 = 123;

/// Exit code for a store that is damaged or incomplete.
pub const NOT_WHOLE: u8 = 5;

/// Exit code of `status` if something is broken in the yard.
pub const BROKEN: u8 = 7;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandFailure {
    /// The configuration is wrong.
    #[error(transparent)]
    Configuration(#[from] ConfigFaults),
    /// The arguments are wrong.
    #[error("{0}")]
    Usage(String),
    /// No node answers.
    #[error(transparent)]
    Unreachable(#[from] NoNodeAnswered),
    /// The member of a cluster does not answer.
    #[error("the node at {address} cannot be reached: {why}")]
    NoMember {
        /// Its address for other nodes.
        address: String,
        /// The cause as text.
        why: String,
    },
    /// The answering server is not a node.
    #[error("{0}")]
    NoNode(String),
    /// The node refused the request.
    #[error("the node refused: {0}")]
    Refused(Problem),
    /// Some of the named objects do not exist; the request was executed for the others.
    #[error("{0}")]
    NotThere(String),
    /// The node failed, or its answer is not valid.
    #[error("the node at {url} failed: {why}")]
    Node {
        /// URL of the node.
        url: String,
        /// The cause as text.
        why: String,
        /// Kind of the problem in its answer, if it is known.
        kind: Option<ProblemKind>,
    },
    /// A store is damaged or incomplete.
    #[error("{0}")]
    StoreNotWhole(String),
    /// A running node uses the store.
    #[error("{0}")]
    StoreInUse(String),
    /// Logging was started twice.
    #[error(transparent)]
    Logging(#[from] AlreadyStarted),
    /// Standard output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// The request was executed partly or not at all.
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

impl CommandFailure {
    /// The exit code, as documented in `--help`.
    pub fn exit_code(&self) -> u8 {
        match self {
            _ if self.is_closed_pipe() => 0,
            CommandFailure::Output(_)
            | CommandFailure::Logging(_)
            | CommandFailure::Node { .. }
            | CommandFailure::Failed(_) => 1,
            CommandFailure::Configuration(_) | CommandFailure::Usage(_) => 2,
            CommandFailure::Unreachable(_)
            | CommandFailure::NoMember { .. }
            | CommandFailure::NoNode(_) => 3,
            CommandFailure::Refused(problem) if is_no_box(problem) => NO_BOX,
            CommandFailure::Refused(_) | CommandFailure::NotThere(_) => 4,
            CommandFailure::StoreNotWhole(_) => NOT_WHOLE,
            CommandFailure::StoreInUse(_) => 6,
        }
    }

    /// Whether the reader of the output has ended, as in `reelyard files | head`. This is not a
    /// failure.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, CommandFailure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Whether no box was free, so that a retry can help.
fn is_no_box(problem: &Problem) -> bool {
    matches!(problem.known_kind(), Some(ProblemKind::NoBoxInTime | ProblemKind::QueueFull))
}
