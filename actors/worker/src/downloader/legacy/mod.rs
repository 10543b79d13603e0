//! Support of old programs: orders from a cfm, and copies from a cfw.

pub(in crate::downloader) mod cfm_link;
mod external_fetch;
pub mod external_program;
