//! The live line of the demo: leader, nodes and changes.

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use reelyard_core::durations::in_words;

use super::change_record::ChangeFigures;
use super::keys::KEYS;
use super::leader_watch::SeenLeader;
use super::nodes::DemoNodeState;
use crate::demo::progress::DemoScreen;

/// The line on the terminal, and the keys below it. Both are removed when the last clone is dropped.
#[derive(Clone)]
pub struct StatusLine(ProgressBar);

impl StatusLine {
    /// Adds the line.
    pub fn on(screen: &DemoScreen) -> Self {
        // The template is a constant; an invalid one would only use the default style.
        let style = ProgressStyle::with_template("{wide_msg}\n{prefix}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let line = ProgressBar::no_length().with_style(style);
        let line = screen.add(line.with_finish(ProgressFinish::AndClear));
        line.set_prefix(KEYS);
        StatusLine(line)
    }

    /// Shows the present state.
    pub fn show(&self, text: String) {
        self.0.set_message(text);
    }

    /// Removes the line.
    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}

/// The text of the line. The chosen node stands in brackets.
pub fn text(
    leader: Option<SeenLeader>,
    nodes: &[DemoNodeState],
    chosen: u64,
    changes: &ChangeFigures,
) -> String {
    let led = match leader {
        Some(SeenLeader { node, epoch }) => format!("node {node} leads, epoch {epoch}"),
        None => "no node leads".to_owned(),
    };
    let nodes: Vec<String> = nodes.iter().map(|node| node_text(node, chosen)).collect();
    let ChangeFigures { acknowledged, failed, longest_gap, .. } = changes;
    format!(
        "{led} | {} | {acknowledged} changes, gap {}, {failed} failed",
        nodes.join("  "),
        in_words(*longest_gap)
    )
}

fn node_text(node: &DemoNodeState, chosen: u64) -> String {
    let DemoNodeState { number, is_running, is_paused, is_cut } = *node;
    let process = match (is_running, is_paused) {
        (false, _) => "killed",
        (true, true) => "paused",
        (true, false) if is_cut => "cut",
        (true, false) => "live",
    };
    let cut = if is_cut && process != "cut" { ", cut" } else { "" };
    if number == chosen {
        format!("[{number}] {process}{cut}")
    } else {
        format!("{number} {process}{cut}")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reelyard_core::event::Epoch;

    use super::*;

    #[test]
    fn the_line_shows_leader_nodes_and_changes() {
        let node = |number, is_running, is_paused, is_cut| DemoNodeState {
            number,
            is_running,
            is_paused,
            is_cut,
        };
        let nodes =
            [node(1, true, false, false), node(2, true, true, true), node(3, true, false, true)];
        let changes = ChangeFigures {
            acknowledged: 412,
            failed: 0,
            last_failure: None,
            longest_gap: Duration::from_millis(1203),
        };
        let leader = SeenLeader { node: 1, epoch: Epoch(4) };
        assert_eq!(
            text(Some(leader), &nodes, 2, &changes),
            "node 1 leads, epoch 4 | 1 live  [2] paused, cut  3 cut | 412 changes, gap 1 s 203 ms, 0 failed"
        );
        let down = [node(1, false, false, false)];
        let shown = text(None, &down, 1, &changes);
        assert!(shown.starts_with("no node leads | [1] killed |"), "{shown}");
    }
}
