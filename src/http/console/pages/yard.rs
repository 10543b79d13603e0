//! `/console`: the first screen.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_api::HostView;
use reelyard_boxes::box_lease::BoxPhase;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::files::FileCondition;
use reelyard_console::pages::hosts::{HostCondition, HostLine};
use reelyard_console::pages::why::PassedReason;
use reelyard_console::pages::yard::{
    self, CopyLine, DiskSummary, DueLink, HotLine, PoolSummary, Trouble, TroubleCause,
    VerdictFacts, WaitLine, YardFigures, YardPageModel,
};
use reelyard_console::parts::boxes::BoxCondition;
use reelyard_console::parts::disks::DiskOfHost;
use reelyard_console::{Moment, Viewer};
use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;
use reelyard_shares::share_expiry::ShareLookup;
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::remover::RemoverView;
use reelyard_yard::task_manager::plan::Skip;
use reelyard_yard::task_manager::{Task, TaskManagerView, TaskState};

use super::inputs;
use super::recent;
use crate::http::access;
use crate::http::api::host_views;
use crate::http::api::share_calls::shares::{share_info, share_time};
use crate::http::console::answer;
use crate::http::console::live_part::LivePart;
use crate::http::console::pages::storage::host_lines::{self, DiskMarks};
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::share_counts::ShareCounts;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Copies under way that the page shows.
const COPIES: usize = 9;
/// Hot files that the page shows.
const HOT: usize = 5;
/// Links that end next.
const DUE: usize = 5;
/// The most recent copies and removals that the page shows.
const RECENT: usize = 8;
/// From this many hosts without an answer on, one line stands for all.
const MANY_DOWN: usize = 6;
/// A running copy without a report for this long has stalled, in milliseconds.
const STALLED_MILLIS: i64 = 30_000;
/// An hour in milliseconds.
const HOUR_MILLIS: i64 = 3_600_000;

/// Scopes that the page needs besides `yard:read`.
pub const OTHER_SCOPES: [AccessScope; 2] = [AccessScope::SharesRead, AccessScope::BoxesRead];

/// `GET /console`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::YardRead)?;
    check_rights(&visitor)?;
    let links = links(&state).await;
    let model = model(&state, links.as_deref());
    let content = yard::render(&model, &visitor.viewer);
    let title = NavPage::Yard.title().of(visitor.viewer.language);
    let parts = PageParts::new(NavPage::Yard, title, content);
    Ok(answer::live_page(&request, &state, &visitor, &parts, "yard"))
}

/// Refuses a visitor that may not read links and boxes, which the page shows too.
pub fn check_rights(visitor: &Visitor) -> Result<(), ProblemResponse> {
    OTHER_SCOPES.iter().try_for_each(|scope| access::require(&visitor.caller.0, scope))
}

/// The links by their ends. None while the node stops.
pub async fn links(state: &web::Data<NodeHttpState>) -> Option<Arc<ShareCounts>> {
    let views = state.actors.share_views.clone();
    state.share_counts.counts(views, share_time(state)).await.ok()
}

/// The parts of the page that follow changes.
pub fn live_parts(
    state: &web::Data<NodeHttpState>,
    links: Option<&ShareCounts>,
    viewer: &Viewer,
) -> Vec<LivePart> {
    let model = model(state, links);
    let part = |id: &str, part| (id.to_owned(), part);
    vec![
        part("yard-verdict", yard::yard_verdict(viewer, &model.verdict)),
        part("yard-figures", yard::figures(viewer, &model.figures)),
        part("yard-copies", yard::copies(viewer, &model)),
        part("yard-waits", yard::waits(viewer, &model.waits)),
        part("yard-hot", yard::hot(viewer, &model)),
        part("yard-disks", yard::disks(viewer, &model.disks)),
        part("yard-recent", yard::recent(viewer, &model.recent)),
        part("yard-ending", yard::ending(viewer, &model)),
        part("yard-pools", yard::pools(viewer, &model.pools)),
    ]
}

