//! Passwords of shares: argon2id hashes, and a cookie per share that remembers a right password.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reelyard_core::address_range::caller_network;
use reelyard_shares::share_expiry::{PasswordHash, Share, ShareId};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::refusal::LinkRefusal;
use super::throttle::Throttle;
use crate::settings::ShareServerSettings;

/// Name of the cookie. Its path separates the cookies of different shares.
pub(crate) const COOKIE: &str = "reelyard-share";

/// Largest length of a password in bytes.
pub const LONGEST_PASSWORD: usize = 1024;

/// Longest wait of a password for its check.
const PATIENCE: Duration = Duration::from_secs(5);

/// Number of right passwords that are remembered, so that each range request needs no new check.
const MOST_KNOWN: usize = 4096;

/// Why a password cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPassword {
    /// Its length is not allowed.
    #[error("a password has 1 to {LONGEST_PASSWORD} bytes")]
    Length,
    /// The system has no random bytes for the salt.
    #[error("the password cannot be hashed: {0}")]
    Failed(String),
}

/// Hashes a password for a new share. Needs about 20 ms of CPU time: do not call it on an async
/// thread.
pub fn hash_password(password: &str) -> Result<PasswordHash, BadPassword> {
    if !(1..=LONGEST_PASSWORD).contains(&password.len()) {
        return Err(BadPassword::Length);
    }
    let failed = |error: String| BadPassword::Failed(error);
    let hash = Argon2::default().hash_password(password.as_bytes());
    let hash = hash.map_err(|error| failed(error.to_string()))?;
    PasswordHash::new(&hash.to_string()).map_err(|error| failed(error.to_string()))
}

/// Checks passwords within limits.
pub(crate) struct Passwords {
    at_once: Arc<Semaphore>,
    by_link: Throttle<ShareId>,
    by_network: Throttle<IpAddr>,
    key: [u8; 32],
    /// Recent right passwords with their clients, as keyed hashes.
    known: Mutex<HashSet<[u8; 32]>>,
}

impl Passwords {
    /// Uses the limits of `settings`; `key` signs the cookies.
    pub(crate) fn new(settings: &ShareServerSettings, key: [u8; 32]) -> Self {
        let (tries, every) = (settings.password_tries, settings.password_every);
        Passwords {
            at_once: Arc::new(Semaphore::new(settings.password_checks.max(1))),
            by_link: Throttle::new(tries, every),
            by_network: Throttle::new(tries, every),
            key,
            known: Mutex::default(),
        }
    }

    /// Whether a cookie header grants access to `share` with its current password.
    pub(crate) fn admits_cookie<'v>(
        &self,
        share: &Share,
        mut headers: impl Iterator<Item = &'v [u8]>,
    ) -> bool {
        let Some(hash) = share.password() else { return true };
        let mark = self.mark(share.id(), hash, &[b"cookie"]);
        headers.any(|header| {
            let mut cookies = header.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
            cookies.any(|cookie| {
                let value = cookie.strip_prefix(COOKIE.as_bytes());
                let value = value.and_then(|rest| rest.strip_prefix(b"="));
                let read = value.and_then(|hex| blake3::Hash::from_hex(hex).ok());
                // The comparison of hashes takes constant time.
                read.is_some_and(|value| value == mark)
            })
        })
    }

    /// The cookie value that grants access to `share` until its password changes.
    pub(crate) fn cookie(&self, share: &Share) -> Option<String> {
        let hash = share.password()?;
        Some(self.mark(share.id(), hash, &[b"cookie"]).to_hex().to_string())
    }

    /// Checks a password that `client` sent for `share`.
    pub(crate) async fn check(
        &self,
        share: &Share,
        given: &[u8],
        client: IpAddr,
    ) -> Result<(), LinkRefusal> {
        let Some(hash) = share.password() else { return Ok(()) };
        let network = caller_network(client);
        // Only clients with a known right password skip the limits. Otherwise throttled guesses
        // would still reveal something.
        let from = network.to_string();
        let mark = self.mark(share.id(), hash, &[b"password", given, from.as_bytes()]);
        let mark = *mark.as_bytes();
        if self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(&mark) {
            return Ok(());
        }
        self.by_network.one(&network).map_err(LinkRefusal::Throttled)?;
        self.by_link.one(&share.id()).map_err(LinkRefusal::Throttled)?;
        let turn = timeout(PATIENCE, Arc::clone(&self.at_once).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(LinkRefusal::NotNow("too many passwords are being checked".into()));
        };
        let (hash, given) = (hash.clone(), given.to_vec());
        let checked = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            is_right(&hash, &given)
        });
        if !checked.await.unwrap_or(false) {
            return Err(LinkRefusal::Password { wrong: true });
        }
        // Only wrong passwords count, because many people may share an address, and one person
        // may open many links.
        self.by_network.give_back(&network);
        self.by_link.give_back(&share.id());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(mark);
        Ok(())
    }

    /// A keyed hash that proves knowledge of the password to this server only.
    fn mark(&self, id: ShareId, hash: &PasswordHash, knows: &[&[u8]]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        let share: [&[u8]; 2] = [&id.0.to_be_bytes(), hash.reveal().as_bytes()];
        for part in share.iter().chain(knows) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize()
    }
}

/// Whether `given` is the password of the hash. Slow by design.
pub fn is_password(hash: &PasswordHash, given: &str) -> bool {
    is_right(hash, given.as_bytes())
}

fn is_right(hash: &PasswordHash, given: &[u8]) -> bool {
    if given.len() > LONGEST_PASSWORD {
        return false;
    }
    match phc::PasswordHash::new(hash.reveal()) {
        Ok(hash) => Argon2::default().verify_password(given, &hash).is_ok(),
        Err(error) => {
            tracing::warn!(%error, "the stored password hash of a share is not valid");
            false
        }
    }
}

/// The password of an `Authorization: Basic` header; the user name is ignored.
pub(crate) fn of_basic(value: &[u8]) -> Option<Vec<u8>> {
    let (scheme, rest) = value.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let decoded = STANDARD.decode(rest.trim_ascii()).ok()?;
    let colon = decoded.iter().position(|&byte| byte == b':')?;
    Some(decoded[colon + 1..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_known_by_its_hash_and_never_by_another() {
        let hash = hash_password("pässword").unwrap();
        assert!(hash.reveal().starts_with("$argon2id$"));
        assert!(is_right(&hash, "pässword".as_bytes()));
        assert!(!is_right(&hash, b"password"));
        assert!(!is_right(&PasswordHash::new("garbage").unwrap(), b"password"));
        assert_eq!(hash_password(""), Err(BadPassword::Length));
        assert_eq!(hash_password(&"x".repeat(LONGEST_PASSWORD + 1)), Err(BadPassword::Length));
    }

    #[test]
    fn basic_authorization_gives_the_password_for_any_user_name() {
        let value = format!("basic {}", STANDARD.encode("any:pass:word"));
        assert_eq!(of_basic(value.as_bytes()).unwrap(), b"pass:word");
        for bad in ["Basic", "Bearer abc", "Basic !!!", "Basic YWJj"] {
            assert_eq!(of_basic(bad.as_bytes()), None, "{bad}");
        }
    }
}
