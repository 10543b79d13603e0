//! The last round of planning: copies, removals, exchanges, and what was passed over.

mod model;
mod panels;
mod query;
mod render;

pub use model::{
    BackOffLine, CopyProgress, DestinationReason, ExchangeLine, GoingCopy, PassedLine, PlanLine,
    PlanPageModel, RemovalLine, RemoverMode, SparedLine,
};
pub use panels::{back_offs, copies, exchanges, passed, removals, spared};
pub use query::PlanPageQuery;
pub use render::{plan_sentence, render, round_in_full};
