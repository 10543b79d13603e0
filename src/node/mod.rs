//! The parts of a node: its actors with their wiring, its link to the cluster, its settings.

pub(crate) mod actors;
pub(crate) mod admin_token;
pub(crate) mod cluster;
pub(crate) mod identity;
pub(crate) mod live_config;
pub(crate) mod member_files;
pub(crate) mod name_sweep;
pub(crate) mod node_clocks;
pub(crate) mod node_error;
pub(crate) mod reload;
pub(crate) mod settings;
pub(crate) mod share_links;

pub use actors::{BoxServices, HostActor, HostActors, WebhookActors, Wiring};
pub use admin_token::AdminTokenFiles;
pub use cluster::{ClusterLink, ForwardedStream, own_url};
pub use live_config::{ActiveConfig, LiveConfig};
pub use node_error::NodeError;
pub use reload::{LoadedNodeConfig, NodeReloader};
pub use settings::{
    audit_dir, journal_dir, remover as remover_settings, simulation_rules, tasks as task_settings,
};
pub use share_links::ShareLinksView;
