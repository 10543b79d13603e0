//! Every text of the console, in English and Korean, one table a subject.
//!
//! A key is a constant, so a missing key does not compile. Neither does a text in only one language.

pub mod card;
pub mod common;
pub mod frame;
pub mod outcomes;
mod pages;
pub mod refusals;
pub mod states;

mod entry;
mod language;
mod of_node;
mod setting_meanings;
#[cfg(test)]
mod table_tests;

pub use entry::{CountText, Text};
pub(crate) use entry::{count_texts, texts};
pub use language::Language;
pub use of_node::node_words;
pub use pages::{access, boxes, cluster, files, find, hosts, plan, shares, tasks, why, yard};
pub use setting_meanings::{korean_settings, setting_meaning};
