//! Disks of all hosts at a glance: columns, thin columns, or a histogram, by their number.

use maud::{Markup, html};

use super::bars::{DiskLevel, disk_column, reason_bar};
use crate::address::host_page;
use crate::format::{count, host_link, percent, short_host};
use crate::parts::icon::{Glyph, shape};
use crate::parts::mark::{StateMark, Tone};
use crate::text::common;
use crate::viewer::Viewer;

/// From this many hosts on the columns are thin and have no numbers.
const THIN_FROM: usize = 60;

/// From this many hosts on there is a histogram instead.
const HISTOGRAM_FROM: usize = 400;

/// Hosts named beside a histogram.
const NAMED: usize = 20;

/// A column of the figure of disks.
#[derive(Clone, Debug)]
pub struct DiskOfHost {
    /// Address and port.
    pub host: String,
    /// Fullness.
    pub level: DiskLevel,
    /// The state of the host.
    pub mark: StateMark,
    /// The host is simply up: its shape is left out.
    pub is_usual: bool,
}

/// The explanation of the marks.
pub fn disk_legend(viewer: &Viewer, limit: &str, low_water: &str) -> Markup {
    let language = viewer.language;
    html! {
        div.legend {
            span { svg aria-hidden="true" { rect.f-disk width="14" height="10" y="1" {} } (common::USED.of(language)) }
            span { svg aria-hidden="true" { line.limit x1="0" x2="14" y1="6" y2="6" {} } (common::LIMIT_AT.fill(language, &[("percent", limit)])) }
            span { svg aria-hidden="true" { line.low x1="0" x2="14" y1="6" y2="6" {} } (common::LOW_WATER_AT.fill(language, &[("percent", low_water)])) }
            span { svg aria-hidden="true" { rect.f-work x="3" width="8" height="10" y="1" opacity=".6" {} } (common::COMING.of(language)) }
            span { svg aria-hidden="true" { rect.f-old x="1" width="12" height="10" y="1" {} } (common::LAST_KNOWN.of(language)) }
        }
    }
}

/// All disks in the form that fits their number.
pub fn all_disks(viewer: &Viewer, disks: &[DiskOfHost]) -> Markup {
    if disks.len() < THIN_FROM {
        return html! { div.disks { @for disk in disks { (column(viewer, disk)) } } };
    }
    let mut worst: Vec<&DiskOfHost> = disks.iter().collect();
    worst.sort_by(|a, b| b.level.used.total_cmp(&a.level.used));
    if disks.len() < HISTOGRAM_FROM {
        return html! { div.disks.thin { @for disk in worst { (thin_column(viewer, disk)) } } };
    }
    html! {
        div.cols2 {
            (histogram(disks))
            ul.reasons {
                @for disk in worst.iter().take(NAMED) {
                    li {
                        (host_link(&disk.host)) span.n { (percent(disk.level.used)) }
                        (reason_bar(disk.level.used, disk.level.tone()))
                    }
                }
            }
        }
    }
}

/// The tone of a column: the state of its host first, then the fullness.
fn tone(disk: &DiskOfHost) -> Tone {
    match (disk.mark.tone, disk.level.tone()) {
        (Tone::Bad, _) | (_, Tone::Bad) => Tone::Bad,
        (_, Tone::Warn) => Tone::Warn,
        _ => Tone::Plain,
    }
}

/// Hidden words of a column: host, fullness and state.
fn words(viewer: &Viewer, disk: &DiskOfHost) -> String {
    let state = disk.mark.word.of(viewer.language);
    format!("{}, {}, {state}", disk.host, percent(disk.level.used))
}

fn column(viewer: &Viewer, disk: &DiskOfHost) -> Markup {
    let over = disk.is_usual && disk.level.tone() == Tone::Bad;
    html! {
        a class=(tone(disk).class()) href=(host_page(&disk.host)) title=(disk.host) {
            (disk_column(&disk.level))
            span.p { (format!("{:.0}%", disk.level.used)) }
            span.h {
                @if over { (shape(Glyph::Warn, "warn")) }
                @else if !disk.is_usual { (shape(disk.mark.glyph, disk.mark.tone.class())) }
                (short_host(&disk.host))
            }
            span.vh { (disk.host) ", " (disk.mark.word.of(viewer.language)) }
        }
    }
}

fn thin_column(viewer: &Viewer, disk: &DiskOfHost) -> Markup {
    let words = words(viewer, disk);
    html! {
        a class=(tone(disk).class()) href=(host_page(&disk.host)) aria-label=(words) title=(words) {
            (disk_column(&disk.level))
        }
    }
}

/// Hosts by fullness in steps of 5 percent.
fn histogram(disks: &[DiskOfHost]) -> Markup {
    let mut steps = [0_u64; 20];
    for disk in disks {
        let step = (disk.level.used.clamp(0.0, 99.9) / 5.0) as usize;
        if let Some(hosts) = steps.get_mut(step) {
            *hosts += 1;
        }
    }
    let most = steps.iter().copied().max().unwrap_or(1).max(1) as f64;
    html! {
        table.tiny {
            tbody {
                @for (step, hosts) in steps.iter().enumerate().rev().filter(|pair| *pair.1 > 0) {
                    tr {
                        th scope="row" { (step * 5) "–" (step * 5 + 5) "%" }
                        td.w-p { (reason_bar(*hosts as f64 * 100.0 / most, Tone::Plain)) }
                        td.num { (count(*hosts)) }
                    }
                }
            }
        }
    }
}
