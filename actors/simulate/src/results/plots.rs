//! Draws reports as curves, in SVG.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use reelyard_yard::settings::popularity::PopularityMode;

use super::measures::{DiskFill, Hour};
use super::references::ReferenceDay;
use super::report::{ComparedReport, SimulationReport};

/// Width and height in pixels.
const SIZE: (u32, u32) = (960, 360);

const HOURS_A_DAY: f64 = 24.0;

/// The horizontal axis shows days when there are more hours than this.
const MOST_HOURS: f64 = 72.0;

/// The vertical axis is logarithmic when the largest value is this many times the 90th percentile.
const DWARFED: f64 = 10.0;

/// The bottom of a logarithmic axis, for values of 0. Other values are at least 1.
const LOG_BOTTOM: f64 = 0.5;

/// A curve: label, colour, and points by hours since the start.
struct Curve {
    label: String,
    color: RGBColor,
    points: Vec<(f64, f64)>,
}

/// A picture with one or more curves.
struct Plot {
    file: &'static str,
    title: &'static str,
    unit: &'static str,
    /// Smallest range of the vertical axis.
    least: f64,
    /// Hours on the horizontal axis.
    hours: f64,
    curves: Vec<Curve>,
}

const BLUE: RGBColor = RGBColor(0x1f, 0x5f, 0xa8);
const ORANGE: RGBColor = RGBColor(0xc8, 0x60, 0x10);
const GREEN: RGBColor = RGBColor(0x2a, 0x80, 0x3c);
const GREY: RGBColor = RGBColor(0x70, 0x70, 0x70);
const LIGHT: RGBColor = RGBColor(0xb8, 0xc8, 0xd8);

/// Writes the pictures of a report into `dir`, which is created if it is missing. Returns their
/// paths.
///
/// # Errors
///
/// A picture cannot be drawn or written.
pub fn write(report: &SimulationReport, dir: &Path) -> Result<Vec<PathBuf>> {
    write_all(&plots(report), dir)
}

/// Writes one picture of several modes on the same demand into `dir`.
///
/// # Errors
///
/// The picture cannot be drawn or written.
pub fn write_comparison(reports: &[ComparedReport], dir: &Path) -> Result<Vec<PathBuf>> {
    let Some(first) = reports.first().map(|compared| &compared.report) else {
        return Ok(Vec::new());
    };
    let mut curves = vec![days_known(first)];
    for ComparedReport { mode, report } in reports {
        let (label, color) = match mode {
            PopularityMode::On => ("on", BLUE),
            PopularityMode::Shadow => ("shadow", GREY),
            PopularityMode::Off => ("off", ORANGE),
        };
        curves.push(hits_by_day(label, color, report));
    }
    let plot = Plot {
        file: "comparison.svg",
        title: "Requests that a destination could serve, by popularity.mode",
        unit: "%",
        least: 0.0,
        hours: first.setting.seconds as f64 / 3600.0,
        curves,
    };
    write_all(&[plot], dir)
}

