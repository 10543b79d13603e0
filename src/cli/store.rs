//! `reelyard store`

use reelyard_core::counted::counted;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bytesize::ByteSize;
use clap::{Args, Subcommand};
use reelyard_journal as journal;
use reelyard_journal::{
    BackupError, BackupSummary, Condition, RestoredMembers, StoreReport, UpkeepError,
};

use crate::cli::output::cell::{count, text};
use crate::cli::output::{
    DetailSheet, ListCell, ListColumn, ListTable, OutputArgs, Printer, plain,
};
use crate::cli::support::failure::{CommandFailure, NOT_WHOLE};
use crate::cli::support::layers::LayerArgs;
use crate::config::load_node;
use crate::node::{AdminTokenFiles, journal_dir};

#[derive(Debug, Args)]
pub struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
    /// data_dir of the node [default: from its configuration].
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    layers: LayerArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Check the store of a stopped node, and report its content and damage.
    Check {
        /// Accept a store whose end is missing; the missing part is lost.
        #[arg(long)]
        accept_loss: bool,
        #[command(flatten)]
        scratch: ScratchArgs,
    },
    /// Write the store of a stopped node to a backup file.
    Backup {
        /// Backup file, or a directory for it.
        target: PathBuf,
        #[command(flatten)]
        scratch: ScratchArgs,
    },
    /// Let a stopped node skip an entry of its log that it cannot apply: run it on every node.
    Skip {
        /// Index of the entry, as the log of the node names it.
        index: u64,
        /// Reason, which `store check` shows.
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        scratch: ScratchArgs,
    },
    /// Create the store of a node from a backup; the node must not have one.
    Restore {
        /// Backup file.
        file: PathBuf,
        /// Leave the other members out: the node forms a new cluster. Changes after the backup are lost.
        #[arg(long)]
        alone: bool,
    },
}

