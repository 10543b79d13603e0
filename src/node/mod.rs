//! The role of a node: builds the actors, wires them, stops them in order.

mod actors;
mod admin_token;
mod cluster;
mod identity;
mod live_config;
mod member_files;
mod name_sweep;
mod node_clocks;
mod node_error;
mod reload;
mod running_node;
mod settings;
mod share_links;

pub use actors::{BoxServices, HostActor, HostActors, WebhookActors, Wiring};
pub use admin_token::AdminTokenFiles;
pub use cluster::{ClusterLink, ForwardedStream, own_url};
pub use live_config::{ActiveConfig, LiveConfig};
pub use node_error::NodeError;
pub use reload::{LoadedNodeConfig, NodeReloader};
pub use running_node::RunningNode;
pub use settings::{
    audit_dir, journal_dir, remover as remover_settings, simulation_rules, tasks as task_settings,
};
pub use share_links::ShareLinksView;
