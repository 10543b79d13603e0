//! A node whose disk is really full says so, can be read as before, and goes on by itself.

use std::process::Command;

use anyhow::Result;
use reelyard_integration_tests::small_disk::SmallDisk;
use reelyard_integration_tests::yard::{Ground, wait_for};

#[test]
fn a_node_on_a_full_disk_is_read_as_before_and_says_what_to_do() -> Result<()> {
    let place = tempfile::tempdir()?;
    let disk = SmallDisk::mount(place.path(), 48);
    let ground = Ground::new(1, 1)?;
    ground.grade(&[b"first.mpg"])?;
    let data_dir = place.path().to_str().unwrap();
    let mut node = ground.start_node(&[("data_dir", data_dir), ("journal.reserve", "12MiB")])?;
    let get = |path: &str| -> Option<String> {
        let url = format!("http://{}{path}", ground.node);
        let output = Command::new("curl").args(["-s", "-m", "20", &url]).output().unwrap();
        String::from_utf8(output.stdout).ok().filter(|_| output.status.success())
    };
    wait_for("the node is ready", &[&node], || get("/readyz").filter(|said| said == "ready\n"))?;
    let hosts = get("/api/v1/hosts");

    disk.fill();
    let said = wait_for("it says so", &[&node], || {
        get("/readyz").filter(|said| said.contains("is full"))
    })?;
    assert!(said.contains("make room for at least"), "{said}");
    let status: serde_json::Value = serde_json::from_str(&get("/api/v1/status").unwrap())?;
    assert_eq!(status["ready"], false);
    let journal = &status["actors"]["journal"]["state"];
    assert!(journal["disk_full"].as_str().is_some_and(|why| said.contains(why)), "{journal}");
    assert_eq!(status["journal"]["role"], "leader");
    assert_eq!(get("/tasks").as_deref(), Some("[]\n"));
    assert!(hosts.is_some() && get("/api/v1/hosts").is_some());
    assert!(get("/dashboard").is_some());

    node.kill();
    node.start_again()?;
    wait_for("it starts all the same", &[&node], || {
        get("/readyz").filter(|said| said.contains("is full"))
    })?;
    assert_eq!(get("/tasks").as_deref(), Some("[]\n"));
    disk.clear();
    wait_for("it goes on", &[&node], || get("/readyz").filter(|said| said == "ready\n"))?;
    assert!(node.terminate()?.success());
    Ok(())
}