#[derive(Debug, Args)]
struct ScratchArgs {
    /// Directory for the temporary copy that is checked [default: beside the store].
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

/// Runs `reelyard store`.
pub fn run(args: StoreArgs, out: &mut dyn Write) -> Result<ExitCode, CommandFailure> {
    let out = &mut args.output.printer(out);
    out.refuse_csv()?;
    let data_dir = match args.data_dir {
        Some(dir) => dir,
        None => load_node(&args.layers.layers())?.data_dir,
    };
    let dir = journal_dir(&data_dir);
    if !matches!(args.command, StoreCommand::Restore { .. }) && !dir.exists() {
        return Err(CommandFailure::Failed(anyhow::anyhow!(
            "there is no store in {}: name the node's directory by --data-dir DIR, or its \
             configuration by --config FILE",
            dir.display()
        )));
    }
    match args.command {
        StoreCommand::Check { accept_loss, scratch } => {
            check(&dir, accept_loss, scratch.scratch.as_deref(), out)
        }
        StoreCommand::Backup { target, scratch } => {
            let written = journal::back_up(&dir, &target, scratch.scratch.as_deref())?;
            print_summary(&written, "was written", out)
        }
        StoreCommand::Skip { index, reason, scratch } => {
            let skipped = journal::skip(&dir, scratch.scratch.as_deref(), (index, &reason));
            let skipped = skipped.map_err(BackupError::from)?;
            if out.is_json() {
                out.json(&skipped)?;
            } else {
                writeln!(
                    out,
                    "entry {index} is skipped. Skip it on every node, and start them again"
                )?;
            }
            Ok(ExitCode::SUCCESS)
        }
        StoreCommand::Restore { file, alone } => {
            let kept = if alone { RestoredMembers::Alone } else { RestoredMembers::Kept };
            let read = journal::restore(&file, &dir, kept)?;
            // The token of the administrator may be newer than the backup, or missing on this host.
            AdminTokenFiles::new(&data_dir).request_recovery()?;
            print_summary(&read, &format!("was restored to {}", dir.display()), out)
        }
    }
}

fn check(
    dir: &Path,
    accept_loss: bool,
    scratch: Option<&Path>,
    out: &mut Printer<'_>,
) -> Result<ExitCode, CommandFailure> {
    let report =
        if accept_loss { journal::accept_loss(dir, scratch) } else { journal::check(dir, scratch) };
    let report = report.map_err(BackupError::from)?;
    if out.is_json() {
        out.json(&report)?;
    } else {
        print(&report, out)?;
    }
    if report.condition == Condition::Whole {
        return Ok(ExitCode::SUCCESS);
    }
    if accept_loss {
        if !out.is_json() {
            writeln!(out, "\nthe loss is accepted: the node starts with the rest")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::from(NOT_WHOLE))
}

fn print(report: &StoreReport, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let condition = match report.condition {
        Condition::Whole => "whole",
        Condition::Lost => "incomplete: its end is missing",
        Condition::Damaged => "damaged",
    };
    writeln!(out, "the store in {} is {condition}", plain(&report.dir.display().to_string()))?;
    let mut sheet = DetailSheet::default();
    let mut add = |what: &str, is: String| sheet.row(what, text(is));
    let maybe = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
    add("node", maybe(report.node));
    let voters: Vec<_> = report.voters.iter().map(u64::to_string).collect();
    add("voters", voters.join(", "));
    let voted_for = report.voted_for.map_or_else(String::new, |node| format!(", voted for {node}"));
    add("term", format!("{}{voted_for}", maybe(report.term)));
    add("log", log(report));
    add("flush", format!("{} of {}", report.flush, maybe(report.marked_flush)));
    if report.unfinished > 0 {
        add(
            "unfinished",
            format!("{}, never acknowledged", counted(report.unfinished, "entry", "entries")),
        );
    }
    for entry in &report.skipped {
        add("skipped", format!("entry {}: {}", entry.index, plain(&entry.reason)));
    }
    add("on disk", ByteSize::b(report.disk_bytes).to_string());
    add("reserve", ByteSize::b(report.reserve_bytes).to_string());
    match &report.snapshot {
        Some(snapshot) => {
            let bytes = ByteSize::b(snapshot.bytes);
            add(
                "snapshot",
                format!("of entry {}, {bytes} in {} chunks", snapshot.index, snapshot.chunks),
            );
        }
        None => add("snapshot", "-".to_owned()),
    }
    sheet.print(out)?;
    print_pieces(report, out)?;
    for fault in &report.faults {
        writeln!(out, "\n{}\n  {}", plain(&fault.what), plain(&fault.advice))?;
    }
    Ok(())
}

fn log(report: &StoreReport) -> String {
    let bytes = ByteSize::b(report.log_bytes);
    match (report.first_log, report.last_log) {
        (Some(first), Some(last)) => {
            format!("entries {first} to {last}, {bytes} in {} segments", report.log_segments)
        }
        (None, Some(last)) => format!("everything up to entry {last} is in the snapshot"),
        (_, None) => "empty".to_owned(),
    }
}

fn print_pieces(report: &StoreReport, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let Some(snapshot) = report.snapshot.as_ref().filter(|snapshot| !snapshot.pieces.is_empty())
    else {
        return Ok(());
    };
    writeln!(out)?;
    let mut table = ListTable::new([
        ListColumn::left("PIECE"),
        ListColumn::right("ROWS"),
        ListColumn::right("SIZE"),
    ]);
    for piece in &snapshot.pieces {
        table.row([text(&piece.piece), count(piece.rows), ListCell::Bytes(piece.bytes)]);
    }
    Ok(out.table(&table)?)
}

fn print_summary(
    summary: &BackupSummary,
    what: &str,
    out: &mut Printer<'_>,
) -> Result<ExitCode, CommandFailure> {
    if out.is_json() {
        out.json(summary)?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = plain(&summary.file.display().to_string());
    let node = summary.node.map_or_else(String::new, |node| format!(" of node {node}"));
    let up_to =
        summary.last_log.map_or_else(String::new, |last| format!(" up to log entry {last}"));
    writeln!(out, "{file}{node}{up_to}, {}, {what}", ByteSize::b(summary.bytes))?;
    if summary.is_alone {
        writeln!(
            out,
            "\nThe node is the only member of a new cluster. Changes that the former cluster acknowledged later may be \
             missing. Never start another former member again: empty its data directory, and let it join"
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

impl From<BackupError> for CommandFailure {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Store(UpkeepError::InUse(_)) => {
                CommandFailure::StoreInUse(error.to_string())
            }
            BackupError::NotWhole(_) => CommandFailure::StoreNotWhole(error.to_string()),
            error => CommandFailure::Failed(anyhow::Error::new(error)),
        }
    }
}
