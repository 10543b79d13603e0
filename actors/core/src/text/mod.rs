//! Text for people.

pub mod counted;
pub mod display_text;
pub mod rate_text;
mod text_form;
