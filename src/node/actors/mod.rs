//! The actors of a node, and their wiring.

mod boxes;
mod configured_pools;
mod host_actors;
pub(crate) mod host_membership;
mod leadership;
mod share_files;
mod webhook_actors;
mod wiring;

pub use boxes::BoxServices;
pub use host_actors::{HostActor, HostActors};
pub use webhook_actors::WebhookActors;
pub use wiring::Wiring;
