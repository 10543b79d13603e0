//! `/console/hosts/{host}`: one host in full.

use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_api::{BreakerOf, BreakerState, BreakerView, DrainView, HostView, Stays};
use reelyard_console::address::{QueryPairs, encoded, host_page};
use reelyard_console::format::short_host;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::files::FileCondition;
use reelyard_console::pages::host::{
    self, Breaker, BreakerRole, DrainFacts, HostPageModel, HostTraffic, OnlyHereFile, OtherManager,
};
use reelyard_console::pages::hosts::{HostCondition, HostLine};
use reelyard_console::pages::yard::{EndedTrouble, RecentLine, TRAFFIC_TABLE};
use reelyard_console::parts::chart::ChartMark;
use reelyard_console::parts::dialog::AskDialog;
use reelyard_console::text::yard as words;
use reelyard_console::{Moment, Viewer};
use reelyard_core::host::{HostAddr, HostKind};
use reelyard_core::names::FileId;
use roaring::RoaringBitmap;

use super::dialogs::{drain_dialog, host_dialogs};
use super::host_obstacles;
use super::most_asked::most_asked;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::live_part::LivePart;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::host_facts::one_host;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::yard_model::link_chart::link_figure;
use crate::http::overview::yard_model::recent::{self, shown_name};
use crate::http::overview::{DiskMarks, host_lines, only_here};

/// The most recent copies and removals that the page shows.
const RECENT: usize = 20;
/// Files that no other host holds, as the page shows them.
const ONLY_FILES: usize = 5;

/// `GET /console/hosts/{host}`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    host: web::Path<HostAddr>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::YardRead)?;
    let view = one_host(&state, *host)?;
    let pairs = QueryPairs::parse(request.query_string());
    let asked = pairs.first("ask").unwrap_or_default();
    let (asked, viewer) = (asked.to_owned(), visitor.viewer.clone());
    let traffic_as_table = shows_table(&pairs);
    let render = move |state: &NodeHttpState| {
        let model = model(state, &view, &asked, &viewer);
        host::render(&HostPageModel { traffic_as_table, ..model }, &viewer)
    };
    let content = computed(&state, render).await?;
    let parts = PageParts::new(NavPage::Hosts, &host.to_string(), content);
    let table = if traffic_as_table { format!("&{TRAFFIC_TABLE}") } else { String::new() };
    let query = format!("host={}{table}", encoded(&host.to_string()));
    Ok(answer::live_page_of(&request, &state, &visitor, &parts, "host", &query))
}

fn shows_table(pairs: &QueryPairs) -> bool {
    pairs.first("as") == Some("table")
}

/// The parts of the page of the host in `query` that follow changes. None for a host that is gone.
pub fn live_parts(state: &NodeHttpState, query: &str, viewer: &Viewer) -> Vec<LivePart> {
    let pairs = QueryPairs::parse(query);
    let host = pairs.first("host").and_then(|host| host.parse::<HostAddr>().ok());
    let Some(view) = host.and_then(|host| one_host(state, host).ok()) else { return Vec::new() };
    let traffic_as_table = shows_table(&pairs);
    let model = HostPageModel { traffic_as_table, ..model(state, &view, "", viewer) };
    let parts = host::live_parts(viewer, &model);
    parts.into_iter().map(|(id, part)| (id.to_owned(), part)).collect()
}

fn model(state: &NodeHttpState, view: &HostView, asked: &str, viewer: &Viewer) -> HostPageModel {
    let (tasks, now) = (state.actors.task_views.load(), state.clock.now());
    let line = host_lines::line(view, &tasks, DiskMarks::of(state), now);
    let is_silent = matches!(line.condition, HostCondition::Down);
    let after = state.live.now().config.yard.hosts.presumed_lost_after;
    let failed = state.last_hour().failed_by_destination.get(&view.host).copied();
    let lines: Vec<RecentLine> = recent::lines(state, Some(view.host), RECENT);
    let only = only_here(&tasks, view.host);
    let (begun, ended) = state.overview.ended_troubles();
    let is_here = |ended: &EndedTrouble| ended.cause.host() == Some(line.host.as_str());
    let ended: Vec<EndedTrouble> = ended.into_iter().filter(is_here).take(RECENT).collect();
    HostPageModel {
        program: program(view.kind),
        is_configured: view.configured,
        latency: view.latency_ms,
        failure: view.failure.clone(),
        token_trouble: view.token_trouble.clone(),
        agent_failure: view.agent_failure.clone(),
        other_manager: view.foreign_managers.first().map(|manager| OtherManager {
            name: manager.what.clone(),
            since: Moment(manager.first.0),
        }),
        listed: view.observed.map(|at| Moment(at.0)),
        only_here: only.as_ref().map(RoaringBitmap::len),
        failed_copies: failed.unwrap_or(0),
        lost_at: view.silent_since.filter(|_| is_silent).map(|at| Moment(at.after(after).0)),
        drain: view.draining.as_ref().map(drain),
        health: state.overview.health(view.host),
        obstacles: host_obstacles::of_host(state, view),
        breakers: view.breakers.iter().map(breaker).collect(),
        only_files: only.map(|only| files_shown(state, &only, is_silent)).unwrap_or_default(),
        disk_size: view.disk.as_ref().map(|disk| disk.used.saturating_add(disk.avail)),
        disk_used: view.disk.as_ref().map(|disk| disk.used),
        traffic: traffic(view),
        traffic_hour: link_figure(
            &state.overview.link(view.host),
            words::TRAFFIC_LABEL,
            down_mark(&line),
            viewer,
        ),
        traffic_as_table: false,
        sends_below: view.sends_below.map(|rate| rate.0),
        receives_below: view.receives_below.map(|rate| rate.0),
        recent: lines,
        ended_since: begun.map(|at| Moment(at.0)).filter(|_| !ended.is_empty()),
        ended,
        ask: ask_of(state, asked, &line, viewer),
        line,
    }
}

