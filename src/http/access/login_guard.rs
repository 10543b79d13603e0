//! Limits on guessing tokens and passwords, and on the processor time that checks of passwords take.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reelyard_access::throttle::{GuessLimiter, RetryAfter};
use reelyard_api::ProblemKind;
use reelyard_core::clock::Clock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::problem::ProblemResponse;

/// How many passwords are checked at the same time. Each check takes 50 to 300 ms of a core.
const CHECKS_AT_ONCE: usize = 2;

/// The failed attempts on this node. A restart forgets them; the lock of an account is in the journal.
///
/// Tokens and passwords are counted apart, so that a program with an old token does not keep people out who share its
/// address.
#[derive(Debug)]
pub struct LoginGuard {
    /// Unknown tokens and links. A caller with a valid token never takes this lock.
    tokens: Mutex<GuessLimiter>,
    passwords: Mutex<GuessLimiter>,
    checks: Arc<Semaphore>,
}

impl Default for LoginGuard {
    fn default() -> Self {
        let checks = Arc::new(Semaphore::new(CHECKS_AT_ONCE));
        LoginGuard { tokens: Mutex::default(), passwords: Mutex::default(), checks }
    }
}

impl LoginGuard {
    /// Counts an unknown token or link.
    ///
    /// # Errors
    ///
    /// There were too many from this address.
    pub fn admit_token(&self, address: IpAddr, clock: &Clock) -> Result<(), ProblemResponse> {
        let now = clock.reading().monotonic;
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.admit_failure(address, None, now).map_err(ProblemResponse::from)
    }

    /// Counts a password before it is checked, so that attempts at the same time are limited too.
    ///
    /// # Errors
    ///
    /// There were too many wrong ones from this address or for this account.
    pub fn admit_password(
        &self,
        address: IpAddr,
        account: &str,
        clock: &Clock,
    ) -> Result<(), ProblemResponse> {
        let now = clock.reading().monotonic;
        let admitted = self.passwords().admit_failure(address, Some(account), now);
        admitted.map_err(ProblemResponse::from)
    }

    /// An admitted password was right.
    pub fn password_was_right(&self, address: IpAddr, account: &str) {
        self.passwords().record_success(address, Some(account));
    }

    /// Waits until a password may be checked. The check keeps the permit to its end.
    ///
    /// # Errors
    ///
    /// The node is stopping.
    pub async fn check_permit(&self) -> Result<OwnedSemaphorePermit, ProblemResponse> {
        let permit = Arc::clone(&self.checks).acquire_owned().await;
        permit.map_err(|_| ProblemResponse::stopped())
    }

    fn passwords(&self) -> MutexGuard<'_, GuessLimiter> {
        self.passwords.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<RetryAfter> for ProblemResponse {
    fn from(refused: RetryAfter) -> Self {
        let RetryAfter(wait) = refused;
        ProblemResponse::new(ProblemKind::TooManyAttempts, refused.to_string()).retry_after(wait)
    }
}
