//! The text of a token: prefix, 32 random bytes, and a check.
//!
//! The check distinguishes a token that was cut or mistyped from an unknown one.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::random_text::{self, CHARACTERS};
use super::token_hash::TokenHash;

/// Number of characters of the prefix.
const PREFIX: usize = 4;

/// Number of characters of the check: CRC-32C of everything before.
const CHECK: usize = 6;

/// Number of characters of a token.
const LENGTH: usize = PREFIX + CHARACTERS + CHECK;

/// The holders of a token, by its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// For people and programs.
    General,
    /// For the worker of one host.
    Worker,
}

impl TokenKind {
    /// The characters at the beginning of its tokens.
    pub fn prefix(self) -> &'static str {
        match self {
            TokenKind::General => "ryt_",
            TokenKind::Worker => "ryw_",
        }
    }
}

/// A text that is no token. It does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTokenText {
    /// Another beginning.
    #[error("this is no token of Reelyard: a token begins with ryt_ or ryw_")]
    Prefix,
    /// Too short, too long, or other characters.
    #[error("the token is cut or mistyped: it has {LENGTH} characters. Copy it again")]
    Length,
    /// The check does not match.
    #[error("the token is mistyped: its last characters do not match the others. Copy it again")]
    Check,
}

/// The text of a token. `Debug` hides it. Only its holder keeps it; the node keeps the hash.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(String);

impl TokenSecret {
    /// A token of these random bytes; [`draw`](super::draw) gives some.
    pub fn new(kind: TokenKind, random: &[u8; 32]) -> Self {
        let mut text = kind.prefix().to_owned();
        text.push_str(&random_text::written(random));
        text.push_str(&check_of(&text));
        TokenSecret(text)
    }

    /// Reads the text of a token.
    ///
    /// # Errors
    /// It is no token, or was cut or mistyped.
    pub fn parse(text: &str) -> Result<Self, BadTokenText> {
        check(text)?;
        Ok(TokenSecret(text.to_owned()))
    }

    /// Its hash, for the store and for the look-up.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of_text(&self.0)
    }

    /// The text itself. Show it once, and store it only where its holder wants it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSecret(not shown)")
    }
}

impl TokenHash {
    /// The hash of a token in the text of a request. Nothing is allocated.
    ///
    /// # Errors
    /// It is no token, or was cut or mistyped.
    pub fn of_token(text: &str) -> Result<Self, BadTokenText> {
        check(text)?;
        Ok(TokenHash::of_text(text))
    }
}

fn check_of(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(crc32c::crc32c(text.as_bytes()).to_be_bytes())
}

fn check(text: &str) -> Result<TokenKind, BadTokenText> {
    let kinds = [TokenKind::General, TokenKind::Worker];
    let kind = kinds.into_iter().find(|kind| text.starts_with(kind.prefix()));
    let kind = kind.ok_or(BadTokenText::Prefix)?;
    if text.len() != LENGTH || !text.is_ascii() {
        return Err(BadTokenText::Length);
    }
    let (checked, given) = text.split_at(LENGTH - CHECK);
    let mut expected = [0; CHECK];
    let sum = crc32c::crc32c(checked.as_bytes()).to_be_bytes();
    let encoded = URL_SAFE_NO_PAD.encode_slice(sum, &mut expected);
    if encoded != Ok(CHECK) || expected != given.as_bytes() {
        return Err(BadTokenText::Check);
    }
    match random_text::read(&checked[PREFIX..]) {
        Some(_) => Ok(kind),
        None => Err(BadTokenText::Length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(kind: TokenKind) -> TokenSecret {
        TokenSecret::new(kind, &[0xa5; 32])
    }

    #[test]
    fn a_token_keeps_its_text_and_hash() {
        let text = "ryt_paWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaUOm5E8A";
        assert_eq!(token(TokenKind::General).reveal(), text);
        assert_eq!(token(TokenKind::Worker).reveal().len(), LENGTH);
        let read = TokenSecret::parse(text).unwrap();
        assert_eq!(TokenHash::of_token(text), Ok(read.hash()));
        assert_ne!(read.hash(), token(TokenKind::Worker).hash());
    }

    #[test]
    fn a_drawn_token_is_read_and_differs_from_the_next() {
        let drawn = || TokenSecret::new(TokenKind::Worker, &random_text::draw().unwrap());
        let (one, other) = (drawn(), drawn());
        assert_ne!(one, other);
        assert_eq!(TokenSecret::parse(one.reveal()), Ok(one.clone()));
    }

    #[test]
    fn a_debugged_token_hides_its_text() {
        let shown = format!("{:?}", token(TokenKind::General));
        assert!(!shown.contains("paWl"), "{shown}");
    }

    #[test]
    fn each_cut_doubled_or_mistyped_token_is_malformed() {
        let secret = token(TokenKind::General);
        let text = secret.reveal();
        for cut in 0..text.len() {
            assert!(TokenHash::of_token(&text[..cut]).is_err(), "{cut} characters");
            assert!(
                TokenHash::of_token(&text[cut + 1..]).is_err(),
                "without the first {}",
                cut + 1
            );
        }
        for bad in [
            text.repeat(2),
            format!("{text} "),
            format!(" {text}"),
            format!("{text}\n"),
            text.to_uppercase(),
            text.replace("ryt_", "ryw_"),
            format!("Bearer {text}"),
        ] {
            assert!(TokenHash::of_token(&bad).is_err(), "{bad}");
        }
        for at in 4..text.len() {
            let mut mistyped = text.to_owned();
            let other = if &text[at..=at] == "x" { "y" } else { "x" };
            mistyped.replace_range(at..=at, other);
            assert!(TokenHash::of_token(&mistyped).is_err(), "character {at}");
        }
        assert_eq!(TokenSecret::parse("secret"), Err(BadTokenText::Prefix));
        assert_eq!(TokenSecret::parse("ryt_"), Err(BadTokenText::Length));
        let umlauts = format!("ryt_{}", "ü".repeat(24)) + "x";
        assert_eq!(
            (umlauts.len(), TokenSecret::parse(&umlauts)),
            (LENGTH, Err(BadTokenText::Length))
        );
    }
}
