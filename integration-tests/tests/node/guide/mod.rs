//! The guide: its pages, its text and its commands.

mod pages;
mod text;
mod walks;
