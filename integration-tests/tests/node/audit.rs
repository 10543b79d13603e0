//! The audit of a real node: the rows of changes and refused calls, a crash, a full disk, and the verification.

use std::fs;
use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::binary::{ProgramOutput, reelyard, run};
use reelyard_integration_tests::rigs::small_disk::SmallDisk;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, free_addr, wait_for};
use serde_json::Value;

/// The exit code for an audit that is not whole.
const NOT_WHOLE: i32 = 5;

/// A node whose audit is read by the command line.
struct AuditedNode {
    ground: ProcessYard,
    node: RoleProcess,
}

impl AuditedNode {
    fn start(more: &[(&str, &str)]) -> Result<Self> {
        let audited = AuditedNode::begin(more)?;
        audited.until_up()?;
        Ok(audited)
    }

    /// Starts a node, and does not wait for it.
    fn begin(more: &[(&str, &str)]) -> Result<Self> {
        let ground = ProcessYard::new(0, 0)?;
        let node = ground.start_node(more)?;
        Ok(AuditedNode { ground, node })
    }

    fn until_up(&self) -> Result<()> {
        wait_for("the node answers", &[&self.node], || self.ground.get("/api/v1/whoami").map(drop))
    }

    fn cli(&self, arguments: &[&str]) -> ProgramOutput {
        let url = format!("http://{}", self.ground.node);
        run(&[arguments, &["--url", &url]].concat())
    }

    /// The output of a command that must succeed.
    fn done(&self, arguments: &[&str]) -> Result<String> {
        let ended = self.cli(arguments);
        ensure!(ended.code == Some(0), "{arguments:?}: {}", ended.err);
        Ok(ended.out.trim_end().to_owned())
    }

    /// The rows with these options, oldest first.
    fn rows(&self, options: &[&str]) -> Result<Vec<Value>> {
        let arguments = [&["audit", "list", "--oldest-first", "--all", "--json"], options].concat();
        let page: Value = serde_json::from_str(&self.done(&arguments)?)?;
        Ok(page["items"].as_array().cloned().unwrap_or_default())
    }

    /// The rows with these options, once there are `count` of them. A row may follow its answer.
    fn rows_once(&self, count: usize, options: &[&str]) -> Result<Vec<Value>> {
        wait_for("the rows are written", &[&self.node], || {
            self.rows(options).ok().filter(|rows| rows.len() >= count)
        })
    }

    fn verify(&self) -> ProgramOutput {
        run(&["audit", "verify", "--data-dir", self.ground.path("node").to_str().unwrap()])
    }

    /// The status of a call with this header.
    fn call(&self, method: &str, path: &str, headers: &[&str]) -> Result<String> {
        let mut curl = std::process::Command::new("curl");
        curl.args(["-s", "-i", "-m", "20", "-X", method]);
        for header in headers {
            curl.args(["-H", header]);
        }
        let output = curl.arg(format!("http://{}{path}", self.ground.node)).output()?;
        Ok(String::from_utf8(output.stdout)?)
    }
}

#[test]
fn changes_and_refusals_have_a_row_with_name_address_and_reason() -> Result<()> {
    let yard = AuditedNode::start(&[])?;
    let viewer = yard.done(&["token", "create", "watcher", "--role", "viewer"])?;
    let refused = yard.cli(&[
        "token",
        "create",
        "more",
        "--role",
        "admin",
        "--token",
        &viewer,
        "--reason",
        "나는 관리자",
    ]);
    assert_eq!(refused.code, Some(4), "{}", refused.err);
    yard.done(&["user", "add", "alice", "--role", "viewer", "--no-password"])?;
    yard.done(&["user", "role", "alice", "operator", "--reason", "ticket 7: on call"])?;
    let unknown = yard.call("DELETE", "/api/v1/users/alice", &["Authorization: Bearer ryt_no"])?;
    assert!(unknown.starts_with("HTTP/1.1 401"), "{unknown}");
    let id = unknown.split("x-request-id: ").nth(1).and_then(|rest| rest.split("\r\n").next());

    let rows = yard.rows_once(5, &[])?;
    let row = |operation: &str, actor: &str| {
        let found = rows.iter().find(|row| {
            row["operation"] == operation && row["actor"]["name"].as_str().unwrap_or("") == actor
        });
        found.with_context(|| format!("{operation} of {actor}: {rows:#?}"))
    };
    let refused = row("createToken", "watcher")?;
    assert_eq!(refused["actor"]["kind"], "token");
    assert_eq!(refused["status"], 403);
    assert_eq!(refused["problem"], "forbidden");
    assert_eq!(refused["reason"], "나는 관리자");
    assert_eq!(refused["from"], "127.0.0.1");
    let changed = row("changeUser", "admin")?;
    assert_eq!(changed["status"], 200);
    assert_eq!(changed["subject"], "user alice");
    assert_eq!(changed["reason"], "ticket 7: on call");
    assert_eq!([&changed["before"]["role"], &changed["after"]["role"]], ["viewer", "operator"]);
    let unknown = row("removeUser", "")?;
    assert_eq!([&unknown["actor"]["kind"], &unknown["subject"]], ["unknown", "user alice"]);
    assert_eq!(unknown["request_id"].as_str(), id, "the refusal has the id of its row");
    assert_eq!(row("node.started", "")?["actor"]["kind"], "node");

    let of_viewer = yard.rows(&["--actor", "token watcher", "--outcome", "refused"])?;
    assert_eq!(of_viewer.len(), 1, "{of_viewer:#?}");
    let hidden = yard.cli(&["audit", "list", "--token", &viewer]);
    assert!(hidden.code == Some(4) && hidden.err.contains("audit:read"), "{}", hidden.err);
    let exported = yard.ground.path("audit.jsonl.gz");
    let url = format!("http://{}", yard.ground.node);
    let mut export = reelyard(&["audit", "export", "--actor", "watcher", "--url", &url]);
    assert!(export.stdout(fs::File::create(&exported)?).status()?.success());
    let lines = std::process::Command::new("zcat").arg(&exported).output()?.stdout;
    let lines = String::from_utf8(lines)?;
    assert!(lines.lines().count() == 1 && lines.contains("나는 관리자"), "{lines}");

    let listed = yard.done(&["audit", "list"])?;
    assert!(listed.contains("token watcher") && listed.contains("403 forbidden"), "{listed}");
    Ok(())
}

