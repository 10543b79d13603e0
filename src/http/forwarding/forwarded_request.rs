//! A request as it is sent to the leader, more than once if its first answer is lost.

use actix_web::HttpMessage;
use actix_web::dev::{Payload, ServiceRequest};
use actix_web::error::PayloadError;
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::web::{Bytes, BytesMut};
use futures::StreamExt;
use futures::stream::{self, LocalBoxStream};
use http_body_util::StreamBody;
use hyper::body::Frame;
use reelyard_api::{
    API, IDEMPOTENCY_KEY, NamedBody, REPEATED, has_request_id, is_repeatable, new_request_id,
};
use reelyard_protocol::cluster::shared_files::CLIENT_HEADER;

use super::followed_leader::LeaderLost;
use crate::http::problem::ProblemResponse;

/// The longest body that is kept for another attempt.
const KEPT_BODY: usize = 64 << 10;

/// Headers of one connection. They are not passed on.
pub const OF_CONNECTION: [HeaderName; 5] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE, header::TRAILER];

/// Forms that have the secret of an answer, or end the session of the caller: they are not repeated.
const FORMS_DONE_ONCE: [&str; 3] =
    ["/console/access/tokens/", "/console/access/sessions/", "/console/cluster/invite"];

/// The id under which the leader does a request only once.
pub enum RepetitionId {
    /// A member of the body.
    InBody(String),
    /// `Idempotency-Key`.
    InHeader(String),
}

