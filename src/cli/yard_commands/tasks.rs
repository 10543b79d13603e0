//! `reelyard tasks`

use std::io::Write;
use std::time::Duration;

use clap::{Args, Subcommand};
use comfy_table::Cell;
use reelyard_api::{CopyBegun, StateFilter, TaskView};
use reelyard_core::clock::Clock;
use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::{Blame, TaskId};

use crate::cli::client::{NodeArgs, NodeClient, PageArgs, filters};
use crate::cli::support::enum_word;
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::output::{self, age, maybe, name, number, plain, size};

#[derive(Debug, Args)]
pub struct TasksArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    filter: TaskListArgs,
    #[command(subcommand)]
    command: Option<TasksCommand>,
}

#[derive(Debug, Subcommand)]
enum TasksCommand {
    /// Show one task.
    Show {
        /// Number of the task.
        #[arg(value_parser = task_id)]
        id: TaskId,
    },
    /// Retry failed or cancelled copies now.
    Retry {
        /// Numbers of the tasks.
        #[arg(required = true, value_parser = task_id)]
        ids: Vec<TaskId>,
    },
    /// Cancel running tasks, and remove ended tasks from the list.
    Cancel {
        /// Numbers of the tasks.
        #[arg(required = true, value_parser = task_id)]
        ids: Vec<TaskId>,
    },
}

#[derive(Debug, Args)]
struct TaskListArgs {
    /// Only tasks in this state; "open" means not ended.
    #[arg(long, value_parser = enum_word::parser::<StateFilter>())]
    state: Option<StateFilter>,
    /// Only tasks from or to this host (ip:port)
    #[arg(long)]
    host: Option<HostAddr>,
    /// Only failed tasks with this cause.
    #[arg(long, value_parser = enum_word::parser::<Blame>())]
    blame: Option<Blame>,
    /// Only tasks whose state changed within this time, for example 90m or 2d.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    within: Option<Duration>,
    #[command(flatten)]
    page: PageArgs,
}

fn task_id(text: &str) -> Result<TaskId, std::num::ParseIntError> {
    text.parse().map(TaskId)
}

fn state_word(state: impl std::fmt::Debug) -> String {
    format!("{state:?}").to_lowercase()
}

/// Runs `reelyard tasks`.
pub fn run(args: TasksArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let client = NodeClient::new(&args.node)?;
    match args.command {
        None => list(&client, args.filter, args.node.json, out),
        Some(TasksCommand::Show { id }) => show(&client, id, args.node.json, out),
        Some(TasksCommand::Retry { ids }) => {
            for id in ids {
                let begun: CopyBegun = client.post(&["tasks", &id.to_string(), "retry"])?;
                match args.node.json {
                    true => output::json(&begun, out)?,
                    false => writeln!(out, "task {id} is retried as task {}", begun.task)?,
                }
            }
            Ok(())
        }
        Some(TasksCommand::Cancel { ids }) => {
            for id in ids {
                client.delete(&["tasks", &id.to_string()])?;
                if !args.node.json {
                    writeln!(
                        out,
                        "task {id} is cancelled, or removed from the list if it had ended"
                    )?;
                }
            }
            Ok(())
        }
    }
}

fn list(
    client: &NodeClient,
    args: TaskListArgs,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let now = Clock::system().now();
    let filter = [
        ("state", args.state.map(enum_word::of)),
        ("host", args.host.map(|host| host.to_string())),
        ("blame", args.blame.map(enum_word::of)),
        ("since", args.within.map(|time| now.before(time).0.to_string())),
    ];
    let tasks = client.list::<TaskView>(&["tasks"], &filters(&filter), &args.page)?;
    if json {
        return Ok(output::json(&tasks, out)?);
    }
    let mut table = output::table(&[
        "TASK",
        "STATE",
        "FILE",
        "SOURCE",
        "DESTINATION",
        "RANK",
        "HITS",
        "SIZE",
        "COPIED",
        "RATE",
        "AGE",
        "WHY",
    ]);
    for task in &tasks.items {
        table.add_row([
            Cell::new(task.id),
            Cell::new(state_word(task.state)),
            Cell::new(name(&task.name)),
            Cell::new(task.source),
            Cell::new(task.destination),
            maybe(task.rank, number),
            number(task.hits),
            size(task.size),
            maybe(copied_percent(task), |percent| number(format!("{percent}%"))),
            maybe(task.copy_speed.filter(|_| task.state.is_open()), number),
            Cell::new(age(task.created, now)),
            maybe(task.reason.as_deref(), |reason| Cell::new(plain(reason))),
        ]);
    }
    output::print(&table, out)?;
    Ok(output::more(&tasks, out)?)
}

fn show(
    client: &NodeClient,
    id: TaskId,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let task: TaskView = client.get(&["tasks", &id.to_string()], &[])?;
    if json {
        return Ok(output::json(&task, out)?);
    }
    let lines = [
        ("task", Some(task.id.to_string())),
        ("state", Some(state_word(task.state))),
        ("file", Some(name(&task.name))),
        ("from", Some(format!("{} in {}", task.source, plain(&task.dir)))),
        ("to", Some(task.destination.to_string())),
        ("rank", task.rank.map(|rank| rank.to_string())),
        ("hits", Some(task.hits.to_string())),
        ("size", Some(format!("{} bytes", task.size))),
        ("copied", task.copied.map(|bytes| format!("{bytes} bytes"))),
        ("rate below", task.copy_speed.map(|rate| rate.to_string())),
        ("planned", Some(task.created.to_string())),
        ("changed", Some(task.changed.to_string())),
        ("why", task.reason.as_deref().map(plain)),
        ("blamed", task.blame.map(|blame| format!("{blame:?}").to_lowercase())),
        ("blake3", task.hash.map(|hash| hash.to_string())),
    ];
    for (label, value) in lines {
        if let Some(value) = value {
            writeln!(out, "{label:<11}{value}")?;
        }
    }
    Ok(())
}

/// The copied part in whole percent; none if the size is unknown.
fn copied_percent(task: &TaskView) -> Option<u64> {
    let percent = u128::from(task.copied?) * 100 / u128::from(task.size.max(1));
    u64::try_from(percent.min(100)).ok()
}
