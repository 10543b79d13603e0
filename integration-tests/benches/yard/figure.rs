//! One measured figure, its comparison, and the table of all figures.

use serde::{Deserialize, Serialize};

/// The least or the largest value that passes the bench.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum FigureTarget {
    /// At most this value, in the figure's unit.
    AtMost(f64),
    /// At least this value, in the figure's unit.
    AtLeast(f64),
    /// At least this multiple of the first peer's figure.
    TimesPeer(f64),
    /// At most this multiple of the first peer's figure.
    AtMostTimesPeer(f64),
    /// No target: the figure is only for comparison.
    Nothing,
}

/// One measured value with its target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchFigure {
    /// A description of the measured operation.
    pub what: String,
    /// The value in `unit`.
    pub value: f64,
    /// The unit of `value`, such as "ms".
    pub unit: String,
    /// The programs for comparison, with their operations and figures in the same unit. The first one counts.
    pub peers: Vec<(String, f64)>,
    /// The target of the value.
    pub wanted: FigureTarget,
}

impl BenchFigure {
    /// A figure without a peer.
    pub fn new(what: impl Into<String>, value: f64, unit: &str, wanted: FigureTarget) -> Self {
        BenchFigure { what: what.into(), value, unit: unit.to_owned(), peers: Vec::new(), wanted }
    }

    /// Adds the figure of a peer.
    pub fn beside(mut self, peer: impl Into<String>, value: f64) -> Self {
        self.peers.push((peer.into(), value));
        self
    }

    /// The ratio to the first peer's figure.
    fn ratio(&self) -> Option<f64> {
        self.peers.first().map(|(_, peer)| self.value / peer)
    }

    /// Whether the target is met. A target ratio without a measured peer is not met.
    pub fn is_met(&self) -> bool {
        match self.wanted {
            FigureTarget::AtMost(bound) => self.value <= bound,
            FigureTarget::AtLeast(bound) => self.value >= bound,
            FigureTarget::TimesPeer(times) => self.ratio().is_some_and(|ratio| ratio >= times),
            FigureTarget::AtMostTimesPeer(times) => {
                self.ratio().is_some_and(|ratio| ratio <= times)
            }
            FigureTarget::Nothing => true,
        }
    }

    fn row(&self) -> String {
        let peer = |(peer, value): &(String, f64)| {
            format!("{peer}: {} {}", display_text(*value), self.unit)
        };
        let peers = self.peers.iter().map(peer).collect::<Vec<_>>().join("; ");
        let ratio = self.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let wanted = match self.wanted {
            FigureTarget::AtMost(bound) => format!("≤ {} {}", display_text(bound), self.unit),
            FigureTarget::AtLeast(bound) => format!("≥ {} {}", display_text(bound), self.unit),
            FigureTarget::TimesPeer(times) => format!("ratio ≥ {times}"),
            FigureTarget::AtMostTimesPeer(times) => format!("ratio ≤ {times}"),
            FigureTarget::Nothing => String::new(),
        };
        let (what, value, unit) = (&self.what, display_text(self.value), &self.unit);
        format!("| {what} | {value} {unit} | {peers} | {ratio} | {wanted} |")
    }
}

/// The table in Markdown.
pub fn table(figures: &[BenchFigure]) -> String {
    let head = "| what | Reelyard | beside it | ratio | wanted |\n|---|---|---|---|---|";
    let rows = figures.iter().map(BenchFigure::row);
    std::iter::once(head.to_owned()).chain(rows).collect::<Vec<_>>().join("\n")
}

/// Three significant digits, with separators of thousands.
fn display_text(value: f64) -> String {
    if value < 10.0 {
        return format!("{value:.2}");
    }
    if value < 100.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut parts: Vec<&str> =
        digits.as_bytes().rchunks(3).filter_map(|part| str::from_utf8(part).ok()).collect();
    parts.reverse();
    parts.join(",")
}
