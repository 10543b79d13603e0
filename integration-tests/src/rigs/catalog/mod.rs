//! The Catalog: its input files, and the actor on them.

pub mod catalog_input;
pub mod catalog_yard;
