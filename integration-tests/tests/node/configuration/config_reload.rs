//! A running node reloads its configuration on SIGHUP and on request. Settings that can change at once do so,
//! settings that need a restart are named, and an invalid file is refused completely.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::probes::event_reader::EventReader;
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::old_yard::is_on;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, free_addr, wait_for};
use serde_json::Value;

/// A node with a configuration file.
struct NodeReloadYard {
    ground: ProcessYard,
    node: RoleProcess,
    file: PathBuf,
}

impl NodeReloadYard {
    /// Starts a node whose destination is the first of two. `more` lines follow the groups that every
    /// configuration here has.
    fn start(more: &str) -> Result<Self> {
        let ground = ProcessYard::new(1, 2)?;
        ground.grade(&[])?;
        let file = ground.path("node.toml");
        std::fs::write(&file, configuration(&ground, 0, more))?;
        let node = RoleProcess::start_by_file("node", &file, ground.path("node.log"))?;
        let yard = NodeReloadYard { ground, node, file };
        yard.has_destination(0)?;
        Ok(yard)
    }

    fn configure(&self, destination: usize, more: &str) -> Result<()> {
        Ok(std::fs::write(&self.file, configuration(&self.ground, destination, more))?)
    }

    /// Waits until the destination of that number is the only one.
    fn has_destination(&self, number: usize) -> Result<()> {
        let wanted = [self.ground.source(0), self.ground.destination(number)];
        let wanted = wanted.map(|host| host.to_string());
        wait_for(&format!("the hosts are {wanted:?}"), &[&self.node], || {
            let hosts = self.ground.get("/api/v1/hosts")?;
            let hosts = hosts["items"].as_array()?.iter();
            let hosts: Vec<&str> = hosts.filter_map(|host| host["host"].as_str()).collect();
            (hosts == wanted).then_some(())
        })
    }

    /// Waits until the log of the node contains this.
    fn logs(&self, words: &str) -> Result<()> {
        wait_for(&format!("the log says {words:?}"), &[&self.node], || {
            self.node.log_text().contains(words).then_some(())
        })
    }

    /// Runs `reelyard config reload` and returns its output.
    fn reload(&self, arguments: &[&str]) -> binary::ProgramOutput {
        let url = format!("http://{}", self.ground.node);
        binary::run(&[&["config", "reload", "--url", &url], arguments].concat())
    }
}

fn configuration(ground: &ProcessYard, destination: usize, more: &str) -> String {
    let path = |part: &str| ground.path(part).display().to_string();
    format!(
        r#"
listen = "{}"
data_dir = "{}"
source_dirs = ["{}"]
storage.limit_percent = 100
storage.low_water_percent = 100
hosts.sources = ["{}"]
hosts.destinations = ["{}"]
catalog.hitcount_history_file = "{}"
catalog.poll_interval = "100ms"
{more}
"#,
        ground.node,
        path("node"),
        path("masters"),
        ground.source(0),
        ground.destination(destination),
        path("input/.hitcount.history"),
    )
}

/// The path of the ranking, as a line of the configuration.
fn graded(ground: &ProcessYard, file: &str) -> String {
    format!("catalog.grade_info_file = \"{}\"", ground.path(file).display())
}

#[test]
fn another_list_of_hosts_is_in_force_at_once() -> Result<()> {
    let ranking = "heartbeat.interval = \"500ms\"\n";
    let yard = NodeReloadYard::start(ranking)?;
    let source = yard.ground.start_source(0, &[])?;
    let destination = yard.ground.start_destination(1, &[])?;
    yard.ground.master(b"a.mpg", 10_000)?;
    yard.ground.grade(&[b"a.mpg"])?;
    let more =
        format!("{}\nheartbeat.interval = \"200ms\"", graded(&yard.ground, "input/.grade.info"));
    yard.configure(1, &more)?;
    let events = EventReader::open(&yard.ground, "?kinds=configuration", &[])?;
    yard.node.hang_up()?;
    let result = events.next()?;
    let keys = ["hosts.destinations", "catalog.grade_info_file", "heartbeat.interval"];
    ensure!(result.data["applied"] == serde_json::json!(keys), "{result:?}");
    yard.has_destination(1)?;
    yard.logs("setting changed: heartbeat.interval: \"500ms\" -> \"200ms\"")?;
    let [from, to] = [0, 1].map(|number| yard.ground.destination(number));
    yard.logs(&format!("setting changed: hosts.destinations: [\"{from}\"] -> [\"{to}\"]"))?;
    wait_for("the file is copied there", &[&yard.node, &source, &destination], || {
        is_on(&yard.ground, 1, b"a.mpg").then_some(())
    })?;
    // The same configuration again causes no message.
    yard.node.hang_up()?;
    yard.logs("the configuration was reloaded: no changes")
}