/// The views that the page reads, each once.
struct YardViews<'a> {
    state: &'a web::Data<NodeHttpState>,
    tasks: &'a TaskManagerView,
    catalog: &'a CatalogView,
    removals: &'a RemoverView,
    hosts: Vec<HostView>,
    lines: Vec<HostLine>,
    marks: DiskMarks,
    now: Millis,
}

fn model(state: &web::Data<NodeHttpState>, links: Option<&ShareCounts>) -> YardPageModel {
    let (tasks, catalog) = (state.actors.task_views.load(), state.actors.catalog_view.load());
    let (removals, hosts) = (state.actors.remover_views.load(), host_views(state));
    let (marks, now) = (DiskMarks::of(state), state.clock.now());
    let lines = hosts.iter().map(|host| host_lines::line(host, &tasks, marks, now)).collect();
    let views = YardViews {
        state,
        tasks: &tasks,
        catalog: &catalog,
        removals: &removals,
        hosts,
        lines,
        marks,
        now,
    };
    YardPageModel {
        verdict: views.verdict(),
        figures: YardFigures {
            due: links.map_or(0, |links| links.due),
            next_due: links.and_then(|links| links.next_due).map(|at| Moment(at.0)),
            ..views.figures()
        },
        copies: views.copies(),
        waits: views.waits(),
        hot: views.hot(),
        disks: views.disks(),
        traffic: None,
        recent: recent::lines(state, None, RECENT),
        due: links.map(|links| due(state, links)).unwrap_or_default(),
        links: links.map_or(0, |links| links.working),
        pools: pools(state),
    }
}

