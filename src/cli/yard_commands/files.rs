//! `reelyard files`

use std::ffi::OsString;
use std::io::Write;

use clap::{Args, Subcommand};
use reelyard_api::{
    CopyBegun, FileState, FileView, InputState, InputView, Page, PinSet, PinView, StatusView,
    WantedCopy,
};
use reelyard_console::pages::files::FilesPageQuery;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileName, NameText};
use serde::Serialize;

use super::explain;
use super::file_name::file_name;
use crate::cli::client::{NodeArgs, NodeClient, PageArgs, ViewArgs, filters, web_query};
use crate::cli::output::cell::{self, count, maybe, state, text, texts};
use crate::cli::output::{ListCell, ListColumn, ListTable, PrintStyle, Printer, name, plain};
use crate::cli::support::enum_word;
use crate::cli::support::failure::CommandFailure;

#[derive(Debug, Args)]
pub struct FilesArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    view: ViewArgs,
    #[command(subcommand)]
    command: Option<FilesCommand>,
    /// Only files whose names begin with this text.
    #[arg(long)]
    prefix: Option<String>,
    /// Only files with this text in their names.
    #[arg(long, value_name = "TEXT")]
    contains: Option<String>,
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
        #[command(flatten)]
        view: ViewArgs,
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
        #[command(flatten)]
        view: ViewArgs,
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

/// The list as JSON.
#[derive(Serialize)]
struct FilesOutput {
    #[serde(flatten)]
    files: Page<FileView>,
    inputs: Vec<InputView>,
}

