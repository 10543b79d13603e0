//! The stored hash of a token.

use std::fmt::Write as _;

use reelyard_core::token::{BadToken, SharedToken};

use super::secret_hash::secret_hash;

secret_hash! {
    /// SHA-256 of the whole text of a token. Tokens are random, so nothing slower is needed.
    TokenHash
}

impl TokenHash {
    /// The key that signs calls between a node and the worker with this token: the hash in hexadecimal digits.
    /// Both sides can compute it.
    ///
    /// # Errors
    /// None in practice: the digits have the form of a shared token.
    pub fn signing_key(&self) -> Result<SharedToken, BadToken> {
        let mut digits = String::with_capacity(64);
        for byte in self.as_bytes() {
            // Writing into a text never fails.
            let _ = write!(digits, "{byte:02x}");
        }
        SharedToken::key(&digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signing_key_is_the_hash_of_the_text_in_digits() {
        let hash = TokenHash::of_text("abc");
        let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.signing_key().unwrap().reveal(), digits);
        assert_eq!(format!("{hash:?}"), "TokenHash(ba7816..)");
    }
}
