//! A request as it is sent to the leader, more than once if its first answer is lost.

use actix_web::HttpMessage;
use actix_web::dev::{Payload, ServiceRequest};
use actix_web::error::PayloadError;
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderMap, HeaderName};
use actix_web::web::{Bytes, BytesMut};
use futures::StreamExt;
use futures::stream::{self, LocalBoxStream};
use http_body_util::StreamBody;
use hyper::body::Frame;
use serde_json::{Map, Value};

use crate::http::api::API;

/// The longest body that is kept for another attempt.
const KEPT_BODY: usize = 64 << 10;

/// Headers of one connection. They are not passed on.
pub const OF_CONNECTION: [HeaderName; 5] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE, header::TRAILER];

/// The calls of the API whose body has a `request_id`, and whose repetition gets the first answer again. A part `*`
/// is any one.
const NAMED: [(&str, &str); 6] = [
    ("POST", "/shares"),
    ("PATCH", "/shares/*"),
    ("POST", "/files/move"),
    ("POST", "/users"),
    ("PATCH", "/users/*"),
    ("POST", "/pools/*/leases"),
];

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
    /// Another node leads, and the former leader is silent.
    #[error("it leads no longer, and has not answered")]
    Deposed,
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
    /// The id under which the leader does it only once.
    request_id: Option<String>,
}

enum ForwardedContent {
    Kept(Bytes),
    /// The first part, which is longer than what is kept, and the rest.
    Streamed(Bytes, Payload),
}

impl ForwardedRequest {
    /// Reads the body if it is short, and gives it a request id if its kind of request can have one.
    ///
    /// # Errors
    /// The client did not send the body.
    pub async fn of(request: &mut ServiceRequest) -> Result<Self, PayloadError> {
        let mut payload = request.take_payload();
        let (mut body, mut is_whole) = (BytesMut::new(), true);
        while let Some(part) = payload.next().await {
            body.extend_from_slice(&part?);
            if body.len() > KEPT_BODY {
                is_whole = false;
                break;
            }
        }
        let body = body.freeze();
        let mut headers = request.headers().clone();
        let mut request_id = None;
        let content = if is_whole {
            let mut kept = body;
            if has_request_id(request.method(), request.path())
                && let Some(named) = with_request_id(&kept)
            {
                headers.insert(header::CONTENT_LENGTH, named.body.len().into());
                (kept, request_id) = (named.body, Some(named.id));
            }
            ForwardedContent::Kept(kept)
        } else {
            ForwardedContent::Streamed(body, payload)
        };
        let client = request.peer_addr().map(|client| client.to_string());
        Ok(ForwardedRequest {
            method: request.method().clone(),
            target: request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            headers,
            client: client.unwrap_or_default(),
            body: Some(content),
            request_id,
        })
    }

    /// Gives the body to the request of the client, which is answered here. A new request id is part of it.
    pub fn give_back(&mut self, request: &mut ServiceRequest) {
        match self.body.take() {
            Some(ForwardedContent::Streamed(first, rest)) => {
                let whole: BodyParts = stream::iter([Ok(first)]).chain(rest).boxed_local();
                request.set_payload(Payload::Stream { payload: whole });
            }
            Some(ForwardedContent::Kept(body)) => {
                if let Some(length) = self.headers.get(header::CONTENT_LENGTH) {
                    request.headers_mut().insert(header::CONTENT_LENGTH, length.clone());
                }
                request.set_payload(Payload::from(body.clone()));
                self.body = Some(ForwardedContent::Kept(body));
            }
            None => {}
        }
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
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
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
fn has_request_id(method: &Method, path: &str) -> bool {
    let Some(call) = path.strip_prefix(API) else { return false };
    NAMED.iter().any(|(of, pattern)| {
        let mut parts = pattern.split('/');
        let is_same =
            |part: &str| parts.next().is_some_and(|wanted| wanted == "*" || wanted == part);
        *of == method.as_str() && call.split('/').all(is_same) && parts.next().is_none()
    })
}

/// A body with its request id.
#[derive(Debug, PartialEq, Eq)]
struct NamedBody {
    body: Bytes,
    id: String,
}

/// The body with a request id: its own, or a new one before all other members. Otherwise its text stays, so that the
/// leader refuses what it refuses in a body that comes directly. None if it is no object in JSON.
fn with_request_id(body: &Bytes) -> Option<NamedBody> {
    let object: Map<String, Value> = serde_json::from_slice(body).ok()?;
    match object.get("request_id") {
        Some(Value::String(own)) => return Some(NamedBody { body: body.clone(), id: own.clone() }),
        Some(_) => return None,
        None => {}
    }
    let id = format!("{:032x}", fastrand::u128(..));
    let begin = body.iter().position(|byte| *byte == b'{')? + 1;
    let (before, members) = body.split_at_checked(begin)?;
    let separator = if object.is_empty() { "" } else { "," };
    let member = format!("\"request_id\":\"{id}\"{separator}");
    Some(NamedBody { body: [before, member.as_bytes(), members].concat().into(), id })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(body: &'static str) -> Option<NamedBody> {
        with_request_id(&Bytes::from_static(body.as_bytes()))
    }

    #[test]
    fn a_request_without_an_id_gets_one() {
        for (body, rest) in [
            (r#"{"path": "a"}"#, r#""path": "a"}"#),
            (" {\n \"path\" : 1.0 }", "\n \"path\" : 1.0 }"),
            ("{ }", " }"),
        ] {
            let NamedBody { body: given, id } = named(body).unwrap();
            let text = str::from_utf8(&given).unwrap();
            assert!(id.len() == 32 && text.ends_with(rest), "{text}");
            let read: Value = serde_json::from_str(text).unwrap();
            assert_eq!(read["request_id"], id);
        }
        assert_ne!(named("{}"), named("{}"));
        let own = r#"{"request_id": "mine"}"#;
        let kept = NamedBody { body: Bytes::from_static(own.as_bytes()), id: "mine".to_owned() };
        assert_eq!(named(own), Some(kept));
        for other in ["[1]", "{", r#"{"request_id": null}"#, r#"{"request_id": 7}"#] {
            assert_eq!(named(other), None, "{other}");
        }
    }

    #[test]
    fn a_member_that_occurs_twice_stays_twice() {
        let body = named(r#"{"path": "a", "path": "b"}"#).unwrap().body;
        let text = str::from_utf8(&body).unwrap();
        assert_eq!(text.matches("path").count(), 2, "{text}");
    }

    #[test]
    fn only_bodies_that_may_have_an_id_get_one() {
        for (method, path, expected) in [
            (Method::POST, "/api/v1/shares", true),
            (Method::PATCH, "/api/v1/shares/x", true),
            (Method::POST, "/api/v1/pools/p/leases", true),
            (Method::GET, "/api/v1/shares", false),
            (Method::POST, "/api/v1/shares/x", false),
            (Method::POST, "/api/v1/shares/revoke", false),
            (Method::POST, "/api/v1/tokens", false),
            (Method::POST, "/shares", false),
        ] {
            assert_eq!(has_request_id(&method, path), expected, "{method} {path}");
        }
    }
}
