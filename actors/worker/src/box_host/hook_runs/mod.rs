//! One run of a hook, with its programs.

pub(super) mod hook_execution;
pub(super) mod program;
