//! Work without a request: recent uses go on record, and ended credentials are removed. Pure.

use std::time::Duration;

use reelyard_core::clock::Millis;

use super::decision_context::AccessDecisionContext;
use crate::access::state::event::{AccessEvent, RecordedUse};
use crate::access::state::values::use_queue::UsedCredential;
use crate::rights::TokenName;
use crate::secrets::{LinkHash, SessionHash};

/// The name of the owner in its own events.
const BY: &str = "access";

/// How long an expired token stays in the list. Its holder learns that it has expired.
const KEEP_EXPIRED: Duration = Duration::from_secs(30 * 24 * 3600);

/// How many tokens one event names, so that it fits into an entry of the journal.
pub const TOKENS_AT_ONCE: usize = 200;

/// How many sessions one event names.
pub const SESSIONS_AT_ONCE: usize = 500;

/// How many sessions, tokens and links one tick removes of each kind.
const REMOVED_AT_ONCE: usize = 2000;

impl AccessDecisionContext<'_> {
    /// Events that record these uses.
    pub(in crate::access) fn record_uses(&self, used: &[UsedCredential]) -> Vec<AccessEvent> {
        let (mut uses, mut seen) = (Vec::new(), Vec::new());
        for credential in used {
            match credential {
                UsedCredential::Token(token) => {
                    let last = token.uses.take_queued();
                    uses.extend(last.map(|last| RecordedUse {
                        name: token.name.clone(),
                        generation: token.generation,
                        at: last.at,
                        address: last.address,
                    }));
                }
                UsedCredential::Session(session) => {
                    let last = session.uses.take_queued();
                    seen.extend(last.map(|last| (session.hash, last.at)));
                }
            }
        }
        let uses = uses.chunks(TOKENS_AT_ONCE);
        let uses = uses.map(|uses| AccessEvent::UsesRecorded { uses: uses.to_vec() });
        let seen = seen.chunks(SESSIONS_AT_ONCE);
        let seen = seen.map(|seen| AccessEvent::SessionsSeen { seen: seen.to_vec() });
        uses.chain(seen).collect()
    }

    /// Events that remove sessions and links which have ended, and tokens which expired long ago.
    pub(in crate::access) fn remove_ended(&self) -> Vec<AccessEvent> {
        let mut events = Vec::new();
        for sessions in self.ended_sessions().chunks(SESSIONS_AT_ONCE) {
            let sessions = sessions.to_vec();
            events.push(AccessEvent::SessionsEnded { sessions, by: BY.to_owned() });
        }
        for tokens in self.old_tokens().chunks(TOKENS_AT_ONCE) {
            events.push(AccessEvent::TokensForgotten { tokens: tokens.to_vec() });
        }
        let links = self.table.links.iter().filter(|(_, link)| self.now >= link.expires_at);
        let links: Vec<LinkHash> = links.map(|(hash, _)| *hash).collect();
        if !links.is_empty() {
            events.push(AccessEvent::LoginLinksForgotten { links });
        }
        events
    }

    /// Sessions that are refused now, because of their age or for lack of use.
    fn ended_sessions(&self) -> Vec<SessionHash> {
        let idle_since = self.now.before(self.settings.idle);
        let by_use = self.table.sessions_by_use.iter();
        let idle = by_use.take_while(|(recorded, _)| *recorded <= idle_since);
        let is_idle = |hash: &SessionHash| {
            let session = self.table.sessions.get(hash);
            session.is_some_and(|session| session.last_seen_at() <= idle_since)
        };
        let idle = idle.map(|(_, hash)| *hash).filter(is_idle);
        let by_end = self.table.sessions_by_end.iter();
        let old = by_end.take_while(|(end, _)| *end <= self.now).map(|(_, hash)| *hash);
        let mut ended: Vec<SessionHash> =
            idle.take(REMOVED_AT_ONCE).chain(old.take(REMOVED_AT_ONCE)).collect();
        ended.sort_unstable();
        ended.dedup();
        ended
    }

    /// Tokens that expired long ago, with their generations.
    fn old_tokens(&self) -> Vec<(TokenName, u64)> {
        let before: Millis = self.now.before(KEEP_EXPIRED);
        let old = self.table.tokens_by_end.iter().take_while(|(end, _)| *end <= before);
        let tokens = old.filter_map(|(_, name)| self.table.token(name)).take(REMOVED_AT_ONCE);
        tokens.map(|token| (token.name.clone(), token.generation)).collect()
    }
}