#[test]
fn an_answer_names_its_request_and_a_read_has_no_row() -> Result<()> {
    let yard = AuditedNode::start(&[])?;
    let bearer = yard.ground.bearer();
    let answer = yard.call("POST", "/api/v1/removals", &[&bearer, "X-Request-Id: mine-1"])?;
    assert!(answer.to_lowercase().contains("x-request-id: mine-1"), "{answer}");
    let answer = yard.call("POST", "/api/v1/removals", &[&bearer, "X-Request-Id: not \"one\""])?;
    assert!(!answer.contains("not \"one\""), "{answer}");
    // An old program, which has no token.
    yard.call("DELETE", "/tasks/17", &[])?;
    yard.call("GET", "/api/v1/hosts", &[&bearer])?;
    let rows = yard.rows_once(4, &[])?;
    let of_cfm = rows.iter().find(|row| row["operation"] == "cfm.cancelTask");
    let of_cfm = of_cfm.with_context(|| format!("{rows:#?}"))?;
    assert_eq!([&of_cfm["from"], &of_cfm["subject"]], ["127.0.0.1", "task 17"]);
    assert!(rows.iter().any(|row| row["request_id"] == "mine-1"), "{rows:#?}");
    assert!(rows.iter().all(|row| row["operation"] != "listHosts"), "{rows:#?}");
    Ok(())
}

#[test]
fn secrets_and_bodies_are_not_recorded() -> Result<()> {
    let yard = AuditedNode::start(&[])?;
    let admin = yard.ground.admin_token()?;
    let secret = yard.done(&["token", "create", "ci", "--role", "viewer"])?;
    let rotated = yard.done(&["token", "rotate", "ci"])?;
    let body = r#"{"name": "bob", "role": "viewer", "password": "correct horse battery"}"#;
    let url = format!("http://{}/api/v1/users", yard.ground.node);
    let added = yard
        .ground
        .curl()
        .args(["-s", "-X", "POST", "-H", "content-type: application/json", "-d", body, &url])
        .output()?;
    assert!(String::from_utf8(added.stdout)?.contains("\"bob\""));
    yard.call("DELETE", &format!("/api/v1/tokens/{rotated}"), &[&yard.ground.bearer()])?;
    yard.rows_once(5, &[])?;
    let dir = yard.ground.path("node/audit");
    for file in fs::read_dir(dir)? {
        let text = fs::read_to_string(file?.path())?;
        for hidden in [admin.reveal(), &secret, &rotated, "correct horse battery"] {
            assert!(!text.contains(hidden), "{text}");
        }
    }
    Ok(())
}

