//! The first screen: is anything wrong, since when, and what to do.

mod figures;
mod model;
mod panels;
mod render;
mod traffic;
mod trouble;
mod trouble_text;

pub use figures::figures;
pub use model::{
    CopyLine, DiskSummary, DueLink, HotLine, PoolSummary, RecentLine, RecentStep, VerdictFacts,
    WaitLine, YardFigures, YardPageModel,
};
pub use panels::{copies, copy_rate, disks, ending, flow, hot, pools, recent, waits};
pub use render::{ALL_TROUBLES, render, yard_verdict};
pub use traffic::{TRAFFIC_TABLE, figures_table, traffic, traffic_table};
pub use trouble::{EndedTrouble, Trouble, TroubleCause, TroublePlace, by_urgency};
pub use trouble_text::row as trouble_row;
