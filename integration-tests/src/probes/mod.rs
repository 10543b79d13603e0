//! Observations and checks for tests: conditions, answers, pages, and texts.

pub mod accessibility;
pub mod api_document;
pub mod browser;
pub mod catalog_probe;
pub mod code_blocks;
pub mod event_reader;
pub mod exposition;
pub mod journal_power;
pub mod journal_probe;
pub mod prose;
pub mod python_text;
pub mod waiting;
