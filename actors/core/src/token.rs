//! The secret that the nodes and workers of one yard share.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The token that nodes and workers share. `Debug` hides the text.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedToken(Arc<str>);

/// A text that cannot be a token. Does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is 16 to 1024 visible ASCII characters without blanks")]
pub struct BadToken;

impl SharedToken {
    /// Checks that `text` is valid in a header and long enough not to be guessed.
    pub fn new(text: &str) -> Result<Self, BadToken> {
        let fits = (16..=1024).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(SharedToken(text.into())) } else { Err(BadToken) }
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
        // Hashes compare in constant time; comparing the texts would reveal how many characters were
        // right.
        blake3::hash(given) == blake3::hash(self.0.as_bytes())
    }

    /// A key for one use of the token. Each use has its own `context` and therefore its own key.
    pub fn derive_key(&self, context: &str) -> [u8; 32] {
        blake3::derive_key(context, self.0.as_bytes())
    }

    /// The text itself. Store it only where it came from.
    pub fn reveal(&self) -> &str {
        &self.0
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
