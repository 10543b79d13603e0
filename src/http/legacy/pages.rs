//! The three dashboards of cfm, from snapshots: none of them waits for a planning round.

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use bytes::Bytes;
use futures::stream;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use reelyard_core::clock::Millis;
use reelyard_protocol::legacy::cfm::OldState;
use reelyard_yard::heartbeat::Health;
use reelyard_yard::task_manager::cfm_list::listed_state;

use super::state::{CompatState, FileRow, FileTable};

/// Number of table rows per chunk, so that a page with a million files is never in memory as a
/// whole.
const ROWS_AT_A_TIME: usize = 256;

/// `GET /dashboard`.
pub(super) async fn tasks(state: web::Data<CompatState>) -> HttpResponse {
    let now = state.clock.now();
    let mut tasks: Vec<_> = (state.tasks)()
        .iter()
        .filter_map(|task| listed_state(task, now).map(|status| (task.clone(), status)))
        .collect();
    tasks.sort_unstable_by_key(|(task, _)| task.id);
    let titles = ["ID", "FilePath", "Status", "SrcAddr", "DstAddr", "Grade", "Ctime", "Mtime"];
    page(
        "tasks",
        html! {
            table.table {
                (head(&titles))
                tbody {
                    @for (task, status) in &tasks {
                        @let (word, class) = in_words(*status);
                        tr class=(class) {
                            th scope="row" { (task.id) }
                            td { (task.dir.trim_end_matches('/')) "/" (task.name) }
                            td { (word) }
                            td { (task.source) }
                            td { (task.destination) }
                            td { (task.grade) }
                            td { (time(Some(task.created))) }
                            td { (time(Some(task.changed))) }
                        }
                    }
                }
            }
        },
    )
}

/// The word for a state, and the CSS class of its row.
fn in_words(status: OldState) -> (&'static str, &'static str) {
    match status {
        OldState::Ready => ("ready", "table-active"),
        OldState::Working => ("working", "table-primary"),
        OldState::Done => ("done", "table-success"),
        OldState::Timeout => ("timeout", "table-danger"),
    }
}

/// `GET /dashboard/hb`: hosts as text, sorted by address, descending.
pub(super) async fn heartbeat(state: web::Data<CompatState>) -> HttpResponse {
    let view = state.heartbeat.load();
    let mut hosts: Vec<_> = view.hosts.iter().map(|host| (host.host.to_string(), host)).collect();
    hosts.sort_unstable_by(|(one, _), (other, _)| other.cmp(one));
    page(
        "heartbeat",
        html! {
            table.table {
                (head(&["HOSTAddr", "Status", "Mtime"]))
                tbody {
                    @for (addr, host) in &hosts {
                        @let is_up = host.health == Health::Up;
                        tr class=(if is_up { "table-active" } else { "table-danger" }) {
                            th scope="row" { (addr) }
                            td { (if is_up { "ok" } else { "notok" }) }
                            td { (time(host.checked)) }
                        }
                    }
                }
            }
        },
    )
}

/// `GET /dashboard/filemetas`: all files, streamed at the pace of the reader.
pub(super) async fn files(state: web::Data<CompatState>) -> HttpResponse {
    let table = (state.files)();
    let rows = stream::unfold(FilePagePart::Top(table), |part| async {
        let (markup, next) = part.write()?;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(markup.into_string())), next))
    });
    HttpResponse::Ok().content_type("text/html; charset=utf-8").streaming(rows)
}

/// The next part of the file page.
enum FilePagePart {
    Top(Arc<dyn FileTable>),
    Rows(Arc<dyn FileTable>, usize),
    Written,
}

impl FilePagePart {
    fn write(self) -> Option<(Markup, FilePagePart)> {
        match self {
            FilePagePart::Top(table) => {
                Some((files_top(table.as_ref()), FilePagePart::Rows(table, 0)))
            }
            FilePagePart::Rows(table, from) => {
                let rows = table.rows(from, ROWS_AT_A_TIME);
                if rows.is_empty() {
                    let end = PreEscaped("</tbody></table></body></html>\n".to_owned());
                    return Some((end, FilePagePart::Written));
                }
                let next = from + rows.len();
                Some((
                    html! { @for row in &rows { (file_row(row)) } },
                    FilePagePart::Rows(table, next),
                ))
            }
            FilePagePart::Written => None,
        }
    }
}

