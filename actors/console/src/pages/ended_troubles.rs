//! Troubles that are over: a table of the page History, and lines of the page of a host.

use maud::{Markup, html};

use crate::address::SortBy;
use crate::format::{duration, host_short, time_tag};
use crate::pages::yard::{EndedTrouble, Trouble, trouble_row};
use crate::parts::mark::state;
use crate::parts::table::{TableColumn, column_head};
use crate::text::{access, common};
use crate::viewer::Viewer;

/// The columns of the table.
pub const COLUMNS: [TableColumn; 6] = [
    TableColumn::sorted(access::TROUBLE_END, "when", ""),
    TableColumn::sorted(access::TROUBLE_BEGIN, "begun", ""),
    TableColumn::sorted(access::TROUBLE_LASTED, "lasted", "num"),
    TableColumn::sorted(common::STATE, "state", ""),
    TableColumn::sorted(access::TROUBLE, "trouble", ""),
    TableColumn::sorted(common::HOST, "host", "p1"),
];

/// The title of a trouble without its begin.
pub fn trouble_title(viewer: &Viewer, ended: &EndedTrouble) -> String {
    undated(viewer, ended).title
}

/// The word of its state.
pub fn trouble_word(viewer: &Viewer, ended: &EndedTrouble) -> &'static str {
    undated(viewer, ended).mark.word.of(viewer.language)
}

fn undated(viewer: &Viewer, ended: &EndedTrouble) -> crate::parts::verdict::VerdictRow {
    trouble_row(viewer, &Trouble { cause: ended.cause.clone(), since: None })
}

fn lasted(viewer: &Viewer, ended: &EndedTrouble) -> String {
    duration(viewer.language, ended.from.seconds_until(ended.to))
}

/// The table of these troubles in this order.
pub fn ended_table(
    viewer: &Viewer,
    rows: &[EndedTrouble],
    sort: &SortBy,
    address: &dyn Fn(SortBy) -> String,
) -> Markup {
    let language = viewer.language;
    html! {
        table.cards.dense {
            caption.vh { (access::STEP_TROUBLES.of(language)) }
            thead { tr { @for column in &COLUMNS { (column_head(viewer, column, sort, address)) } } }
            tbody {
                @for ended in rows {
                    @let row = undated(viewer, ended);
                    tr {
                        td.nw data-l=(access::TROUBLE_END.of(language)) { (time_tag(viewer, ended.to)) }
                        td.nw data-l=(access::TROUBLE_BEGIN.of(language)) { (time_tag(viewer, ended.from)) }
                        td.num.nw data-l=(access::TROUBLE_LASTED.of(language)) { (lasted(viewer, ended)) }
                        td data-l=(common::STATE.of(language)) { (state(language, row.mark)) }
                        td.wide data-l="" { (row.title) }
                        td.p1 data-l=(common::HOST.of(language)) {
                            @match ended.cause.host() {
                                Some(host) => (host_short(host)),
                                None => "–",
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A line of a list: its end, its state, and its title with its length.
pub fn ended_line(viewer: &Viewer, ended: &EndedTrouble) -> Markup {
    let row = undated(viewer, ended);
    let lasted = access::TROUBLE_FOR.fill(viewer.language, &[("duration", &lasted(viewer, ended))]);
    html! {
        li {
            span.r.muted.w64 { (time_tag(viewer, ended.to)) }
            (state(viewer.language, row.mark))
            div.grow { (row.title) " " span.muted { (lasted) } }
        }
    }
}
