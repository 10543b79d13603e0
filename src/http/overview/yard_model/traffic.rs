//! The chart of the link traffic in the last hour.

use reelyard_console::Viewer;
use reelyard_console::format::short_host;
use reelyard_console::pages::hosts::{HostCondition, HostLine};
use reelyard_console::parts::chart::{ChartFigure, ChartMark};
use reelyard_console::text::yard as words;
use reelyard_core::clock::Millis;

use crate::http::overview::yard_model::link_chart::link_figure;
use crate::http::overview::{LinkSample, YardViews};

/// Hosts that the chart marks. More words would cover each other.
const MARKS: usize = 5;

/// The chart. None before the second sample.
pub fn figure(views: &YardViews<'_>, viewer: &Viewer) -> Option<ChartFigure> {
    let traffic = views.state.overview.traffic();
    let samples: Vec<(Millis, LinkSample)> = traffic.samples().collect();
    let from = samples.first()?.0;
    link_figure(&samples, words::TRAFFIC_LABEL, down_marks(views, from), viewer)
}

/// The hosts that went down in the time of the chart, and have not come back.
fn down_marks(views: &YardViews<'_>, from: Millis) -> Vec<ChartMark> {
    let down = |line: &&HostLine| line.condition == HostCondition::Down;
    let mark = |line: &HostLine| {
        let at = line.since.filter(|at| at.0 >= from.0)?;
        Some(ChartMark { at, word: short_host(&line.host) })
    };
    views.lines.iter().filter(down).filter_map(mark).take(MARKS).collect()
}
