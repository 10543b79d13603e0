//! Text for people.

pub mod rate_text;
pub mod shown_text;
