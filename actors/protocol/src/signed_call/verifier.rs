//! The receiving side: it admits calls.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reelyard_core::token::SharedToken;

use super::{CallText, Challenge, Signature, proof};

/// The lifetime of a challenge. It stays valid until its successor has been replaced.
const HANDED_OUT_FOR: Duration = Duration::from_secs(600);

/// After this many calls a challenge is replaced earlier, so that the nonces to remember take at most
/// about 4 MiB.
const MOST_CALLS: usize = 65_536;

/// Issues challenges and admits each signed call once. Clones share the same state.
#[derive(Clone, Default)]
pub struct SignedCallVerifier(Arc<Mutex<ChallengeWindow>>);

#[derive(Default)]
struct ChallengeWindow {
    now: Option<IssuedChallenge>,
    before: Option<IssuedChallenge>,
}

/// The time of one challenge.
struct IssuedChallenge {
    challenge: Challenge,
    since: Instant,
    /// The nonces of the calls that were admitted.
    used: HashSet<u128>,
}

/// A call that was admitted.
#[derive(Clone, Copy, Debug)]
pub struct VerifiedCall {
    body: blake3::Hash,
    mac: blake3::Hash,
}

/// Why a signed call is refused. The texts are for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignedCallRefused {
    /// The header does not read.
    #[error(
        "the signature is not <challenge>.<nonce>.<hash>.<signature>: the other program has another version"
    )]
    Garbled,
    /// The signature is not that of this call with this token.
    #[error("the call was signed with another token, or for another address")]
    Wrong,
    /// It uses no challenge of the last minutes.
    #[error("the signature uses an old challenge: use the challenge of this answer")]
    Stale,
    /// The same call was already received.
    #[error("this signed call was already received: each call is accepted once")]
    Repeated,
}

impl IssuedChallenge {
    fn new() -> Option<Self> {
        let mut bytes = [0; 16];
        if let Err(error) = getrandom::fill(&mut bytes) {
            tracing::error!(%error, "the system provides no random numbers: signed calls are refused");
            return None;
        }
        let challenge = Challenge(u128::from_be_bytes(bytes));
        Some(IssuedChallenge { challenge, since: Instant::now(), used: HashSet::new() })
    }

    fn is_over(&self) -> bool {
        self.since.elapsed() >= HANDED_OUT_FOR || self.used.len() >= MOST_CALLS
    }
}

impl SignedCallVerifier {
    /// The challenge to issue now. None when the system gives no random numbers.
    pub fn challenge(&self) -> Option<Challenge> {
        let mut rounds = self.rounds();
        if rounds.now.as_ref().is_none_or(IssuedChallenge::is_over) {
            let next = IssuedChallenge::new()?;
            rounds.before = rounds.now.replace(next);
        }
        rounds.now.as_ref().map(|round| round.challenge)
    }

    /// Admits a call, only once. `header` is the value of
    /// [`SIGNATURE_HEADER`](super::SIGNATURE_HEADER). The reader of the body must still check
    /// [`VerifiedCall::covers`].
    ///
    /// # Errors
    /// Why it is refused.
    pub fn admit(
        &self,
        token: &SharedToken,
        text: &CallText<'_>,
        header: &[u8],
    ) -> Result<VerifiedCall, SignedCallRefused> {
        let given = Signature::read(header).ok_or(SignedCallRefused::Garbled)?;
        let expected = Signature::make(token, text, given.challenge, given.nonce, given.body);
        // Hashes compare in constant time.
        if given.mac != expected.mac {
            return Err(SignedCallRefused::Wrong);
        }
        let mut rounds = self.rounds();
        let ChallengeWindow { now, before } = &mut *rounds;
        let mut known = now.iter_mut().chain(before.iter_mut());
        let round = known.find(|round| round.challenge == given.challenge);
        let round =
            round.filter(|round| round.used.len() < MOST_CALLS).ok_or(SignedCallRefused::Stale)?;
        if !round.used.insert(given.nonce) {
            return Err(SignedCallRefused::Repeated);
        }
        Ok(VerifiedCall { body: given.body, mac: given.mac })
    }

