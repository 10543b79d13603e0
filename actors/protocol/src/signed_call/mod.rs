//! Calls between the nodes and workers of a yard, signed with keys derived from the shared token.
//!
//! The token itself never leaves a program of the yard: another program may listen at a configured
//! address. People and scripts keep sending `Authorization: Bearer <token>` to a node or worker that they
//! name themselves; they are responsible for that address.
//!
//! The exchange is a challenge and a response:
//!
//! 1. A first call has no credentials. An old cfw or cfm answers it or does not know it, and gets nothing
//!    else. A program of the yard that has a token answers 401 and a challenge in [`CHALLENGE_HEADER`],
//!    drawn from the random numbers of the system.
//! 2. The caller repeats the call with [`SIGNATURE_HEADER`]: `<challenge>.<nonce>.<BLAKE3 of the
//!    body>.<signature>`, and keeps the challenge for its next calls to that address.
//! 3. The receiver computes the keyed BLAKE3 hash over the [`CallText`] itself and compares in constant
//!    time. It refuses a nonce that was used before with the same challenge. If the answer gives orders,
//!    it carries [`PROOF_HEADER`]: this proves that the receiver knows the token as well.
//!
//! A challenge replaces the time of day, so that no clock matters. A host whose clock is an hour off still
//! works, and a recorded call is useless after a restart. The price is one more exchange for the first
//! call, and for one call whenever the challenge changes.
//!
//! The signed text names the addressee. A worker uses its own address, never the `Host` header. So a call
//! to one address is refused at every other address, even if the program there sent another worker's
//! challenge. A node has several names (addresses, DNS, proxies) and cannot know them all: for it the
//! addressee is "a node". A program at a wrong node address could therefore pass a call on to the true
//! node, unchanged and at once. Any device in between could do the same.
//!
//! This neither keeps the content secret nor proves that lists and reports come from the true host. That
//! needs TLS.

mod caller;
mod verifier;

pub use caller::{AnswerProof, SignedCaller, SignedResponse};
pub use verifier::{SignedCallRefused, SignedCallVerifier, VerifiedCall};

use std::fmt;
use std::str::FromStr;

use reelyard_core::host::HostAddr;
use reelyard_core::token::SharedToken;

/// Header of a call: `<challenge>.<nonce>.<BLAKE3 of the body>.<signature>`, all in hex.
pub const SIGNATURE_HEADER: &str = "Reelyard-Signature";

/// Header of a 401: the challenge for the next signature, 32 hex digits.
pub const CHALLENGE_HEADER: &str = "Reelyard-Challenge";

/// Header of an answer to a signed call: proves that the receiver knows the token, 64 hex digits.
pub const PROOF_HEADER: &str = "Reelyard-Proof";

/// Separates the keys from each other, and from any other use of the token.
const CALL_CONTEXT: &str = "reelyard 2026 signed call v1";
const ANSWER_CONTEXT: &str = "reelyard 2026 proof of an answer v1";

/// The addressee of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// The worker with this identity.
    Worker(HostAddr),
    /// Any node of the yard.
    Node,
}

impl fmt::Display for Addressee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Addressee::Worker(host) => write!(f, "worker {host}"),
            Addressee::Node => f.write_str("node"),
        }
    }
}

/// The signed parts of a call, in addition to its challenge, nonce and body.
#[derive(Clone, Copy, Debug)]
pub struct CallText<'a> {
    /// The addressee of the call.
    pub to: Addressee,
    /// The HTTP method.
    pub method: &'a str,
    /// Path and query as in the request line.
    pub target: &'a str,
    /// The value of the header `Reelyard-Epoch`; empty without one.
    pub epoch: &'a [u8],
    /// The value of the header `Reelyard-Manager`; empty without one.
    pub manager: &'a [u8],
}

/// 128 bits, drawn by a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Challenge(u128);

impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A text that is no challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a challenge is 32 hex digits")]
pub struct BadChallenge;

