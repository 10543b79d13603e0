//! Parts of pages: states, tables, panels, bars, charts, dialogs.

pub mod act;
pub mod bulk;
pub mod dialog;
pub mod filter;
mod graphics;
pub mod icon;
pub mod mark;
pub mod notice;
pub mod panel;
pub mod table;
pub mod verdict;
pub mod why;

pub use graphics::{bars, boxes, chart, disks, heat, spark, timeline};
