//! `reelyard tasks`

use std::io::Write;
use std::time::Duration;

use clap::{Args, Subcommand};
use reelyard_api::{CopyBegun, StateFilter, TaskView};
use reelyard_console::pages::tasks::TasksPageQuery;
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::{Blame, TaskId};

use crate::cli::client::{NodeArgs, NodeClient, PageArgs, ViewArgs, filters, web_query};
use crate::cli::output::cell::{self, count, maybe, state, text, unit};
use crate::cli::output::{DetailSheet, ListCell, ListColumn, ListTable, PrintStyle, Printer};
use crate::cli::support::enum_word;
use crate::cli::support::failure::CommandFailure;

#[derive(Debug, Args)]
pub struct TasksArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    filter: TaskListArgs,
    #[command(flatten)]
    view: ViewArgs,
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
        #[command(flatten)]
        view: ViewArgs,
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
    /// Only tasks with this text in the name of the file or in the address of a host, or with this number.
    #[arg(long, value_name = "TEXT")]
    contains: Option<String>,
    /// Only tasks whose state changed within this time, for example 90m or 2d.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    within: Option<Duration>,
    #[command(flatten)]
    page: PageArgs,
}

fn task_id(text: &str) -> Result<TaskId, std::num::ParseIntError> {
    text.parse().map(TaskId)
}

impl TaskListArgs {
    /// The filter as a query of the API.
    fn query(&self, now: Millis) -> [(&'static str, Option<String>); 5] {
        [
            ("contains", self.contains.clone()),
            ("state", self.state.map(enum_word::of)),
            ("host", self.host.map(|host| host.to_string())),
            ("blame", self.blame.map(enum_word::of)),
            ("since", self.within.map(|time| now.before(time).0.to_string())),
        ]
    }

    /// The page of the console with the same filter.
    fn web_page(&self) -> String {
        let filters = [
            ("q", self.contains.clone()),
            ("state", self.state.map(enum_word::of)),
            ("host", self.host.map(|host| host.to_string())),
            ("blamed", self.blame.map(enum_word::of)),
        ];
        TasksPageQuery::parse(&web_query(&filters)).address()
    }
}

/// Runs `reelyard tasks`.
pub fn run(args: TasksArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let TasksArgs { node, filter, view, command } = args;
    let out = &mut node.output.printer(out);
    let client = NodeClient::new(&node)?;
    let Some(command) = command else {
        return view.show(&node, &filter.web_page(), out, |out| list(&client, &filter, out));
    };
    out.refuse_csv()?;
    match command {
        TasksCommand::Show { id, view } => {
            let web = TasksPageQuery::parse(&web_query(&[("q", Some(id.to_string()))])).address();
            view.show(&node, &web, out, |out| show(&client, id, out))
        }
        TasksCommand::Retry { ids } => {
            for id in ids {
                let begun: CopyBegun = client.post(&["tasks", &id.to_string(), "retry"])?;
                match out.is_json() {
                    true => out.json(&begun)?,
                    false => writeln!(out, "task {id} is retried as task {}", begun.task)?,
                }
            }
            Ok(())
        }
        TasksCommand::Cancel { ids } => {
            for id in ids {
                client.delete(&["tasks", &id.to_string()])?;
                if !out.is_json() {
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
    filter: &TaskListArgs,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let query = filter.query(out.now());
    let tasks = client.list::<TaskView>(&["tasks"], &filters(&query), &filter.page)?;
    out.list(&tasks, table)
}

/// The table of tasks.
pub fn table(tasks: &[TaskView], _: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::left("TASK"),
        ListColumn::left("STATE"),
        ListColumn::name("FILE"),
        ListColumn::left("SOURCE").leaves(3),
        ListColumn::left("DESTINATION").leaves(1),
        ListColumn::right("RANK").leaves(8),
        ListColumn::right("HITS").leaves(7),
        ListColumn::right("SIZE").leaves(5),
        ListColumn::right("COPIED").leaves(2),
        ListColumn::right("RATE").leaves(6),
        ListColumn::left("SINCE").leaves(4),
        ListColumn::left("CHANGED").wide(),
        ListColumn::left("BLAMED").wide(),
        ListColumn::reason("WHY"),
    ]);
    for task in tasks {
        table.row([
            text(task.id),
            state(enum_word::of(task.state)),
            cell::name(&task.name),
            text(task.source),
            text(task.destination),
            maybe(task.rank, count),
            count(task.hits),
            ListCell::Bytes(task.size),
            maybe(copied_percent(task), |percent| unit(percent, "%")),
            maybe(task.copy_speed.filter(|_| task.state.is_open()), text),
            ListCell::Since(task.created),
            ListCell::Since(task.changed),
            maybe(task.blame.map(enum_word::of), text),
            maybe(task.reason.as_deref(), text),
        ]);
    }
    table
}

fn show(client: &NodeClient, id: TaskId, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let task: TaskView = client.get(&["tasks", &id.to_string()], &[])?;
    if out.is_json() {
        return out.json(&task);
    }
    let mut sheet = DetailSheet::default();
    sheet.row("task", text(task.id));
    sheet.row("state", text(enum_word::of(task.state)));
    sheet.row("file", cell::name(&task.name));
    sheet.row("from", text(format!("{} in {}", task.source, task.dir)));
    sheet.row("to", text(task.destination));
    sheet.maybe("rank", task.rank, count);
    sheet.row("hits", count(task.hits));
    sheet.row("size", text(format!("{} bytes", task.size)));
    sheet.maybe("copied", task.copied, |bytes| text(format!("{bytes} bytes")));
    sheet.maybe("rate below", task.copy_speed, text);
    sheet.row("planned", ListCell::Since(task.created));
    sheet.row("changed", ListCell::Since(task.changed));
    sheet.maybe("why", task.reason.as_deref(), text);
    sheet.maybe("blamed", task.blame.map(enum_word::of), text);
    sheet.maybe("blake3", task.hash, text);
    Ok(sheet.print(out)?)
}

/// The copied part in whole percent; none if the size is unknown.
fn copied_percent(task: &TaskView) -> Option<u64> {
    let percent = u128::from(task.copied?) * 100 / u128::from(task.size.max(1));
    u64::try_from(percent.min(100)).ok()
}
