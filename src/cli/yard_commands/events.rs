//! `reelyard events`

use std::io::Write;

use clap::Args;
use reelyard_api::{
    BackOffChange, BoxChange, Change, ChangeEvent, ChangeKind, ConfigurationChange, HostEvent,
    InputChange, LeaseOf, Missed, PinChange, PlacementChange, RemovalChange, ShareChange,
    ShareSummary, TaskChange, TaskStep,
};
use reelyard_core::change_feed::ChangeId;
use reelyard_core::counted::counted;
use reelyard_core::names::NameText;
use serde_json::{Value, json};

use crate::cli::client::{EventIds, NodeArgs, NodeClient, ServerSentEvent};
use crate::cli::output::{PrintStyle, Printer, name, plain};
use crate::cli::support::enum_word;
use crate::cli::support::failure::CommandFailure;

#[derive(Debug, Args)]
pub struct EventsArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// Only changes of these kinds, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = enum_word::parser::<ChangeKind>())]
    kinds: Vec<ChangeKind>,
    /// Start after the event with this id; -o json prints the ids.
    #[arg(long, value_name = "ID")]
    after: Option<ChangeId>,
}

/// Prints changes until the command is stopped. It reconnects if the node disappears.
pub fn run(args: EventsArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let out = &mut args.node.output.printer(out);
    out.refuse_csv()?;
    let client = NodeClient::new(&args.node)?;
    let kinds: Vec<&str> = args.kinds.iter().map(|kind| kind.word()).collect();
    let kinds = kinds.join(",");
    let query = [("kinds", kinds.as_str())];
    let query = if kinds.is_empty() { &[][..] } else { &query };
    let last = args.after.map(|id| id.to_string()).unwrap_or_default();
    follow(&client, &["events"], query, last, out)
}

/// Prints the events after `last` until the command is stopped. It reconnects at its last position
/// if the node disappears, at another node if there is one.
pub fn follow(
    client: &NodeClient,
    path: &[&str],
    query: &[(&str, &str)],
    last: String,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let never =
        client.follow(path, query, last, EventIds::OfTheCluster, |event| print(&event, out))?;
    match never {}
}

/// Prints an event and flushes.
fn print(event: &ServerSentEvent, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if out.is_json() {
        let data = serde_json::from_str(&event.data).unwrap_or(Value::Null);
        out.json_line(&json!({ "id": event.id, "event": event.kind, "data": data }))?;
    } else {
        // The day may have changed.
        let style = out.style().now();
        match serde_json::from_str::<ChangeEvent>(&event.data) {
            Ok(ChangeEvent { time, change }) => {
                writeln!(out, "{} {}", out.exact(time), words(&change, &style))?;
            }
            // A newer node may have more kinds.
            Err(_) => writeln!(out, "{} {}", plain(&event.kind), plain(&event.data))?,
        }
    }
    Ok(out.flush()?)
}

/// Formats a change as one line.
fn words(change: &Change, style: &PrintStyle) -> String {
    match change {
        Change::Task(change) => of_task(change),
        Change::Placement(change) => of_placement(change),
        Change::Host(event) => of_host(event),
        Change::Input(change) => of_input(change),
        Change::Leadership(change) => match (change.leader, change.epoch) {
            (Some(node), Some(epoch)) => format!("node {node} leads and decides, epoch {epoch}"),
            (Some(node), None) => format!("node {node} leads"),
            (None, _) => "no node leads".to_owned(),
        },
        Change::ForeignManager(manager) => {
            let how_sure = if manager.sure { "manages" } else { "may manage" };
            let host = manager.host.map(|host| format!("{host}: ")).unwrap_or_default();
            format!("another manager {how_sure} this yard too: {host}{}", plain(&manager.what))
        }
        Change::Removal(change) => of_removal(change),
        Change::Pin(PinChange { file, pinned, asked_by }) => {
            let by = asked_by.as_deref().map(|by| format!(" by {}", plain(by))).unwrap_or_default();
            format!("{} is {}{by}", name(file), if *pinned { "pinned" } else { "unpinned" })
        }
        Change::BackOff(change) => of_back_off(change, style),
        Change::Share(change) => of_share(change, style),
        Change::Box(change) => of_box(change),
        Change::Configuration(ConfigurationChange { applied, needs_restart }) => {
            let list = |what: &str, keys: &[String]| {
                (!keys.is_empty()).then(|| format!("{what}: {}", keys.join(", ")))
            };
            let parts = [list("applied", applied), list("needs a restart", needs_restart)];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            format!("the configuration was reloaded; {}", parts.join("; "))
        }
        Change::Reset(reset) => {
            let why = match reset.why {
                Missed::OtherProcess => "the node restarted, or another node answers",
                Missed::TooOld => "they are too old and no longer kept",
                Missed::TooSlow => "this client reads too slowly",
            };
            let first = reset.first.map(|first| format!("; the first kept change is {first}"));
            format!("changes were missed: {why}{}", first.unwrap_or_default())
        }
    }
}

