//! This node in its cluster: the network to the other nodes, and the requests of nodes that join.

mod change_log;
mod cluster_link;
mod invitation;
mod journal_member;
mod leader_calls;
mod leader_contact;
mod node_service;
mod own_record;
mod recorded_settings;
mod settings_cache;

pub use cluster_link::{ClusterLink, ClusterLinkError};
pub use node_service::{ForwardedStream, JoinParts};
pub use own_record::{keep as keep_record, own_record, own_url};
pub use recorded_settings::{SettingsFollower, allow_if_current};
pub use settings_cache::{SETTINGS_CACHE, read as read_settings_cache};
