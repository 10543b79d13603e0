//! A subscriber that gives its notifications to the test, in order.

use actix::prelude::*;
use tokio::sync::mpsc;

use crate::probes::waiting::PATIENCE;

/// The actor that receives the notifications.
pub struct Subscriber<M>(mpsc::UnboundedSender<M>);

/// The receiving side of the test.
pub struct Notifications<M>(mpsc::UnboundedReceiver<M>);

/// Starts a subscriber on this arbiter.
pub fn subscriber<M>() -> (Addr<Subscriber<M>>, Notifications<M>)
where
    M: Message<Result = ()> + Send + Unpin + 'static,
{
    let (sender, receiver) = mpsc::unbounded_channel();
    (Subscriber(sender).start(), Notifications(receiver))
}

impl<M: Unpin + 'static> Actor for Subscriber<M> {
    type Context = Context<Self>;
}

impl<M: Message<Result = ()> + Unpin + 'static> Handler<M> for Subscriber<M> {
    type Result = ();

    fn handle(&mut self, message: M, _: &mut Context<Self>) {
        // The test may have ended already.
        let _ = self.0.send(message);
    }
}

impl<M> Notifications<M> {
    /// Waits for the next message.
    ///
    /// # Panics
    /// Panics when no message arrives within [`PATIENCE`].
    pub async fn next(&mut self) -> M {
        match tokio::time::timeout(PATIENCE, self.0.recv()).await {
            Ok(Some(message)) => message,
            _ => panic!("no message arrived within {PATIENCE:?}"),
        }
    }

    /// The next message if it arrived already.
    pub fn already(&mut self) -> Option<M> {
        self.0.try_recv().ok()
    }
}
