//! A node with the largest allowed number of configured hosts, all of them unreachable.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::yard::{RoleProcess, free_addr};
use reelyard_protocol::http_client::without_tls;
use reqwest::Method;

use crate::figure::{BenchFigure, FigureTarget};
use crate::peers::node_api::BenchApi;
use crate::usage::{cpu_of, memory_of, mib};

const HOSTS: u32 = 20_000;

/// The longest time until the API lists every host.
const PATIENCE: Duration = Duration::from_secs(300);

/// The duration of the observation afterwards.
const SPAN: Duration = Duration::from_secs(30);

/// Measures the time from the start of the node until it lists every host and is ready.
pub fn measure() -> Result<Vec<BenchFigure>> {
    actix_rt::System::new().block_on(watch())
}

async fn watch() -> Result<Vec<BenchFigure>> {
    let dir = tempfile::tempdir()?;
    let listen = free_addr(std::net::Ipv4Addr::LOCALHOST)?;
    let config = dir.path().join("node.toml");
    std::fs::write(&config, configuration(dir.path(), &listen.to_string())?)?;
    let began = Instant::now();
    let node = RoleProcess::start_by_file("node", &config, dir.path().join("node.log"))?;
    let process = node.process().context("the node has ended")?;
    let http = without_tls().build()?;
    let api = BenchApi::new(listen, &dir.path().join("node"))?;
    loop {
        ensure!(!node.has_ended(), "the node has ended: {}", node.log_text());
        ensure!(began.elapsed() < PATIENCE, "not every host was listed: {}", node.log_text());
        let is_ready = http.get(format!("http://{listen}/readyz")).send().await;
        let is_ready = is_ready.is_ok_and(|answer| answer.status().is_success());
        if is_ready && listed(&api).await.unwrap_or_default() == HOSTS {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let took = began.elapsed();
    let cpu = cpu_of(process)?;
    tokio::time::sleep(SPAN).await;
    let (used, memory) = (cpu_of(process)? - cpu, memory_of(process)?);
    let what = format!("node, {HOSTS} configured hosts: until all are listed and it is ready");
    let cores = used.as_secs_f64() / SPAN.as_secs_f64();
    Ok(vec![
        BenchFigure::new(what, took.as_secs_f64(), "s", FigureTarget::AtMost(30.0)),
        BenchFigure::new("… memory while none answers", mib(memory), "MiB", FigureTarget::Nothing),
        BenchFigure::new("… processor time, in cores", cores, "cores", FigureTarget::Nothing),
    ])
}

fn configuration(dir: &Path, listen: &str) -> Result<String> {
    let (grades, history) = (dir.join("grade.info"), dir.join("hitcount.history"));
    std::fs::write(&grades, "filename\tweightcount\nE.mpg\t1\t1\t1\t1\t1\t1\n")?;
    std::fs::write(&history, "historyheader:1\n")?;
    let masters = dir.join("masters");
    std::fs::create_dir(&masters)?;
    // No program listens on these addresses: each call is refused at once.
    let host = |number: u32| format!("\"127.77.{}.{}:9\"", number / 250, number % 250 + 1);
    let hosts: Vec<String> = (0..HOSTS).map(host).collect();
    Ok(format!(
        "listen = \"{listen}\"\ndata_dir = {:?}\nsource_dirs = [{masters:?}]\n\
         [hosts]\ndestinations = [{}]\n\
         [catalog]\ngrade_info_file = {grades:?}\nhitcount_history_file = {history:?}\n",
        dir.join("node"),
        hosts.join(",")
    ))
}

/// The number of hosts in the API's list.
async fn listed(api: &BenchApi) -> Result<u32> {
    let mut all = 0;
    let mut cursor = String::new();
    loop {
        let page = api.ask(Method::GET, &format!("/hosts?limit=1000{cursor}"), None).await?;
        let items = page["items"].as_array().context("no items")?;
        all += u32::try_from(items.len())?;
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(all),
        }
    }
}
