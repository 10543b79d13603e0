//! Answers: pages, files and archives.

pub(crate) mod answer;
pub(crate) mod archive;
pub(crate) mod conditions;
pub(crate) mod download;
pub(crate) mod pages;
pub(crate) mod watch;
