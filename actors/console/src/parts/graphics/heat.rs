//! The map of requests: files by hosts. Size and tone of a square grow with its requests.

use maud::{Markup, html};

use crate::format::{count, middle_cut, short_host};
use crate::parts::icon::{Glyph, symbol};
use crate::text::{plan, states};
use crate::viewer::Viewer;

const LEFT: f64 = 250.0;
const RIGHT: f64 = 1010.0;
const TOP: f64 = 84.0;
const ROW: f64 = 25.0;

/// Characters of the head of a cut name.
const LONGEST_HEAD: usize = 12;

/// The longest name in pixels.
const NAME_ROOM: f64 = LEFT - 14.0;

/// Where the rows of the highest host are framed.
const FRAME_TOP: f64 = TOP - 4.0;

/// A cell of the map: the requests that a host answers for a file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeatCell {
    /// Index of the host.
    pub host: usize,
    /// Requests an hour.
    pub requests: u64,
    /// The copy is on its way.
    pub is_coming: bool,
}

/// A row of the map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatRow {
    /// Name of the file.
    pub name: String,
    /// The name in forms: percent-encoded, any bytes.
    pub key: String,
    /// Address of the file.
    pub address: String,
    /// Copies of the file.
    pub cells: Vec<HeatCell>,
}

/// A column of the map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatHost {
    /// Address and port.
    pub host: String,
    /// The host does not answer.
    pub is_down: bool,
}

/// The whole map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// Columns.
    pub hosts: Vec<HeatHost>,
    /// Rows, most requests first.
    pub rows: Vec<HeatRow>,
}

impl HeatMap {
    /// Requests of each host, for all rows.
    pub fn host_sums(&self) -> Vec<u64> {
        let mut sums = vec![0; self.hosts.len()];
        for cell in self.rows.iter().flat_map(|row| &row.cells) {
            if let Some(sum) = sums.get_mut(cell.host) {
                *sum += cell.requests;
            }
        }
        sums
    }

    /// Whether the host of this column does not answer.
    pub fn is_down(&self, column: usize) -> bool {
        self.hosts.get(column).is_some_and(|host| host.is_down)
    }

    /// The host with most requests, and its share of all requests in percent. None without requests.
    pub fn highest(&self) -> Option<(&HeatHost, f64)> {
        let sums = self.host_sums();
        let total: u64 = sums.iter().sum();
        let (index, sum) = sums.iter().copied().enumerate().max_by_key(|pair| pair.1)?;
        (total > 0)
            .then(|| self.hosts.get(index))
            .flatten()
            .map(|host| (host, sum as f64 * 100.0 / total as f64))
    }

    /// Whether the highest host answers hardly more than its even share.
    pub fn is_even(&self) -> bool {
        let even = 100.0 / self.hosts.len().max(1) as f64;
        self.hosts.len() > 1 && self.highest().is_some_and(|(_, share)| share <= NEARLY_EVEN * even)
    }

    /// Whether one of several hosts answers far more of the requests than its even share.
    pub fn has_hot_spot(&self) -> bool {
        let sums = self.host_sums();
        let (total, highest) = (sums.iter().sum::<u64>(), sums.iter().copied().max().unwrap_or(0));
        let even = total as f64 / self.hosts.len().max(1) as f64;
        // Among few hosts twice the even share is nearly everything.
        let factor = if self.hosts.len() <= 4 { 1.5 } else { 2.0 };
        let is_much = highest as f64 * 100.0 >= total as f64 * HOT_SPOT;
        self.hosts.len() > 1 && total > 0 && is_much && highest as f64 >= factor * even
    }

    /// The least requests of each of the five tones.
    pub fn steps(&self) -> [u64; 5] {
        let most = self.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.requests).max();
        let most = most.unwrap_or(0);
        // Fewer requests than tones have one tone each, so that no request is never dark.
        [0, 1, 2, 3, 4].map(|tone| (most / 5 * tone).max(tone))
    }
}

/// The tone of a count, from 1 to 5.
fn tone(steps: &[u64; 5], requests: u64) -> usize {
    steps.iter().filter(|least| requests >= **least).count().clamp(1, 5)
}

/// The side of a square of a tone.
fn side(tone: usize) -> f64 {
    8.0 + 2.6 * tone as f64
}

/// Requests are spread evenly if no host has more than this multiple of its even share.
const NEARLY_EVEN: f64 = 1.2;

/// A host below this share of all requests is no hot spot, in percent.
const HOT_SPOT: f64 = 10.0;

