//! One measured figure, what stands beside it, and the table of all.

use serde::{Deserialize, Serialize};

/// What is wanted of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum FigureTarget {
    /// At most so much, in the figure's unit.
    AtMost(f64),
    /// At least so much, in the figure's unit.
    AtLeast(f64),
    /// At least so many times what stands beside it.
    TimesPeer(f64),
    /// At most so many times what stands beside it.
    AtMostTimesPeer(f64),
    /// Nothing: it is there to be compared with.
    Nothing,
}

/// One figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchFigure {
    /// What was done.
    pub what: String,
    /// How much of `unit`.
    pub value: f64,
    /// Of what.
    pub unit: String,
    /// The programs beside it, what they did, and their figures in the same unit. It is compared with
    /// the first.
    pub peers: Vec<(String, f64)>,
    /// What is wanted.
    pub wanted: FigureTarget,
}

impl BenchFigure {
    /// A figure that nothing stands beside.
    pub fn new(what: impl Into<String>, value: f64, unit: &str, wanted: FigureTarget) -> Self {
        BenchFigure { what: what.into(), value, unit: unit.to_owned(), peers: Vec::new(), wanted }
    }

    /// The same with something beside it.
    pub fn beside(mut self, peer: impl Into<String>, value: f64) -> Self {
        self.peers.push((peer.into(), value));
        self
    }

    /// How many times the first peer's figure it is.
    fn ratio(&self) -> Option<f64> {
        self.peers.first().map(|(_, peer)| self.value / peer)
    }

    /// Whether it is as wanted. A ratio that is wanted and was not measured is not met.
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
        let peer =
            |(peer, value): &(String, f64)| format!("{peer}: {} {}", shown(*value), self.unit);
        let peers = self.peers.iter().map(peer).collect::<Vec<_>>().join("; ");
        let ratio = self.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let wanted = match self.wanted {
            FigureTarget::AtMost(bound) => format!("≤ {} {}", shown(bound), self.unit),
            FigureTarget::AtLeast(bound) => format!("≥ {} {}", shown(bound), self.unit),
            FigureTarget::TimesPeer(times) => format!("ratio ≥ {times}"),
            FigureTarget::AtMostTimesPeer(times) => format!("ratio ≤ {times}"),
            FigureTarget::Nothing => String::new(),
        };
        let (what, value, unit) = (&self.what, shown(self.value), &self.unit);
        format!("| {what} | {value} {unit} | {peers} | {ratio} | {wanted} |")
    }
}

/// The table, as Markdown has it.
pub fn table(figures: &[BenchFigure]) -> String {
    let head = "| what | Reelyard | beside it | ratio | wanted |\n|---|---|---|---|---|";
    let rows = figures.iter().map(BenchFigure::row);
    std::iter::once(head.to_owned()).chain(rows).collect::<Vec<_>>().join("\n")
}

/// Three digits that matter, thousands apart.
fn shown(value: f64) -> String {
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
