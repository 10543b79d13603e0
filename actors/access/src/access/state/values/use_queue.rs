//! The uses that wait to be recorded in the journal.

use std::sync::{Arc, Mutex, PoisonError};

use super::session::Session;
use super::token::Token;

/// How many uses wait at most. The owner takes them every minute. No event depends on it.
const MOST_QUEUED: usize = 65_536;

/// A token or session that was used.
#[derive(Clone, Debug)]
pub(in crate::access) enum UsedCredential {
    Token(Arc<Token>),
    Session(Arc<Session>),
}

/// Readers add uses, and the owner takes them. Clones share the queue.
#[derive(Clone, Debug, Default)]
pub(in crate::access) struct UseQueue(Arc<Mutex<Vec<UsedCredential>>>);

impl UseQueue {
    /// Adds a use. A full queue drops it: the next use of the credential is added again after the owner took all.
    pub(in crate::access) fn push(&self, used: UsedCredential) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() < MOST_QUEUED {
            queue.push(used);
        }
    }

    /// Takes all uses.
    pub(in crate::access) fn take_all(&self) -> Vec<UsedCredential> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
