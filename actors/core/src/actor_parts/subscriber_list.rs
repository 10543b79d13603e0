//! The actors that get the reports of another actor.

use actix::{Message, Recipient};

/// The receivers of one kind of report. Each gets it by `do_send`, so a slow receiver never holds up the
/// reporter, and no report is lost.
pub struct SubscriberList<M>(Vec<Recipient<M>>)
where
    M: Message + Send,
    M::Result: Send;

impl<M> SubscriberList<M>
where
    M: Message + Send,
    M::Result: Send,
{
    /// Adds a subscriber, once. A restarted subscriber is another one, so those that have ended leave.
    pub fn add(&mut self, to: Recipient<M>) {
        self.0.retain(|subscriber| subscriber.connected() && *subscriber != to);
        self.0.push(to);
    }

    /// Adds other subscribers, each once.
    pub fn add_all(&mut self, others: Self) {
        for to in others.0 {
            self.add(to);
        }
    }
}

impl<M> SubscriberList<M>
where
    M: Message + Send + Clone,
    M::Result: Send,
{
    /// Sends a report to all subscribers.
    pub fn notify(&mut self, report: &M) {
        self.0.retain(Recipient::connected);
        for subscriber in &self.0 {
            subscriber.do_send(report.clone());
        }
    }
}

impl<M> Clone for SubscriberList<M>
where
    M: Message + Send,
    M::Result: Send,
{
    fn clone(&self) -> Self {
        SubscriberList(self.0.clone())
    }
}

impl<M> Default for SubscriberList<M>
where
    M: Message + Send,
    M::Result: Send,
{
    fn default() -> Self {
        SubscriberList(Vec::new())
    }
}

impl<M> From<Vec<Recipient<M>>> for SubscriberList<M>
where
    M: Message + Send,
    M::Result: Send,
{
    fn from(subscribers: Vec<Recipient<M>>) -> Self {
        SubscriberList(subscribers)
    }
}
