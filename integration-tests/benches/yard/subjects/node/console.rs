//! The pages of the console of a large yard, and its live page with many viewers.

use std::fmt::Display;
use std::fs::File;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt};
use reelyard_integration_tests::rigs::yard::{RoleProcess, free_addr};
use reqwest::Method;
use serde_json::json;

use super::whole_node::placed;
use crate::figure::{BenchFigure, FigureTarget};
use crate::peers::many_hosts::ManyHosts;
use crate::peers::node_api::BenchApi;
use crate::peers::wrk;
use crate::subjects::shares::share_links::makes;
use crate::subjects::yard::catalog::{FILES, write_inputs_apart};
use crate::usage::cpu_of;

const HOSTS: usize = 1000;
const LINKS: u64 = 1_000_000;
const SHARED_FILES: usize = 16;
/// Ended copies in the history.
const ENDED: usize = 100_000;
/// Files that only their source has. Copies of them are ordered and cancelled.
const LATE_FILES: usize = 1000;
/// Copies that are ordered at the same time.
const ORDERED_AT_ONCE: usize = 32;
/// Boxes of the pool.
const BOXES: usize = 10_000;
/// Requests of one page.
const REQUESTS: usize = 200;
const VIEWERS: usize = 200;

/// The longest time until the node knows every file.
const PATIENCE: Duration = Duration::from_secs(300);
/// The duration of the observation with viewers, and of that without.
const SPAN: Duration = Duration::from_secs(30);

/// The pages, most of them in several states.
const PAGES: [&str; 36] = [
    "",
    "/hosts",
    "/hosts?sort=-files",
    "/files",
    "/files?sort=name",
    "/files?sort=-name&after=500000",
    "/files?sort=-size",
    "/files?state=placed&after=500000",
    "/files?state=waiting",
    "/files?state=problem",
    "/files?state=out_of_reach",
    "/files?why=E7.mpg",
    "/tasks",
    "/tasks?state=cancelled",
    "/plan",
    "/map",
    "/map?view=table",
    "/map?view=hosts",
    "/shares",
    "/shares?sort=path",
    "/shares?sort=-path&after=500000",
    "/shares?sort=-downloads",
    "/shares?q=films/7",
    "/boxes?pool=p",
    "/cluster",
    "/history",
    "/history?q=copied",
    "/history?sort=-file",
    "/history?sort=host",
    "/audit",
    "/audit?sort=actor",
    "/settings",
    "/access",
    "/guide",
    "/guide/copies",
    "/find?q=films",
];

/// Filters by a part of a name, of which few, no and many files have one.
const FILTERS: [&str; 3] = ["/files?q=123456", "/files?q=nothing", "/files?q=1"];

/// Measures the pages, the filter, and the cost of viewers.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let dir = tempfile::tempdir_in(std::env::current_dir()?)?;
    write_inputs_apart(dir.path())?;
    actix_rt::System::new().block_on(watch(dir.path()))
}

