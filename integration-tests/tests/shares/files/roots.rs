//! Roots that are missing, appear, disappear, and become other directories.

use std::fs;
use std::net::Ipv4Addr;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use reelyard_core::actor_parts::ChangeSettings;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::binary::{ProgramOutput, run};
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, free_addr, wait_for};
use reelyard_shares::share_expiry::{MoveRefused, ShareEnding};
use reelyard_shares::share_files::{CheckRoots, ShareFilesSettings};
use serde_json::{Value, json};

use crate::files::files_yard::{
    ShareDirectories as Disk, ShareFilesYard, opened, refused, root, wanted,
};

impl ShareFilesYard {
    async fn look_at_roots(&self) {
        self.files.as_ref().unwrap().send(CheckRoots).await.unwrap();
    }

    /// Lets the removal time of missing paths pass.
    async fn set_removed_after(&self, removed_after: Duration) {
        let sweep_interval = Duration::from_secs(3600);
        let settings = ShareFilesSettings { removed_after, sweep_interval };
        self.files.as_ref().unwrap().send(ChangeSettings(settings)).await.unwrap();
    }
}

#[actix::test]
async fn a_root_that_becomes_another_directory_is_opened_again() {
    let disk = Disk::new();
    let yard = opened(&disk).await;
    let (id, kept) = (yard.create("films/other").await, yard.create("films/d/a").await);
    // Simulates the unmount of a file system with all files, and the mount of one with some of them.
    fs::rename(disk.path("films"), disk.path("aside")).unwrap();
    eventually("it is reported", || {
        yard.files.as_ref().unwrap().do_send(CheckRoots);
        yard.views.load().unreachable.contains_key(&root("films"))
    })
    .await;
    assert_eq!(refused(yard.make(wanted("films/other", "more/x")).await), MoveRefused::RootAway);
    yard.set_removed_after(Duration::from_secs(3600)).await;
    fs::create_dir_all(disk.path("new/d")).unwrap();
    fs::write(disk.path("new/d/a"), b"a").unwrap();
    fs::rename(disk.path("new"), disk.path("films")).unwrap();
    eventually("it is opened", || {
        yard.files.as_ref().unwrap().do_send(CheckRoots);
        yard.views.load().unreachable.is_empty()
    })
    .await;
    let sweeps = yard.views.load().sweeps;
    yard.sweep().await;
    eventually("the missing path is noticed", || yard.views.load().missing == 1).await;
    eventually("a pass has ended", || yard.views.load().sweeps > sweeps).await;
    assert!(yard.recorded(id).is_some(), "it may be about to come");
    yard.make(wanted("films/d/a", "films/d/c")).await.unwrap();
    assert!(disk.path("films/d/c").exists() && disk.path("aside/d/a").exists());
    yard.set_removed_after(Duration::from_millis(1)).await;
    assert_eq!(yard.ended(id).await, ShareEnding::Removed, "after the usual time");
    assert_eq!(yard.recorded(kept).as_deref(), Some("films/d/c"));
    yard.closed().await;
}

#[actix::test]
async fn nothing_is_moved_into_a_directory_that_was_the_root() {
    let disk = Disk::new();
    let yard = opened(&disk).await;
    fs::rename(disk.path("more"), disk.path("more.old")).unwrap();
    fs::create_dir(disk.path("more")).unwrap();
    match yard.make(wanted("films/other", "more/other")).await {
        // Meanwhile the node has observed the new content.
        Ok(_) => assert!(disk.path("more/other").exists()),
        entry => assert_eq!(refused(entry), MoveRefused::RootAway),
    }
    assert!(!disk.path("more.old/other").exists());
    yard.look_at_roots().await;
    yard.closed().await;
}

struct ShareRootsNode {
    ground: ProcessYard,
    node: RoleProcess,
}

impl ShareRootsNode {
    /// Starts a node with an existing root and a missing one.
    fn start() -> Result<Self> {
        let ground = ProcessYard::new(1, 0)?;
        fs::create_dir(ground.path("films"))?;
        fs::write(ground.path("films/a"), b"a")?;
        let [films, nas] = ["films", "nas"].map(|name| ground.path(name));
        let roots = format!("{{ films = \"{}\", nas = \"{}\" }}", films.display(), nas.display());
        let links = free_addr(Ipv4Addr::LOCALHOST)?.to_string();
        let node = ground.start_node(&[("share.roots", &roots), ("share.listen", &links)])?;
        let place = ShareRootsNode { ground, node };
        wait_for("the node answers", &[&place.node], || {
            (place.ask("GET", "/shares/reclaim", &Value::Null).0 == 200).then_some(())
        })?;
        Ok(place)
    }

