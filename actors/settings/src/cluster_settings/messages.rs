//! The message of the ClusterSettingsActor. Requests that only read use the
//! [`ClusterSettingsView`](super::ClusterSettingsView).

use std::sync::Arc;

use actix::Message;
use reelyard_core::event::RequestId;
use reelyard_replication::CommitError;

use super::state::event::SettingsRefusal;
use super::state::settings_book::SettingsVersion;
use super::state::settings_text::SettingsText;

/// Why settings were not recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterSettingsError {
    /// The request was refused.
    #[error(transparent)]
    Refused(#[from] SettingsRefusal),
    /// It has no outcome, or this node does not lead.
    #[error(transparent)]
    Journal(#[from] CommitError),
}

/// Records the next version. Answers it, or the newest one if that has the same text.
///
/// The sender has read the text as a configuration: a text with faults would keep each node on its former
/// settings.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<SettingsVersion>, ClusterSettingsError>")]
pub struct RecordSettings {
    /// A configuration file that sets only settings of the cluster.
    pub text: SettingsText,
    /// The number of the version that the sender saw as the newest one; 0 if there was none.
    pub follows: u64,
    /// The caller, for the history.
    pub by: String,
    /// The reason, for the history. It may be empty.
    pub why: String,
    /// The name of the commit. The text and `follows` make a repetition harmless.
    pub request: RequestId,
}
