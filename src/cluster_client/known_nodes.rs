//! The nodes that a client can call: the given ones, and the members that a node has named.

use std::sync::{Mutex, MutexGuard, PoisonError};

use reelyard_protocol::node_address::{NodeAddresses, named_members};
use reqwest::Url;

/// The nodes of one cluster, and the one in use. They live as long as the process.
#[derive(Debug)]
pub(super) struct KnownNodes {
    given: NodeAddresses,
    list: Mutex<UsedNodes>,
}

#[derive(Debug)]
struct UsedNodes {
    learned: Vec<Url>,
    current: Url,
}

impl KnownNodes {
    /// Only the given ones. The first one comes first.
    pub(super) fn new(given: NodeAddresses) -> Self {
        let current = given.first().clone();
        KnownNodes { given, list: Mutex::new(UsedNodes { learned: Vec::new(), current }) }
    }

    /// All nodes, in the order in which they are tried: the one in use is the first.
    pub(super) fn in_order(&self) -> Vec<Url> {
        let list = self.list();
        let mut all: Vec<Url> = self.given.iter().cloned().collect();
        all.extend(
            list.learned.iter().filter(|url| !self.given.iter().any(|one| one == *url)).cloned(),
        );
        match all.iter().position(|url| *url == list.current) {
            Some(place) => all.rotate_left(place),
            // It is no member any more, and answers.
            None => all.insert(0, list.current.clone()),
        }
        all
    }

    /// The node in use.
    pub(super) fn current(&self) -> Url {
        self.list().current.clone()
    }

    /// Uses this node from now on. Returns whether another one was in use.
    pub(super) fn change_to(&self, node: &Url) -> bool {
        let mut list = self.list();
        let is_other = list.current != *node;
        list.current = node.clone();
        is_other
    }

    /// Uses the node after this one, if it is in use.
    pub(super) fn leave(&self, node: &Url) {
        let next = self.in_order().into_iter().nth(1);
        let mut list = self.list();
        if let Some(next) = next.filter(|_| list.current == *node) {
            list.current = next;
        }
    }

    /// Replaces the learned members by those that the node at `named_by` names.
    pub(super) fn learn(&self, named_by: &Url, members: &str) {
        self.list().learned = named_members(named_by, members);
    }

    fn list(&self) -> MutexGuard<'_, UsedNodes> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(given: &str) -> KnownNodes {
        KnownNodes::new(given.parse().unwrap())
    }

    fn order(nodes: &KnownNodes) -> Vec<String> {
        let hosts = nodes.in_order();
        hosts.iter().map(|url| url.host_str().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn the_node_in_use_is_the_first_and_the_others_follow() {
        let nodes = known("a:1,b:1");
        nodes.learn(&nodes.current(), "http://b:1, http://c:1");
        assert_eq!(order(&nodes), ["a", "b", "c"]);
        nodes.leave(&Url::parse("http://b:1").unwrap());
        assert_eq!(order(&nodes), ["a", "b", "c"], "b was not in use");
        nodes.leave(&nodes.current());
        assert_eq!(order(&nodes), ["b", "c", "a"]);
        let c = Url::parse("http://c:1").unwrap();
        assert!(nodes.change_to(&c) && !nodes.change_to(&c));
        assert_eq!(order(&nodes), ["c", "a", "b"]);
        nodes.learn(&c, "http://b:1");
        assert_eq!(order(&nodes), ["c", "a", "b"], "a node that answers stays");
        nodes.leave(&c);
        assert_eq!(order(&nodes), ["a", "b"]);
    }

    #[test]
    fn a_token_goes_to_no_node_with_less_protection() {
        let nodes = known("https://a:1");
        nodes.learn(
            &nodes.current(),
            "http://b:1, https://127.0.0.1:1, https://localhost:2, https://c:1, ://",
        );
        assert_eq!(order(&nodes), ["a", "c"]);
        let local = known("127.0.0.1:1");
        local.learn(&local.current(), "http://127.0.0.2:1,https://127.0.0.3:1");
        assert_eq!(order(&local), ["127.0.0.1", "127.0.0.2"]);
        let alone = known("a:1");
        alone.leave(&alone.current());
        assert_eq!(order(&alone), ["a"]);
    }
}
