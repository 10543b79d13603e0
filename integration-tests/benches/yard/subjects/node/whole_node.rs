//! A complete node process with a million files and fifty destinations that list all of them.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::catalog::catalog_input::media_name;
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

async fn watch(dir: &Path) -> Result<Vec<BenchFigure>> {
    let hosts = ManyHosts::holding(FILES, HOSTS)?;
    let listen = free_addr(std::net::Ipv4Addr::LOCALHOST)?;
    let setting = |key: &str, value: &dyn std::fmt::Display| (key.to_owned(), value.to_string());
    let addrs: Vec<String> = hosts.addrs.iter().map(|addr| format!("\"{addr}\"")).collect();
    let settings = [
        setting("listen", &listen),
        setting("data_dir", &dir.join("node").display()),
        setting("source_dirs", &format!("[\"{}\"]", dir.join("masters").display())),
        setting("hosts.destinations", &format!("[{}]", addrs.join(","))),
        setting("catalog.grade_info_file", &dir.join("grade.info").display()),
        setting("catalog.hitcount_history_file", &dir.join("hitcount.history").display()),
    ];
    let began = Instant::now();
    let node = RoleProcess::start("node", &settings, dir.join("node.log"))?;
    let process = node.process().context("the node has ended")?;
    let api = BenchApi::new(listen, &dir.join("node"))?;
    while placed(&api).await != Some(FILES as u64) {
        ensure!(!node.has_ended(), "the node has ended: {}", node.log_text());
        ensure!(began.elapsed() < PATIENCE, "it never knew all files: {}", node.log_text());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let ready = began.elapsed();
    tokio::time::sleep(SETTLES).await;
    let (peak, cpu) = (peak_memory_of(process)?, cpu_of(process)?);
    tokio::time::sleep(SPAN).await;
    let used = cpu_of(process)? - cpu;
    let memory = memory_of(process)?;
    drop(node);
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
    ])
}

/// The number of graded files with a holder, as the node reports it.
pub async fn placed(api: &BenchApi) -> Option<u64> {
    let plan = api.ask(Method::GET, "/plan", None).await.ok()?;
    let skipped = plan["skipped"].as_array()?;
    skipped.iter().find(|one| one["reason"] == "placed").and_then(|one| one["files"].as_u64())
}
