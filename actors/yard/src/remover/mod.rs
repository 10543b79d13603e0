#![doc = include_str!("README.md")]

mod actor;
mod messages;
mod policy;
#[cfg(test)]
mod samples;
mod settings;
pub(crate) mod state;
mod views;

pub use crate::remover::policy::disk_space::relief::Relief;
pub use actor::tick::WHILE_THERE_IS_MORE;
pub use actor::{Remover, RemoverCollaborators};
pub use messages::*;
pub use policy::arrivals::RecentArrivals;
pub use policy::counters::{RemovedFor, RemoverCounters};
pub use policy::decision_context::{Inputs, RemovalsUnderWay, RemoverDecisionContext};
pub use policy::disk_space::exchange_budget::ExchangeBudget;
pub use policy::disk_space::room::{RoomSought, RoomVerdict, RoomWanted};
pub use policy::duplicates::FileCopies;
pub use policy::holders::{CopyHolder, CopyHolderStatus, CopyHolders};
pub use policy::looked_size::LookedSize;
pub use policy::memory::{RemoverPieceContext, RemoverPolicy};
pub use policy::round::{Confirmation, Removal, RemovalProposal, RemoverWaits};
pub use settings::{ExchangeRules, RemovalMode, RemoverSettings};
pub use state::ending::Ending;
pub use state::event::{Intent, RemovalEvent, RemovalOutcome, RemovalRefusal};
pub use state::reason::{Reason, Spared};
pub use state::removal_book::{CopyKey, OpenRemoval, Pin, RemovalBook, RemovalRecord};
pub use views::remover_view::*;
