//! The map of requests: files by hosts.

use maud::{Markup, html};

use crate::address::{QueryWord, ROOT, page_query};
use crate::format::{count, counted, file_name, host_link, percent};
use crate::pages::files::FilesPageQuery;
use crate::parts::act::command;
use crate::parts::bars::reason_bar;
use crate::parts::dialog::{AskDialog, ask_dialog};
use crate::parts::filter::{FilterBar, FilterChoice, filter_bar};
use crate::parts::heat::{HeatMap, heat_legend, heat_map};
use crate::parts::mark::Tone;
use crate::parts::notice::empty;
use crate::parts::panel::page_head;
use crate::text::{Text, common, files, frame, plan};
use crate::viewer::Viewer;

/// From this many hosts on the page shows hosts only.
const MOST_COLUMNS: usize = 60;

/// Hosts of the list by requests. Further ones are counted.
const RANKED: usize = 500;

/// Copies of a file in the table. Further ones are counted.
const COPIES: usize = 40;

/// Another form of the map than files by hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapView {
    /// Only hosts.
    Hosts,
    /// The figures as a table.
    Table,
}

impl QueryWord for MapView {
    const WORDS: &'static [(&'static str, Self)] =
        &[("hosts", MapView::Hosts), ("table", MapView::Table)];
}

page_query! {
    /// Query parameters of the page Map.
    MapPageQuery at "/map" {
        /// The form of the map; without it files by hosts.
        view: Option<MapView>,
        /// Action whose dialog is open: `pin_copy`.
        ask: String,
        /// Files of the dialog, each percent-encoded.
        pick: Vec<String>,
    }
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct MapPageModel {
    /// The files asked for most, by hosts.
    pub map: HeatMap,
    /// An input counts requests.
    pub is_counted: bool,
    /// Dialog of an action.
    pub ask: Option<AskDialog>,
}

/// The content of the page.
pub fn render(query: &MapPageQuery, model: &MapPageModel, viewer: &Viewer) -> Markup {
    html! {
        (page_head(frame::MAP.of(viewer.language), &sentence(viewer, &model.map), html! {}))
        (filter_bar(viewer, &filters(viewer, query)))
        (map_content(viewer, query, model))
        @if let Some(ask) = &model.ask { (ask_dialog(viewer, ask)) }
    }
}

/// Everything below the choice of the view. Its id is `map-content`, for live updates. It has no form: the nonce of
/// a fragment is not that of the page.
pub fn map_content(viewer: &Viewer, query: &MapPageQuery, model: &MapPageModel) -> Markup {
    let language = viewer.language;
    let map = &model.map;
    let view = if map.hosts.len() >= MOST_COLUMNS && query.view.is_none() {
        Some(MapView::Hosts)
    } else {
        query.view
    };
    html! { div #map-content {
        @if map.rows.is_empty() {
            div.tablebox { (nothing(viewer, model.is_counted)) }
        } @else {
            (cure(viewer, query, map))
            p.soft.mb { (plan::MAP_ESTIMATE.of(language)) }
            @match view {
                None => {
                    section #map-hosts .panel.phoneonly { header { h2 { (plan::MAP_BY_HOST.of(language)) } } div.body { (ranked_hosts(viewer, map)) } }
                    section #map .panel.heatpanel {
                        header { h2 { (plan::MAP_PANEL.of(language)) } (heat_legend(viewer, map)) }
                        div.body { (heat_map(viewer, map)) }
                    }
                }
                Some(MapView::Hosts) => {
                    section #map .panel { header { h2 { (plan::MAP_BY_HOST.of(language)) } } div.body { (ranked_hosts(viewer, map)) } }
                }
                Some(MapView::Table) => (figures_table(viewer, map)),
            }
        }
    } }
}

/// No file is on the map: none is asked for, or nothing counts requests.
fn nothing(viewer: &Viewer, is_counted: bool) -> Markup {
    let language = viewer.language;
    if is_counted {
        return empty(plan::MAP_QUIET.of(language), plan::MAP_QUIET_BODY.of(language), html! {});
    }
    html! {
        div.empty {
            b { (plan::MAP_EMPTY.of(language)) }
            (plan::MAP_EMPTY_BODY.of(language))
            div.mt { (command(language, "[event_log]\ndir = \"/var/log/glb\"")) }
            div.acts { a.btn.sm.go href={ (ROOT) "/guide/copies" } { (files::HOW_TO_BEGIN.of(language)) } }
        }
    }
}

