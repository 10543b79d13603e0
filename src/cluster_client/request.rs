//! A request of the API that can be sent to any node, more than once.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use reelyard_api::{IDEMPOTENCY_KEY, NamedBody, has_request_id, is_repeatable, new_request_id};
use reelyard_core::names::FileName;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

/// Time limit for the answer to a request that no one has to wait for.
pub const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Whether a request may be sent again although a node may have carried it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// A repetition changes nothing more: a read, or a change that has its end in itself.
    Harmless,
    /// It has a request id, so it is done only once.
    OnceById,
    /// A second one could do it twice.
    Never,
}

/// The parts of a path below the API, and its query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiTarget {
    path: Vec<String>,
    /// The percent-encoded end of the path. A file name may contain any bytes.
    encoded: Option<String>,
    query: Vec<(String, String)>,
}

impl ApiTarget {
    /// `/api/v1/<path>`.
    pub fn of(path: &[&str]) -> Self {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        ApiTarget { path, encoded: None, query: Vec::new() }
    }

    /// `/api/v1/files/<file>/<what>`.
    pub fn of_file(file: &FileName, what: &str) -> Self {
        let encoded = Some(format!("{}/{what}", file.to_percent()));
        ApiTarget { encoded, ..ApiTarget::of(&["files"]) }
    }

    /// The same with a query.
    pub fn with_query(mut self, query: &[(&str, &str)]) -> Self {
        let pairs = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.query = pairs.collect();
        self
    }

    /// The URL at a node.
    pub(super) fn at(&self, node: &Url) -> Url {
        let mut url = node.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["api", "v1"]).extend(&self.path);
        }
        if let Some(encoded) = &self.encoded {
            let path = format!("{}/{encoded}", url.path());
            url.set_path(&path);
        }
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url
    }
}

/// Gives the body of each attempt.
type BodyOfAttempt<'b> = Box<dyn Fn() -> Vec<u8> + Send + Sync + 'b>;

/// A request that can be sent to any node.
pub struct ApiRequest<'b> {
    pub(super) method: Method,
    pub(super) target: ApiTarget,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<BodyOfAttempt<'b>>,
    pub(super) repetition: Repetition,
    pub(super) limit: Duration,
    pub(super) is_stream: bool,
    /// Whether a node may have got it already.
    pub(super) was_sent: AtomicBool,
}

impl<'b> ApiRequest<'b> {
    /// A request without a body. A read may be repeated. A change gets a request id before the first attempt, if its
    /// call can have one.
    pub fn new(method: Method, target: ApiTarget) -> Self {
        let mut headers = HeaderMap::new();
        let path = target.path.iter().map(String::as_str);
        let repetition = if method.is_safe() {
            Repetition::Harmless
        } else if is_repeatable(method.as_str(), path)
            && let Ok(id) = HeaderValue::from_str(&new_request_id())
        {
            headers.insert(HeaderName::from_static(IDEMPOTENCY_KEY), id);
            Repetition::OnceById
        } else {
            Repetition::Never
        };
        ApiRequest {
            method,
            target,
            headers,
            body: None,
            repetition,
            limit: ANSWER_TIME,
            is_stream: false,
            was_sent: AtomicBool::new(false),
        }
    }

    /// A request with a body in JSON. A body that can have a request id gets one.
    pub fn with_json(method: Method, target: ApiTarget, body: Vec<u8>) -> Self {
        let request = ApiRequest::new(method, target);
        let path = request.target.path.iter().map(String::as_str);
        if !has_request_id(request.method.as_str(), path) {
            let repetition = request.repetition;
            return request.with_body(repetition, move || body.clone());
        }
        match NamedBody::of(&body, new_request_id) {
            Some(named) => request.with_body(Repetition::OnceById, move || named.body.clone()),
            // The node refuses it.
            None => request.with_body(Repetition::Never, move || body.clone()),
        }
    }

    /// The request with a body in JSON that `body` writes for each attempt.
    pub fn with_body(
        mut self,
        repetition: Repetition,
        body: impl Fn() -> Vec<u8> + Send + Sync + 'b,
    ) -> Self {
        self.body = Some(Box::new(body));
        self.repetition = repetition;
        self
    }

    /// The request with another time limit for each attempt.
    pub fn within(self, limit: Duration) -> Self {
        ApiRequest { limit, ..self }
    }

    /// The request with a header.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The request for an answer that goes on: its time limit is for the head only.
    pub fn as_stream(self) -> Self {
        ApiRequest { is_stream: true, ..self }
    }
}

impl fmt::Debug for ApiRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.method, self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_for_any_node() {
        let file = FileName::new(b"a b\xff".to_vec()).unwrap();
        let target = ApiTarget::of_file(&file, "pin").with_query(&[("force", "true")]);
        for (node, expected) in [
            ("http://a:1", "http://a:1/api/v1/files/a%20b%FF/pin?force=true"),
            ("https://b:2/below/", "https://b:2/below/api/v1/files/a%20b%FF/pin?force=true"),
        ] {
            assert_eq!(target.at(&Url::parse(node).unwrap()).as_str(), expected);
        }
    }

    #[test]
    fn only_requests_that_are_done_once_may_be_sent_again() {
        let of = |method: Method, path: &[&str]| {
            ApiRequest::with_json(method, ApiTarget::of(path), b"{}".to_vec())
        };
        let share = of(Method::POST, &["shares"]);
        assert_eq!(share.repetition, Repetition::OnceById);
        let body = share.body.unwrap();
        assert!(body() == body() && body().starts_with(b"{\"request_id\":\""));
        assert_eq!(of(Method::POST, &["tokens"]).repetition, Repetition::Never);
        for change in [
            of(Method::PUT, &["pools", "p"]),
            ApiRequest::new(Method::DELETE, ApiTarget::of(&["shares", "x"])),
        ] {
            let id = change.headers.get(IDEMPOTENCY_KEY).map(HeaderValue::len);
            assert_eq!((change.repetition, id), (Repetition::OnceById, Some(32)));
        }
        let read = ApiRequest::new(Method::GET, ApiTarget::of(&["shares"]));
        assert_eq!(read.repetition, Repetition::Harmless);
    }
}
