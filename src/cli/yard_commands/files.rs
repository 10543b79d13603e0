//! `reelyard files`

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{Args, Subcommand};
use comfy_table::Cell;
use reelyard_api::{
    CopyBegun, FileState, FileView, InputState, InputView, Page, PinSet, PinView, StatusView,
    WantedCopy,
};
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileName, NameText};
use serde::Serialize;

use super::explain;
use super::file_name::file_name;
use crate::cli::client::{NodeArgs, NodeClient, PageArgs, filters};
use crate::cli::support::enum_word;
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::output::{self, maybe, name, number, plain, size};

#[derive(Debug, Args)]
pub struct FilesArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(subcommand)]
    command: Option<FilesCommand>,
    /// Only files whose names begin with this text.
    #[arg(long)]
    prefix: Option<String>,
    /// Only files in this state.
    #[arg(long, value_parser = enum_word::parser::<FileState>())]
    state: Option<FileState>,
    /// Only files on this host (ip:port).
    #[arg(long)]
    host: Option<HostAddr>,
    /// Only hot files
    #[arg(long)]
    hot: bool,
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Debug, Subcommand)]
enum FilesCommand {
    /// Show one file: its rank, its copies, and why it is copied or not.
    Show {
        /// Name of the file.
        file: OsString,
        /// The name is percent-encoded, as lists show names that are not UTF-8.
        #[arg(long)]
        percent_encoded: bool,
    },
    /// Copy a file to a destination now, before better files.
    Copy {
        /// Name of the file.
        file: OsString,
        /// Destination (ip:port).
        #[arg(long)]
        to: HostAddr,
        /// Source (ip:port) [default: any usable source].
        #[arg(long)]
        from: Option<HostAddr>,
        /// The name is percent-encoded, as lists show names that are not UTF-8
        #[arg(long)]
        percent_encoded: bool,
    },
    /// Protect all copies of these files from removal.
    Pin {
        #[command(flatten)]
        names: NamesArgs,
        /// Also pin names that are in no list.
        #[arg(long)]
        force: bool,
    },
    /// End the protection of these files.
    Unpin(NamesArgs),
    /// List the pinned files.
    Pins {
        #[command(flatten)]
        page: PageArgs,
    },
}

#[derive(Debug, Args)]
struct NamesArgs {
    /// Names of the files.
    #[arg(required = true)]
    files: Vec<OsString>,
    /// The names are percent-encoded, as lists show names that are not UTF-8
    #[arg(long)]
    percent_encoded: bool,
}

impl NamesArgs {
    fn names(&self) -> Result<Vec<FileName>, CommandFailure> {
        let read = |file: &OsString| {
            file_name(file, self.percent_encoded)
                .map_err(|bad| CommandFailure::Usage(format!("{}: {bad}", file.to_string_lossy())))
        };
        self.files.iter().map(read).collect()
    }
}

/// The output of `--json`.
#[derive(Serialize)]
struct FilesOutput {
    #[serde(flatten)]
    files: Page<FileView>,
    inputs: Vec<InputView>,
}

/// Prints the files, and problems of the inputs.
pub fn run(args: FilesArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let client = NodeClient::new(&args.node)?;
    let json = args.node.json;
    match &args.command {
        None => list(&client, &args, out),
        Some(FilesCommand::Show { file, percent_encoded }) => {
            explain::run(&client, file, *percent_encoded, json, out)
        }
        Some(FilesCommand::Copy { file, to, from, percent_encoded }) => {
            let file = file_name(file, *percent_encoded).map_err(|bad| {
                CommandFailure::Usage(format!("{}: {bad}", file.to_string_lossy()))
            })?;
            copy(&client, &file, *to, *from, json, out)
        }
        Some(FilesCommand::Pin { names, force }) => {
            let pin = |file: &FileName| client.put_file(file, "pin", *force);
            set_pins(names, pin, json, out)
        }
        Some(FilesCommand::Unpin(names)) => {
            set_pins(names, |file| client.delete_file(file, "pin"), json, out)
        }
        Some(FilesCommand::Pins { page }) => list_pins(&client, page, json, out),
    }
}

fn copy(
    client: &NodeClient,
    file: &FileName,
    destination: HostAddr,
    source: Option<HostAddr>,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let NameText { name: text, percent_encoded } = file.to_text();
    let wanted = WantedCopy { name: text, percent_encoded, destination, source };
    let begun: CopyBegun = client.post_body(&["tasks"], &wanted)?;
    if json {
        return Ok(output::json(&begun, out)?);
    }
    let task = begun.task;
    writeln!(out, "{} is being copied to {destination}: task {task}", name(&file.to_text()))?;
    Ok(())
}

