//! `/api/v1/status`: state of the node.

use std::collections::BTreeMap;

use actix_web::web;
use reelyard_api::{
    ActorView, BadRowView, InputState, InputView, JournalView, NodeRole, StatusView,
};
use reelyard_core::event::Epoch;
use reelyard_core::supervision::SupervisionStatus;
use reelyard_journal::JournalStatus;
use reelyard_yard::catalog::files::rows::BadRow;
use reelyard_yard::catalog::views::{self, CatalogView, SourceDirView};
use serde_json::Value;

use crate::http::api::call_parts::NoQuery;
use crate::http::node_state::NodeHttpState;

/// `GET /status`.
#[utoipa::path(
    get,
    path = "/status",
    tag = "node",
    operation_id = "showStatus",
    summary = "Shows the state of the node: inputs with their bad rows, journal and actors",
    responses((status = 200, description = "State of the node", body = StatusView))
)]
pub async fn show(
    state: web::Data<NodeHttpState>,
    _: web::Query<NoQuery>,
) -> web::Json<StatusView> {
    let not_ready = state.not_ready();
    web::Json(StatusView {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        node_id: state.node_id,
        started: state.started,
        ready: not_ready.is_empty(),
        not_ready,
        warnings: state.warnings(),
        inputs: inputs(&state.actors.catalog_view.load()),
        journal: journal(&state.journal.status()),
        actors: actors(&state),
    })
}

/// The actors with their published views. Tasks and hosts have lists of their own.
fn actors(state: &NodeHttpState) -> BTreeMap<String, ActorView> {
    let actors = &state.actors;
    let mut views = BTreeMap::new();
    let mut add = |status: SupervisionStatus, view: serde_json::Result<Value>| {
        let state = view.unwrap_or_else(|error| Value::String(error.to_string()));
        let view = ActorView { restarts: status.starts.saturating_sub(1), state };
        views.insert(status.name, view);
    };
    add(actors.catalog.status(), serde_json::to_value(&*actors.catalog_view.load()));
    add(actors.heartbeat.status(), serde_json::to_value(&*actors.heartbeat_view.load()));
    add(actors.task_manager.status(), serde_json::to_value(actors.task_views.load().counters));
    add(actors.remover.status(), serde_json::to_value(actors.remover_views.load().counters));
    let hosts = actors.hosts.present();
    let restarts = hosts.values().map(|host| host.worker.status().starts.saturating_sub(1)).sum();
    let workers = serde_json::json!({ "workers": hosts.len() });
    views.insert("cfw_workers".to_owned(), ActorView { restarts, state: workers });
    views.insert(
        "journal".to_owned(),
        ActorView {
            restarts: 0,
            state: serde_json::to_value(state.journal.status()).unwrap_or_default(),
        },
    );
    views
}

/// The inputs of the planner with their states.
pub fn inputs(catalog: &CatalogView) -> Vec<InputView> {
    let mut inputs = Vec::new();
    inputs.push(match &catalog.grade_info {
        Some(input) => file("catalog.grade_info_file", input),
        None => unset("catalog.grade_info_file"),
    });
    inputs.push(match &catalog.hitcount_history {
        Some(input) => file("catalog.hitcount_history_file", input),
        None => unset("catalog.hitcount_history_file"),
    });
    match &catalog.event_log {
        Some(log) => inputs.extend(log.files.iter().map(|day| file("event_log.dir", &day.input))),
        None => inputs.push(unset("event_log.dir")),
    }
    inputs.extend(catalog.source_dirs.dirs.iter().map(source_dir));
    inputs
}

fn file(setting: &str, input: &views::CatalogInputView) -> InputView {
    InputView {
        setting: setting.to_owned(),
        path: input.path.clone(),
        state: input_state(&input.state),
        detail: input.state.problem(),
        read: input.read_at,
        noticed_by: input.noticed_by.as_ref().map(noticed_by),
        rows: input.tally.rows.saturating_sub(input.tally.bad()),
        bad_rows: input.tally.bad(),
        first_bad_rows: input.tally.first_bad.iter().map(bad_row).collect(),
    }
}

fn source_dir(dir: &SourceDirView) -> InputView {
    InputView {
        path: dir.path.clone(),
        state: input_state(&dir.state),
        detail: dir.state.problem(),
        read: dir.listed_at,
        noticed_by: dir.noticed_by.as_ref().map(noticed_by),
        rows: dir.files,
        ..unset("source_dirs")
    }
}

fn unset(setting: &str) -> InputView {
    InputView {
        setting: setting.to_owned(),
        path: String::new(),
        state: InputState::Unset,
        detail: None,
        read: None,
        noticed_by: None,
        rows: 0,
        bad_rows: 0,
        first_bad_rows: Vec::new(),
    }
}

fn input_state(state: &views::CatalogInputState) -> InputState {
    match state {
        views::CatalogInputState::NotRead => InputState::Pending,
        views::CatalogInputState::Ok => InputState::Good,
        views::CatalogInputState::Changing => InputState::Changing,
        views::CatalogInputState::Missing => InputState::Missing,
        views::CatalogInputState::Unreadable { .. } => InputState::Unreadable,
    }
}

fn noticed_by(by: &views::NoticedBy) -> String {
    match by {
        views::NoticedBy::Events => "events".to_owned(),
        views::NoticedBy::Polling { why } => format!("polling: {why}"),
    }
}

fn bad_row(row: &BadRow) -> BadRowView {
    BadRowView { line: row.line, text: row.text.clone(), why: row.fault.to_string() }
}

pub(super) fn journal(status: &JournalStatus) -> JournalView {
    let role = match status.leading {
        Some(_) => NodeRole::Leader,
        None if status.leader == Some(status.node) => NodeRole::Candidate,
        None if status.voters.contains(&status.node) => NodeRole::Follower,
        None => NodeRole::Learner,
    };
    JournalView {
        role,
        leader: status.leader,
        epoch: Epoch(status.term),
        last_index: status.last_log.unwrap_or(0),
        applied_index: status.applied.unwrap_or(0),
        snapshot_index: status.snapshot,
        log_bytes: Some(status.log_bytes),
    }
}
