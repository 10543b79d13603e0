//! Files of shares for other nodes, which do not see their root.
//!
//! A call arrives on a stream of another node. Without `from` and `to` the answer has the state of the file. With them
//! the answer has these bytes of the state that `If-Match` names. A call makes no further hop.

use actix_web::http::header;
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse};
use futures::stream;
use reelyard_links::{FileForOther, NotPassed};
use reelyard_shares::share_expiry::ShareId;
use serde::Deserialize;

use super::forwarding::ForwardedBy;
use super::node_state::NodeHttpState;

/// Bytes of a file that another node asks for.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct BytesAsked {
    /// The first byte. None asks for the state of the file.
    pub from: Option<u64>,
    /// The byte after the last one.
    pub to: Option<u64>,
}

/// `GET /shared-files/{id}`, for other nodes only.
pub async fn answer(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    id: web::Path<String>,
    asked: web::Query<BytesAsked>,
) -> HttpResponse {
    if request.conn_data::<ForwardedBy>().is_none() {
        return HttpResponse::NotFound().finish();
    }
    let Ok(id) = id.parse::<ShareId>() else { return HttpResponse::NotFound().finish() };
    let opened = match state.share_links.files() {
        Some(files) => web::block(move || files.open(id)).await.unwrap_or(Err(NotPassed::Away)),
        None => Err(NotPassed::Away),
    };
    let (from, to) = match (asked.from, asked.to) {
        (Some(from), Some(to)) => (from, to),
        _ => {
            return HttpResponse::Ok().json(opened.map(|file| file.facts().clone()));
        }
    };
    let Ok(file) = opened else { return HttpResponse::NotFound().finish() };
    let wanted = request.headers().get(header::IF_MATCH).map(|tag| tag.as_bytes());
    let is_same = wanted == Some(file.facts().etag.as_bytes());
    if !is_same || from >= to || to > file.facts().size {
        return HttpResponse::PreconditionFailed().finish();
    }
    HttpResponse::Ok().no_chunking(to - from).streaming(bytes(file, from, to))
}

/// The bytes of a range, read when the other node has taken those before. A failure ends the connection.
fn bytes(
    file: FileForOther,
    from: u64,
    to: u64,
) -> impl futures::Stream<Item = Result<Bytes, actix_web::Error>> {
    stream::try_unfold((file, from), move |(mut file, at)| async move {
        if at >= to {
            return Ok(None);
        }
        let read = move || file.read(at, to).map(|piece| (piece, file));
        let (piece, file) = web::block(read).await??;
        let next = at + piece.len() as u64;
        Ok(Some((Bytes::from(piece), (file, next))))
    })
}
