//! The forms of output that all lists have, and `reelyard status`, with real nodes.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::binary::{self, ProgramOutput, ended, reelyard, run};
use reelyard_integration_tests::rigs::boxes::box_node::BoxNode;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, free_addr, wait_for};
use serde_json::Value;

/// A name that tries to control a terminal: it sets colours and changes the direction of writing.
const HOSTILE: &str = "a\u{1b}[31m\u{202e}gpm.mpg";

/// A name that no ranking can have, because it has two lines.
const TWO_LINES: &str = "two\nlines\u{9b}31m.mpg";

/// The longest name of a file.
fn longest() -> String {
    format!("{}.mpg", "n".repeat(251))
}

/// A yard with two hosts that answer, and a copy of each file.
struct SmallYard {
    ground: ProcessYard,
    node: RoleProcess,
    source: RoleProcess,
    destination: RoleProcess,
}

impl SmallYard {
    fn start() -> Result<Self> {
        let ground = ProcessYard::new(1, 1)?;
        let (longest, hostile) = (longest(), HOSTILE);
        for name in [longest.as_str(), hostile] {
            ground.master(name.as_bytes(), 10_000)?;
        }
        ground.grade(&[longest.as_bytes(), hostile.as_bytes(), b"ignored.mpg"])?;
        let (source, destination) =
            (ground.start_source(0, &[])?, ground.start_destination(0, &[])?);
        let node = ground.start_node(&[
            // A host that does not answer is down after a second.
            ("heartbeat.interval", "300ms"),
            ("heartbeat.timeout", "300ms"),
            ("ignore.prefixes", r#"["ignored"]"#),
        ])?;
        let yard = SmallYard { ground, node, source, destination };
        wait_for("both copies are done", &[&yard.node, &yard.source, &yard.destination], || {
            let tasks = yard.ground.get("/api/v1/tasks?state=done")?;
            (tasks["items"].as_array()?.len() == 2).then_some(())
        })?;
        Ok(yard)
    }

    fn ask(&self, arguments: &[&str]) -> ProgramOutput {
        run(&[arguments, &["--url", &self.url()]].concat())
    }

    fn url(&self) -> String {
        format!("http://{}", self.ground.node)
    }

    fn done(&self, arguments: &[&str]) -> Result<String> {
        let ended = self.ask(arguments);
        ensure!(ended.code == Some(0), "{arguments:?}: {:?} {}", ended.code, ended.err);
        Ok(ended.out)
    }
}

/// Every list of the command line.
const LISTS: [&[&str]; 13] = [
    &["hosts"],
    &["files"],
    &["files", "pins"],
    &["tasks"],
    &["history"],
    &["share", "list"],
    &["share", "moves"],
    &["box", "pools"],
    &["box", "list", "judges"],
    &["box", "leases", "judges"],
    &["box", "audit", "judges"],
    &["audit", "list"],
    &["token", "list"],
];

/// Whether a text could control a terminal.
fn steers(text: &str) -> bool {
    text.chars().any(|c| {
        c.is_control() && !['\n', '\r'].contains(&c) || ('\u{202a}'..='\u{202e}').contains(&c)
    })
}

#[test]
fn every_list_has_every_form_and_steers_no_terminal() -> Result<()> {
    let yard = SmallYard::start()?;
    yard.done(&["files", "pin", HOSTILE])?;
    yard.done(&["files", "pin", "--force", TWO_LINES])?;
    yard.done(&["box", "pools", "put", "judges", "--size", "2"])?;
    yard.done(&["box", "acquire", "judges", "--holder", "=job"])?;
    for list in LISTS {
        let of = |form: &str| yard.done(&[list, &["-o", form]].concat());
        let json: Value =
            serde_json::from_str(&of("json")?).with_context(|| format!("{list:?}"))?;
        let items = json["items"].as_array().or(json.as_array()).context("rows")?;
        let (table, wide, csv) = (of("table")?, of("wide")?, of("csv")?);
        for text in [&table, &wide, &csv, &of("json")?] {
            assert!(!steers(text), "{list:?}: {text:?}");
        }
        // Another command may have written a row of the audit meanwhile.
        let (rows, expected) = (csv.split_terminator("\r\n").count(), items.len() + 1);
        assert!(rows >= expected, "{list:?}: {rows} rows, not {expected}:\n{csv}");
        let columns =
            |text: &str| text.split("\r\n").next().map_or(0, |head| head.matches(',').count());
        assert!(columns(&csv) > 0, "{list:?}: {csv}");
        let head = table.lines().next().unwrap_or_default();
        assert_eq!(head, head.to_uppercase(), "{list:?}: {table}");
        assert!(wide.len() >= table.len(), "{list:?}: {wide}");
        let web = yard.done(&[list, &["--web"]].concat())?;
        let page = web.trim_end().strip_prefix(&yard.url()).unwrap_or_default();
        assert!(page.starts_with("/console/"), "{list:?}: {web}");
        let both = yard.ask(&[list, &["--json", "-o", "csv"]].concat());
        assert_eq!(both.code, Some(2), "{list:?}: {}", both.err);
        let short: Value = serde_json::from_str(&yard.done(&[list, &["--json"]].concat())?)?;
        assert!(short["items"].is_array() || short.is_array(), "{list:?}");
    }
    let leases = yard.done(&["box", "leases", "judges", "-o", "csv"])?;
    assert!(leases.contains(",'=job,"), "no formula: {leases}");
    let files = yard.done(&["files"])?;
    assert!(files.contains(&longest()) && files.contains("a␛[31m\u{fffd}gpm.mpg"), "{files}");
    let pins = yard.done(&["files", "pins"])?;
    assert!(pins.contains("two␊lines\u{fffd}31m.mpg"), "{pins}");
    let refused = yard.ask(&["plan", "-o", "csv"]);
    assert!(refused.code == Some(2) && refused.err.contains("use -o json"), "{}", refused.err);
    Ok(())
}

#[test]
fn times_are_local_and_json_is_utc() -> Result<()> {
    let yard = SmallYard::start()?;
    let url = yard.url();
    let in_seoul = |arguments: &[&str]| {
        let arguments = [arguments, &["--url", &url]].concat();
        ended(reelyard(&arguments).env("TZ", "Asia/Seoul")).out
    };
    let wide = in_seoul(&["history", "-o", "wide"]);
    assert!(wide.contains(" +09:00  "), "{wide}");
    let csv = in_seoul(&["history", "-o", "csv"]);
    assert!(csv.contains("+09:00,copied,"), "{csv}");
    let host = yard.ground.destination(0).to_string();
    let shown = in_seoul(&["hosts", "show", &host]);
    let since = shown.lines().find(|line| line.starts_with("since")).context("since")?;
    assert!(since.contains(" +09:00 (") && since.ends_with(" ago)"), "{shown}");
    let json = in_seoul(&["audit", "list", "-o", "json"]);
    assert!(json.contains("Z\"") && !json.contains("+09:00"), "{json}");
    Ok(())
}

/// The output of a command at a terminal of 80 columns. `script` provides the terminal.
fn at_a_terminal(environment: &[(&str, &str)], command: &str) -> Result<String> {
    let program = binary::path();
    let program = program.to_str().context("the path of the program")?;
    let shell =
        format!("stty cols 80 rows 24; {}", command.replace("reelyard ", &format!("{program} ")));
    let output = Command::new("script")
        .args(["-qec", &shell, "/dev/null"])
        .env_clear()
        .env("PATH", std::env::var("PATH")?)
        .env("TERM", "xterm-256color")
        .envs(environment.iter().copied())
        .stdin(std::process::Stdio::null())
        .output()?;
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn a_terminal_gets_shapes_and_colours_in_80_columns() -> Result<()> {
    let yard = SmallYard::start()?;
    let url = yard.url();
    for list in ["hosts", "files", "tasks", "history", "audit list", "token list", "status"] {
        let command = format!("reelyard {list} --url {url}");
        let colored = at_a_terminal(&[], &command)?;
        assert!(colored.contains("\u{1b}["), "{list}: {colored:?}");
        let plain = at_a_terminal(&[("NO_COLOR", "1")], &command)?;
        assert!(!plain.contains('\u{1b}'), "{list}: {plain:?}");
        for line in plain.lines() {
            let columns = line.trim_end_matches('\r').chars().count();
            assert!(columns <= 80, "{list}: {columns} columns: {line}");
        }
        let never = at_a_terminal(&[], &format!("{command} --color never"))?;
        assert!(!never.contains('\u{1b}'), "{list}: {never:?}");
    }
    let hosts = at_a_terminal(&[], &format!("reelyard hosts --url {url}"))?;
    assert!(hosts.contains("● up"), "{hosts}");
    let always = yard.done(&["hosts", "--color", "always"])?;
    assert!(always.contains("\u{1b}[32mup\u{1b}[0m"), "{always:?}");
    let watched =
        at_a_terminal(&[], &format!("timeout 1 reelyard hosts --watch=200ms --url {url}"))?;
    assert!(watched.matches("HOST").count() > 1, "{watched:?}");
    let top = at_a_terminal(&[], &format!("timeout --foreground 2 reelyard top --url {url}"))?;
    assert!(top.contains("Nothing is wrong") && top.contains("Overview"), "{top:?}");
    // The terminal is as before: its first screen is back.
    assert!(top.contains("\u{1b}[?1049l"), "{top:?}");
    Ok(())
}

#[test]
fn status_says_by_its_exit_code_whether_something_is_broken() -> Result<()> {
    let mut yard = SmallYard::start()?;
    let healthy = wait_for("nothing is wrong", &[&yard.node], || {
        let status = yard.ask(&["status"]);
        (status.code == Some(0)).then_some(status.out)
    })?;
    for shown in ["Nothing is wrong", "node 1 leads", "2 in all: 2 up", "2 of 2 files placed"] {
        assert!(healthy.contains(shown), "{shown} is missing in:\n{healthy}");
    }
    let host = yard.ground.destination(0).to_string();
    yard.done(&["hosts", "maintain", &host])?;
    let resting = wait_for("the host is in maintenance", &[&yard.node], || {
        let status = yard.ask(&["status"]).out;
        status.contains("in maintenance").then_some(status)
    })?;
    assert!(resting.contains("2 in all: 1 up, 1 in maintenance\n"), "{resting}");
    assert!(resting.contains("Nothing is planned"), "{resting}");
    yard.done(&["hosts", "activate", &host])?;
    wait_for("the host answers again", &[&yard.node], || {
        yard.ask(&["status"]).out.contains("2 in all: 2 up").then_some(())
    })?;
    yard.destination.kill();
    let broken = wait_for("the host is down", &[&yard.node], || {
        let status = yard.ask(&["status"]);
        (status.code == Some(7)).then_some(status.out)
    })?;
    for shown in [
        " wrong, the oldest since ",
        "does not answer, since ",
        &format!("reelyard hosts show {host}"),
    ] {
        assert!(broken.contains(shown), "{shown} is missing in:\n{broken}");
    }
    let json = yard.ask(&["status", "-o", "json"]);
    let view: Value = serde_json::from_str(&json.out)?;
    assert_eq!((json.code, &view["troubles"][0]["kind"]), (Some(7), &"host_down".into()), "{view}");
    assert_eq!(view["troubles"][0]["subject"], host.as_str());
    assert_eq!(view["troubles_total"], 1, "its silence is one trouble: {view}");
    let detail = view["troubles"][0]["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("No destination is up, so no copies are possible."), "{view}");
    let url = yard.url();
    let mut unread = reelyard(&["status", "--url", &url]).stdout(Stdio::piped()).spawn()?;
    drop(unread.stdout.take());
    assert_eq!(unread.wait()?.code(), Some(7), "the verdict holds although nobody reads it");
    yard.node.kill();
    let gone = yard.ask(&["status", "--token", "open-sesame-open-now"]);
    assert_eq!(gone.code, Some(3), "{}", gone.err);
    Ok(())
}

#[test]
fn a_watch_without_a_first_answer_keeps_what_is_on_the_screen() -> Result<()> {
    let closed = free_addr(Ipv4Addr::LOCALHOST)?;
    let command =
        format!("reelyard hosts --watch --token open-sesame-open-now --url http://{closed}");
    let shown = at_a_terminal(&[], &command)?;
    assert!(shown.contains("cannot be reached"), "{shown:?}");
    assert!(!shown.contains("\u{1b}[2J"), "{shown:?}");
    Ok(())
}

#[test]
fn a_watch_cuts_lines_that_are_wider_than_the_terminal() -> Result<()> {
    let yard = SmallYard::start()?;
    let watch = "timeout 1 reelyard files --watch=200ms -o wide --color never";
    let shown = at_a_terminal(&[], &format!("{watch} --url {}", yard.url()))?;
    let frames: Vec<&str> = shown.split("\u{1b}[H").skip(1).collect();
    assert!(!frames.is_empty(), "{shown:?}");
    for line in frames.iter().flat_map(|frame| frame.split("\u{1b}[K")) {
        let columns = line.trim().trim_start_matches("\u{1b}[J").chars().count();
        assert!(columns <= 80, "{columns} columns: {line:?}");
    }
    assert!(frames[0].contains('…'), "the longest name was cut: {shown:?}");
    Ok(())
}

#[test]
fn top_names_another_command_without_a_terminal() -> Result<()> {
    let node = BoxNode::start(&[])?;
    let url = format!("http://{}", node.ground.node);
    let refused = run(&["top", "--url", &url]);
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    assert!(refused.err.contains("reelyard status --watch"), "{}", refused.err);
    assert_eq!(run(&["top", "--web", "--url", &url]).out, format!("{url}/console\n"));
    let members = run(&["cluster", "--url", &url, "status", "--web"]).out;
    assert_eq!(members, format!("{url}/console/cluster\n"));
    Ok(())
}

#[test]
fn logs_have_no_colours_with_no_color() -> Result<()> {
    for (environment, has_colors) in [(&[][..], true), (&[("NO_COLOR", "1")], false)] {
        let dir = tempfile::tempdir()?;
        let data = dir.path().join("node");
        // Standard input of the terminal is closed, which ends the node.
        let command = format!(
            "timeout 20 reelyard node --set data_dir={} --set listen=127.0.0.1:0 --until-stdin-closes < /dev/null",
            data.display()
        );
        let log = at_a_terminal(environment, &command)?;
        assert!(log.contains("INFO"), "{log:?}");
        assert_eq!(log.contains('\u{1b}'), has_colors, "{log:?}");
    }
    Ok(())
}