#[test]
fn an_invalid_configuration_is_refused_completely_with_every_fault() -> Result<()> {
    let yard = NodeReloadYard::start("")?;
    yard.configure(1, "heartbeat.intervall = \"1s\"\ntask.timeout = \"soon\"")?;
    yard.node.hang_up()?;
    yard.logs(
        "cannot reload, the running configuration stays in use: the configuration has 2 faults:",
    )?;
    yard.logs("did you mean heartbeat.interval?")?;
    yard.logs("task.timeout:")?;
    std::fs::write(&yard.file, "no toml at all [")?;
    let refused = yard.reload(&[]);
    ensure!(refused.code == Some(4), "{refused:?}");
    ensure!(refused.err.contains("the running configuration stays in use"), "{}", refused.err);
    ensure!(refused.err.contains("is not TOML"), "{}", refused.err);
    yard.has_destination(0)?;
    // The failed reload has no other effect.
    yard.configure(1, "")?;
    yard.node.hang_up()?;
    yard.has_destination(1)
}

#[test]
fn settings_that_need_a_restart_are_named_and_the_rest_applied() -> Result<()> {
    let mut yard = NodeReloadYard::start("http.threads = 1\n")?;
    yard.configure(1, "http.threads = 2\ntask.timeout = \"5m\"")?;
    let restart = "http.threads: 1 -> 2 (needs a restart)";
    for _ in 0..2 {
        let dry = yard.reload(&["--dry-run"]);
        ensure!(dry.code == Some(0) && dry.out.contains(restart), "{dry:?}");
        ensure!(dry.out.contains("task.timeout: \"1h\" -> \"5m\"\n"), "{}", dry.out);
    }
    yard.has_destination(0)?;
    ensure!(yard.reload(&[]).out.contains("task.timeout"));
    yard.has_destination(1)?;
    yard.logs("needs a restart: http.threads: 1 -> 2")?;
    ensure!(yard.reload(&[]).out == format!("{restart}\n"));
    let json = yard.reload(&["--json"]);
    let json: Value = serde_json::from_str(&json.out).context(json.err)?;
    ensure!(json["needs_restart"][0]["to"] == "2" && json["applied"] == serde_json::json!([]));
    yard.node.terminate()?;
    yard.node.start_again()?;
    yard.has_destination(1)?;
    ensure!(yard.reload(&[]).out == "nothing differs\n");
    Ok(())
}

#[test]
fn inputs_prefixes_and_the_level_of_the_log_are_taken_at_once() -> Result<()> {
    let yard = NodeReloadYard::start("")?;
    let listed = |name: &str| {
        let files = yard.ground.get("/api/v1/files?limit=1000")?;
        files["items"].as_array()?.iter().find(|file| file["name"] == name).cloned()
    };
    for (file, name) in [("one.info", "one.mpg"), ("other.info", "other.mpg")] {
        yard.ground.master(name.as_bytes(), 1000)?;
        let text = format!("filename\tweightcount\n{name}\t1\t1\t1\t1\t1\t1\n");
        std::fs::write(yard.ground.path(file), text)?;
        yard.configure(0, &graded(&yard.ground, file))?;
        yard.node.hang_up()?;
        wait_for(&format!("{name} is ranked"), &[&yard.node], || listed(name))?;
    }
    ensure!(listed("one.mpg").is_none(), "it is in the other file");
    ensure!(!yard.node.log_text().contains("DEBUG"));
    let more = "ignore.prefixes = [\"oth\"]\nlog.level = \"debug\"\nheartbeat.interval = \"200ms\"";
    yard.configure(0, &format!("{}\n{more}", graded(&yard.ground, "other.info")))?;
    yard.node.hang_up()?;
    wait_for("it is ignored", &[&yard.node], || {
        let why = yard.ground.get("/api/v1/files/other.mpg/explain")?;
        (why["verdict"] == "ignored").then_some(())
    })?;
    // Its hosts do not run: each probe tries a connection.
    yard.logs("DEBUG")
}

