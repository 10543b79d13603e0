//! The secrets of sessions and of links that begin one.

use std::fmt;

use super::random_text;
use super::secret_hash::secret_hash;

/// The use of the key behind the CSRF token of a session.
const CSRF_CONTEXT: &str = "reelyard 2026-11 CSRF token of a session v1";

secret_hash! {
    /// SHA-256 of the text of a session's secret.
    SessionHash
}

secret_hash! {
    /// SHA-256 of the text of a login link's secret.
    LinkHash
}

/// A text that is no secret of a session or link. It does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no secret of a session or link: it is cut or mistyped")]
pub struct BadSecretText;

/// The secret of a session, as its cookie carries it. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionSecret([u8; 32]);

/// The secret of a login link. It begins one session. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkSecret([u8; 32]);

impl SessionSecret {
    /// A secret of these random bytes; [`draw`](super::draw) gives some.
    pub fn new(random: [u8; 32]) -> Self {
        SessionSecret(random)
    }

    /// Reads the value of a cookie.
    ///
    /// # Errors
    /// It is no secret of a session.
    pub fn parse(text: &str) -> Result<Self, BadSecretText> {
        random_text::read(text).map(SessionSecret).ok_or(BadSecretText)
    }

    /// Its hash, for the store and for the look-up.
    pub fn hash(&self) -> SessionHash {
        SessionHash::of_text(&self.reveal())
    }

    /// The text itself: the value of the cookie.
    pub fn reveal(&self) -> String {
        random_text::written(&self.0)
    }

    /// The CSRF token of the session. Pages of the node send it with each change; other sites cannot know it.
    pub fn csrf_token(&self) -> String {
        random_text::written(&blake3::derive_key(CSRF_CONTEXT, &self.0))
    }

    /// Whether `given` is the CSRF token of the session.
    pub fn has_csrf_token(&self, given: &str) -> bool {
        // Hashes compare in constant time; comparing the texts would reveal how many characters were right.
        blake3::hash(given.as_bytes()) == blake3::hash(self.csrf_token().as_bytes())
    }
}

impl LinkSecret {
    /// A secret of these random bytes; [`draw`](super::draw) gives some.
    pub fn new(random: [u8; 32]) -> Self {
        LinkSecret(random)
    }

    /// Reads the secret in a link.
    ///
    /// # Errors
    /// It is no secret of a link.
    pub fn parse(text: &str) -> Result<Self, BadSecretText> {
        random_text::read(text).map(LinkSecret).ok_or(BadSecretText)
    }

    /// Its hash, for the store and for the look-up.
    pub fn hash(&self) -> LinkHash {
        LinkHash::of_text(&self.reveal())
    }

    /// The text itself, as a part of the link.
    pub fn reveal(&self) -> String {
        random_text::written(&self.0)
    }
}

impl fmt::Debug for SessionSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionSecret(not shown)")
    }
}

impl fmt::Debug for LinkSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkSecret(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_from_its_text_only() {
        let secret = SessionSecret::new([7; 32]);
        let text = secret.reveal();
        assert_eq!((text.len(), SessionSecret::parse(&text)), (43, Ok(secret.clone())));
        assert_eq!(SessionSecret::parse(&text).unwrap().hash(), secret.hash());
        for bad in
            ["", &text[1..], &text.repeat(2), &format!("{text}A"), &"+".repeat(43), &"B".repeat(43)]
        {
            assert_eq!(SessionSecret::parse(bad), Err(BadSecretText), "{bad}");
            assert_eq!(LinkSecret::parse(bad), Err(BadSecretText), "{bad}");
        }
        let link = LinkSecret::new([7; 32]);
        assert_eq!(LinkSecret::parse(&link.reveal()), Ok(link.clone()));
        assert!(!format!("{secret:?}{link:?}").contains("Bwc"), "{secret:?}");
    }

    #[test]
    fn each_session_has_a_csrf_token_of_its_own() {
        let (one, other) = (SessionSecret::new([1; 32]), SessionSecret::new([2; 32]));
        assert!(one.has_csrf_token(&one.csrf_token()) && !other.has_csrf_token(&one.csrf_token()));
        assert!(!one.has_csrf_token("") && !one.has_csrf_token(&one.reveal()));
        // Pages that are open during an upgrade still have it.
        assert_eq!(one.csrf_token(), "-d1OGY6vrTkltcy3HQY-_8IWMCBD-kzyoOu1qeEVi0k");
    }
}