fn of_task(TaskChange { step, task }: &TaskChange) -> String {
    let step = match step {
        TaskStep::Created => "planned".to_owned(),
        TaskStep::Began => "started".to_owned(),
        TaskStep::Ended => enum_word::of(task.state),
    };
    let blame = task.blame.map(|blame| format!(", blamed: {}", enum_word::of(blame)));
    let why = task.reason.as_deref().map(|reason| format!(": {}", plain(reason)));
    format!(
        "copy {step}: {} from {} to {}, task {}{}{}",
        name(&task.name),
        task.source,
        task.destination,
        task.id,
        blame.unwrap_or_default(),
        why.unwrap_or_default()
    )
}

fn of_placement(change: &PlacementChange) -> String {
    let list = |files: u64, first: &[NameText]| {
        let names: Vec<String> = first.iter().map(name).collect();
        let more = if files > names.len() as u64 { ", ..." } else { "" };
        format!("{} ({}{more})", counted(files, "file", "files"), names.join(", "))
    };
    let gained =
        (change.gained > 0).then(|| format!("holds {} more", list(change.gained, &change.came)));
    let lost =
        (change.lost > 0).then(|| format!("no longer holds {}", list(change.lost, &change.gone)));
    let parts: Vec<String> = gained.into_iter().chain(lost).collect();
    format!("{} {}", change.host, parts.join(" and "))
}

fn of_host(event: &HostEvent) -> String {
    match event {
        HostEvent::Configured { hosts } => {
            format!("the configuration names {}", counted(hosts, "host", "hosts"))
        }
        HostEvent::Health { host, from, to } => {
            format!("{host} is {}, was {}", enum_word::of(to), enum_word::of(from))
        }
        HostEvent::Reset { host, asked_by, back_offs } => {
            let by = plain(asked_by);
            format!("{host} was reset by {by}; ended backoffs: {back_offs}")
        }
        HostEvent::Mode { host, mode, asked_by } => {
            format!("{host} is now {mode}, by {}", plain(asked_by))
        }
        HostEvent::Added { host, role, asked_by } => {
            format!(
                "{host} was added to the yard ({}), by {}",
                enum_word::of(role),
                plain(asked_by)
            )
        }
        HostEvent::Removed { host, asked_by } => {
            format!("{host} was removed from the yard, by {}", plain(asked_by))
        }
        HostEvent::Lost { host } => {
            format!("{host} did not answer for too long and counts as lost")
        }
        HostEvent::Recovered { host } => format!("{host} answers again"),
    }
}

fn of_input(change: &InputChange) -> String {
    match change {
        InputChange::Ranking { files, bad_rows: 0 } => {
            format!("the ranking was read: {}", counted(files, "file", "files"))
        }
        InputChange::Ranking { files, bad_rows } => {
            let files = counted(files, "file", "files");
            let bad_rows = counted(bad_rows, "bad row", "bad rows");
            format!("the ranking was read: {files}, {bad_rows}")
        }
        InputChange::Masters { files } => {
            format!("masters found: {files}")
        }
        InputChange::Hot { files } => format!("hot files: {files}"),
        InputChange::Unusable { problem } => {
            format!(
                "an input cannot be used, its last valid state stays in use: {}",
                plain(problem)
            )
        }
        InputChange::Usable { problem } => {
            format!("an input can be used again: it {}", plain(problem))
        }
    }
}

fn of_back_off(change: &BackOffChange, style: &PrintStyle) -> String {
    let who = match (&change.source, &change.destination, &change.file) {
        (Some(source), Some(destination), _) => format!("copies from {source} to {destination}"),
        (Some(source), None, _) => format!("{source} as a source"),
        (None, Some(destination), _) => format!("{destination} as a destination"),
        (None, None, Some(file)) => name(file),
        (None, None, None) => "something".to_owned(),
    };
    match &change.back_off {
        Some(held) => {
            let (until, reason) = (style.clock(held.until), plain(&held.reason));
            let after = match held.failures {
                0 => String::new(),
                failures => format!(" after failure {failures}"),
            };
            format!("{who}: in backoff until {until}{after}: {reason}")
        }
        None => format!("{who}: backoff ended, failures reset"),
    }
}

fn of_removal(change: &RemovalChange) -> String {
    match change {
        RemovalChange::Intended { host, file, why, keeper, asked_by, .. } => {
            let kept = keeper.map(|keeper| format!("; the copy on {keeper} stays"));
            let (file, why, by) = (name(file), plain(why), plain(asked_by));
            format!("removing {file} from {host}, by {by}: {why}{}", kept.unwrap_or_default())
        }
        RemovalChange::Ended { host, file, ending } => {
            format!("{} on {host}: {}", name(file), plain(&ending.words()))
        }
    }
}

