//! Answers: pages, files and archives.

pub(crate) mod archive;
pub(crate) mod download;
pub(crate) mod file_source;
pub(crate) mod link_head;
pub(crate) mod link_request;
pub(crate) mod page_handoff;
pub(crate) mod pages;
pub(crate) mod watch;
