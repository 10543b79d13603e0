//! Decisions about tokens. Pure.

use reelyard_core::clock::Millis;

use super::decision_context::{
    AccessDecision, AccessDecisionContext, not_more_than_own, not_yourself,
};
use crate::access::messages::{CreateToken, NewTokenEnd, RevokeToken, RotateToken};
use crate::access::state::constants::MOST_RANGES;
use crate::access::state::event::{AccessEvent, AccessRefusal, NewToken, RotatedToken};
use crate::rights::{Rights, Subject, TokenName};

impl AccessDecisionContext<'_> {
    /// Creates a token. For a worker that has one, this may be a rotation.
    pub(in crate::access) fn create_token(&self, asked: &CreateToken) -> AccessDecision {
        let CreateToken { name, hash, rights, expires_at, addresses, replace, by, .. } = asked;
        if name.is_reserved() {
            return Err(AccessRefusal::Reserved { name: name.clone() });
        }
        check_worker(name, rights)?;
        let rights = rights.clone().checked()?;
        if addresses.len() > MOST_RANGES {
            return Err(AccessRefusal::TooManyRanges { count: addresses.len() as u64 });
        }
        self.check_end(*expires_at)?;
        not_more_than_own(by, &rights)?;
        let (name, addresses, by) = (name.clone(), addresses.clone(), by.subject.to_string());
        let is_replaced = *replace && name.worker().is_some() && self.table.token(&name).is_some();
        let (hash, expires_at) = (*hash, *expires_at);
        self.decide(match is_replaced {
            true => AccessEvent::TokenRotated(Box::new(RotatedToken {
                name,
                hash,
                expires_at,
                addresses,
                by,
            })),
            false => AccessEvent::TokenCreated(Box::new(NewToken {
                name,
                hash,
                rights,
                expires_at,
                addresses,
                by,
            })),
        })
    }

    /// Gives a token another secret.
    pub(in crate::access) fn rotate_token(&self, asked: &RotateToken) -> AccessDecision {
        let RotateToken { name, hash, end, by, request: _ } = asked;
        let token = self.table.known_token(name)?;
        // The caller learns the new secret, and so gets its rights.
        not_more_than_own(by, &token.rights)?;
        let expires_at = match end {
            NewTokenEnd::Same => token.expires_at,
            NewTokenEnd::Never => None,
            NewTokenEnd::At(at) => Some(*at),
        };
        self.check_end(expires_at)?;
        self.decide(AccessEvent::TokenRotated(Box::new(RotatedToken {
            name: name.clone(),
            hash: *hash,
            expires_at,
            addresses: token.addresses.clone(),
            by: by.subject.to_string(),
        })))
    }

    /// Removes a token.
    pub(in crate::access) fn revoke_token(&self, asked: &RevokeToken) -> AccessDecision {
        let RevokeToken { name, by, request: _ } = asked;
        not_yourself(by, &Subject::Token(name.clone()))?;
        self.decide(AccessEvent::TokenRevoked { name: name.clone(), by: by.subject.to_string() })
    }

    fn check_end(&self, expires_at: Option<Millis>) -> Result<(), AccessRefusal> {
        match expires_at {
            Some(at) if at <= self.now => Err(AccessRefusal::ExpiresInPast),
            _ => Ok(()),
        }
    }
}

/// A token has the name of a worker's token if and only if it has the rights of that worker.
fn check_worker(name: &TokenName, rights: &Rights) -> Result<(), AccessRefusal> {
    let by_rights = match rights {
        Rights::Worker(host) => Some(*host),
        Rights::Role(_) | Rights::Scopes(_) => None,
    };
    if name.worker() != by_rights {
        return Err(AccessRefusal::NameOfWorker { name: name.clone() });
    }
    Ok(())
}
