//! The nodes that a link can call: those of the setting, and the members that they have named. Pure.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::url::NodeUrl;

/// The nodes of one cluster, and the one in use.
#[derive(Debug)]
pub(in crate::downloader) struct LinkNodes {
    given: Vec<NodeUrl>,
    state: Mutex<LinkNodesState>,
}

#[derive(Debug)]
struct LinkNodesState {
    learned: Vec<NodeUrl>,
    current: Option<NodeUrl>,
    /// Grows with each change of the node in use.
    turn: usize,
}

impl LinkNodes {
    /// The nodes of the setting, and those that were learned before.
    pub(super) fn new(given: Vec<NodeUrl>, learned: Vec<NodeUrl>) -> Self {
        let current = given.first().cloned();
        LinkNodes { given, state: Mutex::new(LinkNodesState { learned, current, turn: 0 }) }
    }

    /// The number of the node in use. Another node has another number.
    pub(super) fn turn(&self) -> usize {
        self.state().turn
    }

    /// The address of the node in use.
    pub(super) fn current(&self) -> String {
        self.state().current.as_ref().map_or(String::new(), |url| url.as_str().to_owned())
    }

    /// Whether the node in use is one of the setting.
    pub(super) fn is_given(&self) -> bool {
        self.state().current.as_ref().is_some_and(|url| self.given.contains(url))
    }

    /// Whether another node can be called.
    pub(super) fn has_others(&self) -> bool {
        self.all(&self.state()).len() > 1
    }

    /// Uses the next node, if `turn` is still that of the node in use. Answers the address of the former.
    pub(super) fn leave(&self, turn: usize) -> Option<String> {
        let mut state = self.state();
        if state.turn != turn {
            return None;
        }
        let all = self.all(&state);
        // A former member that is in use is in no list.
        let place = all.iter().position(|url| state.current.as_ref() == Some(url));
        let next = place.map_or(0, |place| (place + 1) % all.len());
        let former = std::mem::replace(&mut state.current, all.get(next).cloned());
        state.turn = state.turn.wrapping_add(1);
        Some(former.map(String::from).unwrap_or_default())
    }

    /// Replaces the learned nodes. Answers whether they differ.
    pub(super) fn learn(&self, members: &[NodeUrl]) -> bool {
        let mut state = self.state();
        let differ = state.learned != members;
        if differ {
            state.learned = members.to_vec();
        }
        differ
    }

    fn all(&self, state: &LinkNodesState) -> Vec<NodeUrl> {
        let learned = state.learned.iter().filter(|url| !self.given.contains(url));
        self.given.iter().chain(learned).cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, LinkNodesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(text: &str) -> Vec<NodeUrl> {
        text.split_whitespace().map(|url| url.parse().unwrap()).collect()
    }

    /// Leaves the node in use, and answers the next one.
    fn next(nodes: &LinkNodes) -> String {
        nodes.leave(nodes.turn()).unwrap();
        nodes.current()
    }

    #[test]
    fn learned_nodes_follow_the_given_ones_and_the_used_one_stays() {
        let nodes = LinkNodes::new(urls("a:1 b:1"), Vec::new());
        assert!(nodes.learn(&urls("b:1 c:1")) && !nodes.learn(&urls("b:1 c:1")));
        assert_eq!([next(&nodes), next(&nodes)], ["http://b:1", "http://c:1"]);
        assert!(!nodes.is_given() && nodes.learn(&urls("b:1 d:1")));
        assert_eq!(nodes.current(), "http://c:1", "a former member that answers stays");
        assert_eq!([next(&nodes), next(&nodes)], ["http://a:1", "http://b:1"]);
        let turn = nodes.turn();
        assert!(nodes.leave(turn).is_some() && nodes.leave(turn).is_none(), "only once");
        assert_eq!((nodes.current().as_str(), nodes.has_others()), ("http://d:1", true));
        assert!(!LinkNodes::new(urls("a:1"), urls("a:1")).has_others());
    }
}
