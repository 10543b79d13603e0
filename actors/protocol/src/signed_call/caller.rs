//! The calling side: signs calls to hosts that request a signature.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use reelyard_core::manager::MANAGER_HEADER;
use reelyard_core::token::SharedToken;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Client, Request, Response, StatusCode};

use super::{
    Addressee, CHALLENGE_HEADER, CallText, Challenge, PROOF_HEADER, SIGNATURE_HEADER, Signature,
    proof,
};
use crate::worker::EPOCH_HEADER;

/// A challenge may be replaced during a call. A call is signed again at most this many times.
const MOST_TRIES: usize = 3;

/// Keeps the challenges of the called hosts. Clones share the challenges.
#[derive(Clone, Default)]
pub struct SignedCaller(Arc<Mutex<HashMap<String, Challenge>>>);

/// A call that was answered.
pub struct SignedResponse {
    /// The answer without its proof.
    pub response: Response,
    /// The signature of the call; none if the host requested none.
    call: Option<blake3::Hash>,
}

impl SignedResponse {
    /// The answer with its unread body, and its proof.
    pub fn into_parts(self) -> (Response, AnswerProof) {
        let proof = AnswerProof::of(&self.response, self.call);
        (self.response, proof)
    }
}

/// The text that proves an answer.
#[derive(Clone, Copy, Debug)]
pub struct AnswerProof {
    call: Option<blake3::Hash>,
    given: Option<blake3::Hash>,
    status: u16,
}

impl AnswerProof {
    fn of(response: &Response, call: Option<blake3::Hash>) -> Self {
        let header = response.headers().get(PROOF_HEADER);
        let given = header.and_then(|value| blake3::Hash::from_hex(value.as_bytes()).ok());
        AnswerProof { call, given, status: response.status().as_u16() }
    }

    /// Whether the answer, whose body was `body`, comes from a program that knows the token too.
    pub fn is_good(&self, token: &SharedToken, body: &[u8]) -> bool {
        let expected = self.call.map(|call| proof(token, &call, self.status, body));
        // Hashes compare in constant time.
        expected.is_some() && expected == self.given
    }
}

impl SignedCaller {
    /// Sends a request, signed if the other end requests that and there is a token. The other end never
    /// sees the token.
    ///
    /// # Errors
    /// The result of the exchange by `http`.
    pub async fn send(
        &self,
        http: &Client,
        token: Option<&SharedToken>,
        to: Addressee,
        request: Request,
    ) -> Result<SignedResponse, reqwest::Error> {
        let Some(token) = token else {
            return Ok(SignedResponse { response: http.execute(request).await?, call: None });
        };
        let mut answers = self.known(&request);
        for _ in 1..MOST_TRIES {
            // A body that can be sent only once is not signed. No call in the yard has one.
            let Some(mut attempt) = request.try_clone() else { break };
            let call = answers.and_then(|challenge| sign(token, to, challenge, &mut attempt));
            let response = http.execute(attempt).await?;
            let asked_for = challenge_in(response.headers());
            let wants_another = response.status() == StatusCode::UNAUTHORIZED
                && asked_for.is_some()
                && asked_for != answers;
            if !wants_another {
                return Ok(SignedResponse { response, call });
            }
            answers = asked_for;
            self.remember(&request, asked_for);
        }
        let mut last = request;
        let call = answers.and_then(|challenge| sign(token, to, challenge, &mut last));
        Ok(SignedResponse { response: http.execute(last).await?, call })
    }

    /// The value of [`SIGNATURE_HEADER`] for a call without a body, for callers with an HTTP client of
    /// their own.
    pub fn signature(token: &SharedToken, text: &CallText<'_>, challenge: Challenge) -> String {
        let nonce = fastrand::u128(..);
        Signature::make(token, text, challenge, nonce, blake3::hash(b"")).written()
    }

    fn known(&self, request: &Request) -> Option<Challenge> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(request.url().authority()).copied()
    }

    fn remember(&self, request: &Request, challenge: Option<Challenge>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(challenge) = challenge {
            known.insert(request.url().authority().to_owned(), challenge);
        }
    }
}

fn challenge_in(headers: &HeaderMap) -> Option<Challenge> {
    headers.get(CHALLENGE_HEADER)?.to_str().ok()?.parse().ok()
}

/// Signs a request; answers its signature.
fn sign(
    token: &SharedToken,
    to: Addressee,
    challenge: Challenge,
    request: &mut Request,
) -> Option<blake3::Hash> {
    let url = request.url();
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let header = |name: &str| request.headers().get(name).map_or(&b""[..], HeaderValue::as_bytes);
    let (method, epoch, manager) =
        (request.method().as_str(), header(EPOCH_HEADER), header(MANAGER_HEADER));
    let text = CallText { to, method, target: &target, epoch, manager };
    let body = request.body().and_then(|body| body.as_bytes()).unwrap_or_default();
    let signature =
        Signature::make(token, &text, challenge, fastrand::u128(..), blake3::hash(body));
    let value = HeaderValue::from_str(&signature.written()).ok()?;
    request.headers_mut().insert(SIGNATURE_HEADER, value);
    Some(signature.mac)
}