/// The map as one drawing. A table with the same figures stands behind a link.
pub fn heat_map(viewer: &Viewer, map: &HeatMap) -> Markup {
    let steps = map.steps();
    let sums = map.host_sums();
    let highest = sums.iter().copied().max().unwrap_or(0);
    let is_hot_spot = map.has_hot_spot();
    let wide = (RIGHT - LEFT) / map.hosts.len().max(1) as f64;
    let height = TOP + ROW * map.rows.len() as f64 + 10.0;
    let shown = |value: f64| format!("{value:.1}");
    let label = plan::MAP_LABEL.of(viewer.language);
    html! {
        div.tw tabindex="0" role="region" aria-label=(label) {
            svg.heat viewBox={ "0 0 1130 " (shown(height)) } width="1130" height=(shown(height)) role="group" aria-label=(label) {
                @for (index, host) in map.hosts.iter().enumerate() {
                    @let x = LEFT + wide * (index as f64 + 0.5);
                    @let sum = sums.get(index).copied().unwrap_or(0);
                    @let is_highest = sum == highest && sum > 0;
                    @let bar = sum as f64 / highest.max(1) as f64 * 40.0;
                    @if is_highest && is_hot_spot { rect.frame-hot x=(shown(x - wide / 2.0 + 1.0)) width=(shown((wide - 2.0).max(2.0))) y=(shown(FRAME_TOP)) height=(shown(height - FRAME_TOP - 4.0)) rx="4" {} }
                    @if host.is_down { rect.sel2 x=(shown(x - wide / 2.0)) width=(shown(wide)) y="56" height=(shown(height - 60.0)) {} }
                    rect class=(if is_highest && is_hot_spot { "f-hot" } else { "f-disk" }) x=(shown(x - 8.0)) width="16" y=(shown(56.0 - bar)) height=(shown(bar)) rx="1" {}
                    @if is_highest { text.t1 x=(shown(x)) y="11" text-anchor="middle" { (count(sum)) } }
                    @if host.is_down { (down_mark(viewer, x)) }
                    @let aside = if host.is_down { 7.0 } else { 0.0 };
                    text x=(shown(x + aside)) y="72" text-anchor="middle" { (short_host(&host.host)) }
                }
                text x=(LEFT - 10.0) y="72" text-anchor="end" { (plan::MAP_MOST_FIRST.of(viewer.language)) }
                text x="1020" y="72" { (plan::MAP_AN_HOUR.of(viewer.language)) }
                @for (index, row) in map.rows.iter().enumerate() {
                    (heat_row(map, row, &steps, TOP + ROW * index as f64, wide))
                }
            }
        }
    }
}

/// The shape of a host that does not answer, at the left of its number.
fn down_mark(viewer: &Viewer, x: f64) -> Markup {
    let words = states::DOWN.of(viewer.language);
    html! {
        svg.down x=(format!("{:.1}", x - 18.0)) y="63" width="10" height="10" viewBox="0 0 16 16" role="img" aria-label=(words) {
            title { (words) }
            use href=(symbol(Glyph::Down)) {}
        }
    }
}

/// The width of a letter in pixels in wide fonts.
fn width_of(letter: char) -> f64 {
    match letter {
        'M' | 'W' | 'm' | 'w' | '@' | '%' => 11.5,
        'A'..='Z' => 9.0,
        // Hangul, and everything behind it: letters of full width.
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'.. => 12.5,
        _ => 7.2,
    }
}

/// A name cut in the middle, so that it fits at the left of its row.
fn fitting_name(name: &str) -> String {
    let (head, tail) = middle_cut(name);
    let most_head = if tail.is_empty() { usize::MAX } else { LONGEST_HEAD };
    let width = |text: &str| text.chars().map(width_of).sum::<f64>();
    let room = NAME_ROOM - width(&tail) - width_of('…');
    let mut short = String::new();
    let mut used = 0.0;
    for letter in head.chars().take(most_head) {
        used += width_of(letter);
        if used > room {
            break;
        }
        short.push(letter);
    }
    let gap = if short.len() == head.len() { "" } else { "…" };
    format!("{short}{gap}{tail}")
}

fn heat_row(map: &HeatMap, row: &HeatRow, steps: &[u64; 5], top: f64, wide: f64) -> Markup {
    let whole: u64 = row.cells.iter().map(|cell| cell.requests).sum();
    let most =
        map.rows.iter().map(|row| row.cells.iter().map(|cell| cell.requests).sum::<u64>()).max();
    let bar = whole as f64 / most.unwrap_or(1).max(1) as f64 * 50.0;
    let shown = |value: f64| format!("{value:.1}");
    html! {
        a href=(row.address) {
            text.nm x=(LEFT - 10.0) y=(shown(top + 16.0)) text-anchor="end" direction="ltr" { (fitting_name(&row.name)) }
        }
        line.gl x1=(LEFT) x2=(RIGHT) y1=(shown(top + ROW - 0.5)) y2=(shown(top + ROW - 0.5)) {}
        @for cell in &row.cells {
            @let host = map.hosts.get(cell.host).map(|host| host.host.as_str()).unwrap_or_default();
            @let side = if cell.is_coming { 14.0 } else { side(tone(steps, cell.requests)) };
            @let class = if cell.is_coming { "copying".to_owned() } else { format!("h{}", tone(steps, cell.requests)) };
            rect class=(class) x=(shown(LEFT + wide * (cell.host as f64 + 0.5) - side / 2.0)) y=(shown(top + (ROW - side) / 2.0)) width=(shown(side)) height=(shown(side)) rx="2" {
                title { (host) ": " (count(cell.requests)) }
            }
        }
        rect.f-disk x="1020" y=(shown(top + 8.0)) width=(shown(bar)) height="10" rx="1" {}
        text x=(shown(1026.0 + bar)) y=(shown(top + 17.0)) { (count(whole)) }
    }
}

