//! The part of a query that says how current the answer must be.

use actix_web::dev::ServiceRequest;
use actix_web::error::HttpError;
use actix_web::http::Uri;
use actix_web::http::uri::PathAndQuery;
use actix_web::web;
use reelyard_api::Span;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use utoipa::{IntoParams, ToSchema};

use crate::http::api::call_parts::bad_query;
use crate::http::problem::ProblemResponse;

/// The parameters. Every read has them.
const NAMES: [&str; 3] = ["consistency", "min_applied", "max_staleness"];

/// The node that must agree to a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReadConsistency {
    /// The answer has every change that was acknowledged before the request.
    Leader,
}

/// How current the answer to a read must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReadPromise {
    /// `leader`: the leader confirms its rank first, so the answer has every change that was acknowledged before the
    /// request. 503 `not-leader` without a leader.
    #[param(inline)]
    pub consistency: Option<ReadConsistency>,
    /// The answer shows at least this entry of the journal. Use `Reelyard-Applied` of a change, to read that change at
    /// another node. 503 `behind` after 3 s.
    #[serde(default, deserialize_with = "entry_index")]
    pub min_applied: Option<u64>,
    /// The answer is at most this old, as in "2s". Otherwise 503 `stale`.
    #[param(value_type = Option<String>)]
    pub max_staleness: Option<Span>,
}

fn entry_index<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong =
        |_| D::Error::custom(format!("min_applied: expected an index as in 1207, not \"{text}\""));
    text.parse().map(Some).map_err(wrong)
}

impl ReadPromise {
    /// Takes the parameters out of the query of a request.
    ///
    /// # Errors
    /// One of them has another form, or occurs twice.
    pub fn take(request: &mut ServiceRequest) -> Result<Self, ProblemResponse> {
        let is_promise =
            |part: &&str| part.split('=').next().is_some_and(|name| NAMES.contains(&name));
        let parts = request.query_string().split('&');
        let (promise, rest): (Vec<&str>, Vec<&str>) = parts.partition(is_promise);
        if promise.is_empty() {
            return Ok(ReadPromise::default());
        }
        let read = web::Query::<ReadPromise>::from_query(&promise.join("&"));
        let promise = read.map_err(|error| bad_query(&error))?.into_inner();
        let path = match rest.join("&") {
            none if none.is_empty() => request.path().to_owned(),
            rest => format!("{}?{rest}", request.path()),
        };
        let uri = with_path(request.uri(), path)
            .map_err(|error| ProblemResponse::bad_request(format!("the query: {error}")))?;
        request.head_mut().uri = uri;
        Ok(promise)
    }
}

fn with_path(uri: &Uri, path: String) -> Result<Uri, HttpError> {
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::from_maybe_shared(path)?);
    Ok(Uri::from_parts(parts)?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actix_web::test::TestRequest;

    use super::*;

    fn take(uri: &str) -> (Result<ReadPromise, String>, String) {
        let mut request = TestRequest::get().uri(uri).to_srv_request();
        let promise = ReadPromise::take(&mut request);
        let promise = promise.map_err(|refusal| refusal.problem().detail.clone());
        (promise, request.uri().to_string())
    }

    #[test]
    fn a_promise_leaves_the_query_and_the_rest_stays() {
        let leader = Some(ReadConsistency::Leader);
        let second = Some(Span(Duration::from_millis(1500)));
        for (uri, promise, rest) in [
            ("/a/%2F", ReadPromise::default(), "/a/%2F"),
            ("/a?b=%26c&d", ReadPromise::default(), "/a?b=%26c&d"),
            (
                "/a/%2F?consistency=leader",
                ReadPromise { consistency: leader, ..ReadPromise::default() },
                "/a/%2F",
            ),
            (
                "/a?b=%26c&min_applied=7&d&max_staleness=1s%20500ms",
                ReadPromise {
                    min_applied: Some(7),
                    max_staleness: second,
                    ..ReadPromise::default()
                },
                "/a?b=%26c&d",
            ),
        ] {
            assert_eq!(take(uri), (Ok(promise), rest.to_owned()), "{uri}");
        }
    }

    #[test]
    fn a_promise_of_another_form_is_refused_in_words() {
        for (uri, words) in [
            ("/a?consistency=quorum", "leader"),
            ("/a?min_applied=-1", "min_applied"),
            ("/a?min_applied=1&min_applied=2", "duplicate"),
            ("/a?max_staleness=soon", "is not a duration"),
        ] {
            let refused = take(uri).0.unwrap_err();
            assert!(refused.contains(words), "{uri}: {refused}");
        }
    }
}
