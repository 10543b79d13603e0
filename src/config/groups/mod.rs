//! Tables of a role that join the settings of several actors.

pub(crate) mod boxes;
pub(crate) mod share;
