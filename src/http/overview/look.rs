//! A look at the yard: its troubles with their begins, and the task that remembers them.

use std::collections::BTreeMap;
use std::time::Duration;

use actix_web::web;
use reelyard_api::HostView;
use reelyard_console::Moment;
use reelyard_console::pages::hosts::HostCondition;
use reelyard_console::pages::yard::{Trouble, TroubleCause, VerdictFacts};
use reelyard_console::parts::spark::HealthSpan;
use reelyard_core::host::HostAddr;
use reelyard_shares::share_expiry::{ShareColumn, UsesNeeded};
use reelyard_yard::heartbeat::Health;

use super::link_traffic::LinkSample;
use super::memory::YardLook;
use super::placed_files::{listed_files, only_here};
use super::troubles::{count_inputs, joined, troubles, unserved};
use super::yard_views::YardViews;
use crate::http::node_state::NodeHttpState;

/// Interval between two looks.
const INTERVAL: Duration = Duration::from_secs(10);

/// The facts of the first sentence.
pub fn verdict(views: &YardViews<'_>) -> VerdictFacts {
    let mut troubles = troubles(views);
    let history = views.state.overview.date(views.now, &mut troubles);
    let in_maintenance =
        views.lines.iter().filter(|line| line.condition == HostCondition::NotAsked);
    let mut troubles = joined(troubles);
    count_only_files(views, &mut troubles);
    VerdictFacts {
        shows_all: false,
        troubles,
        fine_since: history.fine_since.map(|at| Moment(at.0)),
        not_served: unserved(&views.catalog),
        cleared: (history.cleared > 0).then_some(history.cleared),
        maintenance: in_maintenance.map(|line| line.host.clone()).collect(),
        hosts: views.lines.len() as u64,
        inputs: count_inputs(&views.catalog),
    }
}

/// Counts the files that a host alone holds, for the hosts that are down. More of them are one trouble.
fn count_only_files(views: &YardViews<'_>, troubles: &mut [Trouble]) {
    for trouble in troubles {
        if let TroubleCause::HostDown { host, only_here: files, .. } = &mut trouble.cause {
            let host = host.parse().ok();
            *files = host.and_then(|host| Some(only_here(&views.tasks, host)?.len()));
        }
    }
}

/// Health and traffic over time are kept only for the pages of the console.
fn look(views: &YardViews<'_>, has_console: bool) -> YardLook {
    let progress = views.tasks.progress.iter().map(|(task, seen)| (*task, seen.bytes));
    let mut look = YardLook {
        now: views.now,
        troubles: troubles(views),
        health: Vec::new(),
        traffic: BTreeMap::new(),
        progress: progress.collect(),
    };
    if has_console {
        let hosts = views.hosts.iter().map(|host| host.host);
        look.health = hosts.zip(views.lines.iter().map(|line| span(line.condition))).collect();
        look.traffic = link_samples(views);
    }
    look
}

/// The load of the link of each host that reports it.
fn link_samples(views: &YardViews<'_>) -> BTreeMap<HostAddr, LinkSample> {
    // The last figures of a host that does not answer say nothing about this moment.
    let up = views.hosts.iter().filter(|host| host.health == Health::Up);
    let sample = |host: &HostView| {
        let traffic = host.traffic.as_ref()?;
        let copies = traffic.copies.map_or(0, |copies| copies.sends.0);
        let (sent, received) = (traffic.all.sends.0, traffic.all.receives.0);
        Some((host.host, LinkSample { sent, received, copies }))
    };
    up.filter_map(sample).collect()
}

const fn span(condition: HostCondition) -> HealthSpan {
    match condition {
        HostCondition::Up | HostCondition::Probation => HealthSpan::Up,
        HostCondition::Suspect => HealthSpan::Suspect,
        HostCondition::Down | HostCondition::Lost => HealthSpan::Down,
        HostCondition::NotAsked | HostCondition::Unknown => HealthSpan::NotAsked,
    }
}

/// Orders all links and files. A million of them take a while; so no viewer of a page waits for them.
fn prepare_orders(state: &NodeHttpState) {
    let views = &state.actors.share_views;
    let index = views.index(UsesNeeded::Any, state.clock.timer());
    for column in ShareColumn::ALL {
        views.order(column, &index);
    }
    let catalog = state.actors.catalog_view.load();
    state.file_names.order(&listed_files(&catalog), &state.names);
    if let Some(ranking) = &catalog.ranking {
        ranking.prepare_by_size();
    }
}

/// Looks at the yard at even intervals until the node stops.
pub async fn keep(state: web::Data<NodeHttpState>) {
    let mut stopping = state.stopping.clone();
    loop {
        let looked = state.clone();
        // Many hosts take a while; the thread has other requests.
        let look = web::block(move || {
            let has_console = looked.live.now().config.console.enabled;
            looked.overview.observe(look(&YardViews::load(&looked), has_console));
            if has_console {
                prepare_orders(&looked);
            }
        });
        if look.await.is_err() {
            tracing::error!(
                "a look at the yard failed: begins of troubles and rates of copies are incomplete"
            );
        }
        tokio::select! {
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}
