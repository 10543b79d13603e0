//! Routes to the CfwWorkers of a process. They appear and disappear with the hosts of the yard.

use std::collections::HashMap;
use std::sync::Arc;

use actix::{Message, Recipient};
use reelyard_core::host::HostAddr;
use reelyard_core::supervision::Route;

/// The recipients of one kind of message: the CfwWorkers of all current hosts. Cheap to clone.
pub struct HostRoutes<M>(Arc<dyn Fn(HostAddr) -> Option<Recipient<M>> + Send + Sync>)
where
    M: Message + Send + 'static,
    M::Result: Send;

impl<M> Clone for HostRoutes<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn clone(&self) -> Self {
        HostRoutes(self.0.clone())
    }
}

impl<M> HostRoutes<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    /// Routes that are looked up again for each call.
    pub fn new(find: impl Fn(HostAddr) -> Option<Recipient<M>> + Send + Sync + 'static) -> Self {
        HostRoutes(Arc::new(find))
    }

    /// The current recipient for a host, if it belongs to the yard. Do not keep it.
    pub fn to(&self, host: HostAddr) -> Option<Recipient<M>> {
        (self.0)(host)
    }
}

impl<M> From<HashMap<HostAddr, Route<M>>> for HostRoutes<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    /// Fixed routes to hosts.
    fn from(routes: HashMap<HostAddr, Route<M>>) -> Self {
        HostRoutes::new(move |host| routes.get(&host).map(Route::recipient))
    }
}
