//! Link traffic of the last hour, as a chart or as a table.

use maud::{Markup, html};

use super::panels::{head, link};
use crate::format::{bit_rate, time_tag};
use crate::parts::chart::{ChartFigure, chart};
use crate::parts::panel::{flush_panel, panel};
use crate::text::{common, yard};
use crate::viewer::{Moment, Viewer};

/// The query that shows the table instead of the chart.
pub const TRAFFIC_TABLE: &str = "as=table";

/// The chart.
pub fn traffic(viewer: &Viewer, figure: &ChartFigure) -> Markup {
    let mut head = head(viewer, "c6 full-md", "yard-traffic", yard::TRAFFIC);
    head.remark = yard::LAST_HOUR.of(viewer.language).to_owned();
    head.link = link(viewer, common::AS_TABLE, &format!("?{TRAFFIC_TABLE}#yard-traffic-table"));
    panel(&head, chart(viewer, figure))
}

/// The figures of the chart, newest first. It stays as it is while somebody reads it.
pub fn traffic_table(viewer: &Viewer, figure: &ChartFigure) -> Markup {
    let mut head = head(viewer, "c6 full-md", "yard-traffic-table", yard::TRAFFIC);
    head.remark = yard::LAST_HOUR.of(viewer.language).to_owned();
    head.link = link(viewer, yard::AS_CHART, "#yard-traffic");
    flush_panel(&head, figures_table(viewer, figure))
}

/// The rows of the figures of a chart of links, newest first.
pub fn figures_table(viewer: &Viewer, figure: &ChartFigure) -> Markup {
    let rows = figure.lines.iter().map(|line| line.values.len()).max().unwrap_or(0);
    let span = figure.to.0 - figure.from.0;
    let steps = i64::try_from(rows.saturating_sub(1)).unwrap_or(1).max(1);
    let at = |row: usize| Moment(figure.from.0 + span * i64::try_from(row).unwrap_or(0) / steps);
    html! {
        table.tiny {
            thead { tr {
                th scope="col" { (common::WHEN.of(viewer.language)) }
                @for line in &figure.lines { th.num scope="col" { (line.name) } }
            } }
            tbody {
                @for row in (0..rows).rev() {
                    tr {
                        td { (time_tag(viewer, at(row))) }
                        @for line in &figure.lines {
                            td.num.nw { (bit_rate(line.values.get(row).copied().unwrap_or(0.0) as u64)) }
                        }
                    }
                }
            }
        }
    }
}
