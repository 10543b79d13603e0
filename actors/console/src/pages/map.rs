//! The map of requests: files by hosts.

use maud::{Markup, html};

use crate::address::{QueryWord, page_query};
use crate::format::{count, file_name, host_link, percent};
use crate::parts::bars::reason_bar;
use crate::parts::filter::{FilterBar, FilterChoice, filter_bar};
use crate::parts::heat::{HeatMap, heat_legend, heat_map};
use crate::parts::mark::Tone;
use crate::parts::notice::empty;
use crate::parts::panel::page_head;
use crate::text::{Text, common, frame, plan};
use crate::viewer::Viewer;

/// From this many hosts on the page shows hosts only.
const MOST_COLUMNS: usize = 60;

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
    }
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct MapPageModel {
    /// The files asked for most, by hosts.
    pub map: HeatMap,
}

/// The content of the page.
pub fn render(query: &MapPageQuery, model: &MapPageModel, viewer: &Viewer) -> Markup {
    html! {
        (page_head(frame::MAP.of(viewer.language), &sentence(viewer, &model.map), html! {}))
        (filter_bar(viewer, &filters(viewer, query)))
        (map_content(viewer, query, model))
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
            div.tablebox { (empty(plan::MAP_EMPTY.of(language), plan::MAP_EMPTY_BODY.of(language), html! {})) }
        } @else {
            p.soft.mb { (plan::MAP_ESTIMATE.of(language)) }
            @match view {
                None => {
                    section #map-hosts .panel.phoneonly { header { h2 { (plan::MAP_BY_HOST.of(language)) } } div.body { (ranked_hosts(map)) } }
                    section #map .panel.heatpanel {
                        header { h2 { (plan::MAP_PANEL.of(language)) } (heat_legend(viewer, map)) }
                        div.body { (heat_map(viewer, map)) }
                    }
                }
                Some(MapView::Hosts) => {
                    section #map .panel { header { h2 { (plan::MAP_BY_HOST.of(language)) } } div.body { (ranked_hosts(map)) } }
                }
                Some(MapView::Table) => (figures_table(viewer, map)),
            }
        }
    } }
}

/// The host with most requests, its share in percent, and the files that are only there.
fn hot_spot(map: &HeatMap) -> Option<(String, f64, u64)> {
    let sums = map.host_sums();
    let total: u64 = sums.iter().sum();
    let (index, sum) = sums.iter().copied().enumerate().max_by_key(|pair| pair.1)?;
    let share = sum as f64 * 100.0 / total.max(1) as f64;
    let only_there = |row: &&crate::parts::heat::HeatRow| {
        let mut held = row.cells.iter().filter(|cell| !cell.is_coming);
        held.next().is_some_and(|cell| cell.host == index) && held.next().is_none()
    };
    let alone = map.rows.iter().filter(only_there).count() as u64;
    let host = map.hosts.get(index)?.host.clone();
    Some((host, share, alone))
}

/// The sentence at the top: the hot spot, and its remedy.
pub fn sentence(viewer: &Viewer, map: &HeatMap) -> String {
    let language = viewer.language;
    match hot_spot(map) {
        Some((host, share, alone)) if map.has_hot_spot() => {
            let values = [("host", host.as_str()), ("share", &percent(share.round()))];
            let mut text = plan::MAP_SENTENCE_HOT.fill(language, &values);
            if alone > 0 {
                text.push(' ');
                text.push_str(&plan::MAP_SENTENCE_CURE.fill(language, &[("n", &count(alone))]));
            }
            text
        }
        Some(_) => plan::MAP_SENTENCE_EVEN.of(language).to_owned(),
        None => String::new(),
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
            address: MapPageQuery { view }.address(),
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
        status: String::new(),
    }
}

fn ranked_hosts(map: &HeatMap) -> Markup {
    let sums = map.host_sums();
    let mut ranked: Vec<(&str, u64)> =
        map.hosts.iter().zip(sums).map(|(host, sum)| (host.host.as_str(), sum)).collect();
    ranked.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let most = ranked.first().map_or(1, |pair| pair.1).max(1) as f64;
    html! {
        ul.reasons {
            @for (index, (host, sum)) in ranked.iter().enumerate() {
                @let tone = if index == 0 && map.has_hot_spot() { Tone::Hot } else { Tone::Plain };
                li { (host_link(host)) span.n { (count(*sum)) } (reason_bar(*sum as f64 * 100.0 / most, tone)) }
            }
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
                                @for cell in &row.cells {
                                    @if let Some(host) = map.hosts.get(cell.host) { (host_link(&host.host)) ": " (count(cell.requests)) " " }
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
        let model = MapPageModel { map: HeatMap { hosts, rows: vec![row] } };
        for view in [None, Some(MapView::Hosts), Some(MapView::Table)] {
            let part = map_content(&viewer, &MapPageQuery { view }, &model).into_string();
            assert!(part.contains("10.4.2.31") && !part.contains("hx-"), "{part}");
        }
    }

    #[test]
    fn an_address_gives_back_its_state() {
        let query = MapPageQuery { view: Some(MapView::Table) };
        assert_eq!(MapPageQuery::parse(query.address().split_once('?').unwrap().1), query);
    }
}
