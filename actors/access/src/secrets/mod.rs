//! Secrets: their texts, their hashes, and the checks of both. Nothing here is stored except hashes.

mod password;
mod random_text;
mod secret_hash;
mod session_secret;
mod token_hash;
mod token_secret;

pub use password::{
    BadPasswordHash, BadUserPassword, LONGEST_USER_PASSWORD, SHORTEST_USER_PASSWORD,
    UserPasswordHash,
};
pub use random_text::draw;
pub use session_secret::{BadSecretText, LinkHash, LinkSecret, SessionHash, SessionSecret};
pub use token_hash::TokenHash;
pub use token_secret::{BadTokenText, TokenKind, TokenSecret};