#[test]
fn a_killed_node_keeps_a_whole_audit() -> Result<()> {
    let mut yard = AuditedNode::start(&[])?;
    for number in 0..20 {
        yard.done(&["user", "add", &format!("u{number}"), "--role", "viewer", "--no-password"])?;
    }
    yard.rows_once(20, &["--operation", "addUser"])?;
    yard.node.kill();
    let verified = yard.verify();
    assert!(verified.code == Some(0) && verified.out.contains("whole"), "{}", verified.out);
    let known = verified.out.lines().find_map(|line| line.strip_prefix("last row: ")).unwrap();

    yard.node.start_again()?;
    yard.until_up()?;
    assert_eq!(yard.rows(&["--operation", "addUser"])?.len(), 20);
    yard.rows_once(2, &["--operation", "node.started"])?;
    yard.node.terminate()?;
    let dir = yard.ground.path("node");
    let dir = dir.to_str().unwrap();
    let verified = run(&["audit", "verify", "--data-dir", dir, "--contains", known, "--json"]);
    assert_eq!(verified.code, Some(0), "{}", verified.out);

    // An edited row is noticed by the command, and the node starts all the same.
    let segment = fs::read_dir(yard.ground.path("node/audit"))?
        .map(|file| file.map(|file| file.path()))
        .find(|path| path.as_ref().is_ok_and(|path| path.extension().is_some()))
        .context("a segment")??;
    let text = fs::read_to_string(&segment)?;
    assert!(text.contains("node.stopped"), "{text}");
    fs::write(&segment, text.replace("\"user u7\"", "\"user x7\""))?;
    let verified = yard.verify();
    assert_eq!(verified.code, Some(NOT_WHOLE), "{}", verified.out);
    assert!(verified.out.contains("this row was changed"), "{}", verified.out);
    yard.node.start_again()?;
    yard.until_up()?;
    yard.rows_once(1, &["--operation", "audit.damaged"])?;
    Ok(())
}

#[test]
fn new_rows_are_followed() -> Result<()> {
    let yard = AuditedNode::start(&[])?;
    let url = format!("http://{}", yard.ground.node);
    let log = yard.ground.path("followed");
    let mut follow =
        reelyard(&["audit", "follow", "--operation", "addUser", "--after", "1", "--url", &url]);
    let mut follow = follow.stdout(fs::File::create(&log)?).spawn()?;
    yard.done(&["user", "add", "alice", "--role", "viewer", "--no-password"])?;
    yard.done(&["token", "create", "ci", "--role", "viewer"])?;
    yard.done(&["user", "add", "bob", "--role", "viewer", "--no-password"])?;
    let text = wait_for("both rows are printed", &[&yard.node], || {
        fs::read_to_string(&log).ok().filter(|text| text.lines().count() >= 2)
    });
    follow.kill()?;
    follow.wait()?;
    let text = text?;
    let users: Vec<&str> = text.lines().collect();
    assert!(users[0].contains("user alice") && users[1].contains("user bob"), "{text}");
    Ok(())
}

#[test]
fn a_link_is_revoked_without_room_for_its_row() -> Result<()> {
    let place = tempfile::tempdir()?;
    let disk = SmallDisk::mount(place.path(), 48);
    let shared = tempfile::tempdir()?;
    fs::write(shared.path().join("a.mpg"), b"leaked")?;
    let links = free_addr(Ipv4Addr::LOCALHOST)?.to_string();
    let data_dir = place.path().to_str().unwrap();
    let mut yard = AuditedNode::begin(&[
        ("data_dir", data_dir),
        ("journal.reserve", "12MiB"),
        ("share.listen", &links),
        ("share.roots.media", shared.path().to_str().unwrap()),
    ])?;
    let token_file = place.path().join("admin.token");
    let token = ["--token-file", token_file.to_str().unwrap()];
    let cli = |arguments: &[&str]| yard.cli(&[arguments, &token].concat());
    let link = wait_for("a link is created", &[&yard.node], || {
        let created = cli(&["share", "create", "media/a.mpg", "--ttl", "1h"]);
        (created.code == Some(0)).then(|| created.out.trim().to_owned())
    })?;
    let id = link.rsplit('/').next().unwrap_or_default().to_owned();

    disk.fill();
    let readyz = || yard.ground.readyz();
    wait_for("the node warns", &[&yard.node], || {
        // Each refused call needs a row, until the last page of the file is full.
        cli(&["user", "remove", "nobody"]);
        readyz().filter(|text| text.contains("The audit cannot be written"))
    })?;
    let revoked = cli(&["share", "revoke", &id, "--reason", "leaked"]);
    assert_eq!(revoked.code, Some(0), "{}", revoked.err);

    disk.clear();
    wait_for("the warning ends", &[&yard.node], || {
        readyz().filter(|text| !text.contains("The audit cannot be written"))
    })?;
    let rows = cli(&["audit", "list", "--operation", "revokeShares", "--json"]);
    assert!(rows.out.contains("leaked"), "the row waited in memory: {}", rows.out);
    assert!(rows.out.contains("expires_at"), "its deadline before: {}", rows.out);
    yard.node.terminate()?;
    let verified = run(&["audit", "verify", "--data-dir", data_dir]);
    assert_eq!(verified.code, Some(0), "{}", verified.out);
    Ok(())
}
