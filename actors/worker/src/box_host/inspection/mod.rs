//! Checks whether a box is clean: processes of its user, and paths that exist.

pub(super) mod box_probe;
pub(super) mod checks;
