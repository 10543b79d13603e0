//! Publishes changes of the inputs on the change feed.

use super::Catalog;
use crate::changes::{InputChange, YardChange};

impl Catalog {
    /// Publishes `changes`, if there are any.
    pub(super) fn publish_changes(&self, changes: impl IntoIterator<Item = InputChange>) {
        for change in changes {
            self.shell.publish_change(self.shell.now(), YardChange::Input(change));
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