/// Why the leader did not answer.
#[derive(Debug, thiserror::Error)]
pub enum NotForwarded {
    /// The connection failed.
    #[error("the connection to the leader failed: {0}")]
    Connection(#[from] std::io::Error),
    /// The leader sent no answer.
    #[error("the leader did not answer the request: {0}")]
    Http(#[from] hyper::Error),
    /// Its form is not possible in HTTP.
    #[error("the request cannot be passed on: {0}")]
    Request(#[from] hyper::http::Error),
    /// The leader is silent, or leads no longer.
    #[error(transparent)]
    Lost(#[from] LeaderLost),
}

/// The body of a request to the leader.
pub type ForwardedBody = StreamBody<LocalBoxStream<'static, Result<Frame<Bytes>, PayloadError>>>;

/// A request on its way to the leader.
pub struct ForwardedRequest {
    method: Method,
    target: String,
    headers: HeaderMap,
    client: String,
    /// None once a long body was sent.
    body: Option<ForwardedContent>,
    /// Whether it has got its id, if its kind of request can have one.
    is_named: bool,
    /// Whether there was an attempt already. Its answer may be lost.
    was_sent: bool,
    request_id: Option<RepetitionId>,
}

enum ForwardedContent {
    Kept(Bytes),
    /// The first part, which is longer than what is kept, and the rest.
    Streamed(Bytes, Payload),
}

impl ForwardedRequest {
    /// Reads the body if it is short.
    ///
    /// # Errors
    /// The client did not send the body.
    pub async fn of(request: &mut ServiceRequest) -> Result<Self, ProblemResponse> {
        let mut payload = request.take_payload();
        let (mut body, mut is_whole) = (BytesMut::new(), true);
        while let Some(part) = payload.next().await {
            body.extend_from_slice(&part.map_err(ProblemResponse::from)?);
            if body.len() > KEPT_BODY {
                is_whole = false;
                break;
            }
        }
        let body = body.freeze();
        let content = match is_whole {
            true => ForwardedContent::Kept(body),
            false => ForwardedContent::Streamed(body, payload),
        };
        let client = request.peer_addr().map(|client| client.to_string());
        Ok(ForwardedRequest {
            method: request.method().clone(),
            target: request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            headers: request.headers().clone(),
            client: client.unwrap_or_default(),
            body: Some(content),
            is_named: false,
            was_sent: false,
            request_id: None,
        })
    }

    /// Gives it a request id if its kind of request can have one. This node needs none for its own answer.
    pub fn name(&mut self) {
        if std::mem::replace(&mut self.is_named, true) {
            return;
        }
        let path = self.target.split('?').next().unwrap_or_default();
        let has_key = self.headers.contains_key(IDEMPOTENCY_KEY);
        self.request_id = in_header(&mut self.headers, &self.method, path);
        if let Some(ForwardedContent::Kept(body)) = &mut self.body
            && !has_key
            && can_be_named(&self.method, path)
            && let Some(named) = NamedBody::of(body, new_request_id)
        {
            self.headers.insert(header::CONTENT_LENGTH, named.body.len().into());
            *body = named.body.into();
            self.request_id = Some(RepetitionId::InBody(named.id));
        }
    }

    /// Gives the body to the request of the client, which is answered here. If it was sent before, its id is part of it.
    pub fn give_back(&mut self, request: &mut ServiceRequest) {
        match self.body.take() {
            Some(ForwardedContent::Streamed(first, rest)) => {
                let whole: BodyParts = stream::iter([Ok(first)]).chain(rest).boxed_local();
                request.set_payload(Payload::Stream { payload: whole });
            }
            Some(ForwardedContent::Kept(body)) => {
                for name in [header::CONTENT_LENGTH, HeaderName::from_static(IDEMPOTENCY_KEY)] {
                    if let Some(value) = self.headers.get(&name) {
                        request.headers_mut().insert(name, value.clone());
                    }
                }
                request.set_payload(Payload::from(body.clone()));
                self.body = Some(ForwardedContent::Kept(body));
            }
            None => {}
        }
    }

    /// The method of HTTP, as the client sent it.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Its path and query.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Whether it changes nothing.
    pub fn is_read(&self) -> bool {
        self.method.is_safe()
    }

    /// Whether it can be sent once more.
    pub fn is_kept(&self) -> bool {
        matches!(self.body, Some(ForwardedContent::Kept(_)))
    }

    /// Whether the leader does it only once, however often it is sent.
    pub fn is_repeatable(&self) -> bool {
        (self.method.is_safe() || self.request_id.is_some()) && self.is_kept()
    }

    /// The id under which the leader does it only once: that of the client, or a new one.
    pub fn request_id(&self) -> Option<&RepetitionId> {
        self.request_id.as_ref()
    }

    /// Address of the client.
    pub fn client(&self) -> &str {
        &self.client
    }

    /// The request for one attempt.
    ///
    /// # Errors
    /// The request cannot be sent in this form.
    pub fn attempt(&mut self) -> Result<hyper::Request<ForwardedBody>, NotForwarded> {
        let mut builder =
            hyper::Request::builder().method(self.method.as_str()).uri(self.target.as_str());
        for (name, value) in &self.headers {
            if !OF_CONNECTION.contains(name) {
                builder = builder.header(name.as_str(), value.as_bytes());
            }
        }
        builder = builder.header(CLIENT_HEADER, &self.client);
        if std::mem::replace(&mut self.was_sent, true) {
            builder = builder.header(REPEATED, "true");
        }
        let parts: BodyParts = match self.body.take() {
            Some(ForwardedContent::Kept(body)) => {
                self.body = Some(ForwardedContent::Kept(body.clone()));
                let parts = if body.is_empty() { None } else { Some(Ok(body)) };
                stream::iter(parts).boxed_local()
            }
            Some(ForwardedContent::Streamed(first, rest)) => {
                stream::iter([Ok(first)]).chain(rest).boxed_local()
            }
            None => stream::empty().boxed_local(),
        };
        let frames = parts.map(|part| part.map(Frame::data)).boxed_local();
        Ok(builder.body(StreamBody::new(frames))?)
    }
}

type BodyParts = LocalBoxStream<'static, Result<Bytes, PayloadError>>;

/// Whether the body of this call may have a request id.
fn can_be_named(method: &Method, path: &str) -> bool {
    call_in(path).is_some_and(|call| has_request_id(method.as_str(), call.split('/')))
}

/// The id in the header of a change that may be repeated: that of the client, or a new one.
fn in_header(headers: &mut HeaderMap, method: &Method, path: &str) -> Option<RepetitionId> {
    let can_have_one = match call_in(path) {
        Some(call) => is_repeatable(method.as_str(), call.split('/')),
        None => {
            path.starts_with("/console/")
                && !FORMS_DONE_ONCE.iter().any(|form| path.starts_with(form))
        }
    };
    if method.is_safe() || !can_have_one {
        return None;
    }
    let name = HeaderName::from_static(IDEMPOTENCY_KEY);
    let id = match headers.get(&name) {
        Some(given) => given.to_str().ok()?.to_owned(),
        None => {
            let id = new_request_id();
            headers.insert(name, HeaderValue::from_str(&id).ok()?);
            id
        }
    };
    Some(RepetitionId::InHeader(id))
}

/// The path below the API.
fn call_in(path: &str) -> Option<&str> {
    path.strip_prefix(API)?.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use actix_web::body::BodyStream;
    use actix_web::test::TestRequest;
    use reelyard_api::ProblemKind;

    use super::*;

    #[tokio::test]
    async fn a_request_gets_its_id_only_when_it_is_passed_on() {
        let create = r#"{"root":"films","path":"a","ttl":"1h"}"#;
        let request = TestRequest::post().uri("/api/v1/shares?x=1").set_payload(create);
        let mut request = request.to_srv_request();
        let mut forwarded = ForwardedRequest::of(&mut request).await.unwrap();
        assert!(forwarded.request_id().is_none() && !forwarded.is_repeatable());
        forwarded.give_back(&mut request);
        let body = actix_web::body::to_bytes(BodyStream::new(request.take_payload())).await;
        assert_eq!(body.unwrap(), create);
        forwarded.name();
        let Some(RepetitionId::InBody(id)) = forwarded.request_id() else { panic!("no id") };
        let id = id.clone();
        forwarded.name();
        let mut is_repeated = || forwarded.attempt().unwrap().headers().contains_key(REPEATED);
        assert_eq!([is_repeated(), is_repeated()], [false, true]);
        forwarded.give_back(&mut request);
        let body = actix_web::body::to_bytes(BodyStream::new(request.take_payload())).await;
        assert!(str::from_utf8(&body.unwrap()).unwrap().contains(&id), "it is named twice");
    }

    #[test]
    fn only_calls_of_the_api_get_an_id() {
        for (path, expected) in
            [("/api/v1/shares", true), ("/shares", false), ("/api/v1shares", false)]
        {
            assert_eq!(can_be_named(&Method::POST, path), expected, "{path}");
        }
        let id = |method: Method, path: &str| {
            let mut headers = HeaderMap::new();
            let id = in_header(&mut headers, &method, path);
            assert_eq!(headers.contains_key(IDEMPOTENCY_KEY), id.is_some(), "{method} {path}");
            id.is_some()
        };
        for change in ["/api/v1/pools/p", "/api/v1/users/u", "/console/hosts/actions/reset"] {
            assert!(id(Method::DELETE, change) && !id(Method::GET, change), "{change}");
        }
        for form in ["/console/access/tokens/new", "/console/cluster/invite", "/login", "/tasks"] {
            assert!(!id(Method::POST, form), "{form}");
        }
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_refused_as_a_problem() {
        for (error, expected) in [
            (PayloadError::EncodingCorrupted, ProblemKind::BadBody),
            (PayloadError::Overflow, ProblemKind::TooLarge),
        ] {
            let mut request = TestRequest::post().uri("/api/v1/shares").to_srv_request();
            let parts = stream::once(async { Err(error) });
            request.set_payload(Payload::Stream { payload: Box::pin(parts) });
            let refused = ForwardedRequest::of(&mut request).await.err().unwrap();
            assert_eq!(refused.kind(), expected);
        }
    }
}
