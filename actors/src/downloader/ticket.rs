//! What lets a worker in: the shared token, and the short-lived tickets for single paths of a
//! data port that are signed with a key derived from it.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

use crate::clock::Millis;

/// Header that carries a ticket: `<expiry in Unix milliseconds>.<hex>`, the latter a keyed BLAKE3
/// hash over the expiry and the path.
pub const TICKET_HEADER: &str = "Reelyard-Ticket";

/// How long a ticket is good. Long enough for clocks that differ by a minute or two.
pub const TICKET_LIFE: Duration = Duration::from_secs(300);

/// Keeps this key apart from any other use of the token.
const KEY_CONTEXT: &str = "reelyard 2026 data port ticket v1";

/// The secret that nodes and workers of one yard share. It never prints.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct WorkerToken(String);

/// A text that an `Authorization` header cannot carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token must be 1 to 1024 visible ASCII characters, without spaces")]
pub struct BadToken;

impl WorkerToken {
    /// Checks that `text` can stand in a header.
    pub fn new(text: impl Into<String>) -> Result<Self, BadToken> {
        let text = text.into();
        let fits = (1..=1024).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(WorkerToken(text)) } else { Err(BadToken) }
    }

    /// The value of an `Authorization` header that carries it.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Whether `header`, the value of an `Authorization` header, carries this token.
    pub fn admits(&self, header: Option<&[u8]>) -> bool {
        let Some(given) = header.and_then(|value| value.strip_prefix(b"Bearer ")) else {
            return false;
        };
        // Hashes compare in constant time; comparing the texts would tell how much was right.
        blake3::hash(given) == blake3::hash(self.0.as_bytes())
    }

    /// The key that signs tickets.
    pub fn ticket_key(&self) -> TicketKey {
        TicketKey(blake3::derive_key(KEY_CONTEXT, self.0.as_bytes()))
    }
}

impl TryFrom<String> for WorkerToken {
    type Error = BadToken;

    fn try_from(text: String) -> Result<Self, BadToken> {
        WorkerToken::new(text)
    }
}

impl fmt::Debug for WorkerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkerToken(not shown)")
    }
}

/// Signs and checks tickets.
#[derive(Clone)]
pub struct TicketKey([u8; 32]);

impl TicketKey {
    /// A ticket for `path`, as it stands in the request line, good until `expires`.
    pub fn sign(&self, path: &[u8], expires: Millis) -> String {
        format!("{}.{}", expires.0, self.signature(path, expires).to_hex())
    }

    /// Whether `ticket` is ours, for `path`, and still good at `now`.
    pub fn admits(&self, path: &[u8], ticket: Option<&[u8]>, now: Millis) -> bool {
        let parts = ticket.and_then(|value| std::str::from_utf8(value).ok()?.split_once('.'));
        let Some((expires, signature)) = parts else { return false };
        let (Ok(expires), Ok(signature)) = (expires.parse(), blake3::Hash::from_hex(signature))
        else {
            return false;
        };
        let expires = Millis(expires);
        // Hashes compare in constant time.
        now < expires && self.signature(path, expires) == signature
    }

    fn signature(&self, path: &[u8], expires: Millis) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&expires.0.to_le_bytes());
        hasher.update(path);
        hasher.finalize()
    }
}

impl fmt::Debug for TicketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TicketKey(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef-token";

    #[test]
    fn a_ticket_is_good_for_one_path_and_until_it_expires() {
        let key = WorkerToken::new(SECRET).unwrap().ticket_key();
        let ticket = key.sign(b"/copies/a%23b", Millis(1000));
        let admits =
            |path: &[u8], ticket: &str, now| key.admits(path, Some(ticket.as_bytes()), Millis(now));
        assert!(admits(b"/copies/a%23b", &ticket, 999));
        assert!(!admits(b"/copies/a%23b", &ticket, 1000), "it has expired");
        assert!(!admits(b"/copies/other", &ticket, 999), "it is for another path");
        let longer = ticket.replacen("1000", "9000", 1);
        assert!(!admits(b"/copies/a%23b", &longer, 999), "its expiry was changed");
        let other = WorkerToken::new("another-token-of-length").unwrap().ticket_key();
        let foreign = other.sign(b"/copies/a%23b", Millis(1000));
        assert!(!admits(b"/copies/a%23b", &foreign, 999), "it was signed with another token");
        for garbled in ["", ".", "1000", "1000.", "x.y", "1000.00"] {
            assert!(!admits(b"/copies/a%23b", garbled, 999), "{garbled}");
        }
        assert!(!key.admits(b"/copies/a%23b", None, Millis(999)));
    }

    #[test]
    fn a_token_admits_its_bearer_and_never_prints() {
        let token = WorkerToken::new(SECRET).unwrap();
        assert!(token.admits(Some(token.bearer().as_bytes())));
        assert!(!token.admits(Some(b"Bearer 0123456789abcdef-tokem")));
        assert!(!token.admits(Some(SECRET.as_bytes())));
        assert!(!token.admits(None));
        assert!(!format!("{token:?} {:?}", token.ticket_key()).contains("0123456789"));
        for bad in ["has a space in it", "newline\nis not allowed", "", "\u{e9}"] {
            assert_eq!(WorkerToken::new(bad), Err(BadToken), "{bad}");
        }
    }
}
