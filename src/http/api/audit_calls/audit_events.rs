//! `/api/v1/audit/events`: new rows as they are written.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use reelyard_access::audit::{AuditOrder, AuditReader, AuditRowFilter};
use reelyard_api::AuditRowInfo;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::audit::read_page;
use super::row_filter::AuditFilterQuery;
use crate::http::access::CallerRightsWatch;
use crate::http::api::call_parts::event_stream::{
    EventSource, KEEP_ALIVE, LAST_EVENT_ID, event, streamed,
};
use crate::http::node_state::NodeHttpState;
use crate::http::problem::Refusal;

/// Rows are collected for this long, because each read looks through a part of the log.
const COLLECT: Duration = Duration::from_millis(200);

/// Largest number of rows that are read at once.
const ROWS: usize = 500;

/// `GET /audit/events`.
#[utoipa::path(
    get,
    path = "/audit/events",
    tag = "audit",
    operation_id = "followAudit",
    summary = "Sends new rows of the audit as they are written",
    description = "Server-sent events. Each has the number of its row as `id`, the kind `row`, and the row as \
                   `data`. A client that sends `Last-Event-ID` first gets the rows after that one. A comment \
                   comes every 15 seconds.",
    params(
        AuditFilterQuery,
        ("Last-Event-ID" = Option<u64>, Header, description = "The `id` of the last received row")
    ),
    responses((
        status = 200,
        description = "A stream of rows without end",
        body = AuditRowInfo,
        content_type = "text/event-stream"
    ))
)]
pub async fn follow(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    query: web::Query<AuditFilterQuery>,
) -> Result<HttpResponse, Refusal<()>> {
    let filter = query.into_inner().filter()?;
    let last_row = state.audit.last_row();
    let begin = match request.headers().get(LAST_EVENT_ID) {
        None => *last_row.borrow(),
        // A client returns an id that it received. An id in another format is from another node.
        Some(id) => id.to_str().ok().and_then(|id| id.parse().ok()).unwrap_or(0),
    };
    let stream = NewRowStream {
        reader: state.audit.reader(),
        filter,
        sent: begin,
        last_row,
        stopping: state.stopping.clone(),
        keep_alive: Instant::now() + KEEP_ALIVE,
        rests_until: Instant::now(),
    };
    let rights = CallerRightsWatch::of(&request, &state);
    Ok(streamed(rights, ": new rows follow\n\n", stream))
}

/// New rows for one client.
struct NewRowStream {
    reader: AuditReader,
    filter: AuditRowFilter,
    /// The last row that was read for this client.
    sent: u64,
    last_row: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    keep_alive: Instant,
    rests_until: Instant,
}

impl EventSource for NewRowStream {
    async fn next(&mut self) -> Option<Bytes> {
        let mut text = String::new();
        while text.is_empty() {
            sleep_until(self.rests_until).await;
            let sent = self.sent;
            tokio::select! {
                biased;
                _ = self.stopping.wait_for(|stopping| *stopping) => return None,
                last = self.last_row.wait_for(|last| *last > sent) => {
                    // The writer has ended.
                    last.ok()?;
                }
                () = sleep_until(self.keep_alive) => {
                    text = format!(": still here\nid: {sent}\n\n");
                    break;
                }
            }
            let from = Some(self.sent).filter(|sent| *sent > 0);
            let last = *self.last_row.borrow();
            let read = read_page(
                self.reader.clone(),
                self.filter.clone(),
                AuditOrder::OldestFirst,
                from,
                ROWS,
            );
            let page = read.await.ok()?;
            let newest = page.rows.last().map_or(last, |row| row.seq);
            self.sent = page.next.unwrap_or(newest.max(last)).max(self.sent);
            for row in &page.rows {
                text.push_str(&event(Some(row.seq), "row", &AuditRowInfo::of(row)));
            }
            self.rests_until = Instant::now() + COLLECT;
        }
        self.keep_alive = Instant::now() + KEEP_ALIVE;
        Some(Bytes::from(text))
    }
}
