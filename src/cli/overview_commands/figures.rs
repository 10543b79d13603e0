//! The figures of the yard, one subject a line.

use reelyard_api::{LinkFigures, NodeRole, OverviewView, PlacementFigures, PoolFigures};
use reelyard_console::format::{self, bytes, count, counted, percent};
use reelyard_console::text::common;
use reelyard_console::{Moment, Viewer};

use crate::cli::output::{PartLook, PrintStyle, ShownLine, plain, wrapped};

/// Columns of the names of the subjects.
const NAMES: usize = 9;

/// A line for each subject; a long one continues on the next line.
pub fn lines(view: &OverviewView, style: &PrintStyle) -> Vec<ShownLine> {
    let viewer = &style.viewer;
    let mut subjects = vec![
        ("cluster", node(view)),
        ("hosts", hosts(view)),
        ("copies", copies(&view.copies)),
        ("served", served(&view.copies)),
        ("hot", hot(&view.copies, viewer)),
        ("disks", disks(view)),
    ];
    if let Some(links) = &view.links {
        subjects.push(("links", of_links(links, viewer)));
    }
    if let Some(pools) = &view.pools {
        subjects.push(("boxes", boxes(pools)));
    }
    let mut lines = Vec::new();
    for (name, text) in subjects {
        let parts = match style.width {
            Some(width) => wrapped(&text, width.saturating_sub(NAMES)),
            None => vec![text],
        };
        for (index, part) in parts.into_iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            let mut line = ShownLine::of(format!("{name:<NAMES$}"), PartLook::Dim);
            line.add(part, PartLook::Plain);
            lines.push(line);
        }
    }
    lines
}

fn node(view: &OverviewView) -> String {
    let OverviewView { version, node_id, epoch, .. } = view;
    let role = match (view.role, view.leader) {
        (NodeRole::Leader, _) => "leads".to_owned(),
        (NodeRole::Candidate, _) => "is a candidate".to_owned(),
        (NodeRole::Learner, _) => "catches up".to_owned(),
        (NodeRole::Follower, Some(leader)) => format!("follows node {leader}"),
        (NodeRole::Follower, None) => "follows; no node leads".to_owned(),
    };
    format!("node {node_id} {role}, epoch {epoch}, version {}", plain(version))
}

fn hosts(view: &OverviewView) -> String {
    let hosts = &view.hosts;
    let parts = [
        (hosts.up, "up"),
        (hosts.suspect, "suspect"),
        (hosts.down, "down"),
        (hosts.unknown, "not asked yet"),
        (hosts.over_limit, "over the limit"),
        (hosts.draining, "draining"),
        (hosts.maintenance, "in maintenance"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(hosts, _)| *hosts > 0)
        .map(|(hosts, word)| format!("{} {word}", count(hosts)))
        .collect();
    let all = format!("{} in all", count(hosts.total));
    if parts.is_empty() { all } else { format!("{all}: {}", parts.join(", ")) }
}

fn copies(copies: &PlacementFigures) -> String {
    let PlacementFigures { running, waiting, placed, wanted, .. } = copies;
    let (running, waiting) = (count(*running), count(*waiting));
    let mut files = format!("{} of {} files placed", count(*placed), count(*wanted));
    if copies.out_of_reach > 0 {
        files.push_str(&format!(", {} out of reach", count(copies.out_of_reach)));
    }
    let first = copies.waits.first().map(|wait| {
        let (files, reason) = (count(wait.files), plain(&wait.reason));
        format!("; most because: {reason} ({files})")
    });
    format!("{files}, {running} running, {waiting} waiting{}", first.unwrap_or_default())
}

fn served(copies: &PlacementFigures) -> String {
    let Some(hour) = copies.served_percent else { return "no requests counted".to_owned() };
    let day = copies.served_last_day_percent;
    let day = day.map(|day| format!(", {} in the last day", percent(day))).unwrap_or_default();
    format!("{} of the requests of the last hour by copies{day}", percent(hour))
}

fn hot(copies: &PlacementFigures, viewer: &Viewer) -> String {
    let files = counted(viewer.language, common::FILES, copies.hot);
    match (copies.hot, copies.hot_unplaced) {
        (0, _) => "no file".to_owned(),
        _ if copies.hot_out_of_reach > 0 => {
            format!("{files}, {} out of reach", count(copies.hot_out_of_reach))
        }
        (_, 0) => format!("{files}, all placed"),
        (_, unplaced) => format!("{files}, {} not placed yet", count(unplaced)),
    }
}

fn disks(view: &OverviewView) -> String {
    let disks = &view.disks;
    if disks.size == 0 {
        return "not known".to_owned();
    }
    let (used, limit) = (percent(disks.used_percent), percent(disks.limit_percent));
    format!("{}, {used} used, limit {limit}", bytes(disks.size))
}

fn of_links(links: &LinkFigures, viewer: &Viewer) -> String {
    let working = format!("{} in use", count(links.working));
    let next = links.next.first().map(|next| {
        let seconds = viewer.now.seconds_until(Moment(next.expires_at.0.0));
        format!(", the next in {}", format::age(viewer.language, seconds))
    });
    match links.due {
        0 => format!("{working}, none ends within 24 h"),
        due => format!("{working}, {} within 24 h{}", ends(due), next.unwrap_or_default()),
    }
}

fn ends(links: u64) -> String {
    if links == 1 { "1 ends".to_owned() } else { format!("{} end", count(links)) }
}

fn boxes(pools: &[PoolFigures]) -> String {
    let pool = |pool: &PoolFigures| {
        let quarantined = match pool.quarantined {
            0 => String::new(),
            quarantined => format!(", {} quarantined", count(quarantined)),
        };
        let waiting = match pool.waiting {
            0 => String::new(),
            waiting => format!(", {} waiting", count(waiting)),
        };
        format!(
            "{}: {} of {} free{quarantined}{waiting}",
            plain(&pool.name),
            count(pool.free),
            count(pool.size)
        )
    };
    let pools: Vec<String> = pools.iter().map(pool).collect();
    if pools.is_empty() { "no pool".to_owned() } else { pools.join("; ") }
}