impl YardViews<'_> {
    fn verdict(&self) -> VerdictFacts {
        let mut troubles = self.of_hosts();
        let not_ready = self.state.not_ready();
        if !not_ready.is_empty() {
            troubles.push(without_begin(TroubleCause::NotReady { reasons: not_ready }));
        }
        for text in self.state.warnings() {
            troubles.push(without_begin(TroubleCause::Warning { text }));
        }
        troubles.extend(inputs::troubles(self.catalog));
        let served = self.catalog.event_log.as_ref().and_then(|log| {
            let hour = log.served.last_hour?;
            Some(((1.0 - hour) * 100.0, log.served.last_day.map(|day| (1.0 - day) * 100.0)))
        });
        let in_maintenance =
            self.lines.iter().filter(|line| line.condition == HostCondition::NotAsked);
        VerdictFacts {
            troubles,
            fine_since: None,
            not_served: served,
            cleared: None,
            maintenance: in_maintenance.map(|line| line.host.clone()).collect(),
            hosts: self.lines.len() as u64,
            inputs: inputs::count(self.catalog),
        }
    }

    /// Hosts that do not answer, answer badly, or are over their limit.
    fn of_hosts(&self) -> Vec<Trouble> {
        let is_down =
            |line: &&HostLine| matches!(line.condition, HostCondition::Down | HostCondition::Lost);
        let down: Vec<&HostLine> = self.lines.iter().filter(is_down).collect();
        let mut troubles = Vec::new();
        if down.len() >= MANY_DOWN {
            let since = down.iter().filter_map(|line| line.since).min();
            let cause = TroubleCause::ManyDown { hosts: down.len() as u64 };
            troubles.push(Trouble { cause, since });
        } else {
            troubles.extend(down.into_iter().map(|line| self.host_down(line)));
        }
        for line in &self.lines {
            let since = line.since;
            if line.condition == HostCondition::Suspect {
                let cause = TroubleCause::Suspect { host: line.host.clone() };
                troubles.push(Trouble { cause, since });
            }
            if let Some(disk) = line.disk.filter(|disk| disk.used > disk.limit) {
                troubles.push(without_begin(self.over_limit(line, disk.used)));
            }
            if line.is_contested {
                troubles
                    .push(without_begin(TroubleCause::OtherManager { host: line.host.clone() }));
            }
        }
        troubles
    }

    fn host_down(&self, line: &HostLine) -> Trouble {
        let view = self.hosts.iter().find(|host| host.host.to_string() == line.host);
        let silent = view.and_then(|host| host.silent_since);
        let after = self.state.live.now().config.yard.hosts.presumed_lost_after;
        let failed = self.tasks.history.newest_first().map(|(_, copy)| copy);
        let failed = failed
            .take_while(|copy| self.now.0 - copy.at.0 < HOUR_MILLIS)
            .filter(|copy| matches!(copy.state, TaskState::Failed | TaskState::Timeout))
            .filter(|copy| copy.destination.to_string() == line.host);
        Trouble {
            cause: TroubleCause::HostDown {
                host: line.host.clone(),
                files: line.files,
                only_here: None,
                failed_copies: failed.count() as u64,
                lost_at: silent.map(|at| Moment(at.after(after).0)),
                is_lost: line.condition == HostCondition::Lost,
            },
            since: line.since,
        }
    }

    fn over_limit(&self, line: &HostLine, used: f64) -> TroubleCause {
        let of_host =
            self.removals.open.iter().filter(|((host, _), _)| host.to_string() == line.host);
        TroubleCause::OverLimit {
            host: line.host.clone(),
            used,
            limit: self.marks.limit,
            low_water: self.marks.low_water,
            removing: of_host.clone().count() as u64,
            removing_bytes: of_host.filter_map(|(_, removal)| removal.intent.size).sum(),
        }
    }

    fn figures(&self) -> YardFigures {
        let working = self.tasks.open.values().filter(|task| task.state == TaskState::Working);
        let plan = &self.tasks.plan;
        let placed = (plan.graded as u64).saturating_sub(plan.wanted);
        let served = self.catalog.event_log.as_ref().map(|log| log.served);
        let hot = self.catalog.rising.hot();
        let unplaced = hot.iter().filter(|(file, _)| self.holders(*file).is_empty());
        YardFigures {
            running: working.count() as u64,
            may_run: None,
            copy_rate: None,
            waiting: plan.wanted.saturating_sub(self.tasks.open.len() as u64),
            oldest_wait: None,
            placed,
            wanted: plan.graded as u64,
            out_of_reach: None,
            served: served.and_then(|served| served.last_hour).map(|share| share * 100.0),
            served_usual: served.and_then(|served| served.last_day).map(|share| share * 100.0),
            served_curve: Vec::new(),
            hot: hot.len() as u64,
            hot_unplaced: unplaced.count() as u64,
            due: 0,
            next_due: None,
        }
    }

    fn copies(&self) -> Vec<CopyLine> {
        let open = self.tasks.open.values();
        let working = open.filter(|task| task.state == TaskState::Working);
        working
            .take(COPIES)
            .map(|task| copy_line(self.tasks, self.catalog, task, self.state))
            .collect()
    }

    fn waits(&self) -> Vec<WaitLine> {
        let Some(last) = &self.tasks.plan.last else { return Vec::new() };
        let mut waits: Vec<WaitLine> = last
            .skipped
            .iter()
            .filter(|(why, _)| !matches!(why, Skip::Placed | Skip::Ignored | Skip::Ungraded))
            .filter_map(|(why, files)| Some(WaitLine { reason: passed(*why)?, files: *files }))
            .collect();
        waits.sort_by_key(|wait| std::cmp::Reverse(wait.files));
        waits
    }

    fn hot(&self) -> Vec<HotLine> {
        let mut hot: Vec<(FileId, u32)> = self.catalog.rising.hot().to_vec();
        hot.sort_by_key(|(_, hits)| std::cmp::Reverse(*hits));
        let line = |(file, hits): &(FileId, u32)| {
            let name = self.state.names.name(*file);
            let copying = self.tasks.open.values().find(|task| task.name == name);
            let holders = self.holders(*file);
            let condition = match (holders.is_empty(), copying) {
                (false, _) => FileCondition::Placed,
                (true, Some(_)) => FileCondition::Copying,
                (true, None) => FileCondition::Waiting,
            };
            let hosts = match copying {
                Some(task) if holders.is_empty() => vec![task.destination.to_string()],
                _ => holders,
            };
            HotLine {
                name: recent::shown_name(&self.state.names, *file),
                hits: u64::from(*hits),
                curve: Vec::new(),
                condition,
                hosts,
            }
        };
        hot.iter().take(HOT).map(line).collect()
    }

    /// The hosts that hold a file.
    fn holders(&self, file: FileId) -> Vec<String> {
        let placements = self.tasks.placements.iter();
        let held = placements.filter(|(_, files)| files.contains(file.0));
        held.map(|(host, _)| host.to_string()).collect()
    }

    fn disks(&self) -> DiskSummary {
        let disk_of = |line: &HostLine| {
            Some(DiskOfHost {
                host: line.host.clone(),
                level: line.disk?,
                mark: line.condition.mark(),
                is_usual: line.condition == HostCondition::Up,
            })
        };
        let figures = self.hosts.iter().filter(|host| host.role.is_destination());
        let figures: Vec<_> = figures.filter_map(|host| host.disk.as_ref()).collect();
        let size: u64 = figures.iter().map(|disk| disk.used.saturating_add(disk.avail)).sum();
        let used: u64 = figures.iter().map(|disk| disk.used).sum();
        DiskSummary {
            disks: self.lines.iter().filter_map(disk_of).collect(),
            size,
            used: used as f64 * 100.0 / size.max(1) as f64,
            limit: self.marks.limit,
            low_water: self.marks.low_water,
        }
    }
}