impl FilesArgs {
    /// The filter as a query of the API.
    fn query(&self) -> [(&'static str, Option<String>); 5] {
        [
            ("prefix", self.prefix.clone()),
            ("contains", self.contains.clone()),
            ("state", self.state.map(enum_word::of)),
            ("host", self.host.map(|host| host.to_string())),
            ("hot", self.hot.then(|| "true".to_owned())),
        ]
    }

    /// The page of the console with the same filter.
    fn web_page(&self) -> String {
        let state = if self.hot { Some("hot".to_owned()) } else { self.state.map(enum_word::of) };
        let filters = [
            ("q", self.contains.clone().or_else(|| self.prefix.clone())),
            ("state", state),
            ("host", self.host.map(|host| host.to_string())),
        ];
        FilesPageQuery::parse(&web_query(&filters)).address()
    }
}

/// Prints the files, and problems of the inputs.
pub fn run(args: FilesArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let out = &mut args.node.output.printer(out);
    let client = NodeClient::new(&args.node)?;
    let Some(command) = &args.command else {
        return args.view.show(&args.node, &args.web_page(), out, |out| list(&client, &args, out));
    };
    if let FilesCommand::Pins { page, view } = command {
        let web = FilesPageQuery::path();
        return view.show(&args.node, web, out, |out| list_pins(&client, page, out));
    }
    out.refuse_csv()?;
    match command {
        FilesCommand::Show { file, percent_encoded, view } => {
            let web = explain::web_page(file, *percent_encoded)?;
            view.show(&args.node, &web, out, |out| {
                explain::run(&client, file, *percent_encoded, out)
            })
        }
        FilesCommand::Copy { file, to, from, percent_encoded } => {
            let file = file_name(file, *percent_encoded).map_err(|bad| {
                CommandFailure::Usage(format!("{}: {bad}", file.to_string_lossy()))
            })?;
            copy(&client, &file, *to, *from, out)
        }
        FilesCommand::Pin { names, force } => {
            let pin = |file: &FileName| client.put_file(file, "pin", *force);
            set_pins(names, pin, out)
        }
        FilesCommand::Unpin(names) => set_pins(names, |file| client.delete_file(file, "pin"), out),
        // It was listed above.
        FilesCommand::Pins { .. } => Ok(()),
    }
}

fn copy(
    client: &NodeClient,
    file: &FileName,
    destination: HostAddr,
    source: Option<HostAddr>,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let NameText { name: text, percent_encoded } = file.to_text();
    let wanted = WantedCopy { name: text, percent_encoded, destination, source };
    let begun: CopyBegun = client.post_body(&["tasks"], &wanted)?;
    if out.is_json() {
        return out.json(&begun);
    }
    let task = begun.task;
    writeln!(out, "{} is being copied to {destination}: task {task}", name(&file.to_text()))?;
    Ok(())
}

fn set_pins(
    names: &NamesArgs,
    set: impl Fn(&FileName) -> Result<PinSet, CommandFailure>,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    for file in names.names()? {
        let done = set(&file)?;
        if out.is_json() {
            out.json(&done)?;
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
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let pins = client.list::<PinView>(&["pins"], &[], page)?;
    out.list(&pins, |pins, _| {
        let columns = ["PINNED BY", "SINCE"].map(ListColumn::left);
        let mut table = ListTable::new([&[ListColumn::name("FILE")][..], &columns].concat());
        for pin in pins {
            table.row([cell::name(&pin.name), text(&pin.asked_by), ListCell::At(pin.since)]);
        }
        table
    })
}

fn list(
    client: &NodeClient,
    args: &FilesArgs,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let files = client.list::<FileView>(&["files"], &filters(&args.query()), &args.page)?;
    let StatusView { inputs, .. } = client.get(&["status"], &[])?;
    if out.is_json() {
        return out.json(&FilesOutput { files, inputs });
    }
    out.list(&files, table)?;
    inputs.iter().try_for_each(|input| print_input(input, out))
}

/// The table of files.
pub fn table(files: &[FileView], style: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::right("RANK"),
        ListColumn::right("BY DEMAND").leaves(5).if_known(),
        ListColumn::right("A DAY").leaves(6).if_known(),
        ListColumn::right("A DAY PER TIB").leaves(7).if_known(),
        ListColumn::right("HITS").leaves(3),
        ListColumn::right("SIZE").leaves(2),
        ListColumn::left("STATE"),
        ListColumn::name("FILE"),
        ListColumn::left("PLACED ON").leaves(1),
        ListColumn::right("FURTHER HOSTS").leaves(1).if_known(),
        ListColumn::reason("WHY"),
    ]);
    for file in files {
        let why = file.back_off.as_ref().map(|back_off| {
            format!("in backoff until {}: {}", style.clock(back_off.until), back_off.reason)
        });
        let why = why.or_else(|| file.task.map(|task| format!("task {task}")));
        let further_hosts = Some(file.placed_on_left_out).filter(|hosts| *hosts > 0);
        table.row([
            maybe(file.rank, count),
            maybe(file.demand_rank, count),
            maybe(file.requests_a_day, |a_day| text(format!("{a_day:.2}"))),
            maybe(file.score, |score| text(format!("{score:.0}"))),
            count(file.hits),
            maybe(file.size, ListCell::Bytes),
            state(state_word(file.state)),
            cell::name(&file.name),
            texts(&file.placed_on),
            maybe(further_hosts, count),
            maybe(why, text),
        ]);
    }
    table
}

/// Prints an input with a problem, and nothing for a good one.
fn print_input(input: &InputView, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
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
            Some(read) => format!("; the content read at {} stays in use", out.clock(read)),
            None => "; it was never read".to_owned(),
        };
        out.remark(&format!("{what} {fault}{}{kept}", detail.unwrap_or_default()))?;
    }
    if input.bad_rows > 0 {
        let (bad_rows, rows) = (input.bad_rows, input.rows);
        out.remark(&format!("{what} has {bad_rows} bad rows and {rows} good rows:"))?;
        for row in &input.first_bad_rows {
            let (why, text) = (plain(&row.why), plain(&row.text));
            out.remark(&format!("  line {}: {why}: {text}", row.line))?;
        }
    }
    Ok(())
}

fn state_word(state: FileState) -> &'static str {
    match state {
        FileState::Placed => "placed",
        FileState::OutOfReach => "out of reach",
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