async fn watch(dir: &Path) -> Result<Vec<BenchFigure>> {
    let hosts = ManyHosts::holding(FILES, HOSTS)?;
    let listen = free_addr(Ipv4Addr::LOCALHOST)?;
    let node = RoleProcess::start("node", &settings(dir, &listen, &hosts)?, dir.join("node.log"))?;
    let api = BenchApi::new(listen, &dir.join("node"))?;
    let began = Instant::now();
    while placed(&api).await != Some(FILES as u64) {
        ensure!(!node.has_ended(), "the node has ended: {}", node.log_text());
        ensure!(began.elapsed() < PATIENCE, "it never knew all files: {}", node.log_text());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (url, of_links, authorization) = (api.url(), dir.to_owned(), api.authorization());
    // The runtime goes on: the client must notice that the node closes an idle connection.
    actix_rt::task::spawn_blocking(move || create_links(&of_links, &url, &authorization)).await??;
    end_copies(&api, &hosts).await?;
    let mut pages = PAGES.map(str::to_owned).to_vec();
    let listed = api.ask(Method::GET, "/shares?limit=1", None).await?;
    let link = listed["items"][0]["id"].as_str().context("no link")?;
    let host = hosts.addrs[1];
    pages.extend([
        format!("/hosts/{host}"),
        format!("/hosts?why={host}"),
        format!("/shares/{link}"),
    ]);
    let (page, slowest) = slowest_of(&api, &pages).await?;
    let (_, filter) = slowest_of(&api, &FILTERS.map(str::to_owned)).await?;
    let viewed = cost_of_viewers(&api, node.process().context("the node has ended")?).await?;
    drop(node);
    hosts.stop().await;
    Ok(vec![
        BenchFigure::new(
            format!("the slowest page of the console (/console{page}), p99"),
            slowest.as_secs_f64() * 1e3,
            "ms",
            FigureTarget::AtMost(50.0),
        ),
        BenchFigure::new(
            format!("a filter by a part of the name over {FILES} files, p99"),
            filter.as_secs_f64() * 1e3,
            "ms",
            FigureTarget::AtMost(100.0),
        ),
        BenchFigure::new(
            format!("{VIEWERS} viewers of the live page, of one core"),
            viewed * 100.0,
            "%",
            FigureTarget::AtMost(5.0),
        ),
    ])
}

fn settings(dir: &Path, listen: &impl Display, hosts: &ManyHosts) -> Result<Vec<(String, String)>> {
    let (masters, films) = (dir.join("masters"), dir.join("films"));
    std::fs::create_dir(&masters)?;
    std::fs::create_dir(&films)?;
    for file in 0..SHARED_FILES {
        std::fs::write(films.join(format!("{file}.mpg")), "some bytes")?;
    }
    for file in 0..LATE_FILES {
        File::create(masters.join(late_name(file)))?;
    }
    let addrs: Vec<String> = hosts.addrs.iter().map(|addr| format!("\"{addr}\"")).collect();
    let setting = |key: &str, value: &dyn Display| (key.to_owned(), value.to_string());
    Ok(vec![
        setting("listen", listen),
        setting("data_dir", &dir.join("node").display()),
        setting("source_dirs", &format!("[{masters:?}]")),
        setting("hosts.destinations", &format!("[{}]", addrs.join(","))),
        setting("hosts.sources", &format!("[{}]", addrs[0])),
        setting("task.copies_per_source", &ORDERED_AT_ONCE),
        setting("history.keep", &ENDED),
        setting("catalog.grade_info_file", &dir.join("grade.info").display()),
        setting("catalog.hitcount_history_file", &dir.join("hitcount.history").display()),
        setting("share.roots", &format!("{{ films = {films:?} }}")),
        setting("box.pools", &format!("{{ p = {{ size = {BOXES} }} }}")),
        setting("share.listen", &free_addr(Ipv4Addr::LOCALHOST)?),
    ])
}

/// Creates links until there are enough.
fn create_links(dir: &Path, url: &str, authorization: &str) -> Result<()> {
    let script = makes(dir, authorization, SHARED_FILES)?;
    let mut created = 0.0;
    let span = Duration::from_secs(10);
    while created < LINKS as f64 {
        created += wrk::answers_per_second(url, &script, 64, span)? * span.as_secs_f64();
    }
    Ok(())
}

fn late_name(file: usize) -> String {
    format!("late{file}.mpg")
}

/// Orders copies and cancels them, until the history is full.
async fn end_copies(api: &BenchApi, hosts: &ManyHosts) -> Result<()> {
    let ends = futures::stream::iter(0..ENDED).map(|number| async move {
        let destination = hosts.addrs[1 + number % (HOSTS - 1)];
        let order = json!({"name": late_name(number % LATE_FILES), "destination": destination});
        let begun = api.ask(Method::POST, "/tasks", Some(order)).await?;
        let task = begun["task"].as_str().context("a copy without a number")?;
        api.ask(Method::DELETE, &format!("/tasks/{task}"), None).await
    });
    ends.buffer_unordered(ORDERED_AT_ONCE).try_for_each(|_| async { Ok(()) }).await
}

/// The page with the largest 99th percentile of its time, and that time.
async fn slowest_of(api: &BenchApi, pages: &[String]) -> Result<(String, Duration)> {
    let mut slowest = (String::new(), Duration::ZERO);
    for page in pages {
        let mut took = Vec::with_capacity(REQUESTS);
        for _ in 0..REQUESTS {
            let began = Instant::now();
            api.get(&format!("/console{page}")).await.with_context(|| page.clone())?;
            took.push(began.elapsed());
        }
        took.sort_unstable();
        let p99 = took[REQUESTS * 99 / 100];
        eprintln!("/console{page}: p50 {:?}, p99 {p99:?}", took[REQUESTS / 2]);
        if p99 > slowest.1 {
            slowest = (page.clone(), p99);
        }
    }
    Ok(slowest)
}

/// The processor time of the node with viewers of its first page, less that without, in cores.
async fn cost_of_viewers(api: &BenchApi, process: u32) -> Result<f64> {
    let before = cpu_of(process)?;
    tokio::time::sleep(SPAN).await;
    let alone = cpu_of(process)? - before;
    let viewers = futures::stream::iter(0..VIEWERS)
        .map(|_| api.open("/console/live/yard"))
        .buffer_unordered(16)
        .try_collect::<Vec<_>>()
        .await?;
    let reading = viewers.into_iter().map(|viewer| {
        actix_rt::spawn(async move {
            let mut events = viewer.bytes_stream();
            while let Some(Ok(_)) = events.next().await {}
        })
    });
    let reading: Vec<_> = reading.collect();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = cpu_of(process)?;
    tokio::time::sleep(SPAN).await;
    let viewed = cpu_of(process)? - before;
    reading.iter().for_each(|task| task.abort());
    Ok(viewed.saturating_sub(alone).as_secs_f64() / SPAN.as_secs_f64())
}
