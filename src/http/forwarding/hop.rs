//! Sends a request to the leader, and passes its answer on.

use std::time::Duration;

use actix_web::body::{BodyStream, BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use actix_web::{HttpMessage, HttpResponse, web};
use futures::{Stream, StreamExt};
use http_body_util::{BodyDataStream, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use reelyard_api::ProblemKind;
use reelyard_cluster::NodeStream;
use reelyard_replication::{CallTarget, CommitError, Leadership, NodeUnreachable};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep, timeout};

use super::ForwardedBy;
use super::leader_routes::needs_leader;
use crate::http::called_name;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// How long a request waits for a leader while there is none.
const LEADER_TIME: Duration = Duration::from_secs(2);

/// Pause before the next attempt to reach a leader.
const RETRY: Duration = Duration::from_millis(100);

/// Headers of one connection. They are not passed on.
const OF_CONNECTION: [HeaderName; 5] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE, header::TRAILER];

/// Why the leader did not answer.
#[derive(Debug, thiserror::Error)]
enum NotForwarded {
    #[error("the connection to the leader failed: {0}")]
    Connection(#[from] std::io::Error),
    #[error("the leader did not answer the request: {0}")]
    Http(#[from] hyper::Error),
    #[error("the request cannot be passed on: {0}")]
    Request(#[from] hyper::http::Error),
}

/// Middleware: answers here if this node leads, and otherwise passes requests for the leader on.
pub async fn to_leader(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let state = request.app_data::<web::Data<NodeHttpState>>().cloned();
    let is_from_node = request.request().conn_data::<ForwardedBy>().is_some();
    let leader = match &state {
        Some(state) if !is_from_node && needs_leader(request.method(), request.path()) => {
            // A request for another server is refused here.
            if called_name::is_foreign(request.request()) { None } else { leader(state).await }
        }
        _ => None,
    };
    let (Some(state), Some(leader)) = (state, leader) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let (stream, leader) = match open(&state, leader).await {
        Ok(opened) => opened,
        Err(error) => {
            tracing::debug!(%error, "a request did not reach the leader");
            return Err(ProblemResponse::from(CommitError::NotLeader { leader: None }).into());
        }
    };
    let payload = request.take_payload();
    match forward(stream, &request, payload).await {
        Ok(answer) => {
            state.cluster.counts().forward();
            Ok(request.into_response(answer))
        }
        Err(error) => {
            tracing::debug!(leader = leader.node, %error, "a request was not answered by the leader");
            let detail = format!(
                "node {} leads, and it gave no answer: {error}. The request may have been carried out: repeat it with \
                 the same request_id",
                leader.node
            );
            Err(ProblemResponse::new(ProblemKind::OutcomeUnknown, detail).into())
        }
    }
}

/// The leader, if another node leads. Waits a moment while there is none.
async fn leader(state: &NodeHttpState) -> Option<CallTarget> {
    let mut leadership = state.journal.leadership();
    let known = leadership.wait_for(|now| *now != Leadership::Nobody);
    let known = match timeout(LEADER_TIME, known).await {
        Ok(Ok(known)) => *known,
        _ => return None,
    };
    let Leadership::Following { leader } = known else { return None };
    let members = state.journal.members();
    let member = members.into_iter().find(|member| member.number == leader)?;
    Some(CallTarget { node: leader, record: member.record })
}

/// A stream to the leader. If it cannot be reached, another node may lead soon. No byte of the request is sent here.
async fn open(
    state: &NodeHttpState,
    mut target: CallTarget,
) -> Result<(NodeStream, CallTarget), NodeUnreachable> {
    let until = Instant::now() + LEADER_TIME;
    loop {
        let opening = state.cluster.transport().open_forward(&target);
        let opened = match timeout(LEADER_TIME, opening).await {
            Ok(opened) => opened,
            Err(_) => Err(NodeUnreachable {
                node: target.node,
                why: format!("it does not answer within {LEADER_TIME:?}"),
            }),
        };
        match opened {
            Ok(stream) => return Ok((stream, target)),
            Err(error) if Instant::now() >= until => return Err(error),
            Err(error) => {
                sleep(RETRY).await;
                target = leader(state).await.ok_or(error)?;
            }
        }
    }
}

async fn forward(
    mut stream: NodeStream,
    request: &ServiceRequest,
    payload: Payload,
) -> Result<HttpResponse, NotForwarded> {
    let client = request.peer_addr().map(|client| client.to_string()).unwrap_or_default();
    stream.write_all(format!("{client}\n").as_bytes()).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    actix_web::rt::spawn(async move {
        // The answer reports the same failure.
        let _ = connection.await;
    });
    let mut builder = hyper::Request::builder()
        .method(request.method().as_str())
        .uri(request.uri().path_and_query().map_or("/", |path| path.as_str()));
    for (name, value) in request.headers() {
        if !OF_CONNECTION.contains(name) {
            builder = builder.header(name.as_str(), value.as_bytes());
        }
    }
    let answer = sender.send_request(builder.body(StreamBody::new(frames(payload)))?).await?;
    Ok(answered(answer))
}

fn frames(
    payload: Payload,
) -> impl Stream<Item = Result<Frame<Bytes>, actix_web::error::PayloadError>> {
    payload.map(|part| part.map(Frame::data))
}

fn answered(answer: hyper::Response<Incoming>) -> HttpResponse {
    let (head, body) = answer.into_parts();
    let status = StatusCode::from_u16(head.status.as_u16()).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = HttpResponse::build(status);
    let mut length = None;
    for (name, value) in &head.headers {
        let name = HeaderName::from_bytes(name.as_str().as_bytes());
        let value = HeaderValue::from_bytes(value.as_bytes());
        let (Ok(name), Ok(value)) = (name, value) else { continue };
        if name == header::CONTENT_LENGTH {
            length = value.to_str().ok().and_then(|text| text.parse::<u64>().ok());
        } else if !OF_CONNECTION.contains(&name) {
            response.append_header((name, value));
        }
    }
    // A body of no bytes would be written as a chunk, also after a status without a body.
    if body.is_end_stream() || length == Some(0) {
        return response.finish();
    }
    if let Some(length) = length {
        response.no_chunking(length);
    }
    response.body(BodyStream::new(BodyDataStream::new(body)))
}
