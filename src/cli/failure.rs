//! How a command fails: in words on stderr, and with a documented exit code.

use std::io;

use reelyard_api::Problem;

use crate::config::ConfigFaults;
use crate::logging::AlreadyStarted;

/// Why a command did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum CommandFailure {
    /// The configuration is wrong.
    #[error(transparent)]
    Configuration(#[from] ConfigFaults),
    /// The arguments are wrong.
    #[error("{0}")]
    Usage(String),
    /// The node does not answer.
    #[error("the node at {url} cannot be reached: {why}")]
    Unreachable {
        /// Where it was looked for.
        url: String,
        /// What happened.
        why: String,
    },
    /// What answers is no node.
    #[error("{0}")]
    NoNode(String),
    /// The node understood and refused.
    #[error("the node refused: {0}")]
    Refused(Problem),
    /// The node does not know some of what was named; it did what it was asked to with the others.
    #[error("{0}")]
    NotThere(String),
    /// The node answered that it failed, or what it answered is not understood.
    #[error("the node at {url} failed: {why}")]
    Node {
        /// Which node.
        url: String,
        /// What it said.
        why: String,
    },
    /// A store is not whole.
    #[error("{0}")]
    StoreNotWhole(String),
    /// A running node has the store.
    #[error("{0}")]
    StoreInUse(String),
    /// Logging was started twice.
    #[error(transparent)]
    Logging(#[from] AlreadyStarted),
    /// Standard output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// What was asked for was done in part or not at all.
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

impl CommandFailure {
    /// The exit code, as `--help` documents it.
    pub fn exit_code(&self) -> u8 {
        match self {
            _ if self.is_closed_pipe() => 0,
            CommandFailure::Output(_)
            | CommandFailure::Logging(_)
            | CommandFailure::Node { .. }
            | CommandFailure::Failed(_) => 1,
            CommandFailure::Configuration(_) | CommandFailure::Usage(_) => 2,
            CommandFailure::Unreachable { .. } | CommandFailure::NoNode(_) => 3,
            CommandFailure::Refused(problem) if is_no_box(problem) => super::NO_BOX,
            CommandFailure::Refused(_) | CommandFailure::NotThere(_) => 4,
            CommandFailure::StoreNotWhole(_) => super::store::NOT_WHOLE,
            CommandFailure::StoreInUse(_) => 6,
        }
    }

    /// Whether nobody reads the output any more, as in `reelyard files | head`: no failure.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, CommandFailure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Whether nothing is wrong but that no box was free: asking again helps.
fn is_no_box(problem: &Problem) -> bool {
    let kind = problem.kind.rsplit(':').next().unwrap_or_default();
    matches!(kind, "no-box-in-time" | "queue-full")
}
