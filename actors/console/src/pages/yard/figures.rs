//! The strip of six figures.

use maud::Markup;

use super::model::YardFigures;
use crate::address::ROOT;
use crate::format::{age, bit_rate, count, percent, percent_number};
use crate::parts::mark::Tone;
use crate::parts::panel::{Figure, figure_strip};
use crate::parts::spark::spark;
use crate::text::{Text, yard};
use crate::viewer::Viewer;

/// The strip. Its id is `yard-figures`, for live updates.
pub fn figures(viewer: &Viewer, figures: &YardFigures) -> Markup {
    let strip = [
        running(viewer, figures),
        waiting(viewer, figures),
        placed(viewer, figures),
        served(viewer, figures),
        hot(viewer, figures),
        due(viewer, figures),
    ];
    figure_strip("yard-figures", "", yard::GLANCE.of(viewer.language), &strip)
}

fn figure(viewer: &Viewer, name: Text, value: String, path: &str) -> Figure {
    Figure {
        name: name.of(viewer.language).to_owned(),
        value,
        address: Some(format!("{ROOT}{path}")),
        ..Figure::default()
    }
}

fn running(viewer: &Viewer, figures: &YardFigures) -> Figure {
    let language = viewer.language;
    let mut shown = figure(viewer, yard::RUNNING, count(figures.running), "/tasks?state=open");
    if let Some(most) = figures.may_run {
        shown.unit = yard::OF_N.fill(language, &[("n", &count(most))]);
    }
    shown.detail = match figures.copy_rate {
        Some(rate) if figures.running > 0 => {
            yard::IN_ALL.fill(language, &[("rate", &bit_rate(rate))])
        }
        _ if figures.running == 0 && figures.waiting == 0 => yard::IDLE.of(language).to_owned(),
        _ => String::new(),
    };
    shown
}

fn waiting(viewer: &Viewer, figures: &YardFigures) -> Figure {
    let language = viewer.language;
    let mut shown = figure(viewer, yard::WAITING, count(figures.waiting), "/plan#line");
    match figures.oldest_wait {
        Some(oldest) => {
            let seconds = oldest.seconds_until(viewer.now);
            shown.detail = yard::OLDEST.fill(language, &[("age", &age(language, seconds))]);
            shown.tone = if seconds > 1800 { Tone::Warn } else { Tone::Plain };
        }
        None if figures.waiting == 0 => {
            shown.detail = yard::NOBODY_WAITS.of(language).to_owned();
        }
        None => {}
    }
    shown
}

fn placed(viewer: &Viewer, figures: &YardFigures) -> Figure {
    let language = viewer.language;
    let mut shown = figure(viewer, yard::PLACED, count(figures.placed), "/files?state=placed");
    shown.unit = yard::OF_N.fill(language, &[("n", &count(figures.wanted))]);
    match figures.out_of_reach {
        Some(0) => shown.detail = yard::ALL_IN_REACH.of(language).to_owned(),
        Some(files) => {
            shown.detail = yard::OUT_OF_REACH.fill(language, &[("n", &count(files))]);
            shown.tone = Tone::Bad;
        }
        None => {}
    }
    shown
}

fn served(viewer: &Viewer, figures: &YardFigures) -> Figure {
    let language = viewer.language;
    let value = figures.served.map_or_else(|| "–".to_owned(), percent_number);
    let mut shown = figure(viewer, yard::SERVED, value, "/map");
    let Some(now) = figures.served else {
        shown.detail = yard::SERVED_UNKNOWN.of(language).to_owned();
        return shown;
    };
    shown.unit = "%".to_owned();
    let is_low = figures.served_usual.is_some_and(|usual| now < usual - 1.0);
    shown.tone = if is_low { Tone::Bad } else { Tone::Plain };
    shown.detail = match figures.served_usual {
        Some(usual) => yard::SERVED_USUAL.fill(language, &[("usual", &percent(usual))]),
        None => yard::SERVED_PERIOD.of(language).to_owned(),
    };
    if !figures.served_curve.is_empty() {
        // A share near 100 percent is drawn from its least value, so that a change is visible.
        let least = figures.served_curve.iter().copied().fold(f32::INFINITY, f32::min) - 0.5;
        let raised: Vec<f32> = figures.served_curve.iter().map(|value| value - least).collect();
        shown.curve = Some(spark(&raised, shown.tone, &percent(now)));
    }
    shown
}

fn hot(viewer: &Viewer, figures: &YardFigures) -> Figure {
    let language = viewer.language;
    let mut shown = figure(viewer, yard::HOT_FILES, count(figures.hot), "/files?state=hot");
    if figures.hot_out_of_reach > 0 {
        let files = count(figures.hot_out_of_reach);
        shown.detail = yard::OUT_OF_REACH.fill(language, &[("n", &files)]);
        shown.tone = Tone::Bad;
    } else if figures.hot_unplaced > 0 {
        shown.detail = yard::HOT_UNPLACED.fill(language, &[("n", &count(figures.hot_unplaced))]);
        shown.tone = Tone::Warn;
    } else if figures.hot > 0 {
        shown.detail = yard::HOT_ALL_PLACED.of(language).to_owned();
    } else {
        shown.detail = yard::NONE_HOT.of(language).to_owned();
    }
    shown
}

fn due(viewer: &Viewer, figures: &YardFigures) -> Figure {
    let language = viewer.language;
    let mut shown = figure(viewer, yard::DUE, count(figures.due), "/shares?state=due");
    shown.detail = match figures.next_due {
        Some(next) => {
            let seconds = viewer.now.seconds_until(next);
            yard::NEXT_DUE.fill(language, &[("age", &age(language, seconds))])
        }
        None => yard::NONE_DUE.of(language).to_owned(),
    };
    shown
}
