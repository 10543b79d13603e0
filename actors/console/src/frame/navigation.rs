//! The side bar, and the tabs of narrow screens.

use maud::{Markup, html};

use crate::address::ROOT;
use crate::format::count;
use crate::parts::icon::{Glyph, icon, shape};
use crate::text::{Text, frame};
use crate::viewer::Viewer;

/// A page of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NavPage {
    /// The first screen.
    Yard,
    /// The table of hosts: health, disk and link of each.
    Hosts,
    /// The table of ranked and hot files.
    Files,
    /// Copies: planned, under way and ended.
    Tasks,
    /// The last round of the planner and of the remover.
    Plan,
    /// Map of requests.
    Map,
    /// Share links.
    Shares,
    /// Box pools.
    Boxes,
    /// History of copies and removals.
    History,
    /// Actions of people and programs, with their outcomes.
    Audit,
    /// The nodes: who leads, who votes, who is behind.
    Cluster,
    /// Values in force, and the input files of the node.
    Settings,
    /// Users, tokens and sessions.
    Access,
    /// The manual.
    Guide,
}

impl NavPage {
    /// Words, symbol and address.
    const fn entry(self) -> (Text, Glyph, &'static str) {
        match self {
            NavPage::Yard => (frame::YARD, Glyph::NavYard, ""),
            NavPage::Hosts => (frame::HOSTS, Glyph::NavHosts, "/hosts"),
            NavPage::Files => (frame::FILES, Glyph::NavFiles, "/files"),
            NavPage::Tasks => (frame::TASKS, Glyph::NavTasks, "/tasks"),
            NavPage::Plan => (frame::PLAN, Glyph::NavPlan, "/plan"),
            NavPage::Map => (frame::MAP, Glyph::NavMap, "/map"),
            NavPage::Shares => (frame::SHARES, Glyph::NavShares, "/shares"),
            NavPage::Boxes => (frame::BOXES, Glyph::NavBoxes, "/boxes"),
            NavPage::History => (frame::HISTORY, Glyph::NavHistory, "/history"),
            NavPage::Audit => (frame::AUDIT, Glyph::Key, "/audit"),
            NavPage::Cluster => (frame::CLUSTER, Glyph::NavCluster, "/cluster"),
            NavPage::Settings => (frame::SETTINGS, Glyph::NavSettings, "/settings"),
            NavPage::Access => (frame::ACCESS, Glyph::User, "/access"),
            NavPage::Guide => (frame::GUIDE, Glyph::Help, "/guide"),
        }
    }

    /// The words of the page.
    pub const fn title(self) -> Text {
        self.entry().0
    }

    /// The address of the chapter about the page.
    pub fn chapter(self) -> String {
        let topic = match self {
            NavPage::Yard | NavPage::Guide => "console",
            NavPage::Hosts | NavPage::History => "operate",
            NavPage::Files | NavPage::Tasks | NavPage::Plan | NavPage::Map => "copies",
            NavPage::Shares => "links",
            NavPage::Boxes => "boxes",
            NavPage::Audit => "audit",
            NavPage::Cluster => "cluster",
            NavPage::Settings => "configuration",
            NavPage::Access => "access",
        };
        format!("{ROOT}/guide/{topic}")
    }

    /// The address of the page.
    pub fn address(self) -> String {
        format!("{ROOT}{}", self.entry().2)
    }
}

/// Groups of the side bar, each with its title.
const GROUPS: [(Option<Text>, &[NavPage]); 5] = [
    (None, &[NavPage::Yard]),
    (
        Some(frame::STORAGE),
        &[NavPage::Hosts, NavPage::Files, NavPage::Tasks, NavPage::Plan, NavPage::Map],
    ),
    (Some(frame::GIVEN_OUT), &[NavPage::Shares, NavPage::Boxes]),
    (Some(frame::ON_RECORD), &[NavPage::History, NavPage::Audit]),
    (Some(frame::NODE), &[NavPage::Cluster, NavPage::Settings, NavPage::Access, NavPage::Guide]),
];

/// Pages of the tabs; the last tab leads to all pages.
const TABS: [NavPage; 4] = [NavPage::Yard, NavPage::Hosts, NavPage::Files, NavPage::Tasks];

/// Counts beside entries, shown only where something is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NavCounts {
    /// Hosts that are down.
    pub hosts_down: u64,
    /// Files whose last copy failed in the last hour, and that no task copies.
    pub tasks_failed: u64,
    /// Boxes of all pools that are out of use.
    pub boxes_quarantined: u64,
}

impl NavCounts {
    fn of(self, viewer: &Viewer, page: NavPage) -> Option<(u64, String)> {
        let (value, words) = match page {
            NavPage::Hosts => (self.hosts_down, frame::N_DOWN),
            NavPage::Tasks => (self.tasks_failed, frame::N_FAILED),
            NavPage::Boxes => (self.boxes_quarantined, frame::N_QUARANTINED),
            _ => return None,
        };
        (value > 0).then(|| (value, words.fill(viewer.language, &[("n", &count(value))])))
    }
}

/// Whether the viewer may read the page.
pub fn may_open(viewer: &Viewer, page: NavPage) -> bool {
    let reads = viewer.rights.reads;
    match page {
        NavPage::Yard => reads.storage && reads.shares && reads.boxes,
        NavPage::Hosts
        | NavPage::Files
        | NavPage::Tasks
        | NavPage::Plan
        | NavPage::Map
        | NavPage::History
        | NavPage::Cluster
        | NavPage::Guide => reads.storage,
        NavPage::Shares => reads.shares,
        NavPage::Boxes => reads.boxes,
        NavPage::Audit => reads.audit,
        NavPage::Settings => reads.config,
        NavPage::Access => reads.access,
    }
}

