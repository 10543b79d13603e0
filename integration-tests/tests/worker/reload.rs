//! A running worker reloads its configuration on SIGHUP. Settings that can change at once do so, settings
//! that need a restart are named, and an invalid file is refused completely.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};
use reelyard_integration_tests::rigs::yard::{
    ProcessYard, RoleProcess, free_addr, holds, wait_for, wait_until_up,
};

/// A yard whose destination is configured by a file.
struct WorkerReloadYard {
    ground: ProcessYard,
    node: RoleProcess,
    source: RoleProcess,
    destination: RoleProcess,
    file: PathBuf,
    data_port: u16,
}

impl WorkerReloadYard {
    /// Starts the yard; `more` lines follow those that every configuration here has.
    fn start(more: &str) -> Result<Self> {
        let ground = ProcessYard::new(1, 1)?;
        ground.grade(&[])?;
        std::fs::create_dir_all(ground.copies(0))?;
        let file = ground.path("worker.toml");
        let std::net::SocketAddr::V4(addr) = ground.destination(0) else {
            anyhow::bail!("hosts of the tests are IPv4")
        };
        let data_port = free_addr(*addr.ip())?.port();
        std::fs::write(&file, configuration(&ground, data_port, more))?;
        let destination = RoleProcess::start_by_file("worker", &file, ground.path("worker.log"))?;
        wait_until_up(ground.destination(0), &destination)?;
        let source = ground.start_source(0, &[])?;
        let node = ground.start_node(&[("calls.disk_interval", "200ms")])?;
        Ok(WorkerReloadYard { ground, node, source, destination, file, data_port })
    }

    /// Writes the file again and sends SIGHUP.
    fn reload(&self, more: &str) -> Result<()> {
        std::fs::write(&self.file, configuration(&self.ground, self.data_port, more))?;
        self.destination.hang_up()
    }

    /// Waits until the log of the worker contains this.
    fn logs(&self, words: &str) -> Result<()> {
        wait_for(&format!("the log says {words:?}"), &[&self.destination], || {
            self.destination.log_text().contains(words).then_some(())
        })
    }

    /// Waits until a copy is complete.
    fn has(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let roles = [&self.node, &self.source, &self.destination];
        wait_for(&format!("{name} is copied"), &roles, || {
            holds(&self.ground.copies(0).join(name), bytes).then_some(())
        })
    }
}

fn configuration(ground: &ProcessYard, data_port: u16, more: &str) -> String {
    let listen = ground.destination(0);
    format!(
        r#"
listen = "{listen}"
data_listen = "{}:{data_port}"
node = "{}"
base_dir = "{}"
state_dir = "{}"
{more}
"#,
        listen.ip(),
        ground.node,
        ground.copies(0).display(),
        ground.path("state-of-worker").display(),
    )
}

#[test]
fn the_limits_of_its_disk_are_in_force_at_once() -> Result<()> {
    let yard = WorkerReloadYard::start("capacity = \"1000KiB\"\nstorage.limit_percent = 50")?;
    let first = yard.ground.master(b"a.mpg", 600_000)?;
    let second = yard.ground.master(b"b.mpg", 200_000)?;
    let third = yard.ground.master(b"c.mpg", 2_000_000)?;
    yard.ground.grade(&[b"a.mpg"])?;
    yard.has("a.mpg", &first)?;
    // More than half of the disk is in use: the worker starts no other copy.
    yard.ground.grade(&[b"a.mpg", b"b.mpg"])?;
    let roles = [&yard.node, &yard.source, &yard.destination];
    wait_for("the worker refuses the next", &roles, || {
        let tasks = yard.ground.get("/api/v1/tasks?state=failed")?;
        let mut tasks = tasks["items"].as_array()?.iter();
        let over = |reason: &str| reason.contains("over the limit of 50 %");
        tasks.any(|task| task["reason"].as_str().is_some_and(over)).then_some(())
    })?;
    yard.reload("capacity = \"1000KiB\"\nstorage.limit_percent = 100")?;
    yard.logs("setting changed: storage.limit_percent: 50 -> 100")?;
    yard.has("b.mpg", &second)?;
    // The third copy exceeds the quota, at any limit.
    yard.ground.grade(&[b"a.mpg", b"b.mpg", b"c.mpg"])?;
    wait_for("the file does not fit", &roles, || {
        let why = yard.ground.get("/api/v1/files/c.mpg/explain")?;
        (why["verdict"] == "too_big").then_some(())
    })?;
    yard.reload("capacity = \"10MiB\"\nstorage.limit_percent = 100\ncopies_at_once = 2")?;
    yard.logs("setting changed: capacity: \"1000KiB\" -> \"10MiB\"")?;
    yard.logs("setting changed: copies_at_once: 4 -> 2")?;
    yard.has("c.mpg", &third)?;
    // The same configuration again causes no message.
    yard.destination.hang_up()?;
    yard.logs("the configuration was reloaded: no changes")
}

