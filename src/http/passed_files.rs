//! Files and directories of shares for other nodes, which do not see their root.
//!
//! A call arrives on a stream that another node opened for itself. Without `from` and `to` the answer has the state of the file. With them
//! the answer has these bytes of the state that `If-Match` names. A call makes no further hop.

use actix_web::http::header;
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse};
use futures::stream;
use reelyard_core::event::RequestId;
use reelyard_links::{ArchiveForOther, FileForOther};
use reelyard_protocol::cluster::shared_files::{
    ArchiveAsked, BytesAsked, CountAsked, CountRefused, CountedThere, NotPassed,
};
use reelyard_shares::share_expiry::{ClientKey, ShareError, ShareId, ShareRefusal, TakeDownload};

use super::forwarding::ForwardedBy;
use super::node_state::NodeHttpState;

/// `GET /shared-files/{id}`, for other nodes only.
pub async fn answer(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    id: web::Path<String>,
    asked: Option<web::Query<BytesAsked>>,
) -> HttpResponse {
    if !is_of_node(&request) {
        return HttpResponse::NotFound().finish();
    }
    let Ok(id) = id.parse::<ShareId>() else { return HttpResponse::NotFound().finish() };
    let opened = match state.share_links.files() {
        Some(files) => web::block(move || files.open(id)).await.unwrap_or(Err(NotPassed::Unknown)),
        None => Err(NotPassed::Away),
    };
    let Some(BytesAsked { from, to }) = asked.map(web::Query::into_inner) else {
        return HttpResponse::Ok().json(opened.map(|file| file.facts().clone()));
    };
    let Ok(file) = opened else { return HttpResponse::NotFound().finish() };
    let wanted = request.headers().get(header::IF_MATCH).map(|tag| tag.as_bytes());
    let is_same = wanted == Some(file.facts().etag.as_bytes());
    if !is_same || from >= to || to > file.facts().size {
        return HttpResponse::PreconditionFailed().finish();
    }
    HttpResponse::Ok().no_chunking(to - from).streaming(bytes(file, from, to))
}

/// `GET /shared-files/{id}/contents`, for other nodes only: what the page of a share shows.
pub async fn contents(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    id: web::Path<String>,
) -> HttpResponse {
    let (true, Ok(id)) = (is_of_node(&request), id.parse::<ShareId>()) else {
        return HttpResponse::NotFound().finish();
    };
    let looked = match state.share_links.files() {
        Some(files) => web::block(move || files.contents(id)).await,
        None => Ok(Err(NotPassed::Away)),
    };
    HttpResponse::Ok().json(looked.unwrap_or(Err(NotPassed::Unknown)))
}

/// `GET /shared-files/{id}/archive`, for other nodes only.
pub async fn archive(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    id: web::Path<String>,
    asked: web::Query<ArchiveAsked>,
) -> HttpResponse {
    let (true, Ok(id)) = (is_of_node(&request), id.parse::<ShareId>()) else {
        return HttpResponse::NotFound().finish();
    };
    let begun = match state.share_links.files() {
        Some(files) => files.archive(id, asked.checked).await,
        None => Err(NotPassed::Away),
    };
    match begun {
        Ok(archive) => HttpResponse::Ok().streaming(archive_bytes(archive)),
        Err(why) => HttpResponse::Conflict().json(why),
    }
}

fn archive_bytes(
    archive: ArchiveForOther,
) -> impl futures::Stream<Item = Result<Bytes, actix_web::Error>> {
    stream::try_unfold(archive, move |mut archive| async move {
        match archive.next().await {
            Some(bytes) => Ok(Some((Bytes::from(bytes?), archive))),
            None => Ok(None),
        }
    })
}

/// `GET /shared-files/{id}/count`, for other nodes only: counts a download, once for each request id.
pub async fn count(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    id: web::Path<String>,
    asked: web::Query<CountAsked>,
) -> HttpResponse {
    let (id, request_id) = (id.parse::<ShareId>(), asked.request.parse::<u128>());
    let (true, Ok(id), Ok(request_id)) = (is_of_node(&request), id, request_id) else {
        return HttpResponse::NotFound().finish();
    };
    let CountAsked { client, ranged, .. } = asked.into_inner();
    let (client, request) = (ClientKey(client), RequestId(request_id));
    let asked = TakeDownload { id, client, ranged, request };
    let counted: CountedThere = match state.actors.share_expiry.ask(asked).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(ShareError::Refused(why))) => Err(count_refused(&why)),
        Ok(Err(ShareError::Journal(_))) | Err(_) => Err(None),
    };
    HttpResponse::Ok().json(counted)
}

/// The refusal in the form for other nodes. None for one that says nothing about the share: the same request is sent
/// again.
fn count_refused(why: &ShareRefusal) -> Option<CountRefused> {
    match why {
        ShareRefusal::Unknown => Some(CountRefused::Unknown),
        ShareRefusal::Ended { why } => Some(CountRefused::Ended { why: why.word().to_owned() }),
        ShareRefusal::Exhausted => Some(CountRefused::Exhausted),
        _ => None,
    }
}

/// Whether another node opened the stream for itself. A request that it passes on has the address of its client.
fn is_of_node(request: &HttpRequest) -> bool {
    let has_client = request.peer_addr().is_some_and(|client| !client.ip().is_unspecified());
    request.conn_data::<ForwardedBy>().is_some() && !has_client
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
