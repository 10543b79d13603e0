//! Publishes changes of the inputs on the change feed.

use reelyard_core::change_feed::FeedPublisher;

use super::Catalog;
use crate::changes::{InputChange, YardChange};

impl Catalog {
    /// Publishes changes on `feed` from now on.
    pub fn with_change_feed(mut self, feed: FeedPublisher<YardChange>) -> Self {
        self.changes = Some(feed);
        self
    }

    /// Publishes `changes`, if there are any.
    pub(super) fn publish_changes(&self, changes: impl IntoIterator<Item = InputChange>) {
        let Some(feed) = &self.changes else { return };
        for change in changes {
            feed.publish(self.clock.now(), YardChange::Input(change));
        }
    }

    /// Publishes new problems, and problems that are over.
    pub(super) fn publish_problem_changes(&self, before: &[String]) {
        let now = &self.view.problems;
        let new = now.iter().filter(|problem| !before.contains(problem));
        self.publish_changes(new.map(|problem| InputChange::Unusable { problem: problem.clone() }));
        let over = before.iter().filter(|problem| !now.contains(problem));
        self.publish_changes(over.map(|problem| InputChange::Usable { problem: problem.clone() }));
    }
}
