//! Bars of progress, reasons, links and disks. All geometry is in attributes of SVG.

use maud::{Markup, html};

use crate::format::{aligned_percent, percent, visible_text};
use crate::parts::mark::Tone;
use crate::text::{Language, common};
use crate::viewer::Viewer;

/// A share in percent as an attribute: "64.3%", within 0 and 100.
fn attribute(percent: f64) -> String {
    let bounded = if percent.is_finite() { percent.clamp(0.0, 100.0) } else { 0.0 };
    format!("{bounded:.1}%")
}

/// Progress of a copy with its percent. `stalled` hatches the bar.
pub fn progress(name: &str, percent: u64, stalled: bool) -> Markup {
    let percent = percent.min(100);
    html! {
        div.pcell {
            progress max="100" value=(percent) class=[stalled.then_some("stall")] aria-label=(visible_text(name)) {
                (percent) "%"
            }
            span { (percent) "%" }
        }
    }
}

/// A thin bar below a reason, filled to a share of its width.
pub fn reason_bar(percent: f64, tone: Tone) -> Markup {
    html! {
        svg.bar aria-hidden="true" {
            rect.track width="100%" height="100%" {}
            rect class=(tone.fill()) width=(attribute(percent)) height="100%" {}
        }
    }
}

/// The load of a network link: the sent part above, the received part below.
pub fn link_bar(viewer: &Viewer, out: f64, inward: f64, speed: &str) -> Markup {
    let values = [("out", percent(out)), ("in", percent(inward)), ("speed", speed.to_owned())];
    let values: Vec<(&str, &str)> = values.iter().map(|pair| (pair.0, pair.1.as_str())).collect();
    html! {
        svg.bar role="img" aria-label=(common::LINK_LABEL.fill(viewer.language, &values)) {
            rect.track width="100%" height="100%" {}
            rect.f-acc width=(attribute(out)) height="5" {}
            rect.f-n width=(attribute(inward)) y="5" height="5" {}
        }
    }
}

/// The fullness of a disk, in percent of its size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskLevel {
    /// Used by anything.
    pub used: f64,
    /// Used by files that are no copies, if known. Part of `used`.
    pub others: Option<f64>,
    /// Copies under way to this disk.
    pub coming: f64,
    /// The limit of the setting.
    pub limit: f64,
    /// The low-water mark of the setting.
    pub low_water: f64,
    /// The figures are old: the host does not answer.
    pub is_old: bool,
}

impl DiskLevel {
    /// Amber above the low-water mark, red above the limit.
    pub fn tone(&self) -> Tone {
        match self.used {
            used if used > self.limit => Tone::Bad,
            used if used > self.low_water => Tone::Warn,
            _ => Tone::Plain,
        }
    }

    /// The classes of the filled part.
    fn fill(&self) -> &'static str {
        if self.is_old { "f-old" } else { self.tone().fill() }
    }

    /// The figures in words.
    pub fn words(&self, language: Language) -> String {
        let values = [
            ("used", percent(self.used)),
            ("low", percent(self.low_water)),
            ("limit", percent(self.limit)),
        ];
        let values: Vec<(&str, &str)> =
            values.iter().map(|pair| (pair.0, pair.1.as_str())).collect();
        common::DISK_LABEL.fill(language, &values)
    }
}

/// A disk as a bar with its percent.
pub fn disk_cell(viewer: &Viewer, level: &DiskLevel) -> Markup {
    let tone = if level.is_old { "muted" } else { level.tone().class() };
    html! {
        div.dcell {
            svg.disk role="img" aria-label=(level.words(viewer.language)) {
                rect.track y="2" width="100%" height="10" rx="2" {}
                (disk_parts(level, "2", "10"))
                line.low x1=(attribute(level.low_water)) x2=(attribute(level.low_water)) y1="0" y2="14" {}
                line.limit x1=(attribute(level.limit)) x2=(attribute(level.limit)) y1="0" y2="14" {}
            }
            span class=(tone) { (aligned_percent(level.used)) }
        }
    }
}

/// A disk as a large bar.
pub fn big_disk(viewer: &Viewer, level: &DiskLevel) -> Markup {
    html! {
        svg.bigdisk role="img" aria-label=(level.words(viewer.language)) {
            rect.track y="8" width="100%" height="26" rx="3" {}
            (disk_parts(level, "8", "26"))
            line.low x1=(attribute(level.low_water)) x2=(attribute(level.low_water)) y1="2" y2="40" {}
            line.limit x1=(attribute(level.limit)) x2=(attribute(level.limit)) y1="2" y2="40" {}
        }
    }
}

/// The filled parts of a lying bar.
fn disk_parts(level: &DiskLevel, y: &str, height: &str) -> Markup {
    let others = level.others.unwrap_or(0.0);
    html! {
        @if others > 0.0 { rect.f-n y=(y) width=(attribute(others)) height=(height) {} }
        rect class=(level.fill()) x=(attribute(others)) y=(y) width=(attribute(level.used - others)) height=(height) {}
        @if level.coming > 0.0 {
            rect.f-work x=(attribute(level.used)) y=(y) width=(attribute(level.coming)) height=(height) opacity=".6" {}
        }
    }
}

/// A disk as a standing column.
pub fn disk_column(level: &DiskLevel) -> Markup {
    let top = |percent: f64| attribute(100.0 - percent);
    html! {
        svg.col aria-hidden="true" {
            rect.track x="22%" width="56%" height="100%" rx="2" {}
            rect class=(level.fill()) x="22%" width="56%" y=(top(level.used)) height=(attribute(level.used)) rx="1" {}
            @if level.coming > 0.0 {
                rect.f-work x="30%" width="40%" y=(top(level.used + level.coming)) height=(attribute(level.coming)) opacity=".6" {}
            }
            line.low x1="14%" x2="86%" y1=(top(level.low_water)) y2=(top(level.low_water)) {}
            line.limit x1="14%" x2="86%" y1=(top(level.limit)) y2=(top(level.limit)) {}
        }
    }
}
