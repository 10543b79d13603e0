//! Everything that is wrong at one moment.

pub(super) mod trouble_log;

use std::collections::BTreeMap;

use reelyard_api::HostView;
use reelyard_console::Moment;
use reelyard_console::pages::hosts::{HostCondition, HostLine};
use reelyard_console::pages::yard::{Trouble, TroubleCause, TroublePlace};
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;
use reelyard_yard::catalog::views::{CatalogInputState, CatalogInputView, CatalogView};
use reelyard_yard::task_manager::TaskManagerView;

use crate::http::overview::placed_files::listed_files;
use crate::http::overview::yard_views::YardViews;

/// From this many hosts without an answer on, one line stands for all.
const MANY_DOWN: usize = 6;

/// All troubles, each host and input alone. A begin is only set where a view knows it.
pub fn troubles(views: &YardViews<'_>) -> Vec<Trouble> {
    let missing = views.state.no_destination();
    let mut troubles = of_hosts(views, missing.is_some());
    let missing = missing.filter(|_| !is_last_named(&troubles)).map(|missing| missing.to_string());
    if views.state.has_no_leader() {
        troubles.push(without_begin(TroubleCause::NoLeader));
    }
    let blocked: Vec<String> = views.state.planning_off().into_iter().chain(missing).collect();
    if !blocked.is_empty() {
        troubles.push(without_begin(TroubleCause::Blocked { reason: blocked.join(" ") }));
    }
    let of_inputs = of_inputs(&views.catalog);
    let reasons = beside_inputs(&of_inputs, views.state.not_ready_with_leader());
    if !reasons.is_empty() {
        let is_of_inputs = views.state.journal_faults().is_empty();
        let remedy = if is_of_inputs { TroublePlace::Settings } else { TroublePlace::Manual };
        troubles.push(without_begin(TroubleCause::NotReady { reasons, remedy }));
    }
    for (remedy, text) in views.state.other_warnings() {
        troubles.push(without_begin(TroubleCause::Warning { text, remedy }));
    }
    troubles.extend(of_inputs);
    troubles.extend(not_served(&views.catalog));
    // Before the first round this node does not know which files are ignored.
    if views.tasks.plan.last.is_some() {
        troubles.extend(without_masters(&views.catalog, &views.tasks));
    }
    troubles.extend(unset_ranking(views));
    for hook in views.state.actors.hooks.views() {
        if let Some(why) = &hook.trouble {
            let (hook, reason) = (hook.name.to_string(), why.reason.clone());
            let cause = TroubleCause::HookFails { hook, reason };
            troubles.push(Trouble { cause, since: Some(Moment(why.since.0)) });
        }
    }
    troubles
}

/// Replaces many hosts that do not answer by one trouble: their cause is probably one.
pub fn joined(troubles: Vec<Trouble>) -> Vec<Trouble> {
    if !are_many_down(&troubles) {
        return troubles;
    }
    let (down, mut rest): (Vec<Trouble>, Vec<Trouble>) = troubles.into_iter().partition(is_down);
    let since = down.iter().filter_map(|trouble| trouble.since).min();
    let cause = TroubleCause::ManyDown { hosts: down.len() as u64, is_last: is_last_named(&down) };
    rest.push(Trouble { cause, since });
    rest
}

fn is_down(trouble: &Trouble) -> bool {
    matches!(trouble.cause, TroubleCause::HostDown { .. })
}

/// Whether one trouble stands for all hosts that do not answer.
fn are_many_down(troubles: &[Trouble]) -> bool {
    troubles.iter().filter(|trouble| is_down(trouble)).count() >= MANY_DOWN
}

/// Whether the trouble of a host, or the one trouble of many hosts, says that no destination is up. A suspect host does
/// not say it.
fn is_last_named(troubles: &[Trouble]) -> bool {
    let is_last =
        |trouble: &Trouble| matches!(trouble.cause, TroubleCause::HostDown { is_last: true, .. });
    troubles.iter().any(is_last)
}

/// A trouble whose begin no view knows.
fn without_begin(cause: TroubleCause) -> Trouble {
    Trouble { cause, since: None }
}

