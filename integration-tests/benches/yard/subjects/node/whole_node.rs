//! A complete node process with a million files and fifty destinations that list all of them.

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use reelyard_integration_tests::rigs::catalog::catalog_input::{event_log, media_name};
use reelyard_integration_tests::rigs::yard::{RoleProcess, free_addr};
use reqwest::Method;

use crate::figure::{BenchFigure, FigureTarget};
use crate::peers::many_hosts::ManyHosts;
use crate::peers::node_api::BenchApi;
use crate::subjects::yard::catalog::{FILES, write_inputs_apart};
use crate::usage::{MOST_MEMORY_MIB, cpu_of, memory_of, mib, peak_memory_of};

const HOSTS: usize = 50;

/// The longest time until the node knows every file.
const PATIENCE: Duration = Duration::from_secs(120);

/// The rest before the observation. The node lists a directory again that had just changed, and long directories only
/// after a rest.
const SETTLES: Duration = Duration::from_secs(30);

/// The duration of the observation afterwards. In this time the node lists every host's files once.
const SPAN: Duration = Duration::from_secs(60);

/// Measures memory and processor time of a node that only observes.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let dir = tempfile::tempdir()?;
    write_inputs_apart(dir.path())?;
    let masters = dir.path().join("masters");
    std::fs::create_dir(&masters)?;
    for index in 0..FILES {
        File::create(masters.join(media_name(index)))?;
    }
    actix_rt::System::new().block_on(watch(dir.path()))
}

/// Starts a node that knows every file and host, with these settings.
async fn start(
    dir: &Path,
    hosts: &ManyHosts,
    more: &[(&str, String)],
) -> Result<(RoleProcess, u32, BenchApi)> {
    let listen = free_addr(Ipv4Addr::LOCALHOST)?;
    let setting = |key: &str, value: &dyn std::fmt::Display| (key.to_owned(), value.to_string());
    let addrs: Vec<String> = hosts.addrs.iter().map(|addr| format!("\"{addr}\"")).collect();
    let data_dir = tempfile::tempdir_in(dir)?.keep();
    let mut settings = vec![
        setting("listen", &listen),
        setting("data_dir", &data_dir.display()),
        setting("source_dirs", &format!("[\"{}\"]", dir.join("masters").display())),
        setting("hosts.destinations", &format!("[{}]", addrs.join(","))),
        setting("catalog.grade_info_file", &dir.join("grade.info").display()),
        setting("catalog.hitcount_history_file", &dir.join("hitcount.history").display()),
    ];
    settings.extend(more.iter().map(|(key, value)| setting(key, value)));
    let began = Instant::now();
    let node = RoleProcess::start("node", &settings, dir.join("node.log"))?;
    let process = node.process().context("the node has ended")?;
    let api = BenchApi::new(listen, &data_dir)?;
    while placed(&api).await != Some(FILES as u64) {
        ensure!(!node.has_ended(), "the node has ended: {}", node.log_text());
        ensure!(began.elapsed() < PATIENCE, "it never knew all files: {}", node.log_text());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok((node, process, api))
}

/// The memory of a node that remembers a request for every file, less that of a node that reads the same log and
/// remembers none. Unit: bytes.
async fn memory_of_demand(dir: &Path, hosts: &ManyHosts) -> Result<u64> {
    let log = dir.join("log");
    std::fs::create_dir(&log)?;
    let now = Timestamp::now();
    let (today, server) = (now.to_zoned(TimeZone::UTC).date(), Ipv4Addr::LOCALHOST);
    let name = format!("EventLog[{}].log", today.strftime("%Y%m%d"));
    std::fs::write(log.join(name), event_log(FILES, now.as_second(), 1, server.into()))?;
    let mut memory = Vec::new();
    for mode in ["off", "on"] {
        let more = [
            ("event_log.dir", log.display().to_string()),
            ("event_log.watch_address", server.to_string()),
            ("bandwidth.time_zone", "UTC".to_owned()),
            ("popularity.mode", mode.to_owned()),
        ];
        let (node, process, api) = start(dir, hosts, &more).await?;
        let began = Instant::now();
        while mode == "on" && requests_of_last_hour(&api).await != Some(FILES as u64) {
            ensure!(began.elapsed() < PATIENCE, "the log was not read: {}", node.log_text());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        tokio::time::sleep(SETTLES).await;
        memory.push(memory_of(process)?);
        drop(node);
    }
    memory[1].checked_sub(memory[0]).context("a node that remembers requests needs less memory")
}

async fn watch(dir: &Path) -> Result<Vec<BenchFigure>> {
    let hosts = ManyHosts::holding(FILES, HOSTS)?;
    let began = Instant::now();
    let (node, process, _) = start(dir, &hosts, &[]).await?;
    let ready = began.elapsed();
    tokio::time::sleep(SETTLES).await;
    let (peak, cpu) = (peak_memory_of(process)?, cpu_of(process)?);
    tokio::time::sleep(SPAN).await;
    let used = cpu_of(process)? - cpu;
    let memory = memory_of(process)?;
    drop(node);
    let of_demand = memory_of_demand(dir, &hosts).await?;
    hosts.stop().await;
    let what = format!("node, {FILES} files on {HOSTS} destinations: memory");
    Ok(vec![
        BenchFigure::new(what, mib(memory), "MiB", FigureTarget::AtMost(MOST_MEMORY_MIB)),
        BenchFigure::new(
            "… at its peak, while everything was read first",
            mib(peak),
            "MiB",
            FigureTarget::Nothing,
        ),
        BenchFigure::new(
            "… from its start until it knew every file and host",
            ready.as_secs_f64(),
            "s",
            FigureTarget::Nothing,
        ),
        BenchFigure::new(
            "… processor time in a minute without news",
            used.as_secs_f64(),
            "s",
            FigureTarget::AtMost(0.2),
        ),
        BenchFigure::new(
            "… memory of a request for every file",
            mib(of_demand),
            "MiB",
            FigureTarget::AtMost(30.0),
        ),
    ])
}

async fn requests_of_last_hour(api: &BenchApi) -> Option<u64> {
    let plan = api.ask(Method::GET, "/plan", None).await.ok()?;
    plan["served"]["requests_last_hour"].as_u64()
}

/// The number of graded files with a holder, as the node reports it.
pub async fn placed(api: &BenchApi) -> Option<u64> {
    let plan = api.ask(Method::GET, "/plan", None).await.ok()?;
    let skipped = plan["skipped"].as_array()?;
    skipped.iter().find(|one| one["reason"] == "placed").and_then(|one| one["files"].as_u64())
}