/// The five tones with their least requests, and the mark of a coming copy.
pub fn heat_legend(viewer: &Viewer, map: &HeatMap) -> Markup {
    let steps = map.steps();
    html! {
        div.legend {
            @for tone in 1..=5_usize {
                @let edge = side(tone);
                span {
                    svg.heat.lg viewBox="0 0 22 22" aria-hidden="true" {
                        rect class={ "h" (tone) } x=((22.0 - edge) / 2.0) y=((22.0 - edge) / 2.0) width=(edge) height=(edge) rx="2" {}
                    }
                    @match tone {
                        1 => (plan::MAP_UNDER.fill(viewer.language, &[("n", &count(steps[1]))]))
                        5 => (plan::MAP_AND_MORE.fill(viewer.language, &[("n", &count(steps[4]))]))
                        _ => (count(steps.get(tone - 1).copied().unwrap_or(0)))
                    }
                }
            }
            span {
                svg.heat.lg viewBox="0 0 22 22" aria-hidden="true" { rect.copying x="4" y="4" width="14" height="14" rx="2" {} }
                (plan::MAP_COMING.of(viewer.language))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Language;
    use crate::viewer::Moment;

    #[test]
    fn a_tone_grows_with_its_requests() {
        let cell = |requests| HeatCell { host: 0, requests, is_coming: false };
        let row = HeatRow { cells: vec![cell(0), cell(4000)], ..HeatRow::default() };
        let map = HeatMap { hosts: vec![HeatHost::default()], rows: vec![row] };
        let steps = map.steps();
        assert_eq!([0, 799, 800, 3199, 3200, 4000].map(|n| tone(&steps, n)), [1, 1, 2, 4, 5, 5]);
        assert_eq!(map.host_sums(), [4000]);
        assert_eq!(HeatMap::default().steps(), [0, 1, 2, 3, 4]);
        let steps = HeatMap::default().steps();
        assert_eq!([0, 1, 3, 4].map(|n| tone(&steps, n)), [1, 2, 4, 5]);
    }

    #[test]
    fn a_name_of_wide_letters_is_cut_more() {
        let cut = |name: &str| fitting_name(name);
        assert_eq!(cut("M141A7SGL1500001_K202611230141.mpg"), "M141A7SGL150…02611230141.mpg");
        assert_eq!(cut("short.mpg"), "short.mpg");
        let wide = format!("{}.mpg", "M".repeat(60));
        let shown = cut(&wide);
        assert!(shown.starts_with("MM") && shown.ends_with("MMM.mpg"), "{shown}");
        for name in [wide, "다".repeat(24), format!("{}.mpg", "@".repeat(200))] {
            let width: f64 = cut(&name).chars().map(width_of).sum();
            assert!(width <= NAME_ROOM + width_of('@'), "{name}: {width}");
        }
    }

    #[test]
    fn nothing_stands_out_where_requests_are_spread_evenly() {
        let cell = |host, requests| HeatCell { host, requests, is_coming: false };
        let map = |second| HeatMap {
            hosts: vec![HeatHost::default(), HeatHost { is_down: true, ..HeatHost::default() }],
            rows: vec![HeatRow { cells: vec![cell(0, 90), cell(1, second)], ..HeatRow::default() }],
        };
        let utc = jiff::tz::TimeZone::UTC;
        let viewer = Viewer::without_session(Language::English, utc, Moment(0));
        let even = heat_map(&viewer, &map(90)).into_string();
        assert!(!even.contains("f-hot") && even.contains("<title>Down</title>"), "{even}");
        assert!(heat_map(&viewer, &map(5)).into_string().contains("f-hot"));
    }

    #[test]
    fn a_hot_spot_has_far_more_than_its_even_share() {
        let map = |sums: &[u64]| {
            let cell = |(host, requests): (usize, &u64)| HeatCell {
                host,
                requests: *requests,
                is_coming: false,
            };
            let cells = sums.iter().enumerate().map(cell).collect();
            let hosts = sums.iter().map(|_| HeatHost::default()).collect();
            HeatMap { hosts, rows: vec![HeatRow { cells, ..HeatRow::default() }] }
        };
        for sums in [&[][..], &[5], &[0, 0], &[60, 40], &[30, 25, 25, 20], &[9; 20]] {
            assert!(!map(sums).has_hot_spot(), "{sums:?}");
        }
        let mut twenty = [5; 20];
        twenty[3] = 14;
        for sums in [&[90, 10][..], &[60, 20, 20], &[50, 20, 15, 15], &twenty] {
            assert!(map(sums).has_hot_spot(), "{sums:?}");
        }
    }
}
