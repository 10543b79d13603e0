//! The progress bar of a simulation, on a terminal only.

use indicatif::{ProgressBar, ProgressStyle};
use reelyard_simulate::Progress;

/// A bar on stderr. It is hidden if stderr is not a terminal.
pub struct SimulationBar(ProgressBar);

impl SimulationBar {
    /// A bar for the simulation of `what`.
    pub fn new(what: String) -> Self {
        let template = "{prefix:>9} [{bar:30}] day {pos} of {len}, {eta} left";
        // The template is a constant; an invalid one would only use the default style.
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        SimulationBar(ProgressBar::new(0).with_style(style).with_prefix(what))
    }

    /// Shows the simulated days.
    pub fn show(&self, progress: Progress) {
        self.0.set_length(progress.of.div_ceil(24));
        self.0.set_position(progress.hours / 24);
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}