#[test]
fn planning_is_switched_off_and_on_again() -> Result<()> {
    let yard = NodeReloadYard::start("task.mode = \"off\"\nheartbeat.interval = \"200ms\"")?;
    let ground = &yard.ground;
    let source = ground.start_source(0, &[])?;
    let destination = ground.start_destination(0, &[])?;
    ground.master(b"a.mpg", 10_000)?;
    ground.grade(&[b"a.mpg"])?;
    let more = |mode: &str| {
        let ranking = graded(ground, "input/.grade.info");
        format!("{ranking}\nheartbeat.interval = \"200ms\"\ntask.mode = \"{mode}\"")
    };
    yard.configure(0, &more("off"))?;
    yard.node.hang_up()?;
    let roles = [&yard.node, &source, &destination];
    let page = |path: &str| {
        let url = format!("http://{}{path}", ground.node);
        let output = Command::new("curl").args(["-s", "-m", "10", &url]).output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    wait_for("the file is known, and why it stays", &roles, || {
        let why = ground.get("/api/v1/files/a.mpg/explain")?;
        (why["verdict"] == "switched_off").then_some(())
    })?;
    let plan = ground.get("/api/v1/plan").context("a plan")?;
    let blocked = plan["blocked"].as_str().unwrap_or_default();
    ensure!(blocked.contains("planning is off (task.mode"), "{plan}");
    ensure!(page("/readyz").is_some_and(|text| text.contains("warning: Planning is off")));
    ensure!(page("/metrics").is_some_and(|text| text.contains("\nreelyard_planning_off 1")));
    ensure!(
        ground.get("/api/v1/tasks").is_some_and(|tasks| tasks["items"] == serde_json::json!([]))
    );
    yard.configure(0, &more("on"))?;
    ensure!(yard.reload(&[]).out.contains("task.mode: \"off\" -> \"on\""));
    wait_for("the file is copied", &roles, || is_on(ground, 0, b"a.mpg").then_some(()))?;
    ensure!(page("/metrics").is_some_and(|text| text.contains("\nreelyard_planning_off 0")));
    Ok(())
}

/// The status of `GET` for a link at that address, or 0 without an answer.
fn status_at(address: SocketAddr, path: &str) -> u16 {
    let url = format!("http://{address}{path}");
    let output = Command::new("curl")
        .args(["-s", "-m", "10", "-o", "/dev/null", "-w", "%{http_code}", &url])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().parse().unwrap()
}

#[test]
fn links_are_served_moved_and_ended_without_a_restart() -> Result<()> {
    let yard = NodeReloadYard::start("")?;
    let url = format!("http://{}", yard.ground.node);
    let create = |path: &str| binary::run(&["share", "create", path, "--json", "--url", &url]);
    for dir in ["films", "news"] {
        std::fs::create_dir(yard.ground.path(dir))?;
        std::fs::write(yard.ground.path(dir).join("a.mpg"), "a film")?;
    }
    let root =
        |name: &str| format!("share.roots.{name} = \"{}\"", yard.ground.path(name).display());
    let IpAddr::V4(ip) = yard.ground.node.ip() else { anyhow::bail!("it is IPv4") };
    let [first, second] = [free_addr(ip)?, free_addr(ip)?];

    let refused = create("films/a.mpg");
    ensure!(refused.code == Some(4), "{refused:?}");
    ensure!(refused.err.contains("No share root is named 'films'"), "{}", refused.err);
    ensure!(refused.err.contains("Configured roots: none"), "{}", refused.err);

    // There was no share root before: roots and listener start at once.
    yard.configure(0, &format!("{}\nshare.listen = \"{first}\"", root("films")))?;
    let reloaded = yard.reload(&[]);
    ensure!(reloaded.out.contains("share.roots: "), "{}", reloaded.out);
    ensure!(!reloaded.out.contains("after a restart"), "{}", reloaded.out);
    let made = create("films/a.mpg");
    let share: Value = serde_json::from_str(&made.out).context(made.err)?;
    let link = share["url"].as_str().context("no link")?;
    ensure!(link.starts_with(&format!("http://{first}/s/")), "{link}");
    let path = link.strip_prefix(&format!("http://{first}")).context("elsewhere")?;
    ensure!(status_at(first, path) == 200, "{link}");
    let refused = create("news/a.mpg");
    ensure!(refused.err.contains("Configured roots: films"), "{}", refused.err);

    // Another listener, another root, other limits: the old address is closed.
    let more = "share.public_url = \"http://films.example\"\nshare.connections = 7\nshare.unknown_link_burst = 5\nshare.password_burst = 3\nshare.archives = 2\nshare.send_timeout = \"5s\"";
    let roots = [root("films"), root("news")].join("\n");
    yard.configure(0, &format!("{roots}\nshare.listen = \"{second}\"\n{more}"))?;
    let reloaded = yard.reload(&[]);
    ensure!(!reloaded.out.contains("after a restart"), "{}", reloaded.out);
    let made = create("news/a.mpg");
    let news: Value = serde_json::from_str(&made.out).context(made.err)?;
    let link = news["url"].as_str().context("no link")?;
    let news = link.strip_prefix("http://films.example").context("public_url is as before")?;
    ensure!(status_at(second, path) == 200 && status_at(second, news) == 200);
    wait_for("the old address is closed", &[&yard.node], || {
        (status_at(first, path) == 0).then_some(())
    })?;

    // The address is in use: the reload has no effect, and links continue as before.
    let taken = yard.ground.node;
    yard.configure(0, &format!("{roots}\nshare.listen = \"{taken}\"\ntask.timeout = \"5m\""))?;
    let refused = yard.reload(&[]);
    ensure!(refused.code == Some(4) || refused.code == Some(1), "{refused:?}");
    ensure!(refused.err.contains(&format!("cannot listen on {taken}")), "{}", refused.err);
    ensure!(status_at(second, path) == 200);

    // The shares of a removed root end. Without any root the node does not listen.
    yard.configure(0, &format!("{}\nshare.listen = \"{second}\"", root("films")))?;
    ensure!(!yard.reload(&[]).out.contains("after a restart"));
    wait_for("shares of the root end", &[&yard.node], || {
        (status_at(second, news) == 410).then_some(())
    })?;
    ensure!(status_at(second, path) == 200);
    yard.configure(0, "")?;
    ensure!(!yard.reload(&[]).out.contains("after a restart"));
    wait_for("the address is closed", &[&yard.node], || {
        (status_at(second, path) == 0).then_some(())
    })
}

#[test]
fn a_download_continues_while_the_listener_is_replaced() -> Result<()> {
    let yard = NodeReloadYard::start("")?;
    std::fs::create_dir(yard.ground.path("films"))?;
    let film = vec![7; 64 << 20];
    std::fs::write(yard.ground.path("films/a.mpg"), &film)?;
    let IpAddr::V4(ip) = yard.ground.node.ip() else { anyhow::bail!("it is IPv4") };
    let [first, second] = [free_addr(ip)?, free_addr(ip)?];
    let root = format!("share.roots.films = \"{}\"", yard.ground.path("films").display());
    yard.configure(0, &format!("{root}\nshare.listen = \"{first}\""))?;
    ensure!(yard.reload(&[]).code == Some(0));
    let url = format!("http://{}", yard.ground.node);
    let made = binary::run(&["share", "create", "films/a.mpg", "--json", "--url", &url]);
    let share: Value = serde_json::from_str(&made.out).context(made.err)?;
    let path = share["url"].as_str().context("no link")?.rsplit_once('/').context("no id")?.1;
    let mut stream = TcpStream::connect(first)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    write!(stream, "GET /s/{path}/file HTTP/1.1\r\nHost: {first}\r\nConnection: close\r\n\r\n")?;
    let mut begun = [0; 1000];
    stream.read_exact(&mut begun)?;
    ensure!(begun.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&begun));
    yard.configure(0, &format!("{root}\nshare.listen = \"{second}\"\nshare.connections = 9"))?;
    ensure!(yard.reload(&[]).code == Some(0));
    wait_for("the old address is closed", &[&yard.node], || {
        TcpStream::connect(first).is_err().then_some(())
    })?;
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest)?;
    ensure!(begun.len() + rest.len() > film.len(), "{} bytes came", rest.len());
    let metrics = format!("http://{}/metrics", yard.ground.node);
    let metrics = Command::new("curl").args(["-s", "-m", "10", &metrics]).output()?;
    let metrics = String::from_utf8(metrics.stdout)?;
    let counted = |line: &str| line.starts_with("reelyard_link_downloads_total{of=\"file\"} 1");
    ensure!(metrics.lines().any(counted), "figures continue over the reload:\n{metrics}");
    Ok(())
}

