//! The answer of a node.

use std::time::Duration;

use reelyard_api::Problem;
use reqwest::header::{self, HeaderMap};
use reqwest::{Response, StatusCode, Url};

use super::failure::TriedNode;
use super::request::Repetition;

/// The answer of a node, also a refusal.
#[derive(Debug)]
pub struct ApiAnswer {
    /// The node that answered.
    pub node: Url,
    /// Also that of a refusal, or of another program.
    pub status: StatusCode,
    /// When the request can be repeated, if the answer says so.
    pub retry_after: Option<Duration>,
    /// JSON, unless the answer is a stream or comes from another program.
    pub body: AnswerBody,
    /// The nodes that were tried before, and why they could not be used.
    pub tried: Vec<TriedNode>,
    /// Whether one of those may have carried out the request.
    pub was_asked: bool,
}

/// Content that was read, or that is still to be read.
#[derive(Debug)]
pub enum AnswerBody {
    /// The whole body.
    Whole(Vec<u8>),
    /// The body of a stream that begins.
    Stream(Response),
}

impl ApiAnswer {
    pub(super) fn new(node: &Url, status: StatusCode, head: &HeaderMap, body: AnswerBody) -> Self {
        let after = head.get(header::RETRY_AFTER).and_then(|after| after.to_str().ok());
        let retry_after = after.and_then(|after| after.parse().ok()).map(Duration::from_secs);
        let node = node.clone();
        ApiAnswer { node, status, retry_after, body, tried: Vec::new(), was_asked: false }
    }

    /// The problem of a refusal. A refusal of another program has one without a kind.
    pub fn problem(&self) -> Problem {
        let body = match &self.body {
            AnswerBody::Whole(body) => body.as_slice(),
            AnswerBody::Stream(_) => &[],
        };
        serde_json::from_slice(body).unwrap_or_else(|_| Problem {
            kind: "about:blank".to_owned(),
            title: format!("it answered {}", self.status),
            status: self.status.as_u16(),
            detail: String::new(),
            token_file: None,
        })
    }

    /// Why another node is to be asked. None if this answer is the last word.
    pub(super) fn is_to_be_asked_elsewhere(&self, repetition: Repetition) -> Option<Problem> {
        if !self.status.is_server_error() {
            return None;
        }
        let problem = self.problem();
        let may_repeat = repetition != Repetition::Never && problem.leaves_outcome_open();
        (problem.is_of_this_node() || may_repeat).then_some(problem)
    }
}
