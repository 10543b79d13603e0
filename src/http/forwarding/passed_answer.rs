//! The answer of the leader, on its way to the client.

use std::io;

use actix_web::HttpResponse;
use actix_web::body::{BodyStream, BoxBody, MessageBody};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::mime::TEXT_EVENT_STREAM;
use actix_web::web::Bytes;
use futures::future::ready;
use futures::stream::{self, Stream, StreamExt};
use http_body_util::BodyDataStream;
use hyper::body::{Body, Incoming};
use reelyard_journal::Journal;
use reelyard_replication::Leadership;

use super::followed_leader::FollowedLeader;
use super::forwarded_request::OF_CONNECTION;
use super::forwarded_waits::WaitPlace;

/// The same answer for the client. Events of a read end with the lead of their node: the client asks again, and gets
/// those of the next leader. Another body breaks off if its node is lost and sends nothing more. The place is taken until
/// the body has ended.
pub fn passed_on(
    answer: hyper::Response<Incoming>,
    leader: FollowedLeader,
    is_read: bool,
    place: WaitPlace,
) -> HttpResponse {
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
    let parts = BodyDataStream::new(body);
    let answer = response.finish();
    let body = match is_read && has_events(answer.headers()) {
        true => {
            let until = Box::pin(async move { leader.lost().await });
            let whole = parts.take_while(move |part| {
                let _held = &place;
                ready(part.is_ok())
            });
            BodyStream::new(whole.take_until(until)).boxed()
        }
        false => {
            let parts = unless_given_up(parts, leader);
            BodyStream::new(parts.inspect(move |_| _ = &place)).boxed()
        }
    };
    answer.set_body(body)
}

fn unless_given_up(
    parts: BodyDataStream<Incoming>,
    leader: FollowedLeader,
) -> impl Stream<Item = io::Result<Bytes>> {
    let begin = Some((parts, leader));
    Box::pin(stream::unfold(begin, |state| async move {
        let (mut parts, leader) = state?;
        tokio::select! {
            part = parts.next() => match part? {
                Ok(part) => Some((Ok(part), Some((parts, leader)))),
                Err(error) => Some((Err(io::Error::other(error)), None)),
            },
            lost = leader.given_up() => Some((Err(io::Error::other(lost)), None)),
        }
    }))
}

/// Ends the events of this node once another one leads.
pub fn until_another_leads(journal: &Journal, events: BoxBody) -> BoxBody {
    let mut leadership = journal.leadership();
    let began = *leadership.borrow();
    let until = async move {
        let is_another =
            |now: &Leadership| *now != began && matches!(now, Leadership::Following { .. });
        // With the journal the node ends.
        let _ = leadership.wait_for(is_another).await;
    };
    let mut events = Box::pin(events);
    let parts = stream::poll_fn(move |context| events.as_mut().poll_next(context));
    BodyStream::new(parts.take_until(Box::pin(until))).boxed()
}

/// Whether the body of an answer has server-sent events.
pub fn has_events(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(TEXT_EVENT_STREAM.as_ref().as_bytes()))
}
