//! Files of shares that another node passes through, because it does not see their root.

pub(crate) mod file_source;
pub(crate) mod for_others;
pub(crate) mod other_nodes;
