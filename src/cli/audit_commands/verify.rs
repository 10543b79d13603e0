//! `reelyard audit verify`: reads the files of a node on its host.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use reelyard_access::audit::{self, AuditPosition, AuditReport};

use crate::cli::output::{Printer, plain};
use crate::cli::support::failure::{CommandFailure, NOT_WHOLE};
use crate::cli::support::layers::LayerArgs;
use crate::config::load_node;
use crate::node::audit_dir;

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// data_dir of the node [default: from its configuration].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// A row that an earlier verification printed: the log must still contain it.
    #[arg(long, value_name = "ROW:HASH")]
    contains: Option<AuditPosition>,
    #[command(flatten)]
    layers: LayerArgs,
}

/// Verifies the audit of a node, which may be running.
pub fn run(args: VerifyArgs, out: &mut Printer<'_>) -> Result<ExitCode, CommandFailure> {
    out.refuse_csv()?;
    let data_dir = match args.data_dir {
        Some(dir) => dir,
        None => load_node(&args.layers.layers())?.data_dir,
    };
    let dir = audit_dir(&data_dir);
    let report = audit::verify(&dir, args.contains).map_err(|error| {
        let dir = dir.display();
        CommandFailure::Failed(anyhow::anyhow!(
            "the audit in {dir} cannot be read: {error}. Name the node's directory by --data-dir DIR, or its \
             configuration by --config FILE"
        ))
    })?;
    if out.is_json() {
        out.json(&report)?;
    } else {
        print(&report, out)?;
    }
    let code = if report.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(NOT_WHOLE) };
    Ok(code)
}

fn print(report: &AuditReport, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    for finding in &report.findings {
        writeln!(out, "{}: {}", plain(&finding.file), plain(&finding.what))?;
    }
    for notice in &report.notices {
        let (seq, at) = (notice.seq, out.exact(notice.at));
        writeln!(out, "row {seq} of {at}: {}", plain(&notice.what))?;
    }
    let AuditReport { rows, lost, .. } = report;
    let condition = if report.is_whole() { "whole" } else { "not whole" };
    match (report.first, report.since, report.last, report.until, &report.hash) {
        (Some(first), Some(since), Some(last), Some(until), Some(hash)) => {
            let (since, until) = (out.exact(since), out.exact(until));
            writeln!(
                out,
                "the audit is {condition}: {rows} rows, from row {first} of {since} to row {last} of {until}"
            )?;
            writeln!(out, "last row: {last}:{hash}")?;
        }
        _ => writeln!(out, "the audit is {condition}: it has no rows")?,
    }
    if *lost > 0 {
        writeln!(out, "{lost} more rows could not be written")?;
    }
    Ok(())
}