/// The hot spot, its share in percent, and the keys of the files that only this host answers for.
fn hot_spot(map: &HeatMap) -> Option<(&str, f64, Vec<&str>)> {
    let (highest, share) = map.highest().filter(|_| map.has_hot_spot())?;
    let is_highest = |column: usize| map.hosts.get(column).is_some_and(|host| host == highest);
    let only_there = |row: &&crate::parts::heat::HeatRow| {
        let mut held = row.cells.iter().filter(|cell| !cell.is_coming && !map.is_down(cell.host));
        held.next().is_some_and(|cell| is_highest(cell.host)) && held.next().is_none()
    };
    let alone = map.rows.iter().filter(only_there).map(|row| row.key.as_str()).collect();
    Some((highest.host.as_str(), share, alone))
}

/// The sentence at the top: the hot spot, and its remedy. Without requests there is nothing to say.
pub fn sentence(viewer: &Viewer, map: &HeatMap) -> String {
    let language = viewer.language;
    if map.rows.is_empty() {
        return String::new();
    }
    match hot_spot(map) {
        Some((host, share, alone)) => {
            let values = [("host", host), ("share", &percent(share.round()))];
            let mut text = plan::MAP_SENTENCE_HOT.fill(language, &values);
            if !alone.is_empty() {
                let files = count(alone.len() as u64);
                text.push(' ');
                text.push_str(&plan::MAP_SENTENCE_CURE.fill(language, &[("n", &files)]));
            }
            text
        }
        None if map.is_even() => plan::MAP_SENTENCE_EVEN.of(language).to_owned(),
        // One host answers everything, so its share says nothing.
        None if map.hosts.len() < 2 => String::new(),
        None => {
            let Some((host, share)) = map.highest() else { return String::new() };
            let values = [("host", host.host.as_str()), ("share", &percent(share.round()))];
            plan::MAP_SENTENCE_HOT.fill(language, &values)
        }
    }
}

/// The way to a second copy of the files that only the hot spot answers for. A placed file is copied only if it is
/// pinned.
fn cure(viewer: &Viewer, query: &MapPageQuery, map: &HeatMap) -> Markup {
    let language = viewer.language;
    let Some((host, _, alone)) = hot_spot(map).filter(|(_, _, alone)| !alone.is_empty()) else {
        return html! {};
    };
    let pick: Vec<String> = alone.iter().map(|key| (*key).to_owned()).collect();
    let host = host.to_owned();
    let picked = FilesPageQuery { host, pick: pick.clone(), ..FilesPageQuery::default() }.address();
    let asking = MapPageQuery { view: query.view, ask: "pin_copy".to_owned(), pick };
    let files = [("files", counted(language, common::FILES, alone.len() as u64))];
    let files = [(files[0].0, files[0].1.as_str())];
    html! {
        div #map-cure .acts.mb {
            a.btn.sm href=(picked) { (plan::MAP_SEE.fill(language, &files)) }
            @if viewer.rights.storage {
                a.btn.sm.go href=(asking.address()) { (plan::MAP_PIN_COPY.fill(language, &files)) }
                span.muted { (plan::MAP_PIN_FIRST.of(language)) }
            }
        }
    }
}

fn filters(viewer: &Viewer, query: &MapPageQuery) -> FilterBar {
    let choices: [(Option<MapView>, Text); 3] = [
        (None, plan::MAP_FILES_HOSTS),
        (Some(MapView::Hosts), plan::MAP_HOSTS),
        (Some(MapView::Table), common::AS_TABLE),
    ];
    let mut states = Vec::new();
    for (view, words) in choices {
        states.push(FilterChoice {
            words: words.of(viewer.language).to_owned(),
            rows: None,
            address: MapPageQuery { view, ..MapPageQuery::default() }.address(),
            is_current: query.view == view,
        });
    }
    FilterBar {
        path: MapPageQuery::path(),
        field: None,
        text: String::new(),
        others: Vec::new(),
        states_label: plan::MAP_VIEW,
        states,
        menus: Vec::new(),
        orders: None,
        has_picks: false,
        status: String::new(),
    }
}