/// The dialog that the address asks for.
fn ask_of(
    state: &NodeHttpState,
    asked: &str,
    line: &HostLine,
    viewer: &Viewer,
) -> Option<AskDialog> {
    let lines = std::slice::from_ref(line);
    let ask = host_dialogs::of_word(asked, lines, &host_page(&line.host), viewer)?;
    Some(match asked {
        "drain" => drain_dialog::with_facts(state, ask, lines, viewer),
        _ => ask,
    })
}

/// The files among these that are asked for most.
fn files_shown(state: &NodeHttpState, files: &RoaringBitmap, is_silent: bool) -> Vec<OnlyHereFile> {
    let catalog = state.actors.catalog_view.load();
    let rank = |file: FileId| catalog.ranking.as_ref().and_then(|ranking| ranking.rank(file));
    let hot: BTreeMap<FileId, u32> = catalog.rising.hot().iter().copied().collect();
    let best = most_asked(&catalog, files, ONLY_FILES);
    let shown = best.into_iter().map(|file| OnlyHereFile {
        name: shown_name(&state.names, file),
        rank: rank(file).map(u64::from),
        hits: u64::from(hot.get(&file).copied().unwrap_or(0)),
        size: catalog.master_sizes.get(file),
        condition: match is_silent {
            true => FileCondition::OutOfReach,
            false => FileCondition::Placed,
        },
    });
    shown.collect()
}

/// The moment at which the host went down, as a mark of its chart.
fn down_mark(line: &HostLine) -> Vec<ChartMark> {
    let is_down = matches!(line.condition, HostCondition::Down | HostCondition::Lost);
    let at = line.since.filter(|_| is_down);
    at.map(|at| ChartMark { at, word: short_host(&line.host) }).into_iter().collect()
}

fn program(kind: HostKind) -> String {
    match kind {
        HostKind::Unknown => String::new(),
        HostKind::Cfw => "cfw".to_owned(),
        HostKind::Reelyard { .. } => "reelyard".to_owned(),
    }
}

fn drain(view: &DrainView) -> DrainFacts {
    let stays = |sought: Stays| {
        view.stays.iter().filter(|one| one.why == sought).map(|one| one.files).sum()
    };
    DrainFacts {
        left: view.left,
        only_here: view.only_here,
        stays_ignored: stays(Stays::Ignored),
        stays_no_master: stays(Stays::NoMaster),
        stays_pinned: stays(Stays::Pinned),
    }
}

fn breaker(view: &BreakerView) -> Breaker {
    Breaker {
        of: match view.of {
            BreakerOf::Source => BreakerRole::Source,
            BreakerOf::Destination => BreakerRole::Destination,
            BreakerOf::Calls => BreakerRole::Calls,
        },
        is_probation: view.state == BreakerState::Probation,
        until: Moment(view.back_off.until.0),
        failures: u64::from(view.back_off.failures),
        reason: view.back_off.reason.clone(),
    }
}

fn traffic(view: &HostView) -> Option<HostTraffic> {
    let traffic = view.traffic.as_ref()?;
    Some(HostTraffic {
        interface: traffic.interface.clone(),
        speed: traffic.speed.map(|speed| speed.0),
        out: traffic.all.sends.0,
        inward: traffic.all.receives.0,
        copies_out: traffic.copies.map(|copies| copies.sends.0),
        copies_in: traffic.copies.map(|copies| copies.receives.0),
        at: view.traffic_at.map(|at| Moment(at.0)),
    })
}
