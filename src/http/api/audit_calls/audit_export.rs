//! `/api/v1/audit/export`: rows as they are stored.

use std::collections::VecDeque;
use std::io::{self, Write};

use actix_web::http::header::CONTENT_DISPOSITION;
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream::unfold;
use reelyard_access::audit::{AuditReader, AuditRowFilter};
use reelyard_api::refused;

use super::audit::unreadable;
use super::row_filter::AuditFilterQuery;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// Lines of JSON, compressed with gzip.
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, format = Binary)]
#[allow(dead_code, reason = "only its schema is used")]
struct CompressedRows(Vec<u8>);

/// `GET /audit/export`.
#[utoipa::path(
    get,
    path = "/audit/export",
    tag = "audit",
    operation_id = "exportAudit",
    summary = "Sends rows as they are stored, oldest first, as compressed lines of JSON",
    description = "Without a filter, the answer also has the first line of each segment, so that the hashes can be \
                   checked elsewhere.",
    params(AuditFilterQuery),
    responses((
        status = 200,
        description = "Lines of JSON, compressed with gzip",
        body = inline(CompressedRows),
        content_type = "application/gzip"
    ))
)]
pub async fn export(
    state: web::Data<NodeHttpState>,
    query: web::Query<AuditFilterQuery>,
) -> Result<HttpResponse, Refusal<(refused::Unreadable, refused::Stopped)>> {
    let filter = query.into_inner().filter()?;
    let reader = state.audit.reader();
    let lister = reader.clone();
    let segments = web::block(move || lister.segments()).await;
    let segments = segments.map_err(|_| ProblemResponse::stopped())?;
    let segments = VecDeque::from(segments.map_err(|error| unreadable(&error))?);
    let exported = unfold((segments, reader, filter), |(mut segments, reader, filter)| async {
        let first = segments.pop_front()?;
        let (of_segment, wanted) = (reader.clone(), filter.clone());
        let part = web::block(move || compressed(&of_segment, first, &wanted)).await;
        // An error closes the connection, so that the client notices the missing end.
        let part = part.map_err(io::Error::other).and_then(|part| part);
        Some((part, (segments, reader, filter)))
    });
    Ok(HttpResponse::Ok()
        .content_type("application/gzip")
        .insert_header((CONTENT_DISPOSITION, "attachment; filename=\"audit.jsonl.gz\""))
        .streaming(exported))
}

/// The matching lines of a segment as one member of a gzip file. Several members form one file.
fn compressed(reader: &AuditReader, first: u64, filter: &AuditRowFilter) -> io::Result<Bytes> {
    let lines = reader.lines(first, filter)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&lines)?;
    Ok(Bytes::from(encoder.finish()?))
}