fn ranked_hosts(viewer: &Viewer, map: &HeatMap) -> Markup {
    let sums = map.host_sums();
    let mut ranked: Vec<(&str, u64)> =
        map.hosts.iter().zip(sums).map(|(host, sum)| (host.host.as_str(), sum)).collect();
    ranked.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let most = ranked.first().map_or(1, |pair| pair.1).max(1) as f64;
    html! {
        ul.reasons {
            @for (index, (host, sum)) in ranked.iter().take(RANKED).enumerate() {
                @let tone = if index == 0 && map.has_hot_spot() { Tone::Hot } else { Tone::Plain };
                li { (host_link(host)) span.n { (count(*sum)) } (reason_bar(*sum as f64 * 100.0 / most, tone)) }
            }
        }
        @if ranked.len() > RANKED {
            @let (shown, total) = (count(RANKED as u64), count(ranked.len() as u64));
            p.soft.mt { (common::FOOT_SHOWN.fill(viewer.language, &[("n", &shown), ("total", &total)])) }
        }
    }
}

fn figures_table(viewer: &Viewer, map: &HeatMap) -> Markup {
    let language = viewer.language;
    html! {
        div #map .tablebox {
            table.cards {
                caption.vh { (plan::MAP_LABEL.of(language)) }
                thead { tr {
                    th scope="col" { (common::FILE.of(language)) }
                    th scope="col" { (frame::HOSTS.of(language)) }
                    th.num scope="col" { (plan::MAP_SUM.of(language)) }
                } }
                tbody {
                    @for row in &map.rows {
                        tr {
                            td.file data-l="" { (file_name(&row.name, Some(&row.address))) }
                            td.wide data-l=(frame::HOSTS.of(language)) {
                                @for cell in row.cells.iter().take(COPIES) {
                                    @if let Some(host) = map.hosts.get(cell.host) { (host_link(&host.host)) ": " (count(cell.requests)) " " }
                                }
                                @if let Some(more) = row.cells.len().checked_sub(COPIES + 1) {
                                    (common::AND_MORE.fill(language, &[("n", &count(more as u64 + 1))]))
                                }
                            }
                            td.num data-l=(plan::MAP_SUM.of(language)) { (count(row.cells.iter().map(|cell| cell.requests).sum())) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::heat::{HeatCell, HeatHost, HeatRow};
    use crate::text::Language;
    use crate::viewer::Moment;

    /// The nonce of a fragment is not that of the page, so htmx would refuse its attributes and report them.
    #[test]
    fn the_live_part_has_no_attribute_of_htmx() {
        let utc = jiff::tz::TimeZone::UTC;
        let viewer = Viewer::without_session(Language::English, utc, Moment::default());
        let cell = HeatCell { host: 0, requests: 3, is_coming: false };
        let row = HeatRow { name: "a.mpg".into(), cells: vec![cell], ..HeatRow::default() };
        let hosts = vec![HeatHost { host: "10.4.2.31:8888".into(), is_down: false }];
        let map = HeatMap { hosts, rows: vec![row] };
        let model = MapPageModel { map, is_counted: true, ask: None };
        for view in [None, Some(MapView::Hosts), Some(MapView::Table)] {
            let part =
                map_content(&viewer, &MapPageQuery { view, ..MapPageQuery::default() }, &model)
                    .into_string();
            assert!(part.contains("10.4.2.31") && !part.contains("hx-"), "{part}");
        }
    }

    #[test]
    fn files_of_the_hot_spot_alone_lead_to_their_second_copy() {
        let utc = jiff::tz::TimeZone::UTC;
        let mut viewer = Viewer::without_session(Language::English, utc, Moment::default());
        let host = |last: u8, is_down| HeatHost { host: format!("10.4.2.{last}:8888"), is_down };
        let cell = |host, requests| HeatCell { host, requests, is_coming: false };
        let row = |name: &str, cells| HeatRow { key: name.into(), cells, ..HeatRow::default() };
        // The second copy of 100%41.mpg is on a host that is down.
        let rows = vec![
            row("100%2541.mpg", vec![cell(0, 90), cell(3, 0)]),
            row("b.mpg", vec![cell(1, 5), cell(2, 5)]),
        ];
        let hosts = vec![host(31, false), host(32, false), host(33, false), host(34, true)];
        let model = MapPageModel { map: HeatMap { hosts, rows }, is_counted: true, ask: None };
        let shown =
            |viewer: &Viewer| render(&MapPageQuery::default(), &model, viewer).into_string();
        let files = "/console/files?host=10.4.2.31:8888&amp;pick=100%252541.mpg";
        assert!(shown(&viewer).contains(files) && !shown(&viewer).contains("ask=pin_copy"));
        viewer.rights.storage = true;
        let page = shown(&viewer);
        for part in [
            "/console/map?ask=pin_copy&amp;pick=100%252541.mpg",
            "1 of the most wanted files are only there",
        ] {
            assert!(page.contains(part), "{page}");
        }
    }

    #[test]
    fn the_sentence_names_the_highest_share_unless_all_are_alike() {
        let utc = jiff::tz::TimeZone::UTC;
        let viewer = Viewer::without_session(Language::English, utc, Moment::default());
        let sentence = |sums: &[u64]| {
            let host = |last: usize| HeatHost { host: format!("h{last}:1"), is_down: false };
            let cell = |(host, requests): (usize, &u64)| HeatCell {
                host,
                requests: *requests,
                is_coming: false,
            };
            let cells = sums.iter().enumerate().map(cell).collect();
            let rows = vec![HeatRow { cells, ..HeatRow::default() }];
            sentence(&viewer, &HeatMap { hosts: (0..sums.len()).map(host).collect(), rows })
        };
        assert_eq!(sentence(&[9]), "");
        assert_eq!(sentence(&[0, 0]), "");
        assert_eq!(sentence(&[10, 9, 9]), "The requests are spread evenly.");
        assert_eq!(
            sentence(&[35, 25, 20, 20]),
            "h0:1 answers 35% of the requests for these files."
        );
    }

    #[test]
    fn without_requests_no_sentence_says_that_they_are_even() {
        let utc = jiff::tz::TimeZone::UTC;
        let viewer = Viewer::without_session(Language::English, utc, Moment::default());
        let hosts = vec![HeatHost { host: "10.4.2.31:8888".into(), is_down: false }];
        let map = HeatMap { hosts, rows: Vec::new() };
        let page = |is_counted| {
            let model = MapPageModel { map: map.clone(), is_counted, ask: None };
            render(&MapPageQuery::default(), &model, &viewer).into_string()
        };
        for (page, words) in [(page(true), "No file is asked for"), (page(false), "dir = ")] {
            assert!(page.contains(words) && !page.contains("spread evenly"), "{page}");
        }
    }

    #[test]
    fn hosts_and_copies_beyond_a_page_are_counted() {
        let utc = jiff::tz::TimeZone::UTC;
        let viewer = Viewer::without_session(Language::English, utc, Moment::default());
        let host = |number: usize| HeatHost { host: format!("h{number}:1"), is_down: false };
        let cell = |host| HeatCell { host, requests: 3, is_coming: false };
        let cells = (0..RANKED + 7).map(cell).collect();
        let row = HeatRow { name: "a.mpg".into(), cells, ..HeatRow::default() };
        let hosts = (0..RANKED + 7).map(host).collect();
        let map = HeatMap { hosts, rows: vec![row] };
        let model = MapPageModel { map, is_counted: true, ask: None };
        let part = |view| {
            map_content(&viewer, &MapPageQuery { view, ..MapPageQuery::default() }, &model)
                .into_string()
        };
        assert!(part(None).contains("500 shown of 507"));
        assert!(part(Some(MapView::Table)).contains("and 467 more"));
    }

    #[test]
    fn an_address_gives_back_its_state() {
        let (ask, pick) = ("pin_copy".into(), vec!["100%2541.mpg".into()]);
        let query = MapPageQuery { view: Some(MapView::Table), ask, pick };
        assert_eq!(MapPageQuery::parse(query.address().split_once('?').unwrap().1), query);
    }
}
