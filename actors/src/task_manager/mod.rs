//! The TaskManager: plans copies and follows them to their end.

mod apply;
mod back_off;
mod change;
mod decide;
mod due;
mod entries;
mod event;
mod hosts;
mod inventory;
mod messages;
pub mod plan;
mod reports;
#[cfg(test)]
mod samples;
mod settings;
mod signs;
mod snapshot;
mod state;
mod time_out;

pub use back_off::{BackOff, BackingOff, Blamed};
pub use decide::Deciding;
pub use event::{Ending, GivenUp, NewTask, TaskEvent, TaskOutcome, TaskRefusal};
pub use hosts::{HostState, HostTable, Landed};
pub use messages::*;
pub use reports::Heard;
pub use settings::{BackOffSettings, HostSetting, TaskSettings};
pub use signs::{Sign, Signs};
pub use state::{Placement, TaskBook, Tasks};
pub use time_out::OLD_COPY_SPEED;