#[test]
fn a_stopped_node_listens_on_no_address() -> Result<()> {
    let yard = NodeReloadYard::start("")?;
    std::fs::create_dir(yard.ground.path("films"))?;
    let film = vec![7; 64 << 20];
    std::fs::write(yard.ground.path("films/a.mpg"), &film)?;
    let IpAddr::V4(ip) = yard.ground.node.ip() else { anyhow::bail!("it is IPv4") };
    let [first, second] = [free_addr(ip)?, free_addr(ip)?];
    let root = format!("share.roots.films = \"{}\"", yard.ground.path("films").display());
    let root = format!("{root}\nshare.drain = \"5s\"");
    yard.configure(0, &format!("{root}\nshare.listen = \"{first}\""))?;
    ensure!(yard.reload(&[]).code == Some(0));
    let url = format!("http://{}", yard.ground.node);
    let made = binary::run(&["share", "create", "films/a.mpg", "--json", "--url", &url]);
    let share: Value = serde_json::from_str(&made.out).context(made.err)?;
    let path = share["url"].as_str().context("no link")?.rsplit_once('/').context("no id")?.1;
    let mut stream = TcpStream::connect(first)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    write!(stream, "GET /s/{path}/file HTTP/1.1\r\nHost: {first}\r\nConnection: close\r\n\r\n")?;
    let mut begun = [0; 1000];
    stream.read_exact(&mut begun)?;
    yard.node.begin_to_end()?;
    yard.logs("stopped accepting links")?;
    yard.configure(0, &format!("{root}\nshare.listen = \"{second}\""))?;
    let refused = yard.reload(&[]);
    ensure!(refused.code == Some(4), "{refused:?}");
    ensure!(refused.err.contains("the node is stopping"), "{}", refused.err);
    ensure!(TcpStream::connect(second).is_err());
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest)?;
    ensure!(begun.len() + rest.len() > film.len(), "{} bytes came", rest.len());
    Ok(())
}

