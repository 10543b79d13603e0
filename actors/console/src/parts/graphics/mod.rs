//! Bars, curves, charts and maps. Their geometry is in attributes of SVG.

pub mod bars;
pub mod boxes;
pub mod chart;
pub mod disks;
pub mod heat;
pub mod spark;
pub mod timeline;
