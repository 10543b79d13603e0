//! Options of commands that only show something: watch it, or name its page in the console.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::Args;
use reelyard_console::address::QueryPairs;
use reelyard_core::clock::{Clock, Millis};
use rustix::termios::tcgetwinsize;

use super::node_args::NodeArgs;
use crate::cli::output::{Printer, cut_end, cut_shown, local_time, plain};
use crate::cli::support::failure::CommandFailure;

/// Rows of a terminal that does not say how high it is.
const USUAL_HEIGHT: usize = 24;

/// Columns of a terminal that does not say how wide it is.
const USUAL_WIDTH: usize = 80;

/// Shortest pause between two outputs.
const LEAST_PAUSE: Duration = Duration::from_millis(100);

/// Shows something once, again and again, or in a browser.
#[derive(Clone, Debug, Default, Args)]
pub struct ViewArgs {
    /// Print again and again until you stop the command, every 2 seconds or in this interval: --watch=10s.
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2s",
        value_parser = humantime::parse_duration,
        conflicts_with = "web"
    )]
    watch: Option<Duration>,
    /// Print the address of the console's page that shows the same.
    #[arg(long)]
    web: bool,
}

impl ViewArgs {
    /// Prints once, or again and again. `page` is the address of the page in the console, from its root on.
    ///
    /// # Errors
    /// The first output failed. Later failures of the node are shown, and the output goes on.
    pub fn show(
        &self,
        node: &NodeArgs,
        page: &str,
        out: &mut Printer<'_>,
        mut print: impl FnMut(&mut Printer<'_>) -> Result<(), CommandFailure>,
    ) -> Result<(), CommandFailure> {
        if self.web {
            return Ok(writeln!(out, "{}", web_address(node, page)?)?);
        }
        let Some(pause) = self.watch else { return print(out) };
        let (mut shown, mut shown_at) = (Vec::new(), None);
        let mut is_first = true;
        loop {
            let style = out.style().now();
            let mut text = Vec::new();
            let mut trouble = None;
            match print(&mut Printer::new(&mut text, style.clone())) {
                Ok(()) => (shown, shown_at) = (text, Some(style.instant())),
                Err(failure) if shown_at.is_some() && is_passing(&failure) => {
                    trouble = Some(failure);
                }
                Err(failure) => return Err(failure),
            }
            let stale = trouble.as_ref().map(|failure| stale_line(out, shown_at, failure));
            // Only now, so that an error of the first output stands below what was on the screen before.
            if std::mem::take(&mut is_first) && io::stdout().is_terminal() {
                write!(out, "\u{1b}[2J")?;
            }
            print_frame(out, &String::from_utf8_lossy(&shown), stale)?;
            std::thread::sleep(pause.max(LEAST_PAUSE));
        }
    }
}

/// The address of a page of the console.
pub fn web_address(node: &NodeArgs, page: &str) -> Result<String, CommandFailure> {
    let url = node.url()?;
    Ok(format!("{}{page}", url.as_str().trim_end_matches('/')))
}

/// The filters that are set, as the query of a page.
pub fn web_query(filters: &[(&str, Option<String>)]) -> String {
    let mut pairs = QueryPairs::default();
    for (name, value) in filters {
        if let Some(value) = value {
            pairs.add(name, value.clone());
        }
    }
    pairs.print()
}

/// Whether the node may answer again by itself.
fn is_passing(failure: &CommandFailure) -> bool {
    matches!(failure, CommandFailure::Unreachable(_) | CommandFailure::Node { .. })
}

fn stale_line(out: &Printer<'_>, shown_at: Option<Millis>, failure: &CommandFailure) -> String {
    let viewer = out.style().now().viewer;
    let age = shown_at.map(|at| local_time::age(&viewer, at)).unwrap_or_default();
    format!("Stale, {age}: {}", plain(&failure.to_string()))
}

/// Prints one output. On a terminal it replaces the one before, and is cut at the height of the terminal.
fn print_frame(out: &mut Printer<'_>, text: &str, stale: Option<String>) -> io::Result<()> {
    let now = Clock::system().now();
    if !io::stdout().is_terminal() {
        match stale {
            Some(stale) => writeln!(io::stderr(), "reelyard: {stale}")?,
            None => out.write_all(text.as_bytes())?,
        }
        return out.flush();
    }
    let size = tcgetwinsize(io::stdout()).ok();
    let rows = size.map_or(0, |size| usize::from(size.ws_row));
    let rows = if rows == 0 { USUAL_HEIGHT } else { rows };
    let head = stale.unwrap_or_else(|| local_time::exact(out.viewer(), now));
    // Read each time: the window may have another size by now.
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    let columns = if columns == 0 { out.style().width.unwrap_or(USUAL_WIDTH) } else { columns };
    let head = cut_end(&head, columns);
    let lines: Vec<&str> = text.lines().collect();
    let room = rows.saturating_sub(2);
    let mut frame = format!("\u{1b}[H{}\u{1b}[K\n", out.strong(&head));
    for line in lines.iter().take(room) {
        frame.push_str(&format!("{}\u{1b}[K\n", cut_shown(line, columns)));
    }
    if let more @ 1.. = lines.len().saturating_sub(room) {
        // The last line of the screen, so without an end of line.
        frame.push_str(&format!("{more} more lines\u{1b}[K"));
    }
    frame.push_str("\u{1b}[J");
    out.write_all(frame.as_bytes())?;
    out.flush()
}
