//! Box pools: grids, queue, leases, quarantine.

mod model;
mod panels;
mod query;
mod render;

pub use model::{
    AllPools, BoxListPages, BoxesPageModel, LeaseLine, OneBox, PoolPanel, QuarantineLine, QueueLine,
};
pub use panels::{leases, pool_grid, quarantine, queue};
pub use query::BoxesPageQuery;
pub use render::{boxes_sentence, pools_in_full, render};
