//! Pages of a node that has no hosts, no inputs and no data: each says so, and what to do.

use std::process::Command;

use anyhow::{Result, ensure};
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::yard::{ProcessYard, wait_for};

use super::console_yard::{ConsoleYard, Visit};
use super::shown_lines::values;

#[test]
fn the_pages_of_a_node_without_inputs_say_what_is_missing() -> Result<()> {
    let ground = ProcessYard::new(0, 0)?;
    let node = ground.start_node(&[])?;
    wait_for("the node answers", &[&node], || ground.get("/api/v1/whoami"))?;
    let read = |path: &str, language: &str| -> Result<String> {
        let url = format!("http://{}{path}", ground.node);
        let accepted = format!("Accept-Language: {language}");
        let output = ground.curl().args(["-s", "-m", "20", "-H", &accepted, &url]).output()?;
        Ok(String::from_utf8(output.stdout)?)
    };
    let mut configured = 0;
    for (path, english, korean) in [
        ("/console", "No destination is set up", "저장 서버가 설정되지 않음"),
        ("/console/hosts", "<p id=\"page-sentence\">No host is set up.", "설정된 호스트 없음"),
        ("/console/files", "Nothing is ranked yet", "순위 정보 없음"),
        ("/console/tasks", "No copy was planned yet", "아직 계획한 복사 없음"),
        ("/console/map", "No requests were counted yet", "아직 집계된 요청 없음"),
        ("/console/shares", "No share root is set up", "공유 루트가 설정되지 않음"),
        ("/console/boxes", "There is no pool", "풀 없음"),
        ("/console/cluster", "This node runs alone", "단독으로"),
        ("/console/settings", "Missing", "파일 없음"),
        ("/console/plan", "is not ready", "준비"),
        ("/console/history", "is not ready", "준비"),
    ] {
        for (language, words) in [("en", english), ("ko", korean)] {
            let page = read(path, language)?;
            ensure!(page.contains(words), "{path} in {language} lacks {words:?}: {page}");
        }
        let page = read(path, "en")?;
        for lines in values(&page, "data-copy").iter().filter(|lines| lines.starts_with('[')) {
            let read = toml::from_str::<toml::Table>(lines);
            ensure!(read.is_ok(), "{path} shows lines that are no configuration: {lines}");
            configured += 1;
        }
    }
    ensure!(configured == 4, "{configured} pages show lines of the configuration");
    Ok(())
}

#[test]
fn a_bare_node_does_not_say_that_nothing_is_wrong() -> Result<()> {
    let yard = ConsoleYard::start_by_file()?;
    let visit = yard.visit("ops", "admin")?;
    let first = yard.page(&visit, "/console")?;
    let says = "No host and no input is set up";
    ensure!(first.contains(says) && !first.contains("Nothing is wrong"), "{first}");
    ensure!(first.contains("/console/guide/first-yard"), "{first}");
    let files = yard.page(&visit, "/console/files")?;
    ensure!(files.contains("Nothing is ranked yet"), "{files}");
    ensure!(!files.contains("Clear the filter"), "{files}");
    let token = yard.ground.bearer().replace("Authorization: Bearer ", "");
    let mut status = Command::new(binary::path());
    status.args(["status", "--url", &yard.url()]).env("REELYARD_TOKEN", token);
    let status = String::from_utf8(status.output()?.stdout)?;
    ensure!(status.starts_with(says), "{status}");
    destinations_that_are_all_down_are_one_trouble(&yard, &visit)
}

/// No destination answers: the first screen says the cause once, and does not say that none is set up.
fn destinations_that_are_all_down_are_one_trouble(yard: &ConsoleYard, visit: &Visit) -> Result<()> {
    let hosts: Vec<String> = (1..=6).map(|port| format!("\"127.0.0.1:{port}\"")).collect();
    let hosts = format!("[hosts]\ndestinations = [{}]\n", hosts.join(","));
    let beats = "[heartbeat]\ninterval = \"100ms\"\nsuspect_after = 1\ndown_after = 1\n";
    ConsoleYard::write_settings(&yard.ground, &format!("{hosts}{beats}"))?;
    let back = ["back=/console/settings"];
    let reloaded = yard.post(visit, "/console/settings/reload", &back)?;
    ensure!(reloaded.status == 303, "{}", reloaded.body);
    let first = wait_for("all are down", &[&yard.node], || {
        let first = yard.page(visit, "/console").ok()?;
        first.contains("6 hosts do not answer").then_some(first)
    })?;
    let times = |words: &str| first.matches(words).count();
    ensure!(times("No destination is up, so no copies are possible.") == 1, "{first}");
    ensure!(times("class=\"trouble\"") == 2, "the hosts and the missing ranking: {first}");
    for untrue in ["No destination is set up", "No host is set up", "None is configured"] {
        ensure!(times(untrue) == 0, "{untrue}: {first}");
    }
    Ok(())
}

#[test]
fn a_node_without_its_console_serves_only_the_api() -> Result<()> {
    let ground = ProcessYard::new(0, 0)?;
    let node = ground.start_node(&[("console.enabled", "false")])?;
    wait_for("the node answers", &[&node], || ground.get("/api/v1/whoami"))?;
    for (path, wanted) in [("/", 404), ("/console", 404), ("/login", 404), ("/guide", 200)] {
        let url = format!("http://{}{path}", ground.node);
        let arguments = ["-s", "-o", "/dev/null", "-w", "%{http_code}", &url];
        let status = String::from_utf8(ground.curl().args(arguments).output()?.stdout)?;
        ensure!(status == wanted.to_string(), "{path}: {status}");
    }
    Ok(())
}