/// Hosts that do not answer, answer badly, are over their limit, or obey another manager.
fn of_hosts(views: &YardViews<'_>, is_any_missing: bool) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    let failed = &views.state.last_hour().failed_by_destination;
    for (line, host) in views.lines.iter().zip(&views.hosts) {
        let since = line.since;
        match line.condition {
            HostCondition::Down | HostCondition::Lost => {
                let is_last = is_any_missing && host.role.is_destination();
                troubles.push(host_down(views, line, host, failed, is_last));
            }
            HostCondition::Suspect => {
                let cause = TroubleCause::Suspect { host: line.host.clone() };
                troubles.push(Trouble { cause, since });
            }
            _ => {}
        }
        if let Some(disk) = line.disk.filter(|disk| disk.used > disk.limit) {
            troubles.push(without_begin(over_limit(views, line, host.host, disk.used)));
        }
        if line.is_contested {
            troubles.push(without_begin(TroubleCause::OtherManager { host: line.host.clone() }));
        }
    }
    troubles
}

fn host_down(
    views: &YardViews<'_>,
    line: &HostLine,
    host: &HostView,
    failed: &BTreeMap<HostAddr, u64>,
    is_last: bool,
) -> Trouble {
    let after = views.state.live.now().config.yard.hosts.presumed_lost_after;
    Trouble {
        cause: TroubleCause::HostDown {
            host: line.host.clone(),
            files: line.files,
            only_here: None,
            failed_copies: failed.get(&host.host).copied().unwrap_or(0),
            lost_at: host.silent_since.map(|at| Moment(at.after(after).0)),
            is_lost: line.condition == HostCondition::Lost,
            is_last,
            is_only_source: !host.role.is_destination(),
        },
        since: line.since,
    }
}

fn over_limit(views: &YardViews<'_>, line: &HostLine, host: HostAddr, used: f64) -> TroubleCause {
    let of_host = views.removals.open.range((host, FileId(0))..=(host, FileId(u32::MAX)));
    TroubleCause::OverLimit {
        host: line.host.clone(),
        used,
        limit: views.marks.limit,
        low_water: views.marks.low_water,
        removing: of_host.clone().count() as u64,
        removing_bytes: of_host
            .filter_map(|(_, removal)| removal.intent.size)
            .fold(0, u64::saturating_add),
    }
}

/// The reasons that are not the trouble of an input. Each thing that is wrong is one trouble.
fn beside_inputs(inputs: &[Trouble], mut reasons: Vec<String>) -> Vec<String> {
    for trouble in inputs {
        if let TroubleCause::InputUnreadable { input, reason } = &trouble.cause {
            let known = format!("{input} {reason}");
            reasons.retain(|reason| *reason != known);
        }
    }
    reasons
}

/// Inputs that cannot be read, and rows of them that cannot.
fn of_inputs(catalog: &CatalogView) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    // A day without a file is usual at midnight. The Catalog warns if no day has one.
    let is_there = |input: &&CatalogInputView| input.state != CatalogInputState::Missing;
    let days = catalog.event_log.iter().flat_map(|log| &log.files);
    let of_log = days.map(|day| &day.input).filter(is_there);
    let files = catalog.grade_info.iter().chain(&catalog.hitcount_history).chain(of_log);
    troubles.extend(files.filter_map(of_file));
    for dir in &catalog.source_dirs.dirs {
        if let Some(reason) = dir.state.problem() {
            troubles.push(unreadable(&dir.path, reason));
        }
    }
    troubles
}

/// From this part of the requests on, in percent, unserved ones are a trouble. Copies of a yard with small disks may
/// serve a third of the requests at all times.
const MUCH_UNSERVED: f64 = 90.0;
/// The same above the part of the last day.
const MUCH_ABOVE_USUAL: f64 = 10.0;
/// With fewer requests in the last hour, their parts say little.
const FEWEST_REQUESTS: u64 = 100;

/// The parts of the requests of the last hour and of the last day that no copy served, in percent.
pub fn unserved(catalog: &CatalogView) -> Option<(f64, Option<f64>)> {
    let served = catalog.event_log.as_ref()?.served;
    let percent = |share: f64| (1.0 - share) * 100.0;
    Some((percent(served.last_hour?), served.last_day.map(percent)))
}

