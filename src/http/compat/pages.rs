//! The three dashboards of cfm (spec 2.1), from snapshots: none of them waits for a planning round.

use std::net::IpAddr;
use std::sync::Arc;

use actix_web::{HttpResponse, web};
use bytes::Bytes;
use futures::stream;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use reelyard_actors::clock::Millis;
use reelyard_actors::heartbeat::Health;
use reelyard_actors::names::FileName;
use reelyard_actors::task_manager::OldState;
use reelyard_actors::wire::cfm::shown_state;

use super::CompatState;

/// Rows of the file table that are made at a time: a page of a million files is never in memory
/// as a whole.
const ROWS_AT_A_TIME: usize = 256;

/// A snapshot of the ranked files for `/dashboard/filemetas`. It stands still while it is read.
pub trait FileTable: Send + Sync {
    /// When the ranking was last built; none before the first time.
    fn ranked(&self) -> Option<Millis>;
    /// When the rising hits were last counted; none before the first time.
    fn risen(&self) -> Option<Millis>;
    /// Rows `from..from + most`, fewer at the end, of all files, most rising hits first, then best
    /// grade first.
    fn rows(&self, from: usize, most: usize) -> Vec<FileRow>;
}

/// One file of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// Its name.
    pub name: FileName,
    /// Its rank, 1 = best; 0 for none.
    pub grade: u32,
    /// Its size in bytes, when known.
    pub size: Option<u64>,
    /// Its rising hits.
    pub hits: u32,
    /// Where it is.
    pub servers: Vec<IpAddr>,
    /// Path of its master, when it was looked for.
    pub master: Option<String>,
}

/// `GET /dashboard`.
pub(super) async fn tasks(state: web::Data<CompatState>) -> HttpResponse {
    let now = state.clock.now();
    let mut tasks: Vec<_> = (state.tasks)()
        .iter()
        .filter_map(|task| shown_state(task, now).map(|status| (task.clone(), status)))
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
                            td { (task.id) }
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

/// A state's word and the class of its row.
fn in_words(status: OldState) -> (&'static str, &'static str) {
    match status {
        OldState::Ready => ("ready", "table-active"),
        OldState::Working => ("working", "table-primary"),
        OldState::Done => ("done", "table-success"),
        OldState::Timeout => ("timeout", "table-danger"),
    }
}

/// `GET /dashboard/hb`: hosts by address, as text, descending.
pub(super) async fn heartbeat(state: web::Data<CompatState>) -> HttpResponse {
    let view = state.heartbeat.load_full();
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
                            td { (addr) }
                            td { (if is_up { "ok" } else { "notok" }) }
                            td { (time(host.checked)) }
                        }
                    }
                }
            }
        },
    )
}

/// `GET /dashboard/filemetas`: all files, written as the reader takes them.
pub(super) async fn files(state: web::Data<CompatState>) -> HttpResponse {
    let table = (state.files)();
    let rows = stream::unfold(Part::Top(table), |part| async {
        let (markup, next) = part.write()?;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(markup.into_string())), next))
    });
    HttpResponse::Ok().content_type("text/html; charset=utf-8").streaming(rows)
}

/// The part of the file page that is written next.
enum Part {
    Top(Arc<dyn FileTable>),
    Rows(Arc<dyn FileTable>, usize),
    Written,
}

impl Part {
    fn write(self) -> Option<(Markup, Part)> {
        match self {
            Part::Top(table) => Some((files_top(table.as_ref()), Part::Rows(table, 0))),
            Part::Rows(table, from) => {
                let rows = table.rows(from, ROWS_AT_A_TIME);
                if rows.is_empty() {
                    let end = PreEscaped("</tbody></table></body></html>\n".to_owned());
                    return Some((end, Part::Written));
                }
                let next = from + rows.len();
                Some((html! { @for row in &rows { (file_row(row)) } }, Part::Rows(table, next)))
            }
            Part::Written => None,
        }
    }
}

fn files_top(table: &dyn FileTable) -> Markup {
    let titles = ["File", "Grade", "Size", "RisingHit", "ServerIPs", "SrcFilePath"];
    html! {
        (DOCTYPE)
        (PreEscaped("<html>"))
        head { meta charset="utf-8"; title { "filemetas" } }
        (PreEscaped("<body>"))
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
        tr {
            td { (row.name) }
            td { (row.grade) }
            // cfm's word for a size it does not know.
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

fn page(title: &str, body: Markup) -> HttpResponse {
    let page = html! {
        (DOCTYPE)
        html { head { meta charset="utf-8"; title { (title) } } body { (body) } }
    };
    HttpResponse::Ok().content_type("text/html; charset=utf-8").body(page.into_string())
}

/// RFC 3339 to the second; what never happened was in the year 1, as cfm has it.
fn time(at: Option<Millis>) -> String {
    match at {
        Some(at) => humantime::format_rfc3339_seconds(at.to_system_time()).to_string(),
        None => "0001-01-01T00:00:00Z".to_owned(),
    }
}
