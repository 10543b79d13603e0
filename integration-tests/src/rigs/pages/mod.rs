//! Pages that are served without a node.

pub mod console_samples;
pub mod fixed_pages;