fn files_top(table: &dyn FileTable) -> Markup {
    let titles = ["File", "Grade", "Size", "RisingHit", "ServerIPs", "SrcFilePath"];
    html! {
        (DOCTYPE)
        (PreEscaped("<html>"))
        (page_head("filemetas"))
        (PreEscaped("<body>"))
        (top("filemetas"))
        p { "updateTime: " (time(table.ranked())) }
        p { "risingHit updateTime: " (time(table.risen())) }
        (PreEscaped("<table class=\"table\">"))
        (head(&titles))
        (PreEscaped("<tbody>"))
    }
}

fn file_row(row: &FileRow) -> Markup {
    let servers: Vec<String> = row.servers.iter().map(ToString::to_string).collect();
    html! {
        tr class=[(row.hits > 0).then_some("table-active")] {
            th scope="row" { (row.name) }
            td { (row.grade) }
            // cfm's word for an unknown size.
            td { @match row.size { Some(size) => (size), None => "-1" } }
            td { (row.hits) }
            td { (servers.join(", ")) }
            td { (row.master.as_deref().unwrap_or_default()) }
        }
    }
}

fn head(titles: &[&str]) -> Markup {
    html! { thead { tr { @for title in titles { th { (title) } } } } }
}

/// Style of the tables. It needs no other file, and uses the colours of cfm's classes.
const STYLE: &str = "body{font:14px/1.4 sans-serif;margin:1.5em;color:#222}h1{font-size:1.4em}\
    nav a{margin-right:1em}table{border-collapse:collapse}\
    th,td{padding:.3em .7em;border-bottom:1px solid #ddd;text-align:left;font-weight:normal}\
    thead th{font-weight:bold;border-bottom:2px solid #aaa}\
    .table-active{background:#eee}.table-primary{background:#cfe2ff}\
    .table-success{background:#d1e7dd}.table-danger{background:#f8d7da}";

/// The part above every table.
fn top(title: &str) -> Markup {
    html! {
        h1 { (title) }
        nav {
            a href="/dashboard" { "tasks" }
            a href="/dashboard/hb" { "heartbeat" }
            a href="/dashboard/filemetas" { "filemetas" }
        }
    }
}

fn page_head(title: &str) -> Markup {
    html! { head { meta charset="utf-8"; title { (title) } style { (PreEscaped(STYLE)) } } }
}

fn page(title: &str, body: Markup) -> HttpResponse {
    let page = html! {
        (DOCTYPE)
        html { (page_head(title)) body { (top(title)) (body) } }
    };
    HttpResponse::Ok().content_type("text/html; charset=utf-8").body(page.into_string())
}

/// RFC 3339 to the second, in the time zone of this process, as in cfm. Go's zero time (year 1)
/// stands for "never".
fn time(at: Option<Millis>) -> String {
    at.and_then(|at| in_zone(at, &TimeZone::system()))
        .unwrap_or_else(|| "0001-01-01T00:00:00Z".to_owned())
}

fn in_zone(at: Millis, zone: &TimeZone) -> Option<String> {
    let zoned = Timestamp::from_second(at.unix_seconds()).ok()?.to_zoned(zone.clone());
    // Go writes Z for UTC.
    let form = if zoned.offset().is_zero() { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%:z" };
    Some(zoned.strftime(form).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_local_with_their_offset() {
        let at = Millis(1_527_951_600_000);
        let seoul = TimeZone::get("Asia/Seoul").unwrap();
        assert_eq!(in_zone(at, &seoul).as_deref(), Some("2018-06-03T00:00:00+09:00"));
        assert_eq!(in_zone(at, &TimeZone::UTC).as_deref(), Some("2018-06-02T15:00:00Z"));
        assert_eq!(time(None), "0001-01-01T00:00:00Z");
    }
}
