//! Passwords of users, hashed by argon2id. Both functions are slow by design: call them on a thread for blocking
//! work, never on that of an actor.

use std::fmt;
use std::sync::Arc;

use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc};
use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Serialize};

/// The fewest characters of a password.
pub const SHORTEST_USER_PASSWORD: usize = 12;

/// The most characters of a password.
pub const LONGEST_USER_PASSWORD: usize = 1024;

/// The longest stored hash, in bytes. Part of the event version.
const LONGEST_HASH: usize = 256;

/// Memory of one hash, in KiB.
const MEMORY: u32 = 32 * 1024;

/// Passes over that memory. A check takes 50 to 300 ms of one core.
const PASSES: u32 = 4;

/// A hash of no known password, for users without one. A check against it takes as long as any other.
const OF_NOBODY: &str = "$argon2id$v=19$m=32768,t=4,p=1$bm8gdXNlciBoYXMgaXQ$\
                         kD6dHXT6i1SmIGUEQPI4C4cJtuWmYWGIxNZpOKbYsOw";

/// Why a password cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadUserPassword {
    /// Its length is not allowed.
    #[error(
        "a password has {SHORTEST_USER_PASSWORD} to {LONGEST_USER_PASSWORD} characters: choose another one"
    )]
    Length,
    /// The system has no random bytes for the salt, or no memory.
    #[error("the password cannot be hashed: {0}")]
    Failed(String),
}

/// A text that is no stored hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no hash of a password: expected an argon2id hash in the PHC form")]
pub struct BadPasswordHash;

/// The hash of a user's password: argon2id, in the PHC form. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UserPasswordHash(Arc<str>);

impl UserPasswordHash {
    /// Hashes a new password. Slow by design.
    ///
    /// # Errors
    /// The password is too short or too long, or the system has no random bytes.
    pub fn of(password: &str) -> Result<Self, BadUserPassword> {
        let allowed = SHORTEST_USER_PASSWORD..=LONGEST_USER_PASSWORD;
        if !allowed.contains(&password.chars().count()) {
            return Err(BadUserPassword::Length);
        }
        let failed = |error: String| BadUserPassword::Failed(error);
        let params = Params::new(MEMORY, PASSES, 1, None);
        let params = params.map_err(|error| failed(error.to_string()))?;
        let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let hash = hasher.hash_password(password.as_bytes());
        let hash = hash.map_err(|error| failed(error.to_string()))?.to_string();
        Ok(UserPasswordHash(hash.into()))
    }

    /// The hash for users without a password. No password is known that matches it.
    pub fn of_nobody() -> Self {
        UserPasswordHash(OF_NOBODY.into())
    }

    /// Whether `given` is the password. Slow by design, with the parameters of the hash.
    pub fn is_password(&self, given: &str) -> bool {
        // Longer texts are no passwords; their hashing would only cost time.
        if given.len() > LONGEST_USER_PASSWORD * 4 {
            return false;
        }
        match phc::PasswordHash::new(&self.0) {
            Ok(hash) => Argon2::default().verify_password(given.as_bytes(), &hash).is_ok(),
            Err(error) => {
                tracing::warn!(%error, "the stored hash of a user's password is not valid: set the password again");
                false
            }
        }
    }
}

impl TryFrom<String> for UserPasswordHash {
    type Error = BadPasswordHash;

    fn try_from(text: String) -> Result<Self, BadPasswordHash> {
        let fits = text.len() <= LONGEST_HASH && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(UserPasswordHash(text.into())) } else { Err(BadPasswordHash) }
    }
}

impl From<UserPasswordHash> for String {
    fn from(hash: UserPasswordHash) -> String {
        hash.0.as_ref().to_owned()
    }
}

impl fmt::Debug for UserPasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserPasswordHash(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_known_by_its_hash_only() {
        let hash = UserPasswordHash::of("correct pässword").unwrap();
        assert!(hash.is_password("correct pässword"));
        assert!(!hash.is_password("correct password") && !hash.is_password(""));
        assert!(!hash.is_password(&"x".repeat(100_000)));
        assert_ne!(hash, UserPasswordHash::of("correct pässword").unwrap(), "each has its salt");
        assert!(!format!("{hash:?}").contains("argon2"));
        let stored = String::from(hash.clone());
        assert!(stored.starts_with("$argon2id$v=19$m=32768,t=4,p=1$"), "{stored}");
        assert_eq!(UserPasswordHash::try_from(stored), Ok(hash));
    }

    #[test]
    fn a_password_has_twelve_to_1024_characters() {
        for bad in ["", "elevenchars", &"x".repeat(1025)] {
            assert_eq!(UserPasswordHash::of(bad), Err(BadUserPassword::Length), "{bad}");
        }
        assert!(UserPasswordHash::of("twelve chars").is_ok());
        assert!(UserPasswordHash::of("zwölf Zeichen").is_ok());
    }

    #[test]
    fn a_stored_hash_that_is_none_matches_no_password() {
        let garbage = UserPasswordHash::try_from("garbage".to_owned()).unwrap();
        assert!(!garbage.is_password("garbage"));
        for bad in ["a b", "a\n", &"x".repeat(257)] {
            assert_eq!(UserPasswordHash::try_from(bad.to_owned()), Err(BadPasswordHash), "{bad:?}");
        }
    }

    #[test]
    fn the_check_for_nobody_has_the_same_parameters() {
        let parse = |hash: &UserPasswordHash| {
            let hash = phc::PasswordHash::new(&hash.0).unwrap();
            (hash.algorithm, hash.version, hash.params, hash.hash.unwrap().len())
        };
        let hash = UserPasswordHash::of("twelve chars").unwrap();
        assert_eq!(parse(&UserPasswordHash::of_nobody()), parse(&hash));
        assert!(!UserPasswordHash::of_nobody().is_password("twelve chars"));
    }
}
