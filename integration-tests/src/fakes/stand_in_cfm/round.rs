//! Heartbeats and rounds, one call after the other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::Duration;

use reelyard_protocol::http_client::without_tls;

use super::metas::{self, Metas};
use super::{CfmSettings, StandInCfmState};

/// The timeout of its calls to hosts.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// Repeats heartbeats, a round and a pause without end.
pub(super) async fn run_endlessly(settings: &CfmSettings, shared: &StandInCfmState) {
    // A new connection for every call.
    let client = without_tls().timeout(CALL_TIMEOUT).pool_max_idle_per_host(0);
    let Ok(http) = client.no_proxy().build() else { return };
    loop {
        let well = heartbeats(&http, settings).await;
        if let Some(mut metas) = metas::read(settings) {
            remove_duplicates(&http, settings, shared, &mut metas).await;
            plan(&http, settings, shared, &metas, &well).await;
        }
        tokio::time::sleep(settings.pause).await;
    }
}

/// The hosts in descending order of the address as text.
fn descending(hosts: &[SocketAddr]) -> Vec<SocketAddr> {
    let mut hosts = hosts.to_vec();
    hosts.sort_by_key(|host| Reverse(host.to_string()));
    hosts
}

async fn heartbeats(http: &reqwest::Client, settings: &CfmSettings) -> HashSet<SocketAddr> {
    let all: Vec<SocketAddr> =
        settings.sources.iter().chain(&settings.destinations).copied().collect();
    let mut well = HashSet::new();
    for host in descending(&all) {
        let answer = http.head(format!("http://{host}/hb")).send().await;
        if answer.is_ok_and(|answer| answer.status() == 200) {
            well.insert(host);
        }
    }
    well
}

/// The files of a host. A host without an answer counts as empty.
async fn files(http: &reqwest::Client, host: SocketAddr) -> HashSet<String> {
    let Ok(answer) = http.get(format!("http://{host}/files")).send().await else {
        return HashSet::new();
    };
    if answer.status() != 200 {
        return HashSet::new();
    }
    let text = answer.text().await.unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

async fn remove_duplicates(
    http: &reqwest::Client,
    settings: &CfmSettings,
    shared: &StandInCfmState,
    metas: &mut Metas,
) {
    let destinations = descending(&settings.destinations);
    let mut lists = BTreeMap::new();
    for host in &destinations {
        lists.insert(*host, files(http, *host).await);
    }
    for (name, meta) in metas.iter_mut().filter(|(_, meta)| meta.server_count() > 1) {
        for host in &destinations {
            let reply = meta.servers.get(&host.ip()).is_some_and(|times| *times > 0);
            if reply && !lists[host].contains(name) {
                meta.left(host.ip());
            }
        }
        for host in &destinations {
            let is_there = lists[host].contains(name)
                && meta.servers.get(&host.ip()).is_some_and(|times| *times > 0);
            let is_kept = meta.grade <= 0 || meta.size <= 0 || meta.server_count() < 2;
            if !is_there || is_kept || master(settings, name).is_none() {
                continue;
            }
            // The name goes into the URL without escaping.
            let answer = http.delete(format!("http://{host}/files/{name}")).send().await;
            if answer.is_ok_and(|answer| answer.status() == 200) {
                meta.left(host.ip());
                let mut deleted = shared.deleted.lock().unwrap_or_else(PoisonError::into_inner);
                deleted.push(format!("{host} {name}"));
            }
        }
    }
}

/// The path in the first source directory with this file.
fn master(settings: &CfmSettings, name: &str) -> Option<PathBuf> {
    let paths = settings.source_dirs.iter().map(|dir| dir.join(name));
    paths.into_iter().find(|path| std::fs::metadata(path).is_ok_and(|found| !found.is_dir()))
}

async fn plan(
    http: &reqwest::Client,
    settings: &CfmSettings,
    shared: &StandInCfmState,
    metas: &Metas,
    well: &HashSet<SocketAddr>,
) {
    let is_well = |host: &str| host.parse().is_ok_and(|host| well.contains(&host));
    shared.tasks().clean(shared.task_timeout, is_well);
    let tasks = shared.tasks().rows();
    let is_free = |host: &SocketAddr, of: fn(&super::CfmTaskRow) -> &str| {
        well.contains(host) && !tasks.iter().any(|task| of(task) == host.to_string())
    };
    let mut sources = descending(&settings.sources);
    sources.retain(|host| is_free(host, |task| &task.src_addr));
    // Each round builds a new ring.
    let mut ring = descending(&settings.destinations);
    ring.retain(|host| is_free(host, |task| &task.dst_addr));
    if sources.is_empty() || ring.is_empty() {
        return;
    }
    let mut listed = HashSet::new();
    for host in descending(&settings.destinations) {
        listed.extend(files(http, host).await);
    }
    let mut best_first: Vec<_> = metas.iter().collect();
    best_first.sort_by_key(|(_, meta)| meta.grade);
    let mut ring = ring.iter().cycle();
    let mut sources = sources.into_iter();
    for (name, meta) in best_first {
        let Some(path) = master(settings, name) else { continue };
        let has_task = tasks.iter().any(|task| task.file_name == *name);
        if meta.server_count() > 0 || has_task || listed.contains(name) {
            continue;
        }
        let (Some(source), Some(to)) = (sources.next(), ring.next()) else { return };
        shared.tasks().create(&path, meta.grade, source, *to);
    }
}