/// The id of the side bar.
pub const SIDE: &str = "side";

/// The id of the tabs of single pages.
pub const TAB_PAGES: &str = "tab-pages";

/// The side bar. It follows changes of the counts.
pub fn side_bar(
    viewer: &Viewer,
    current: Option<NavPage>,
    counts: NavCounts,
    foot: &[String],
) -> Markup {
    let language = viewer.language;
    html! {
        nav #(SIDE) .side aria-label=(frame::MAIN_NAV.of(language)) {
            @for (title, pages) in GROUPS {
                @let shown: Vec<NavPage> = pages.iter().copied().filter(|page| may_open(viewer, *page)).collect();
                @if let Some(title) = title.filter(|_| !shown.is_empty()) { h2 { (title.of(language)) } }
                @for page in shown { (side_link(viewer, page, Some(page) == current, counts)) }
            }
            div.foot { @for line in foot { div { (line) } } }
        }
    }
}

fn side_link(viewer: &Viewer, page: NavPage, is_current: bool, counts: NavCounts) -> Markup {
    let (words, glyph, _) = page.entry();
    let words = words.of(viewer.language);
    html! {
        a href=(page.address()) title=(words) aria-current=[is_current.then_some("page")] {
            (icon(glyph)) span { (words) }
            @if let Some((value, label)) = counts.of(viewer, page) {
                @let (tone, glyph) = if page == NavPage::Boxes { ("warn", Glyph::Quarantine) } else { ("bad", Glyph::Down) };
                span class={ "n " (tone) } { (shape(glyph, "")) span aria-hidden="true" { (count(value)) } span.vh { " " (label) } }
            }
        }
    }
}

/// The tabs of narrow screens.
pub fn tabs(viewer: &Viewer, current: Option<NavPage>, counts: NavCounts) -> Markup {
    let language = viewer.language;
    let is_more = current.is_some_and(|current| !TABS.contains(&current));
    html! {
        nav #tabs .tabs aria-label=(frame::SHORT_NAV.of(language)) {
            (tab_pages(viewer, current, counts))
            details.more-pages {
                summary aria-current=[is_more.then_some("page")] { (icon(Glyph::More)) (frame::MORE.of(language)) }
                ul {
                    @for (_, pages) in GROUPS {
                        @for page in pages.iter().copied().filter(|page| !TABS.contains(page) && may_open(viewer, *page)) {
                            @let (words, glyph, _) = page.entry();
                            li { a href=(page.address()) aria-current=[(Some(page) == current).then_some("page")] { (icon(glyph)) (words.of(language)) } }
                        }
                    }
                }
            }
        }
    }
}

/// The tabs of single pages. They follow changes of the counts; the menu of all pages beside them stays open.
pub fn tab_pages(viewer: &Viewer, current: Option<NavPage>, counts: NavCounts) -> Markup {
    html! {
        div #(TAB_PAGES) .contents {
            @for page in TABS.into_iter().filter(|page| may_open(viewer, *page)) {
                @let (words, glyph, _) = page.entry();
                a href=(page.address()) aria-current=[(Some(page) == current).then_some("page")] {
                    (icon(glyph)) (words.of(viewer.language))
                    @if let Some((value, label)) = counts.of(viewer, page) {
                        span.n { span aria-hidden="true" { (short_count(value)) } span.vh { (label) } }
                    }
                }
            }
        }
    }
}

/// A count for a place that holds three letters.
fn short_count(value: u64) -> String {
    if value > 99 { "99+".to_owned() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::text::Language;
    use crate::viewer::{Moment, ReadableAreas};

    #[test]
    fn the_navigation_leads_only_to_pages_that_the_viewer_may_read() {
        let links = |reads: ReadableAreas| {
            let mut viewer =
                Viewer::without_session(Language::English, TimeZone::UTC, Moment::default());
            viewer.rights.reads = reads;
            let side =
                side_bar(&viewer, Some(NavPage::Guide), NavCounts::default(), &[]).into_string();
            let tabs = tabs(&viewer, Some(NavPage::Guide), NavCounts::default()).into_string();
            // Icons are links to assets.
            let count = |text: &str| {
                let all = text.matches("href=\"/console").count();
                all - text.matches("href=\"/console/assets").count()
            };
            (count(&side), count(&tabs), side.contains(frame::NODE.of(Language::English)))
        };
        let shares = ReadableAreas { shares: true, ..ReadableAreas::default() };
        assert_eq!(links(ReadableAreas::ALL), (14, 14, true));
        assert_eq!(links(shares), (1, 1, false));
        assert_eq!(links(ReadableAreas::default()), (0, 0, false));
    }

    #[test]
    fn a_large_count_fits_its_tab() {
        let mut viewer =
            Viewer::without_session(Language::English, TimeZone::UTC, Moment::default());
        viewer.rights.reads = ReadableAreas::ALL;
        for (hosts_down, shown) in [(7, ">7<"), (99, ">99<"), (5000, ">99+<")] {
            let counts = NavCounts { hosts_down, ..NavCounts::default() };
            let page = tab_pages(&viewer, Some(NavPage::Yard), counts).into_string();
            assert!(page.contains(shown) && page.contains(&count(hosts_down)), "{page}");
        }
    }
}
