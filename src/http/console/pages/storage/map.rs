//! `/console/map`: the files asked for most, by the hosts that hold them.
//!
//! The node measures requests of files, not of hosts. The map divides the requests of a file evenly among its
//! copies, and says so.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_console::Viewer;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::files::FilesPageQuery;
use reelyard_console::pages::map::{self, MapPageModel, MapPageQuery};
use reelyard_console::parts::dialog::AskDialog;
use reelyard_console::parts::heat::{HeatCell, HeatHost, HeatMap, HeatRow};
use reelyard_console::parts::panel::page_sentence;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::task_manager::TaskManagerView;

use super::dialogs::file_dialogs;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::live_part::LivePart;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::yard_model::recent::shown_name;

/// Files of the map.
const FILES: usize = 30;
/// Files with most demand for each byte that are compared.
const COMPARED: usize = 2000;
/// Requests an hour below which a file is not on the map: its figures would all be 0.
const LEAST_AN_HOUR: f64 = 0.5;
/// Ten-minute spans of an hour.
const SPANS_OF_HOUR: f64 = 6.0;
/// The node measures demand by the day; the map shows it by the hour.
const HOURS_OF_DAY: f64 = 24.0;

/// `GET /console/map`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::YardRead)?;
    let query = MapPageQuery::parse(request.query_string());
    let viewer = visitor.viewer.clone();
    let render = move |state: &NodeHttpState| {
        let asked = FilesPageQuery {
            ask: query.ask.clone(),
            pick: query.pick.clone(),
            ..FilesPageQuery::default()
        };
        let ask = file_dialogs::of_query(state, &asked, &viewer, Vec::new);
        let back = MapPageQuery { view: query.view, ..MapPageQuery::default() }.address();
        let ask = ask.map(|ask| AskDialog { back, ..ask });
        let model = MapPageModel { ask, ..model(state) };
        map::render(&query, &model, &viewer)
    };
    let content = computed(&state, render).await?;
    let title = NavPage::Map.title().of(visitor.viewer.language);
    let parts = PageParts::new(NavPage::Map, title, content);
    Ok(answer::live_page(&request, &state, &visitor, &parts, "map"))
}

/// The parts of the page that follow changes.
pub fn live_parts(state: &NodeHttpState, query: &str, viewer: &Viewer) -> Vec<LivePart> {
    let query = MapPageQuery::parse(query);
    let model = model(state);
    vec![
        ("page-sentence".to_owned(), page_sentence(&map::sentence(viewer, &model.map))),
        ("map-content".to_owned(), map::map_content(viewer, &query, &model)),
    ]
}

fn model(state: &NodeHttpState) -> MapPageModel {
    let catalog = state.actors.catalog_view.load();
    let is_counted = catalog.event_log.is_some() || catalog.demand.is_some();
    MapPageModel { map: heat_map(state), is_counted, ask: None }
}

fn heat_map(state: &NodeHttpState) -> HeatMap {
    let (tasks, catalog) = (state.actors.task_views.load(), state.actors.catalog_view.load());
    let beats = state.actors.heartbeat_view.load();
    let destinations = tasks.hosts.iter().filter(|host| host.role.is_destination());
    let hosts: Vec<HostAddr> = destinations.map(|host| host.host).collect();
    let column: BTreeMap<HostAddr, usize> =
        hosts.iter().enumerate().map(|(index, host)| (*host, index)).collect();
    let hosts: Vec<HeatHost> = hosts
        .iter()
        .map(|host| HeatHost { host: host.to_string(), is_down: beats.is_down(*host) })
        .collect();
    HeatMap {
        rows: most_wanted(&catalog)
            .into_iter()
            .map(|(file, an_hour)| row(state, &tasks, &column, &hosts, file, an_hour))
            .collect(),
        hosts,
    }
}

/// The files with most requests an hour.
fn most_wanted(catalog: &CatalogView) -> Vec<(FileId, f64)> {
    let mut an_hour: BTreeMap<FileId, f64> = BTreeMap::new();
    for (file, hits) in catalog.rising.hot() {
        an_hour.insert(*file, f64::from(*hits) * SPANS_OF_HOUR);
    }
    if let Some(demand) = &catalog.demand {
        for file in demand.files().iter().take(COMPARED) {
            let measured = demand.demand(*file).rate.per_day() / HOURS_OF_DAY;
            let known = an_hour.entry(*file).or_default();
            *known = known.max(measured);
        }
    }
    let mut files: Vec<(FileId, f64)> =
        an_hour.into_iter().filter(|(_, requests)| *requests >= LEAST_AN_HOUR).collect();
    files.sort_by_key(|(file, requests)| (Reverse((requests * 1000.0) as u64), *file));
    files.truncate(FILES);
    files
}

fn row(
    state: &NodeHttpState,
    tasks: &TaskManagerView,
    column: &BTreeMap<HostAddr, usize>,
    hosts: &[HeatHost],
    file: FileId,
    an_hour: f64,
) -> HeatRow {
    let placed = tasks.placements.iter().filter(|(_, files)| files.contains(file.0));
    let held: Vec<usize> = placed.filter_map(|(host, _)| column.get(host).copied()).collect();
    // A host that is down answers nothing.
    let answering = held.iter().filter(|host| !hosts[**host].is_down).count();
    let share = (an_hour / answering.max(1) as f64).round() as u64;
    let requests = |host: usize| if hosts[host].is_down { 0 } else { share };
    let mut cells: Vec<HeatCell> = held
        .into_iter()
        .map(|host| HeatCell { host, requests: requests(host), is_coming: false })
        .collect();
    let name = state.names.name(file);
    for task in tasks.open.values().filter(|task| task.name == name) {
        if let Some(host) = column.get(&task.destination).copied() {
            cells.push(HeatCell { host, requests: 0, is_coming: true });
        }
    }
    let key = name.to_percent();
    let name = shown_name(&state.names, file);
    HeatRow { address: name.why_address(), name: name.text, key, cells }
}
