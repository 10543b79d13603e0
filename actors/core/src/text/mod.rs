//! Text for people.

pub mod counted;
pub mod rate_text;
pub mod shown_text;
