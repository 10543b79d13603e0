//! Real processes: the load of network links decides about copies. The workers read the load from a directory
//! of the test, in the format of the kernel.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::yard::{ProcessYard, holds, wait_for};

/// The speed of a link in these tests.
const SPEED: &str = "100Mbit/s";

/// A network interface in the format of sysfs, with a constant rate of sent bytes per second.
struct FakeInterface {
    sysfs: PathBuf,
    rate: Arc<AtomicU64>,
    stop: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl FakeInterface {
    /// A link that sends `mbits` Mbit/s from the start.
    fn carrying(sysfs: PathBuf, mbits: u64) -> Result<Self> {
        let dir = sysfs.join("class/net/eth7/statistics");
        std::fs::create_dir_all(&dir)?;
        write(&dir, "rx_bytes", 0)?;
        write(&dir, "tx_bytes", 0)?;
        let (rate, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (rated, stopped) = (Arc::clone(&rate), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let (mut sent, mut last) = (0.0, std::time::Instant::now());
            while stopped.load(Ordering::Relaxed) == 0 {
                std::thread::sleep(Duration::from_millis(20));
                sent += last.elapsed().as_secs_f64() * rated.load(Ordering::Relaxed) as f64;
                last = std::time::Instant::now();
                if write(&dir, "tx_bytes", sent as u64).is_err() {
                    return;
                }
            }
        });
        let link = FakeInterface { sysfs, rate, stop, thread: Some(thread) };
        link.carries(mbits);
        Ok(link)
    }

    fn carries(&self, mbits: u64) {
        self.rate.store(mbits * 1_000_000 / 8, Ordering::Relaxed);
    }

    fn settings(&self) -> [(&str, &str); 3] {
        let sysfs = self.sysfs.to_str().unwrap_or_default();
        [("network.interface", "eth7"), ("network.link_speed", SPEED), ("network.sysfs", sysfs)]
    }
}

/// Writes a value in one step, as the kernel does.
fn write(dir: &Path, file: &str, value: u64) -> std::io::Result<()> {
    std::fs::write(dir.join("new"), format!("{value}\n"))?;
    std::fs::rename(dir.join("new"), dir.join(file))
}

impl Drop for FakeInterface {
    fn drop(&mut self) {
        self.stop.store(1, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[test]
fn a_host_above_its_mark_gets_nothing_until_it_is_below() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    ground.grade(&[])?;
    let link = FakeInterface::carrying(ground.path("sys"), 95)?;
    let source = ground.start_source(0, &[])?;
    let destination = ground.start_destination(0, &link.settings())?;
    let node = ground.start_node(&[
        ("placement.destination_traffic_mark_percent", "80"),
        ("calls.changes_interval", "300ms"),
        ("calls.traffic_interval", "300ms"),
    ])?;
    let roles = [&node, &source, &destination];
    let url = format!("http://{}", ground.node);
    let host = ground.destination(0).to_string();
    let shown = || ground.get(&format!("/api/v1/hosts/{host}"));
    wait_for("the traffic is known", &roles, || {
        let sends = shown()?["traffic"]["sends"].as_u64()?;
        (sends > 80_000_000).then_some(())
    })?;
    let bytes = ground.master(b"a.mpg", 3_000_000)?;
    ground.grade(&[b"a.mpg"])?;
    wait_for("the file waits for the link", &roles, || {
        let why = ground.get("/api/v1/files/a.mpg/explain")?;
        (why["destinations"][0]["says"] == "busy_link").then_some(())
    })?;
    let answer = binary::run(&["plan", "--url", &url, "--explain", "a.mpg"]);
    ensure!(answer.out.contains("its link is too busy with other traffic"), "{answer:?}");
    ensure!(answer.out.contains("(mark 80%)"), "{answer:?}");
    let answer = binary::run(&["hosts", "--url", &url]);
    ensure!(answer.out.contains("TRAFFIC") && answer.out.contains(" of 100Mbit/s"), "{answer:?}");
    ensure!(answer.out.contains("over the mark of 80%"), "{answer:?}");
    let metrics = std::process::Command::new("curl")
        .args(["-sf", &format!("{url}/metrics")])
        .output()
        .context("curl")?;
    let metrics = String::from_utf8(metrics.stdout)?;
    let gauge = format!("host_link_bits_per_second{{host=\"{host}\"}} 100000000");
    ensure!(metrics.contains(&gauge), "{metrics}");
    ensure!(
        ground.get("/api/v1/tasks").is_some_and(|tasks| tasks["items"] == serde_json::json!([]))
    );
    link.carries(40);
    wait_for("the file is copied", &roles, || {
        holds(&ground.copies(0).join("a.mpg"), &bytes).then_some(())
    })
}

#[test]
fn the_load_of_its_own_copies_does_not_stop_a_source() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    // The counters follow the bytes that the source sends.
    let link = FakeInterface::carrying(ground.path("sys"), 0)?;
    let source = ground.start_source(0, &link.settings())?;
    let destination = ground.start_destination(0, &[])?;
    let node = ground.start_node(&[
        ("placement.source_traffic_mark_percent", "50"),
        ("calls.traffic_interval", "300ms"),
        ("task.copy_speed", "80Mbit/s"),
    ])?;
    let roles = [&node, &source, &destination];
    let host = ground.source(0).to_string();
    let traffic = || Some(ground.get(&format!("/api/v1/hosts/{host}"))?["traffic"].clone());
    // Eight seconds of copies, one after the other, at 80 % of the link.
    let names: Vec<String> = (0..4).map(|number| format!("{number}.mpg")).collect();
    for name in &names {
        ground.master(name.as_bytes(), 20_000_000)?;
    }
    ground.grade(&names.iter().map(|name| name.as_bytes()).collect::<Vec<_>>())?;
    wait_for("a copy runs", &roles, || {
        let tasks = ground.get("/api/v1/tasks?state=working")?;
        (!tasks["items"].as_array()?.is_empty()).then_some(())
    })?;
    link.carries(82);
    let answer = wait_for("the load of the copies is separate", &roles, || {
        let traffic = traffic()?;
        let all = traffic["sends"].as_u64()?;
        let copies = traffic["copies"]["sends"].as_u64()?;
        (all > 55_000_000 && copies > 45_000_000).then_some((all, copies))
    })?;
    ensure!(answer.0.saturating_sub(answer.1) < 50_000_000, "{answer:?}");
    wait_for("all are copied one after the other", &roles, || {
        let is_there = |name: &String| ground.copies(0).join(name).exists();
        names.iter().all(is_there).then_some(())
    })
}
