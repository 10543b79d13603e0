//! The console: pages for the operator, rendered from plain models.
//!
//! This crate does no I/O. A handler of the node fills a model of [`pages`], calls its `render` for a
//! [`Viewer`], and puts the result into [`frame::page`]. `README.md` lists the routes.

pub mod address;
pub mod assets;
mod browser_choices;
pub mod card;
pub mod format;
pub mod frame;
pub mod pages;
pub mod parts;
pub mod text;
mod viewer;

pub use browser_choices::BrowserChoices;
pub use viewer::{
    Density, LANGUAGE_COOKIE, Moment, ReadableAreas, THEME_COOKIE, Theme, Viewer, ViewerRights,
    ViewerRole,
};
