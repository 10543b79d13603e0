//! The format of the page.

pub(super) mod form;
pub(super) mod metrics_writer;
