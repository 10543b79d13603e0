//! One host in full.

mod model;
mod panels;
mod render;

pub use model::{
    Breaker, BreakerRole, DrainFacts, HostPageModel, HostTraffic, OnlyHereFile, OtherManager,
};
pub use panels::{breakers, disk, health, link, only_here, recent_on_host};
pub use render::{live_parts, render};