    /// The status and body of an API call.
    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let mut command = self.ground.curl();
        command.args(["-X", method, "-w", "\n%{http_code}"]);
        if !body.is_null() {
            command.args(["-H", "content-type: application/json", "-d", &body.to_string()]);
        }
        let message = command.arg(format!("http://{}/api/v1{path}", self.ground.node)).output();
        let text = String::from_utf8(message.unwrap().stdout).unwrap();
        let (body, status) = text.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn create(&self, path: &str) -> (u16, Value) {
        self.ask("POST", "/shares", &json!({ "path": path }))
    }

    fn reload(&self) -> ProgramOutput {
        run(&["config", "reload", "--url", &format!("http://{}", self.ground.node)])
    }
}

#[test]
fn a_missing_root_delays_nothing_and_is_opened_when_it_appears() -> Result<()> {
    let place = ShareRootsNode::start()?;
    assert_eq!(place.create("films/a").0, 201);
    let (status, answer) = place.create("nas/b");
    let detail = answer["detail"].as_str().unwrap();
    assert!(
        status == 503 && detail.contains("the directory of its root is not available"),
        "{answer}"
    );
    let answer = place.ask("POST", "/files/move", &json!({ "from": "films/a", "to": "nas/a" }));
    assert!(answer.0 == 503 && answer.1.to_string().contains("try again"), "{answer:?}");
    wait_for("it is reported", &[&place.node], || {
        let log = place.node.log_text();
        (log.contains("root unreachable") && log.contains("root=nas")).then_some(())
    })?;
    let reloaded = place.reload();
    assert_eq!(reloaded.code, Some(0), "{}", reloaded.err);
    fs::create_dir(place.ground.path("nas"))?;
    fs::write(place.ground.path("nas/b"), b"b")?;
    assert_eq!(place.reload().code, Some(0));
    let share = wait_for("it is opened", &[&place.node], || {
        Some(place.create("nas/b")).filter(|(status, _)| *status == 201)
    })?;
    let link = format!("{}/file", share.1["url"].as_str().unwrap());
    let fetched = Command::new("curl").args(["-s", "-m", "20", &link]).output()?;
    assert_eq!(fetched.stdout, b"b");
    wait_for("that is reported", &[&place.node], || {
        place.node.log_text().contains("root reachable again").then_some(())
    })?;
    Ok(())
}

#[test]
fn a_check_reports_a_missing_root_and_refuses_an_invalid_one() {
    let dir = tempfile::tempdir().unwrap();
    let check = |root: &str| {
        run(&["config", "check", "--set", &format!("share.roots={{ films = \"{root}\" }}")])
    };
    let missing = check(&dir.path().join("nas").display().to_string());
    assert_eq!(missing.code, Some(0), "{}", missing.err);
    assert!(missing.out.contains("nas does not exist now"), "{}", missing.out);
    fs::write(dir.path().join("file"), b"x").unwrap();
    for (bad, why) in [("films", "not an absolute path"), ("file", "is not a directory")] {
        let path =
            if bad == "file" { dir.path().join(bad).display().to_string() } else { bad.into() };
        let refused = check(&path);
        assert_eq!(refused.code, Some(2), "{bad}");
        assert!(refused.err.contains(why), "{}", refused.err);
    }
}

#[test]
fn no_path_forges_a_line_of_the_log() -> Result<()> {
    let place = ShareRootsNode::start()?;
    let forged = "2026-01-01T00:00:00Z forged\u{1b}[2J";
    let to = format!("films/x\n{forged}");
    let answer = place.ask("POST", "/files/move", &json!({ "from": "films/a", "to": to }));
    assert_eq!(answer.0, 200, "{answer:?}");
    let log = wait_for("it is reported", &[&place.node], || {
        Some(place.node.log_text()).filter(|log| log.contains("move started"))
    })?;
    assert!(log.contains("forged") && !log.contains('\u{1b}'), "{log}");
    assert!(!log.lines().any(|line| line.starts_with("2026-01-01")), "{log}");
    Ok(())
}
