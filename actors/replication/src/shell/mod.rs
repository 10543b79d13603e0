//! The shell of every owner of a piece. It handles the journal's commands, requests, commits, ticks, the
//! read view and the change feed in one way. An owner adds its rules: it implements [`Owner`], and gets the
//! functions of the other traits.

mod commands;
mod commits;
mod owner;
mod replicated;
mod requests;
mod ticks;

#[cfg(test)]
mod held_log;
#[cfg(test)]
mod shell_tests;
#[cfg(test)]
mod smallest_owner;

pub use commands::OwnerCommands;
pub use commits::OwnerCommits;
pub use owner::Owner;
pub use replicated::Replicated;
pub use requests::{OwnerReply, OwnerRequests, reply_now};
pub use ticks::OwnerTicks;
