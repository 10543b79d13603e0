//! Tickets admit a worker at a data port. A ticket is valid for one path of one data port, and until its end. It is
//! signed with a key derived from the token of the source: by the node, or by a worker that shares the token.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::token::SharedToken;

/// Header that carries a ticket: `<expiry in Unix milliseconds>.<hex>`. The latter is a keyed BLAKE3 hash
/// over the expiry, the address of the data port and the path.
pub const TICKET_HEADER: &str = "Reelyard-Ticket";

/// The lifetime of a ticket, long enough for clocks that differ by a minute or two.
pub const TICKET_LIFE: Duration = Duration::from_secs(300);

/// Keeps this key apart from any other use of the token.
const KEY_CONTEXT: &str = "reelyard 2026 data port ticket v2";

/// Signs and checks tickets.
#[derive(Clone)]
pub struct TicketKey([u8; 32]);

impl TicketKey {
    /// The key that the token's bearers share.
    pub fn of(token: &SharedToken) -> Self {
        TicketKey(token.derive_key(KEY_CONTEXT))
    }

    /// A ticket for `path`, in the form of the request line, at the data port `port`, valid until
    /// `expires`.
    pub fn sign(&self, port: SocketAddr, path: &[u8], expires: Millis) -> String {
        format!("{}.{}", expires.0, self.signature(port, path, expires).to_hex())
    }

    /// Whether `ticket` was signed with this key, is for `path` at `port`, and is still valid at `now`.
    pub fn admits(
        &self,
        port: SocketAddr,
        path: &[u8],
        ticket: Option<&[u8]>,
        now: Millis,
    ) -> bool {
        let parts = ticket.and_then(|value| std::str::from_utf8(value).ok()?.split_once('.'));
        let Some((expires, signature)) = parts else { return false };
        let (Ok(expires), Ok(signature)) = (expires.parse(), blake3::Hash::from_hex(signature))
        else {
            return false;
        };
        let expires = Millis(expires);
        // Hashes compare in constant time.
        now < expires && self.signature(port, path, expires) == signature
    }

    fn signature(&self, port: SocketAddr, path: &[u8], expires: Millis) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&expires.0.to_le_bytes());
        let port = SocketAddr::new(port.ip().to_canonical(), port.port()).to_string();
        hasher.update(&(port.len() as u64).to_le_bytes());
        hasher.update(port.as_bytes());
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

    fn key_of(token: &str) -> TicketKey {
        TicketKey::of(&SharedToken::new(token).unwrap())
    }

    /// The second version of tickets. Workers of that version still sign and check them.
    #[test]
    fn sent_bytes_of_a_ticket_stay() {
        let port = "10.0.0.1:8889".parse().unwrap();
        let ticket = key_of(SECRET).sign(port, b"/copies/a%23b", Millis(1000));
        let kept = "1000.091fddd2630e0909b02d3b2436cc13e0c95f5265ee2e2a4ed4dacbf14e0e8920";
        assert_eq!(ticket, kept, "another ticket needs another context, and ports that take both");
    }

    #[test]
    fn a_ticket_is_good_for_one_path_and_until_it_expires() {
        let key = key_of(SECRET);
        let port = "10.0.0.1:8889".parse().unwrap();
        let ticket = key.sign(port, b"/copies/a%23b", Millis(1000));
        let admits = |path: &[u8], ticket: &str, now| {
            key.admits(port, path, Some(ticket.as_bytes()), Millis(now))
        };
        let elsewhere = "10.0.0.2:8889".parse().unwrap();
        let given = Some(ticket.as_bytes());
        assert!(!key.admits(elsewhere, b"/copies/a%23b", given, Millis(999)), "of another port");
        let mapped = "[::ffff:10.0.0.1]:8889".parse().unwrap();
        assert!(key.admits(mapped, b"/copies/a%23b", given, Millis(999)));
        assert!(admits(b"/copies/a%23b", &ticket, 999));
        assert!(!admits(b"/copies/a%23b", &ticket, 1000), "it has expired");
        assert!(!admits(b"/copies/other", &ticket, 999), "it is for another path");
        let longer = ticket.replacen("1000", "9000", 1);
        assert!(!admits(b"/copies/a%23b", &longer, 999), "its expiry was changed");
        let other = key_of("another-token-of-length");
        let foreign = other.sign(port, b"/copies/a%23b", Millis(1000));
        assert!(!admits(b"/copies/a%23b", &foreign, 999), "it was signed with another token");
        for garbled in ["", ".", "1000", "1000.", "x.y", "1000.00"] {
            assert!(!admits(b"/copies/a%23b", garbled, 999), "{garbled}");
        }
        assert!(!key.admits(port, b"/copies/a%23b", None, Millis(999)));
    }
}