fn not_served(catalog: &CatalogView) -> Option<Trouble> {
    let requests = catalog.event_log.as_ref()?.served.requests_last_hour;
    let (now, usual) = unserved(catalog)?;
    let is_unusual = usual.is_some_and(|usual| now > usual + MUCH_ABOVE_USUAL);
    let is_much = now >= MUCH_UNSERVED || is_unusual;
    (is_much && requests >= FEWEST_REQUESTS)
        .then(|| without_begin(TroubleCause::NotServed { now, usual }))
}

/// From this part of the graded files on, in percent, files that are nowhere are a trouble. A few are usual: grade.info
/// may name files that have left.
const MANY_NOWHERE: u64 = 50;

fn without_masters(catalog: &CatalogView, tasks: &TaskManagerView) -> Option<Trouble> {
    let (ranking, masters) = (catalog.ranking.as_ref()?, catalog.masters.as_ref()?);
    let ignored = tasks.plan.passed_over.ignored();
    let graded = ranking.set() - ignored;
    let mut left = listed_files(catalog) - ignored;
    tasks.placements.values().for_each(|held| left -= &**held);
    left -= &masters.files;
    let are_many = left.intersection_len(&graded) * 100 >= graded.len() * MANY_NOWHERE;
    // A directory that cannot be listed is a trouble of its own.
    if graded.is_empty() || !are_many || !masters.unlisted.is_empty() {
        return None;
    }
    if catalog.source_dirs.dirs.is_empty() {
        return Some(without_begin(TroubleCause::InputUnset { input: "source_dirs".to_owned() }));
    }
    Some(without_begin(TroubleCause::NoMasters { files: left.len() }))
}

/// A yard with destinations plans nothing without a ranking, unless hot files need no grade.
fn unset_ranking(views: &YardViews<'_>) -> Option<Trouble> {
    let catalog = &views.catalog;
    let plans_hot =
        catalog.event_log.is_some() && views.state.live.now().config.yard.catalog.ungraded_hot;
    let has_destinations = views.hosts.iter().any(|host| host.role.is_destination());
    let is_unset = catalog.grade_info.is_none() && has_destinations && !plans_hot;
    let input = "catalog.grade_info_file".to_owned();
    is_unset.then(|| without_begin(TroubleCause::InputUnset { input }))
}

fn of_file(input: &CatalogInputView) -> Option<Trouble> {
    if let Some(reason) = input.state.problem() {
        return Some(unreadable(&input.path, reason));
    }
    let first = input.tally.first_bad.first()?;
    Some(without_begin(TroubleCause::BadRows {
        input: input.path.clone(),
        rows: input.tally.bad(),
        line: first.line,
        reason: first.fault.to_string(),
    }))
}

fn unreadable(path: &str, reason: String) -> Trouble {
    without_begin(TroubleCause::InputUnreadable { input: path.to_owned(), reason })
}

