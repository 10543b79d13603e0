//! The messages of a webhook's actor.

use actix::Message;

/// There may be work: new notifications, or another leader.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct CheckDelivery;
