//! The panels of `reelyard top`.

/// A panel with a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopPanel {
    /// The figures, and the copies under way.
    #[default]
    Overview,
    /// Running tasks.
    Copies,
    /// The same rows as `reelyard hosts`.
    Hosts,
    /// Hot files.
    Hot,
    /// Links that end next.
    Links,
    /// Box pools.
    Boxes,
}

impl TopPanel {
    /// Every panel, in the order of the keys 1 to 6.
    pub const ALL: [TopPanel; 6] = [
        TopPanel::Overview,
        TopPanel::Copies,
        TopPanel::Hosts,
        TopPanel::Hot,
        TopPanel::Links,
        TopPanel::Boxes,
    ];

    /// The name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            TopPanel::Overview => "Overview",
            TopPanel::Copies => "Copies",
            TopPanel::Hosts => "Hosts",
            TopPanel::Hot => "Hot",
            TopPanel::Links => "Links",
            TopPanel::Boxes => "Boxes",
        }
    }

    /// The panel `steps` further on; after the last one comes the first.
    pub fn further(self, steps: usize) -> Self {
        let at = TopPanel::ALL.iter().position(|panel| *panel == self).unwrap_or_default();
        TopPanel::ALL[(at + steps) % TopPanel::ALL.len()]
    }
}
