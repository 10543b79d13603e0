//! `reelyard status`

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use reelyard_api::{OverviewView, TroubleSeverity};
use reelyard_console::address::ROOT;

use super::{figures, verdict};
use crate::cli::client::{NodeArgs, NodeClient, ViewArgs};
use crate::cli::output::{PrintStyle, ShownLine};
use crate::cli::support::failure::{BROKEN, CommandFailure};

pub const AFTER_HELP: &str = "\
Exit codes:
  0  nothing is broken; warnings may be listed
  1  the command failed
  3  the node cannot be reached
  4  the node refused the request
  7  something is broken: viewers or files are affected now";

#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    view: ViewArgs,
}

/// Prints the yard on one page. The exit code says whether something is broken.
pub fn run(args: StatusArgs, out: &mut dyn Write) -> Result<ExitCode, CommandFailure> {
    let out = &mut args.node.output.printer(out);
    out.refuse_csv()?;
    let client = NodeClient::new(&args.node)?;
    let mut is_bad = false;
    let shown = args.view.show(&args.node, ROOT, out, |out| {
        let view: OverviewView = client.get(&["overview"], &[])?;
        is_bad = view.troubles.iter().any(|trouble| trouble.severity == TroubleSeverity::Bad);
        if out.is_json() {
            return out.json(&view);
        }
        for line in lines(&view, out.style()) {
            let line = line.printed(out.style());
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    });
    match shown {
        // The verdict holds although nobody reads on.
        Err(failure) if failure.is_closed_pipe() => {}
        shown => shown?,
    }
    Ok(if is_bad { ExitCode::from(BROKEN) } else { ExitCode::SUCCESS })
}

/// The page: the verdict, and the figures below it.
fn lines(view: &OverviewView, style: &PrintStyle) -> Vec<ShownLine> {
    let mut lines = vec![verdict::sentence(view, style)];
    lines.extend(verdict::troubles(view, style));
    lines.extend(verdict::remarks(view, style));
    lines.push(ShownLine::default());
    lines.extend(figures::lines(view, style));
    lines
}
