//! Decisions about the token of the first administrator. Pure.

use super::decision_context::{AccessDecision, AccessDecisionContext};
use crate::access::state::event::{AccessEvent, NewToken, RotatedToken};
use crate::rights::{Rights, Role, Subject, TokenName};
use crate::secrets::TokenHash;

impl AccessDecisionContext<'_> {
    /// Creates the administrator's token, if nobody can administrate the yard.
    pub(in crate::access) fn ensure_admin(&self, hash: TokenHash) -> AccessDecision {
        if self.table.has_admin_credential() {
            return Ok(Vec::new());
        }
        self.recover_admin(hash)
    }

    /// Gives the administrator's token another secret, or creates it.
    pub(in crate::access) fn recover_admin(&self, hash: TokenHash) -> AccessDecision {
        let (name, by) = (TokenName::admin(), Subject::Node.to_string());
        let (expires_at, addresses) = (None, Vec::new());
        self.decide(match self.table.token(&name) {
            Some(_) => AccessEvent::TokenRotated(Box::new(RotatedToken {
                name,
                hash,
                expires_at,
                addresses,
                by,
            })),
            None => AccessEvent::TokenCreated(Box::new(NewToken {
                name,
                hash,
                rights: Rights::Role(Role::Admin),
                expires_at,
                addresses,
                by,
            })),
        })
    }
}