#[test]
fn settings_that_need_a_restart_are_named_and_errors_refused() -> Result<()> {
    let mut yard = WorkerReloadYard::start("storage.limit_percent = 100")?;
    let elsewhere = yard.ground.path("elsewhere");
    std::fs::create_dir_all(&elsewhere)?;
    let more = format!(
        "storage.limit_percent = 99\nlog.level = \"debug\"\nsource_dirs = [\"{}\"]",
        elsewhere.display()
    );
    yard.reload(&more)?;
    yard.logs("setting changed: storage.limit_percent: 100 -> 99")?;
    yard.logs("setting changed: log.level:")?;
    yard.logs("needs a restart: source_dirs: [] ->")?;
    yard.logs("DEBUG")?;
    yard.reload("storage.limit_percent = 101\ncopys_at_once = 3")?;
    yard.logs(
        "cannot reload, the running configuration stays in use: the configuration has 2 faults:",
    )?;
    yard.logs("did you mean copies_at_once?")?;
    // The worker continues, and its log repeats the settings that need a restart.
    let bytes = yard.ground.master(b"a.mpg", 1000)?;
    yard.ground.grade(&[b"a.mpg"])?;
    yard.has("a.mpg", &bytes)?;
    yard.reload(&more)?;
    wait_for("it is reported again", &[&yard.destination], || {
        let log = yard.destination.log_text();
        (log.matches("needs a restart: source_dirs: [] ->").count() == 2).then_some(())
    })?;
    ensure!(yard.destination.log_text().matches("setting changed: storage").count() == 1);
    yard.destination.terminate()?;
    yard.destination.start_again()?;
    wait_until_up(yard.ground.destination(0), &yard.destination)?;
    yard.destination.hang_up()?;
    yard.logs("no changes")
}

#[test]
fn a_yard_takes_another_token_without_a_restart() -> Result<()> {
    let [old, new] = ["token-of-yesterday-0", "token-of-tomorrow-00"];
    let ground = ProcessYard::new(1, 1)?;
    let secret = ground.path("token");
    std::fs::write(&secret, old)?;
    let shown = secret.display().to_string();
    let with_token: [(&str, &str); 1] = [("token_file", &shown)];
    let source = ground.start_source(0, &with_token)?;
    let destination = ground.start_destination(0, &with_token)?;
    let node = ground.start_node(&with_token)?;
    let roles = [&node, &source, &destination];
    let copied = |name: &str, bytes: &[u8]| {
        wait_for(&format!("{name} is copied"), &roles, || {
            holds(&ground.copies(0).join(name), bytes).then_some(())
        })
    };
    let first = ground.master(b"a.mpg", 100_000)?;
    ground.grade(&[b"a.mpg"])?;
    copied("a.mpg", &first)?;
    let status = |host: std::net::SocketAddr, token: &str| {
        let bearer = format!("Authorization: Bearer {token}");
        let url = format!("http://{host}/info");
        let output = Command::new("curl")
            .args(["-s", "-m", "10", "-o", "/dev/null", "-w", "%{http_code}", "-H", &bearer, &url])
            .output()
            .ok()?;
        String::from_utf8(output.stdout).ok()
    };
    std::fs::write(&secret, new)?;
    for role in roles {
        role.hang_up()?;
    }
    for host in [ground.source(0), ground.destination(0)] {
        wait_for("the new token is asked for", &roles, || {
            (status(host, new)? == "200" && status(host, old)? == "401").then_some(())
        })?;
    }
    // Orders, reports, listings and the source's data port all use the new token.
    let second = ground.master(b"b.mpg", 100_000)?;
    ground.grade(&[b"a.mpg", b"b.mpg"])?;
    copied("b.mpg", &second)?;
    for worker in [&source, &destination] {
        let log = worker.log_text();
        ensure!(log.contains("setting changed: token_file: changed"), "{log}");
        ensure!(!log.contains(old) && !log.contains(new), "{log}");
    }
    Ok(())
}
