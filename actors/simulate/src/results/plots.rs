//! Draws a report as curves, in SVG.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use plotters::prelude::*;

use super::measures::{DiskFill, Hour};
use super::report::SimulationReport;

/// Width and height in pixels.
const SIZE: (u32, u32) = (960, 360);

/// A curve: label, colour, and points by hours since the start.
struct Curve {
    label: &'static str,
    color: RGBColor,
    points: Vec<(f64, f64)>,
}

/// A picture with one or more curves.
struct HourlyPlot {
    file: &'static str,
    title: &'static str,
    unit: &'static str,
    /// Smallest range of the vertical axis.
    least: f64,
    curves: Vec<Curve>,
}

const BLUE: RGBColor = RGBColor(0x1f, 0x5f, 0xa8);
const ORANGE: RGBColor = RGBColor(0xc8, 0x60, 0x10);
const GREY: RGBColor = RGBColor(0x70, 0x70, 0x70);

/// Writes the pictures of a report into `dir`, which is created if it is missing. Returns their
/// paths.
pub fn write(report: &SimulationReport, dir: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let mut written = Vec::new();
    for plot in plots(report) {
        let path = dir.join(plot.file);
        let svg = plot.draw().map_err(|why| anyhow!("{}: {why}", plot.file))?;
        fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

fn plots(report: &SimulationReport) -> [HourlyPlot; 4] {
    let by_hour = |value: fn(&Hour) -> Option<f64>| {
        let hours = report.hours.iter().zip(1..);
        hours.filter_map(|(hour, at)| Some((f64::from(at), value(hour)?))).collect::<Vec<_>>()
    };
    let curve = |label, color, value| Curve { label, color, points: by_hour(value) };
    // Unlike counters of an hour, fill levels also exist at the start.
    let fill = |label, color, value: fn(&DiskFill) -> f64| {
        let ends = report.hours.iter().map(|hour| &hour.fill);
        let fills = std::iter::once(&report.fill_at_start).chain(ends).zip(0..);
        let points = fills.map(|(fill, at)| (f64::from(at), value(fill))).collect();
        Curve { label, color, points }
    };
    [
        HourlyPlot {
            file: "hit-ratio.svg",
            title: "Requests that a destination could serve",
            unit: "%",
            least: 0.0,
            curves: vec![curve("hit ratio", BLUE, |hour| Some(hour.tally.hit_ratio()? * 100.0))],
        },
        HourlyPlot {
            file: "copies-and-removals.svg",
            title: "Copies and removals in each hour",
            unit: "files",
            least: 1.0,
            curves: vec![
                curve("copied", BLUE, |hour| Some(hour.tally.copied.files as f64)),
                curve("removed", ORANGE, |hour| Some(hour.tally.removed.files as f64)),
            ],
        },
        HourlyPlot {
            file: "disk-fill.svg",
            title: "How full the disks are",
            unit: "%",
            least: 100.0,
            curves: vec![
                fill("fullest", ORANGE, |fill| fill.most),
                fill("all together", BLUE, |fill| fill.mean),
                fill("emptiest", GREY, |fill| fill.least),
            ],
        },
        HourlyPlot {
            file: "time-to-serve.svg",
            title: "From becoming hot to the first copy: the longest of each hour",
            unit: "s",
            least: 1.0,
            curves: vec![Curve {
                label: "longest",
                color: BLUE,
                points: longest_of_each_hour(&report.hot.each),
            }],
        },
    ]
}

fn longest_of_each_hour(each: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut longest = std::collections::BTreeMap::<u64, f64>::new();
    for (at, took) in each {
        let hour = longest.entry(at.ceil() as u64).or_default();
        *hour = hour.max(*took);
    }
    longest.into_iter().map(|(hour, took)| (hour as f64, took)).collect()
}

type PlotResult = Result<String, Box<dyn std::error::Error>>;

impl HourlyPlot {
    fn draw(&self) -> PlotResult {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let hours = points().map(|(at, _)| *at).fold(1.0, f64::max);
        let most = points().map(|(_, value)| *value).fold(self.least, f64::max);
        let most = if self.unit == "%" { 100.0 } else { most * 1.05 };
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
            area.fill(&WHITE)?;
            let mut chart = ChartBuilder::on(&area)
                .caption(self.title, ("sans-serif", 18))
                .margin(12)
                // Half of the last label of the axis stands to the right of it.
                .margin_right(32)
                .x_label_area_size(36)
                .y_label_area_size(64)
                .build_cartesian_2d(0.0..hours, 0.0..most)?;
            chart
                .configure_mesh()
                .x_desc("hours")
                .y_desc(self.unit)
                .light_line_style(WHITE)
                .draw()?;
            for Curve { label, color, points } in &self.curves {
                let color = *color;
                chart
                    .draw_series(LineSeries::new(points.iter().copied(), &color))?
                    .label(*label)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color));
            }
            chart
                .configure_series_labels()
                .background_style(WHITE.mix(0.8))
                .border_style(GREY)
                .draw()?;
            area.present()?;
        }
        Ok(svg)
    }
}