/// How many inputs were looked at.
pub fn count_inputs(catalog: &CatalogView) -> u64 {
    let files = usize::from(catalog.grade_info.is_some())
        + usize::from(catalog.hitcount_history.is_some())
        + catalog.event_log.as_ref().map_or(0, |log| log.files.len());
    (files + catalog.source_dirs.dirs.len()) as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reelyard_yard::catalog::popularity::served_requests::ServedShares;
    use reelyard_yard::catalog::ranking::{RankedFile, Ranking};
    use reelyard_yard::catalog::sources::masters::Masters;
    use reelyard_yard::catalog::views::{EventLogView, SourceDirView, SourceDirsView};
    use roaring::RoaringBitmap;

    use super::*;

    fn host_down(number: usize, is_last: bool) -> Trouble {
        Trouble {
            cause: TroubleCause::HostDown {
                host: number.to_string(),
                files: None,
                only_here: None,
                failed_copies: 0,
                lost_at: None,
                is_lost: false,
                is_last,
                is_only_source: false,
            },
            since: Some(Moment(number as i64 + 7)),
        }
    }

    #[test]
    fn hosts_that_are_down_say_that_no_destination_is_up() {
        let last = |hosts: usize| -> Vec<Trouble> {
            (0..hosts).map(|number| host_down(number, true)).collect()
        };
        assert!(is_last_named(&last(1)));
        assert!(is_last_named(&last(MANY_DOWN)));
        let cause = TroubleCause::ManyDown { hosts: MANY_DOWN as u64, is_last: true };
        assert_eq!(joined(last(MANY_DOWN)), [Trouble { cause, since: Some(Moment(7)) }]);
        assert!(!is_last_named(&[host_down(0, false)]), "only a source is down");
        let suspect = without_begin(TroubleCause::Suspect { host: "10.0.0.1:80".to_owned() });
        assert!(!is_last_named(&[suspect]));
    }

    #[test]
    fn many_requests_without_a_copy_are_a_trouble() {
        let trouble_of = |requests_last_hour, last_hour, last_day| {
            let served = ServedShares { requests_last_hour, last_hour, last_day };
            let log = EventLogView { served, ..EventLogView::default() };
            let catalog = CatalogView { event_log: Some(log), ..CatalogView::default() };
            not_served(&catalog).map(|trouble| trouble.cause)
        };
        let trouble = |last_hour, last_day| trouble_of(100, last_hour, last_day);
        assert_eq!(trouble_of(99, Some(0.0), None), None);
        assert_eq!(trouble(None, Some(0.0)), None);
        assert_eq!(trouble(Some(0.25), Some(0.25)), None);
        assert_eq!(trouble(Some(0.75), Some(0.75)), None);
        let usual = Some(12.5);
        assert_eq!(
            trouble(Some(0.75), Some(0.875)),
            Some(TroubleCause::NotServed { now: 25.0, usual })
        );
        assert_eq!(
            trouble(Some(0.0), None),
            Some(TroubleCause::NotServed { now: 100.0, usual: None })
        );
    }

    #[test]
    fn graded_files_that_are_nowhere_are_a_trouble_if_they_are_many() {
        let files = |files: std::ops::Range<u32>| files.collect::<RoaringBitmap>();
        let trouble = |with_master, held: std::ops::Range<u32>, is_listed| {
            let dirs = vec![SourceDirView::default()];
            let ranked = |file| RankedFile { file, size: None, listed_on: Vec::new() };
            let unlisted = if is_listed { Vec::new() } else { vec![Default::default()] };
            let masters = Masters { files: files(0..with_master), unlisted, ..Masters::default() };
            let catalog = CatalogView {
                ranking: Some(Arc::new(Ranking::from_files((0..100).map(FileId).map(ranked)))),
                masters: Some(Arc::new(masters)),
                source_dirs: SourceDirsView { dirs, masters: 0 },
                ..CatalogView::default()
            };
            let host: HostAddr = "10.0.0.1:80".parse().unwrap();
            let placements = [(host, Arc::new(files(held)))].into_iter().collect();
            let tasks = TaskManagerView { placements, ..TaskManagerView::default() };
            without_masters(&catalog, &tasks).map(|trouble| trouble.cause)
        };
        assert_eq!(trouble(51, 0..0, true), None);
        let of = |files| Some(TroubleCause::NoMasters { files });
        assert_eq!(trouble(50, 0..0, true), of(50));
        assert_eq!(trouble(0, 0..30, true), of(70));
        assert_eq!(trouble(7, 7..97, true), None, "three names left grade.info");
        assert_eq!(trouble(0, 0..100, true), None, "nothing is missing yet");
        assert_eq!(trouble(0, 0..0, false), None, "the directory is a trouble of its own");
    }

    #[test]
    fn an_unreadable_input_is_one_trouble() {
        let input = unreadable("/data/grade.info", "does not exist".to_owned());
        let reasons = ["/data/grade.info does not exist", "the journal has stopped"];
        let left = beside_inputs(&[input], reasons.map(str::to_owned).to_vec());
        assert_eq!(left, ["the journal has stopped"]);
    }

    #[test]
    fn many_hosts_without_an_answer_are_one_trouble() {
        let down = |number: usize| host_down(number, false);
        let few: Vec<Trouble> = (0..MANY_DOWN - 1).map(down).collect();
        assert_eq!(joined(few.clone()), few);
        let many: Vec<Trouble> = (0..MANY_DOWN).map(down).collect();
        let cause = TroubleCause::ManyDown { hosts: MANY_DOWN as u64, is_last: false };
        assert_eq!(joined(many), [Trouble { cause, since: Some(Moment(7)) }]);
    }
}
