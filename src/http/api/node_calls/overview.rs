//! `/api/v1/overview`: the yard in short.

use std::time::Duration;

use actix_web::web;
use jiff::tz::TimeZone;
use reelyard_access::rights::AccessScope;
use reelyard_api::{
    DiskTotals, EndingLink, HostFigures, LinkFigures, OverviewView, PlacementFigures, PoolFigures,
    Rfc3339, TroubleSeverity, TroubleView, WaitFigures, refused,
};
use reelyard_console::pages::yard::{
    DueLink, PoolSummary, Trouble, TroubleCause, WaitLine, YardPageModel, by_urgency, trouble_row,
};
use reelyard_console::parts::boxes::BoxCondition;
use reelyard_console::parts::verdict::Severity;
use reelyard_console::text::Language;
use reelyard_console::{Moment, Viewer};
use reelyard_core::clock::Millis;

use crate::http::access::RequestCaller;
use crate::http::api::call_parts::NoQuery;
use crate::http::api::node_calls::status::journal;
use crate::http::computing::computed;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::yard_model;
use crate::http::problem::Refusal;

/// Most rows of a list in the answer.
const ROWS: usize = 100;

/// Callers at about the same time share one answer. It may be this old.
const LONGEST_AGE: Duration = Duration::from_millis(500);

/// `GET /overview`.
#[utoipa::path(
    get,
    path = "/overview",
    tag = "node",
    operation_id = "showOverview",
    summary = "Shows the yard in short: troubles, worst first, and figures",
    description = "The first page of the console and `reelyard status` show the same. Links need `shares:read`, \
                   and pools need `boxes:read`; without these scopes they are missing.",
    responses((status = 200, description = "The yard in short", body = OverviewView))
)]
pub async fn show(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    _: web::Query<NoQuery>,
) -> Result<web::Json<OverviewView>, Refusal<(refused::Busy, refused::Stopped)>> {
    let may_read = |scope: AccessScope| caller.0.rights.allow(&scope);
    let of_whole = state.clone();
    let whole = async move {
        computed(&of_whole, |state| overview(state, yard_model(state, &reader()))).await
    };
    let whole = state.overview_answer.get(LONGEST_AGE, whole).await?;
    let mut view = OverviewView::clone(&whole);
    if !may_read(AccessScope::SharesRead) {
        view.links = None;
    }
    if !may_read(AccessScope::BoxesRead) {
        view.pools = None;
    }
    Ok(web::Json(view))
}

fn overview(state: &NodeHttpState, model: YardPageModel) -> OverviewView {
    let YardPageModel { verdict: facts, figures, hosts, disks, .. } = model;
    let status = journal(&state.journal.status());
    OverviewView {
        at: state.clock.now(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        node_id: state.node_id,
        role: status.role,
        leader: status.leader,
        epoch: status.epoch,
        troubles_total: facts.troubles.len() as u64,
        troubles: by_urgency(&facts.troubles).into_iter().take(ROWS).map(trouble).collect(),
        fine_since: facts.fine_since.map(|at| Millis(at.0)),
        cleared: facts.cleared,
        inputs: facts.inputs,
        hosts: HostFigures {
            total: facts.hosts,
            up: hosts.up,
            suspect: hosts.suspect,
            down: hosts.down,
            unknown: hosts.unknown.saturating_sub(facts.maintenance.len() as u64),
            over_limit: hosts.over_limit,
            draining: hosts.draining,
            maintenance: facts.maintenance.len() as u64,
            in_maintenance: facts.maintenance.into_iter().take(ROWS).collect(),
        },
        copies: PlacementFigures {
            running: figures.running,
            waiting: figures.waiting,
            placed: figures.placed,
            wanted: figures.wanted,
            hot: figures.hot,
            hot_unplaced: figures.hot_unplaced,
            out_of_reach: figures.out_of_reach.unwrap_or_default(),
            hot_out_of_reach: figures.hot_out_of_reach,
            served_percent: figures.served,
            served_last_day_percent: figures.served_usual,
            waits: model.waits.iter().map(waiting).collect(),
        },
        disks: DiskTotals {
            size: disks.size,
            used_percent: disks.used,
            limit_percent: disks.limit,
        },
        links: Some(LinkFigures {
            working: model.links,
            due: figures.due,
            next: model.due.into_iter().map(ending_link).collect(),
        }),
        pools: Some(model.pools.into_iter().take(ROWS).map(pool).collect()),
    }
}

fn waiting(wait: &WaitLine) -> WaitFigures {
    let reason = wait.reason.words().of(Language::English).to_owned();
    WaitFigures { reason, files: wait.files }
}

fn ending_link(link: DueLink) -> EndingLink {
    EndingLink {
        path: link.path,
        expires_at: Rfc3339(Millis(link.ends.0)),
        downloads: link.downloads,
        max_downloads: link.most,
    }
}

fn pool(pool: PoolSummary) -> PoolFigures {
    PoolFigures {
        size: pool.size(),
        free: pool.boxes(BoxCondition::Free),
        leased: pool.boxes(BoxCondition::Leased) + pool.boxes(BoxCondition::Preparing),
        cleaning: pool.boxes(BoxCondition::Cleaning),
        quarantined: pool.boxes(BoxCondition::Quarantined),
        waiting: pool.queue,
        name: pool.name,
    }
}

/// The reader of the texts of this answer.
fn reader() -> Viewer {
    Viewer::without_session(Language::English, TimeZone::UTC, Moment::default())
}

/// A trouble with its texts in English. Instants are members, because a text would have the zone of the node.
fn trouble(trouble: &Trouble) -> TroubleView {
    let mut cause = trouble.cause.clone();
    let mut lost = None;
    if let TroubleCause::HostDown { lost_at, .. } = &mut cause {
        lost = lost_at.take();
    }
    let (kind, subject) = kind_and_subject(&cause);
    let subject = subject.map(str::to_owned);
    let row = trouble_row(&reader(), &Trouble { cause, since: None });
    TroubleView {
        severity: match trouble.severity() {
            Severity::Bad => TroubleSeverity::Bad,
            Severity::Warn => TroubleSeverity::Warn,
        },
        kind: kind.to_owned(),
        state: row.mark.word.of(Language::English).to_owned(),
        subject,
        since: trouble.since.map(|at| Millis(at.0)),
        title: row.title,
        detail: row.detail,
        lost_at: lost.map(|at| Millis(at.0)),
    }
}

fn kind_and_subject(cause: &TroubleCause) -> (&'static str, Option<&str>) {
    match cause {
        TroubleCause::HostDown { host, .. } => ("host_down", Some(host)),
        TroubleCause::ManyDown { .. } => ("many_down", None),
        TroubleCause::Suspect { host } => ("suspect", Some(host)),
        TroubleCause::OverLimit { host, .. } => ("over_limit", Some(host)),
        TroubleCause::InputUnreadable { input, .. } => ("input_unreadable", Some(input)),
        TroubleCause::InputUnset { input } => ("input_unset", Some(input)),
        TroubleCause::BadRows { input, .. } => ("bad_rows", Some(input)),
        TroubleCause::NoLeader => ("no_leader", None),
        TroubleCause::NotReady { .. } => ("not_ready", None),
        TroubleCause::Blocked { .. } => ("blocked", None),
        TroubleCause::OtherManager { host } => ("other_manager", Some(host)),
        TroubleCause::HookFails { hook, .. } => ("hook_fails", Some(hook)),
        TroubleCause::NotServed { .. } => ("not_served", None),
        TroubleCause::NoMasters { .. } => ("no_masters", None),
        TroubleCause::Warning { .. } => ("warning", None),
    }
}