fn set_pins(
    names: &NamesArgs,
    set: impl Fn(&FileName) -> Result<PinSet, CommandFailure>,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    for file in names.names()? {
        let done = set(&file)?;
        if json {
            output::json(&done, out)?;
            continue;
        }
        let state = if done.pinned { "pinned: no copy of it is removed" } else { "not pinned" };
        let already = if done.changed { "" } else { ", no change" };
        writeln!(out, "{}: {state}{already}", name(&file.to_text()))?;
    }
    Ok(())
}

fn list_pins(
    client: &NodeClient,
    page: &PageArgs,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let pins = client.list::<PinView>(&["pins"], &[], page)?;
    if json {
        return Ok(output::json(&pins, out)?);
    }
    let mut table = output::table(&["FILE", "PINNED BY", "SINCE"]);
    for pin in &pins.items {
        let by = Cell::new(plain(&pin.asked_by));
        table.add_row([Cell::new(name(&pin.name)), by, Cell::new(pin.since)]);
    }
    output::print(&table, out)?;
    Ok(output::more(&pins, out)?)
}

fn list(client: &NodeClient, args: &FilesArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let filter = [
        ("prefix", args.prefix.clone()),
        ("state", args.state.map(enum_word::of)),
        ("host", args.host.map(|host| host.to_string())),
        ("hot", args.hot.then(|| "true".to_owned())),
    ];
    let files = client.list::<FileView>(&["files"], &filters(&filter), &args.page)?;
    let StatusView { inputs, .. } = client.get(&["status"], &[])?;
    if args.node.json {
        return Ok(output::json(&FilesOutput { files, inputs }, out)?);
    }
    print_files(&files, out)?;
    inputs.iter().try_for_each(|input| print_input(input, out))?;
    Ok(())
}

/// Index of the optional columns about demand.
const DEMAND_AT: usize = 1;

fn print_files(files: &Page<FileView>, out: &mut dyn Write) -> io::Result<()> {
    let is_measured = files.items.iter().any(|file| file.requests_a_day.is_some());
    let mut header = vec!["RANK", "HITS", "SIZE", "STATE", "FILE", "PLACED ON", "WHY"];
    if is_measured {
        header.splice(DEMAND_AT..DEMAND_AT, ["BY DEMAND", "A DAY"]);
    }
    let mut table = output::table(&header);
    for file in &files.items {
        let hosts: Vec<_> = file.placed_on.iter().map(|host| host.to_string()).collect();
        let why = file.back_off.as_ref().map(|back_off| {
            format!("in backoff until {}: {}", back_off.until, plain(&back_off.reason))
        });
        let why = why.or_else(|| file.task.map(|task| format!("task {task}")));
        let mut row = vec![
            maybe(file.rank, number),
            number(file.hits),
            maybe(file.size, size),
            Cell::new(state(file.state)),
            Cell::new(name(&file.name)),
            maybe(Some(hosts.join(" ")).filter(|hosts| !hosts.is_empty()), Cell::new),
            maybe(why, Cell::new),
        ];
        if is_measured {
            let a_day = maybe(file.requests_a_day, |a_day| number(format!("{a_day:.2}")));
            row.splice(DEMAND_AT..DEMAND_AT, [maybe(file.demand_rank, number), a_day]);
        }
        table.add_row(row);
    }
    output::print(&table, out)?;
    output::more(files, out)
}

/// Prints an input with a problem, and nothing for a good one.
fn print_input(input: &InputView, out: &mut dyn Write) -> io::Result<()> {
    let fault = match input.state {
        InputState::Missing => Some("is missing"),
        InputState::Unreadable => Some("cannot be read"),
        InputState::Changing => Some("is being written"),
        InputState::Good | InputState::Unset | InputState::Pending => None,
    };
    let what = format!("{} {}", input.setting, plain(&input.path));
    if let Some(fault) = fault {
        let detail = input.detail.as_deref().map(|detail| format!(": {}", plain(detail)));
        let kept = match input.read {
            Some(read) => format!("; the content read at {read} stays in use"),
            None => "; it was never read".to_owned(),
        };
        writeln!(out, "{what} {fault}{}{kept}", detail.unwrap_or_default())?;
    }
    if input.bad_rows > 0 {
        writeln!(out, "{what} has {} bad rows and {} good rows:", input.bad_rows, input.rows)?;
        for row in &input.first_bad_rows {
            writeln!(out, "  line {}: {}: {}", row.line, plain(&row.why), plain(&row.text))?;
        }
    }
    Ok(())
}

fn state(state: FileState) -> &'static str {
    match state {
        FileState::Placed => "placed",
        FileState::Copying => "copying",
        FileState::Waiting => "waiting",
        FileState::BackingOff => "backing off",
        FileState::Ignored => "ignored",
        FileState::NoMaster => "no master",
        FileState::MasterAbsent => "master absent",
        FileState::Listed => "listed elsewhere",
        FileState::TooBig => "too big",
        FileState::NoRoom => "no room",
        FileState::NameNotCarried => "name not supported",
        FileState::Ungraded => "ungraded",
    }
}