/// The links that end next.
fn due(state: &NodeHttpState, links: &ShareCounts) -> Vec<DueLink> {
    let mut due = Vec::new();
    for id in links.soonest.iter().take(DUE) {
        let ShareLookup::Live(share) = state.actors.share_views.find(*id) else { continue };
        let info = share_info(state, &share, share_time(state));
        let Some(ends) = info.expires_at else { continue };
        due.push(DueLink {
            downloads: u64::from(info.downloads.unwrap_or(info.uses)),
            most: info.max_downloads.map(u64::from),
            ends: Moment(ends.0.0),
            path: info.path,
        });
    }
    due
}

/// A trouble whose begin is not on record.
fn without_begin(cause: TroubleCause) -> Trouble {
    Trouble { cause, since: None }
}

/// A copy as pages show it.
pub fn copy_line(
    tasks: &TaskManagerView,
    catalog: &CatalogView,
    task: &Task,
    state: &NodeHttpState,
) -> CopyLine {
    let progress = tasks.progress.get(&task.id);
    let file = state.names.find(task.name.as_bytes());
    let is_hot = file.is_some_and(|file| catalog.rising.hot().iter().any(|(hot, _)| *hot == file));
    let is_working = task.state == TaskState::Working;
    let silence = progress.map(|progress| state.clock.now().0 - progress.at.0);
    let stalled = silence.filter(|silence| is_working && *silence > STALLED_MILLIS);
    CopyLine {
        name: task.name.to_text().name,
        is_hot,
        source: task.source.to_string(),
        destination: task.destination.to_string(),
        size: task.size,
        copied: progress.map(|progress| progress.bytes),
        rate: None,
        stalled: stalled.and_then(|silence| u64::try_from(silence / 1000).ok()),
    }
}

/// The reason of the planner in the words of the console.
pub fn passed(why: Skip) -> Option<PassedReason> {
    let word = serde_json::to_value(why).ok()?;
    PassedReason::of_api(word.as_str()?)
}

fn pools(state: &NodeHttpState) -> Vec<PoolSummary> {
    let phases = [
        (BoxPhase::Free, BoxCondition::Free),
        (BoxPhase::Leased, BoxCondition::Leased),
        (BoxPhase::Preparing, BoxCondition::Preparing),
        (BoxPhase::Draining, BoxCondition::Cleaning),
        (BoxPhase::Quarantined, BoxCondition::Quarantined),
    ];
    let view = state.actors.boxes.views.view();
    let pools = state.actors.boxes.views.pools();
    let summary = |pool: &reelyard_boxes::box_lease::PoolStatus| PoolSummary {
        name: pool.name.to_string(),
        counts: phases
            .iter()
            .map(|(phase, condition)| (*condition, u64::from(pool.counts.of(*phase))))
            .collect(),
        queue: view.queues.get(&pool.name).map_or(0, |queue| queue.waiting),
        longest_wait: None,
    };
    pools.iter().map(summary).collect()
}
