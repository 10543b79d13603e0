//! Groups of settings with tables of their own.

pub(crate) mod box_hooks;
pub(crate) mod boxes;
pub(crate) mod hooks;
pub(crate) mod links;
pub(crate) mod share;
pub(crate) mod tls;
pub(crate) mod watch;
