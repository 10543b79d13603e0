//! The secret that the nodes and workers of one yard share.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::host::HostAddr;

/// The token that nodes and workers share. `Debug` hides the text.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedToken {
    text: Arc<str>,
    /// Whether it is derived from a worker's own token. Then it signs calls, and is never a bearer text.
    is_key: bool,
}

/// A text that cannot be a token. Does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is 16 to 1024 visible ASCII characters without blanks")]
pub struct BadToken;

impl SharedToken {
    /// Checks that `text` is valid in a header and long enough not to be guessed.
    pub fn new(text: &str) -> Result<Self, BadToken> {
        let fits = (16..=1024).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(SharedToken { text: text.into(), is_key: false }) } else { Err(BadToken) }
    }

    /// The key that signs calls of and to a worker with a token of its own.
    ///
    /// # Errors
    /// The text has another form than a token.
    pub fn key(text: &str) -> Result<Self, BadToken> {
        SharedToken::new(text).map(|token| SharedToken { is_key: true, ..token })
    }

    /// The value of an `Authorization` header that carries it.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.text)
    }

    /// Whether `header`, the value of an `Authorization` header, carries this token.
    pub fn admits(&self, header: Option<&[u8]>) -> bool {
        let Some(given) = header.and_then(|value| value.strip_prefix(b"Bearer ")) else {
            return false;
        };
        // Hashes compare in constant time; comparing the texts would reveal how many characters were
        // right.
        !self.is_key && blake3::hash(given) == blake3::hash(self.text.as_bytes())
    }

    /// A key for one use of the token. Each use has its own `context` and therefore its own key.
    pub fn derive_key(&self, context: &str) -> [u8; 32] {
        blake3::derive_key(context, self.text.as_bytes())
    }

    /// The text itself. Store it only where it came from.
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

impl FromStr for SharedToken {
    type Err = BadToken;

    fn from_str(text: &str) -> Result<Self, BadToken> {
        SharedToken::new(text)
    }
}

impl fmt::Debug for SharedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedToken(not shown)")
    }
}

/// The keys of the workers that have a token of their own. Calls to and from such a worker are signed with its key
/// instead of the shared token. Cheap to clone; without keys by default.
#[derive(Clone)]
pub struct WorkerKeys(Arc<dyn Fn(HostAddr) -> Option<SharedToken> + Send + Sync>);

impl WorkerKeys {
    /// The keys that this look-up finds.
    pub fn new(look_up: impl Fn(HostAddr) -> Option<SharedToken> + Send + Sync + 'static) -> Self {
        WorkerKeys(Arc::new(look_up))
    }

    /// The key of the worker on this host. None if it has no token of its own.
    pub fn of(&self, host: HostAddr) -> Option<SharedToken> {
        (self.0)(host)
    }
}

impl Default for WorkerKeys {
    fn default() -> Self {
        WorkerKeys::new(|_| None)
    }
}

impl fmt::Debug for WorkerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkerKeys(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef-token";

    #[test]
    fn a_token_admits_its_bearer_and_never_prints() {
        let token = SharedToken::new(SECRET).unwrap();
        assert!(token.admits(Some(token.bearer().as_bytes())));
        assert!(!token.admits(Some(b"Bearer 0123456789abcdef-tokem")));
        assert!(!token.admits(Some(SECRET.as_bytes())));
        assert!(!token.admits(None));
        assert!(!format!("{token:?}").contains("0123456789"));
    }

    #[test]
    fn a_short_text_or_one_unfit_for_a_header_is_no_token() {
        for bad in ["", "short", "sixteen chars ok", "zeilenumbruch\nzeilenumbruch"] {
            assert_eq!(SharedToken::new(bad), Err(BadToken), "{bad:?}");
        }
    }
}