fn write_all(plots: &[Plot], dir: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let mut written = Vec::new();
    for plot in plots {
        let path = dir.join(plot.file);
        let svg = plot.svg().map_err(|why| anyhow!("{}: {why}", plot.file))?;
        fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

fn plots(report: &SimulationReport) -> [Plot; 4] {
    let hours = report.setting.seconds as f64 / 3600.0;
    let each_hour = |label: &str, color, value: fn(&Hour) -> Option<f64>| {
        Curve::of_periods(label, color, 1.0, hours, report.hours.iter().map(value))
    };
    // Unlike counters of an hour, fill levels also exist at the start.
    let fill = |label: &str, color, value: fn(&DiskFill) -> f64| {
        let ends = report.hours.iter().map(|hour| &hour.fill);
        let fills = std::iter::once(&report.fill_at_start).chain(ends).zip(0..);
        let points = fills.map(|(fill, at)| (f64::from(at).min(hours), value(fill))).collect();
        Curve { label: label.to_owned(), color, points }
    };
    [
        Plot {
            file: "hit-ratio.svg",
            title: "Requests that a destination could serve",
            unit: "%",
            least: 0.0,
            hours,
            curves: vec![
                each_hour("each hour", LIGHT, |hour| percent(hour.tally.hit_ratio())),
                days_known(report),
                hits_by_day("each day", BLUE, report),
            ],
        },
        Plot {
            file: "copies-and-removals.svg",
            title: "Copies and removals in each hour",
            unit: "files",
            least: 1.0,
            hours,
            curves: vec![
                each_hour("copied", BLUE, |hour| Some(hour.tally.copied.files as f64)),
                each_hour("removed", ORANGE, |hour| Some(hour.tally.removed.files as f64)),
            ],
        },
        Plot {
            file: "disk-fill.svg",
            title: "How full the disks are",
            unit: "%",
            least: 100.0,
            hours,
            curves: vec![
                fill("fullest", ORANGE, |fill| fill.most),
                fill("all together", BLUE, |fill| fill.mean),
                fill("emptiest", GREY, |fill| fill.least),
            ],
        },
        Plot {
            file: "time-to-serve.svg",
            title: "From becoming hot to the first copy: the longest of each hour",
            unit: "s",
            least: 1.0,
            hours,
            curves: vec![Curve::of_periods(
                "longest",
                BLUE,
                1.0,
                hours,
                longest_of_each_hour(&report.hot.each, report.hours.len()),
            )],
        },
    ]
}

fn percent(share: Option<f64>) -> Option<f64> {
    share.map(|share| share * 100.0)
}

fn hits_by_day(label: &str, color: RGBColor, report: &SimulationReport) -> Curve {
    let hours = report.setting.seconds as f64 / 3600.0;
    let ratios = report.days.iter().map(|day| percent(day.hit_ratio));
    Curve::of_periods(label, color, HOURS_A_DAY, hours, ratios)
}

/// The hits of the placement that knows the next days.
fn days_known(report: &SimulationReport) -> Curve {
    let hours = report.setting.seconds as f64 / 3600.0;
    let days = report.references.next_7_days.days.iter();
    let ratios = days.map(ReferenceDay::hit_ratio).map(percent);
    Curve::of_periods("next 7 days known", GREEN, HOURS_A_DAY, hours, ratios)
}

/// The longest wait of each hour, 0 in an hour without a wait.
fn longest_of_each_hour(
    each: &[(f64, f64)],
    hours: usize,
) -> impl Iterator<Item = Option<f64>> + use<> {
    let mut longest = vec![0.0_f64; hours];
    for (at, took) in each {
        let last = hours.saturating_sub(1);
        if let Some(hour) = longest.get_mut((*at as usize).min(last)) {
            *hour = hour.max(*took);
        }
    }
    longest.into_iter().map(Some)
}

impl Curve {
    /// A curve with one step for each period of `length` hours, up to `end`. Periods without a value
    /// are left out.
    fn of_periods(
        label: &str,
        color: RGBColor,
        length: f64,
        end: f64,
        values: impl Iterator<Item = Option<f64>>,
    ) -> Self {
        let mut points = Vec::new();
        for (value, period) in values.zip(0..) {
            let Some(value) = value else { continue };
            let begin = f64::from(period) * length;
            points.extend([(begin.min(end), value), ((begin + length).min(end), value)]);
        }
        Curve { label: label.to_owned(), color, points }
    }
}

type DrawResult<T> = Result<T, Box<dyn std::error::Error>>;

impl Plot {
    fn svg(&self) -> DrawResult<String> {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let most = self.most();
        if self.is_dwarfed() {
            let range = (LOG_BOTTOM..most).log_scale();
            self.draw(&area, range, &format!("{}, logarithmic", self.unit))?;
        } else {
            self.draw(&area, 0.0..most, self.unit)?;
        }
        area.present()?;
        drop(area);
        Ok(svg)
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.curves.iter().flat_map(|curve| &curve.points).map(|(_, value)| *value)
    }

    /// The top of the vertical axis.
    fn most(&self) -> f64 {
        if self.unit == "%" { 100.0 } else { self.values().fold(self.least, f64::max) * 1.05 }
    }

    /// Whether a few values are so large that the others are not visible on a linear axis.
    fn is_dwarfed(&self) -> bool {
        let mut values: Vec<f64> = self.values().filter(|value| *value > 0.0).collect();
        values.sort_unstable_by(f64::total_cmp);
        let usual = values.get(values.len() * 9 / 10).copied().unwrap_or_default();
        self.unit != "%" && values.last().is_some_and(|most| *most > usual * DWARFED)
    }

    fn draw<Y>(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        range: Y,
        unit: &str,
    ) -> DrawResult<()>
    where
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let in_days = self.hours > MOST_HOURS;
        let (scale, axis) = if in_days { (HOURS_A_DAY, "days") } else { (1.0, "hours") };
        let end = (self.hours / scale).max(f64::MIN_POSITIVE);
        let bottom = if self.is_dwarfed() { LOG_BOTTOM } else { 0.0 };
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 18))
            .margin(12)
            // Half of the last label of the axis stands to the right of it.
            .margin_right(32)
            .x_label_area_size(36)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..end, range)?;
        chart.configure_mesh().x_desc(axis).y_desc(unit).light_line_style(WHITE).draw()?;
        for Curve { label, color, points } in &self.curves {
            let color = *color;
            let points = points.iter().map(|(at, value)| (at / scale, value.max(bottom)));
            chart
                .draw_series(LineSeries::new(points, &color))?
                .label(label)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color));
        }
        // Ratios and fill levels are mostly in the upper half, peaks of counters on the left.
        let legend = match self.unit {
            "%" => SeriesLabelPosition::LowerRight,
            _ => SeriesLabelPosition::UpperRight,
        };
        chart
            .configure_series_labels()
            .position(legend)
            .background_style(WHITE.mix(0.8))
            .border_style(GREY)
            .draw()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(values: &[f64]) -> Plot {
        let hours = values.len() as f64;
        let values = values.iter().copied().map(Some);
        let curves = vec![Curve::of_periods("copied", BLUE, 1.0, hours, values)];
        Plot { file: "copies.svg", title: "Copies", unit: "files", least: 1.0, hours, curves }
    }

    #[test]
    fn one_hour_that_dwarfs_the_others_makes_the_axis_logarithmic() {
        let mut values = vec![3.0; 48];
        assert!(!plot(&values).is_dwarfed());
        values[0] = 3_000.0;
        values[5] = 0.0;
        assert!(plot(&values).is_dwarfed());
        assert!(plot(&values).svg().unwrap().contains("files, logarithmic"));
        assert!(!plot(&[]).is_dwarfed());
    }

    #[test]
    fn the_axis_shows_days_in_long_simulations() {
        let axis = |hours| plot(&vec![1.0; hours]).svg().unwrap();
        assert!(axis(72).contains("hours") && axis(73).contains("days"));
    }

    #[test]
    fn a_period_is_a_step_from_its_beginning_to_its_end() {
        let values = [Some(1.0), None, Some(3.0)];
        let curve = Curve::of_periods("hits", BLUE, 24.0, 60.0, values.into_iter());
        assert_eq!(curve.points, [(0.0, 1.0), (24.0, 1.0), (48.0, 3.0), (60.0, 3.0)]);
    }
}