impl FromStr for Challenge {
    type Err = BadChallenge;

    fn from_str(text: &str) -> Result<Self, BadChallenge> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let read = u128::from_str_radix(text, 16).ok().filter(|_| is_hex);
        read.map(Challenge).ok_or(BadChallenge)
    }
}

/// The parts of a signature.
#[derive(Clone, Copy)]
struct Signature {
    challenge: Challenge,
    nonce: u128,
    body: blake3::Hash,
    mac: blake3::Hash,
}

impl Signature {
    fn make(
        token: &SharedToken,
        text: &CallText<'_>,
        challenge: Challenge,
        nonce: u128,
        body: blake3::Hash,
    ) -> Self {
        let mut hasher = blake3::Hasher::new_keyed(&token.derive_key(CALL_CONTEXT));
        let to = text.to.to_string();
        for part in [
            to.as_bytes(),
            text.method.as_bytes(),
            text.target.as_bytes(),
            text.epoch,
            text.manager,
            &challenge.0.to_be_bytes(),
            &nonce.to_be_bytes(),
            body.as_bytes(),
        ] {
            // The lengths keep the parts apart.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Signature { challenge, nonce, body, mac: hasher.finalize() }
    }

    fn read(header: &[u8]) -> Option<Self> {
        let mut parts = std::str::from_utf8(header).ok()?.split('.');
        let challenge = parts.next()?.parse().ok()?;
        let Challenge(nonce) = parts.next()?.parse().ok()?;
        let body = blake3::Hash::from_hex(parts.next()?).ok()?;
        let mac = blake3::Hash::from_hex(parts.next()?).ok()?;
        parts.next().is_none().then_some(Signature { challenge, nonce, body, mac })
    }

    fn written(&self) -> String {
        let Signature { challenge, nonce, body, mac } = self;
        format!("{challenge}.{}.{}.{}", Challenge(*nonce), body.to_hex(), mac.to_hex())
    }
}

/// The proof that the answering program knew the token when it read the call.
fn proof(token: &SharedToken, call: &blake3::Hash, status: u16, body: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_keyed(&token.derive_key(ANSWER_CONTEXT));
    hasher.update(call.as_bytes());
    hasher.update(&status.to_le_bytes());
    hasher.update(body);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first version of signatures and proofs. Programs of that version still make and check them.
    #[test]
    fn sent_bytes_of_a_signed_call_and_its_proof_stay() {
        let token = SharedToken::new("0123456789abcdef-token").unwrap();
        let to = Addressee::Worker("10.0.0.1:8888".parse().unwrap());
        let (method, target) = ("DELETE", "/files/a?x");
        let text = CallText { to, method, target, epoch: b"7", manager: b"ab/1" };
        let body = blake3::hash(b"body");
        let signature = Signature::make(&token, &text, Challenge(5), 6, body);
        let (challenge, nonce) = (format!("{:032x}", 5), format!("{:032x}", 6));
        let kept = "86bd0254aee858cf241978c7d952b74cd950af57b019c93ca0d85cfed2a13bdc";
        assert_eq!(
            signature.written(),
            format!("{challenge}.{nonce}.{}.{kept}", body.to_hex()),
            "another text needs another context, and a receiver that takes both"
        );
        let read = Signature::read(signature.written().as_bytes()).unwrap();
        assert_eq!(read.written(), signature.written());
        let to_node = Signature::make(
            &token,
            &CallText { to: Addressee::Node, ..text },
            Challenge(5),
            6,
            body,
        );
        let proof = proof(&token, &signature.mac, 200, b"answer");
        assert_eq!(
            [to_node.mac.to_hex().as_str(), proof.to_hex().as_str()],
            [
                "4c94a6a93b8f1aded1349b72c5625a88a869a854a3e4c156d6e7513632e8584c",
                "4570d0b9d9c09be4df501b13b0bec3d4350a4d63cd97661ce177591aad0662ee"
            ],
            "another text needs another context, and a receiver that takes both"
        );
    }
}