fn of_share(change: &ShareChange, style: &PrintStyle) -> String {
    let named = |share: &ShareSummary| {
        let ends = share
            .expires_at
            .map_or("never ends".to_owned(), |at| format!("ends {}", style.clock(at)));
        let what = plain(&format!("{}/{}", share.root, share.path));
        (what, ends)
    };
    match change {
        ShareChange::Created { share } => {
            let (what, ends) = named(share);
            format!("{what} is shared; the share {ends}")
        }
        ShareChange::Changed { share } => {
            let (what, ends) = named(share);
            format!("a share of {what} was changed; it {ends}")
        }
        ShareChange::Notice { share, .. } => {
            let (what, ends) = named(share);
            format!("a share of {what} {ends}")
        }
        ShareChange::Ended { why, share, asked_by, .. } => {
            let by = asked_by.as_deref().map(|by| format!(" by {}", plain(by)));
            format!("a share of {} ended: {}{}", named(share).0, why.word(), by.unwrap_or_default())
        }
        ShareChange::Moved { root, from, to_root, to, shares } => {
            let (from, to) = (plain(from.as_str()), plain(to.as_str()));
            let to_root = to_root.as_ref().unwrap_or(root);
            format!("{root}/{from} was moved to {to_root}/{to}; shares that follow: {shares}")
        }
        ShareChange::Reclaim { paused, asked_by } => {
            let what = if *paused { "paused" } else { "resumed" };
            format!("reclaim of shares is {what} by {}", plain(asked_by))
        }
    }
}

fn of_box(change: &BoxChange) -> String {
    let named = |lease: &LeaseOf| {
        let slot = lease.slot.map(|slot| format!(" as {slot}")).unwrap_or_default();
        format!("box {}/{}{slot}, token {}", lease.pool, lease.number, lease.token)
    };
    let by = |by: Option<&str>| by.map(|by| format!(" by {}", plain(by))).unwrap_or_default();
    match change {
        BoxChange::PoolPut { pool, size, created: true } => {
            format!("pool {pool} was created: {}", counted(size, "box", "boxes"))
        }
        BoxChange::PoolPut { pool, size, created: false } => {
            format!("pool {pool} was changed: {}", counted(size, "box", "boxes"))
        }
        BoxChange::PoolRemoved { pool, gone: true } => format!("pool {pool} was removed"),
        BoxChange::PoolRemoved { pool, gone: false } => {
            format!("pool {pool} is being removed and disappears with its last box")
        }
        BoxChange::Granted { lease } => {
            format!("{} is granted to {}", named(lease), plain(lease.holder.as_str()))
        }
        BoxChange::Ended { lease, how, by: who, reason } => {
            let why = reason.as_ref().map(|why| format!(": {}", plain(why.as_str())));
            let (holder, how) = (plain(lease.holder.as_str()), enum_word::of(how));
            let who = by(who.as_deref());
            format!("{} of {holder}: {how}{who}{}", named(lease), why.unwrap_or_default())
        }
        BoxChange::CleanFailed { pool, number, attempt, output } => {
            format!(
                "box {pool}/{number} could not be cleaned, attempt {attempt}: {}",
                plain(output)
            )
        }
        BoxChange::FoundDirty { pool, number, output } => {
            format!("box {pool}/{number} is not clean: {}", plain(output))
        }
        BoxChange::Quarantined { pool, number, output, by: who } => {
            let who = by(who.as_deref());
            format!("box {pool}/{number} is in quarantine{who}: {}", plain(output))
        }
        BoxChange::Unquarantined { pool, number, by: who } => {
            format!("box {pool}/{number} left quarantine{}", by(Some(who)))
        }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_yard::heartbeat::Health;

    use super::*;
    use crate::cli::output::{ColorWhen, OutputForm};

    #[test]
    fn a_change_is_one_line_that_steers_no_terminal() {
        let shown = |text: &str| NameText { name: text.to_owned(), percent_encoded: false };
        let host = "10.0.0.21:8888".parse().unwrap();
        let placement = PlacementChange {
            host,
            gained: 12,
            lost: 0,
            came: vec![shown("a\n.mpg")],
            gone: vec![],
        };
        let style = PrintStyle::of_stdout(OutputForm::Table, ColorWhen::Never);
        let words = |change: &Change| words(change, &style);
        assert_eq!(
            words(&Change::Placement(placement)),
            "10.0.0.21:8888 holds 12 files (a␊.mpg, ...) more"
        );
        let health = HostEvent::Health { host, from: Health::Up, to: Health::Down };
        assert_eq!(words(&Change::Host(health)), "10.0.0.21:8888 is down, was up");
        let problem = "x\u{1b}[31m".to_owned();
        let input = words(&Change::Input(InputChange::Unusable { problem }));
        assert!(!input.contains('\u{1b}'), "{input}");
    }
}
