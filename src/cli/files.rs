//! `reelyard files`

use std::io::{self, Write};

use clap::Args;
use comfy_table::Cell;
use reelyard_actors::host::HostAddr;
use reelyard_actors::wire::api::{FileState, FileView, InputState, InputView, Page, StatusView};
use serde::Serialize;

use super::client::{Client, NodeArgs, PageArgs, filters};
use super::failure::Failure;
use super::output::{self, maybe, name, number, plain, size};
use super::word;

#[derive(Debug, Args)]
pub struct FilesArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// Only files whose names begin so
    #[arg(long)]
    prefix: Option<String>,
    /// Only files that stand so: placed, copying, waiting, backing_off, no_master, ...
    #[arg(long, value_parser = word::read::<FileState>)]
    state: Option<FileState>,
    /// Only files that this host holds (ip:port)
    #[arg(long)]
    host: Option<HostAddr>,
    /// Only hot files
    #[arg(long)]
    hot: bool,
    #[command(flatten)]
    page: PageArgs,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    files: Page<FileView>,
    inputs: Vec<InputView>,
}

/// Prints the files, and what is wrong with the inputs they come from.
pub fn run(args: FilesArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let client = Client::new(&args.node)?;
    let filter = [
        ("prefix", args.prefix.clone()),
        ("state", args.state.map(word::of)),
        ("host", args.host.map(|host| host.to_string())),
        ("hot", args.hot.then(|| "true".to_owned())),
    ];
    let files = client.list::<FileView>(&["files"], &filters(&filter), &args.page)?;
    let StatusView { inputs, .. } = client.get(&["status"], &[])?;
    if args.node.json {
        return Ok(output::json(&Answer { files, inputs }, out)?);
    }
    print_files(&files, out)?;
    inputs.iter().try_for_each(|input| print_input(input, out))?;
    Ok(())
}

fn print_files(files: &Page<FileView>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = output::table(&["RANK", "HITS", "SIZE", "STATE", "FILE", "PLACED ON", "WHY"]);
    for file in &files.items {
        let hosts: Vec<_> = file.placed_on.iter().map(|host| host.to_string()).collect();
        let why = file.back_off.as_ref().map(|back_off| {
            format!("left alone until {}: {}", back_off.until, plain(&back_off.reason))
        });
        let why = why.or_else(|| file.task.map(|task| format!("task {task}")));
        table.add_row([
            maybe(file.rank, number),
            number(file.hits),
            maybe(file.size, size),
            Cell::new(state(file.state)),
            Cell::new(name(&file.name)),
            maybe(Some(hosts.join(" ")).filter(|hosts| !hosts.is_empty()), Cell::new),
            maybe(why, Cell::new),
        ]);
    }
    output::print(&table, out)?;
    output::more(files, out)
}

/// Prints an input that is not as it should be; of the others nothing.
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
            Some(read) => format!("; what was read at {read} stays in use"),
            None => "; it was never read".to_owned(),
        };
        writeln!(out, "{what} {fault}{}{kept}", detail.unwrap_or_default())?;
    }
    if input.bad_rows > 0 {
        writeln!(out, "{what} has {} bad rows beside {} good ones:", input.bad_rows, input.rows)?;
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
        FileState::NameNotCarried => "name not carried",
        FileState::Ungraded => "ungraded",
    }
}
