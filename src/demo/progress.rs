//! Progress of the demo: one bar for the total, and one for each running copy. Without a terminal
//! only the milestones are printed.

use std::collections::HashMap;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use reelyard_api::TaskView;
use reelyard_protocol::worker::TaskId;
use reelyard_yard::task_manager::TaskState;

/// The lines at the end of the terminal that change. Clones share it.
#[derive(Clone, Default)]
pub struct DemoScreen(MultiProgress);

impl DemoScreen {
    /// Whether it is a terminal.
    pub fn is_shown(&self) -> bool {
        !self.0.is_hidden()
    }

    /// Adds a bar below the others.
    pub fn add(&self, bar: ProgressBar) -> ProgressBar {
        self.0.add(bar)
    }

    /// Prints a line above the bars.
    pub fn print(&self, line: &str) {
        self.suspend(|| println!("{line}"));
    }

    /// Hides the bars while `print` prints.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.0.suspend(print)
    }
}

/// Progress bars on the terminal.
pub struct ProgressBars {
    screen: DemoScreen,
    whole: ProgressBar,
    copies: HashMap<TaskId, ProgressBar>,
}

impl ProgressBars {
    /// Bars for a catalogue of `bytes` bytes in total.
    pub fn new(screen: DemoScreen, bytes: u64) -> Self {
        let whole = screen.add(ProgressBar::new(bytes).with_style(style(
            "{prefix:>8} [{bar:30}] {bytes:>10}/{total_bytes:<10} {binary_bytes_per_sec}",
        )));
        whole.set_prefix("placed");
        ProgressBars { screen, whole, copies: HashMap::new() }
    }

    /// Prints a line above the bars.
    pub fn print(&self, line: &str) {
        self.screen.print(line);
    }

    /// Updates the bars from the current tasks.
    pub fn show(&mut self, tasks: &[TaskView]) {
        self.copies.retain(|id, bar| {
            let open = tasks.iter().any(|task| task.id == *id && task.state.is_open());
            if !open {
                bar.finish_and_clear();
            }
            open
        });
        let mut placed = 0;
        for task in tasks {
            match task.state {
                TaskState::Done => placed += task.size,
                TaskState::Working => {
                    let screen = &self.screen;
                    let bar = self.copies.entry(task.id).or_insert_with(|| copy_bar(screen, task));
                    bar.set_position(task.copied.unwrap_or_default());
                    placed += task.copied.unwrap_or_default();
                }
                _ => {}
            }
        }
        self.whole.set_position(placed);
    }

    /// Removes the bars.
    pub fn end(self) {
        for bar in self.copies.values() {
            bar.finish_and_clear();
        }
        self.whole.finish_and_clear();
    }
}

fn copy_bar(screen: &DemoScreen, task: &TaskView) -> ProgressBar {
    let what = "{prefix:>8} [{bar:30}] {bytes:>10}/{total_bytes:<10} {wide_msg}";
    let bar = screen.add(ProgressBar::new(task.size).with_style(style(what)));
    bar.set_prefix(if task.hits > 0 { "hot" } else { "copying" });
    bar.set_message(format!("{}  {} -> {}", task.name.name, task.source, task.destination));
    bar
}

fn style(template: &str) -> ProgressStyle {
    // The templates are constants; an invalid one would only use the default style.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