    fn rounds(&self) -> MutexGuard<'_, ChallengeWindow> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VerifiedCall {
    /// Whether `body` is the one that was signed.
    pub fn covers(&self, body: &[u8]) -> bool {
        blake3::hash(body) == self.body
    }

    /// The value of [`PROOF_HEADER`](super::PROOF_HEADER) for an answer.
    pub fn prove(&self, token: &SharedToken, status: u16, body: &[u8]) -> String {
        proof(token, &self.mac, status, body).to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Addressee;
    use super::*;

    fn token() -> SharedToken {
        SharedToken::new("0123456789abcdef-token").unwrap()
    }

    fn text(to: &str) -> CallText<'static> {
        let to = Addressee::Worker(to.parse().unwrap());
        let (method, target) = ("DELETE", "/files/a?x");
        CallText { to, method, target, epoch: b"7", manager: b"ab/1" }
    }

    fn signed(gate: &SignedCallVerifier, text: &CallText<'_>, nonce: u128, body: &[u8]) -> String {
        let challenge = gate.challenge().unwrap();
        Signature::make(&token(), text, challenge, nonce, blake3::hash(body)).written()
    }

    #[test]
    fn a_call_is_admitted_once_and_only_as_it_was_signed() {
        let (gate, text) = (SignedCallVerifier::default(), text("10.0.0.1:8888"));
        let header = signed(&gate, &text, 1, b"body");
        let changed = |change: &dyn Fn(&mut CallText<'static>)| {
            let mut other = text;
            change(&mut other);
            gate.admit(&token(), &other, header.as_bytes()).unwrap_err()
        };
        let other_host = Addressee::Worker("10.0.0.2:8888".parse().unwrap());
        for refusal in [
            changed(&|text| text.to = other_host),
            changed(&|text| text.to = Addressee::Node),
            changed(&|text| text.method = "GET"),
            changed(&|text| text.target = "/files/b?x"),
            changed(&|text| text.epoch = b"8"),
            changed(&|text| text.manager = b""),
        ] {
            assert_eq!(refusal, SignedCallRefused::Wrong);
        }
        let other_token = SharedToken::new("another-token-of-length").unwrap();
        let refusal = gate.admit(&other_token, &text, header.as_bytes()).unwrap_err();
        assert_eq!(refusal, SignedCallRefused::Wrong);
        let admitted = gate.admit(&token(), &text, header.as_bytes()).unwrap();
        assert!(admitted.covers(b"body") && !admitted.covers(b"bodY"));
        let again = gate.admit(&token(), &text, header.as_bytes()).unwrap_err();
        assert_eq!(again, SignedCallRefused::Repeated);
        for garbled in ["", ".", "a.b.c.d", &header[1..], &format!("{header}.x")] {
            let refusal = gate.admit(&token(), &text, garbled.as_bytes()).unwrap_err();
            assert_eq!(refusal, SignedCallRefused::Garbled, "{garbled}");
        }
    }

    #[test]
    fn nonces_take_bounded_memory_and_a_restart_forgets_no_refusal() {
        let (gate, text) = (SignedCallVerifier::default(), text("10.0.0.1:8888"));
        let first = gate.challenge().unwrap();
        let recorded = signed(&gate, &text, 0, b"");
        for nonce in 0..MOST_CALLS as u128 {
            let header = signed(&gate, &text, nonce, b"");
            gate.admit(&token(), &text, header.as_bytes()).unwrap();
        }
        assert_ne!(gate.challenge().unwrap(), first);
        let again = gate.admit(&token(), &text, recorded.as_bytes());
        assert_eq!(again.unwrap_err(), SignedCallRefused::Stale, "all its calls were made");
        let rounds = gate.rounds();
        assert!(rounds.before.as_ref().unwrap().used.len() <= MOST_CALLS);
        // A program that was restarted did not issue the challenges from before.
        let restarted = SignedCallVerifier::default();
        let again = restarted.admit(&token(), &text, recorded.as_bytes());
        assert_eq!(again.unwrap_err(), SignedCallRefused::Stale);
    }
}
