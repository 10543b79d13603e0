#![doc = include_str!("README.md")]

mod actor;
mod messages;
mod policy;
mod state;
mod views;

pub use actor::ClusterSettingsActor;
pub use messages::{ClusterSettingsError, RecordSettings};
pub use policy::record::record;
pub use state::constants::{LONGEST_REASON_OF_CHANGE, LONGEST_TEXT, MOST_VERSIONS};
pub use state::event::{SettingsEvent, SettingsOutcome, SettingsRefusal};
pub use state::settings_book::{SettingsBook, SettingsVersion};
pub use state::settings_text::SettingsText;
pub use views::ClusterSettingsView;