#[test]
fn a_new_token_is_required_at_once_and_never_shown() -> Result<()> {
    let [old, new] = ["token-of-yesterday-0", "token-of-tomorrow-00"];
    let ground = ProcessYard::new(1, 2)?;
    ground.grade(&[])?;
    let file = ground.path("node.toml");
    let secret = ground.path("token");
    std::fs::write(&secret, old)?;
    let more = format!("token_file = \"{}\"", secret.display());
    std::fs::write(&file, configuration(&ground, 0, &more))?;
    let node = RoleProcess::start_by_file("node", &file, ground.path("node.log"))?;
    let status = |token: &str| {
        let bearer = format!("Authorization: Bearer {token}");
        let url = format!("http://{}/api/v1/hosts", ground.node);
        let output = Command::new("curl")
            .args(["-s", "-m", "10", "-o", "/dev/null", "-w", "%{http_code}", "-H", &bearer, &url])
            .output()
            .ok()?;
        String::from_utf8(output.stdout).ok()
    };
    let answers = |token: &str, code: &str| {
        wait_for(&format!("{code} for a token"), &[&node], || {
            (status(token)? == code).then_some(())
        })
    };
    answers(old, "200")?;
    answers(new, "401")?;
    std::fs::write(&secret, new)?;
    node.hang_up()?;
    answers(new, "200")?;
    answers(old, "401")?;
    let log = node.log_text();
    ensure!(log.contains("setting changed: token_file: changed"), "{log}");
    ensure!(!log.contains(old) && !log.contains(new), "{log}");
    Ok(())
}
