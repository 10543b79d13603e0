//! Decisions about sessions and login links. Pure.

use std::time::Duration;

use super::decision_context::{AccessDecision, AccessDecisionContext, not_more_than_own};
use crate::access::messages::{
    BeginSession, EndSession, EndSessionsOf, IssueLoginLink, LoginProof,
};
use crate::access::state::event::{AccessEvent, AccessRefusal, NewSession};
use crate::access::state::values::session::SessionSubject;
use crate::rights::Rights;
use crate::secrets::LinkHash;

/// How long a login link may be used.
pub(in crate::access) const LINK_LASTS: Duration = Duration::from_secs(15 * 60);

/// The subject of a new session, the generation that the login saw, and the used link.
type LoginGrant = (SessionSubject, u64, Option<LinkHash>);

impl AccessDecisionContext<'_> {
    /// Begins a session, if the proof holds.
    pub(in crate::access) fn begin_session(&self, asked: &BeginSession) -> AccessDecision {
        let (subject, generation, link) = self.grant_of(&asked.proof)?;
        let latest = self.now.after(self.settings.max_age);
        // A session outlives no token that began it.
        let token_end = match &subject {
            SessionSubject::Token(name) => {
                self.table.token(name).and_then(|token| token.expires_at)
            }
            SessionSubject::User(_) => None,
        };
        self.decide(AccessEvent::SessionBegun(Box::new(NewSession {
            hash: asked.hash,
            subject,
            generation,
            link,
            ends_at: token_end.map_or(latest, |end| end.min(latest)),
            address: asked.address,
            user_agent: asked.user_agent.clone(),
        })))
    }

    fn grant_of(&self, proof: &LoginProof) -> Result<LoginGrant, AccessRefusal> {
        match proof {
            LoginProof::Password { name, generation } => {
                let user = self.table.known_user(name)?;
                if !user.has_password() {
                    return Err(AccessRefusal::NoPassword { name: name.clone() });
                }
                Ok((SessionSubject::User(name.clone()), *generation, None))
            }
            LoginProof::Token(hash) => {
                let token = self.table.tokens_by_hash.get(hash);
                let token = token.ok_or(AccessRefusal::TokenNotValid)?;
                Ok((SessionSubject::Token(token.name.clone()), token.generation, None))
            }
            LoginProof::Link(hash) => {
                let link = self.table.links.get(hash).ok_or(AccessRefusal::LinkNotValid)?;
                Ok((link.subject.clone(), link.generation, Some(*hash)))
            }
        }
    }

    /// Issues a login link.
    pub(in crate::access) fn issue_link(&self, asked: &IssueLoginLink) -> AccessDecision {
        let IssueLoginLink { hash, subject, by } = asked;
        let (rights, generation) = match subject {
            SessionSubject::User(name) => {
                let user = self.table.known_user(name)?;
                (Rights::Role(user.role), user.generation)
            }
            SessionSubject::Token(name) => {
                let token = self.table.known_token(name)?;
                (token.rights.clone(), token.generation)
            }
        };
        not_more_than_own(by, &rights)?;
        self.decide(AccessEvent::LoginLinkIssued {
            hash: *hash,
            subject: subject.clone(),
            generation,
            expires_at: self.now.after(LINK_LASTS),
            by: by.subject.to_string(),
        })
    }

    /// Ends one session.
    pub(in crate::access) fn end_session(&self, asked: &EndSession) -> AccessDecision {
        if self.table.sessions.get(&asked.hash).is_none() {
            return Ok(Vec::new());
        }
        let by = asked.by.subject.to_string();
        self.decide(AccessEvent::SessionsEnded { sessions: vec![asked.hash], by })
    }

    /// Ends all sessions and login links of a user or token.
    pub(in crate::access) fn end_sessions_of(&self, asked: &EndSessionsOf) -> AccessDecision {
        let (subject, by) = (asked.subject.clone(), asked.by.subject.to_string());
        self.decide(AccessEvent::SessionsOfEnded { subject, by })
    }
}
