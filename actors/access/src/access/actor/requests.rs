//! Requests of people and programs, and of the node.

use std::sync::Arc;

use actix::{Context, Handler};
use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_replication::{Outcomes, OwnerReply, OwnerRequests, RequestContext, reply_now};

use super::AccessActor;
use crate::access::messages::{
    AccessError, AddUser, BeginSession, ChangeUser, CreateToken, EndSession, EndSessionsOf,
    EnsureAdmin, IssueLoginLink, RecoverAdmin, RemoveUser, ReportWrongPassword, RevokeToken,
    RotateToken,
};
use crate::access::policy::decision_context::{AccessDecision, AccessDecisionContext};
use crate::access::state::access_table::AccessTable;
use crate::access::state::event::{AccessEvent, AccessOutcome, AccessRefusal};
use crate::access::state::values::session::Session;
use crate::access::state::values::token::Token;
use crate::access::state::values::user::User;
use crate::rights::{Caller, Subject, TokenName, UserName};
use crate::secrets::TokenHash;

type AccessReply<T> = OwnerReply<AccessActor, T, AccessError>;

impl AccessActor {
    /// Answers a request of `by` with `decide` and `read`, unless another request has its id.
    fn answer_access_request<T: 'static>(
        &mut self,
        asked: RequestContext,
        decide: impl FnOnce(&AccessDecisionContext<'_>) -> AccessDecision,
        read: impl FnOnce(&Self, bool) -> Result<T, AccessError> + 'static,
    ) -> AccessReply<T> {
        if self.replica.means_another(asked.request) {
            return reply_now(Err(AccessRefusal::OtherRequest.into()));
        }
        let by = asked.by.clone();
        let decide = |actor: &mut Self| {
            let decision = decide(&actor.context());
            if let Err(refusal) = &decision {
                tracing::info!(by, %refusal, "a change of access was refused");
            }
            Ok(decision?)
        };
        self.answer_request(asked, decide, |actor, outcomes| {
            let is_news = is_news(outcomes)?;
            read(actor, is_news)
        })
    }

    /// A request that nobody repeats under the same id.
    fn unnamed(&mut self, by: &Subject) -> RequestContext {
        self.replica.unnamed_request(&by.to_string())
    }

    fn user(&self, name: &UserName) -> Result<Arc<User>, AccessError> {
        Ok(Arc::clone(self.replica.piece().known_user(name)?))
    }

    /// The token, if it has this secret. An earlier attempt of the request may have given it another one.
    fn token(&self, name: &TokenName, hash: TokenHash) -> Result<Arc<Token>, AccessError> {
        let token = self.replica.piece().known_token(name)?;
        if token.hash != hash {
            return Err(AccessError::SecretNotStored { name: name.clone() });
        }
        Ok(Arc::clone(token))
    }
}

/// Whether the events changed something, or the first refusal of `apply`.
fn is_news(outcomes: Outcomes<AccessTable>) -> Result<bool, AccessRefusal> {
    let outcomes: Vec<AccessOutcome> = outcomes.into_iter().collect::<Result<_, _>>()?;
    Ok(outcomes.contains(&AccessOutcome::Applied))
}

/// The request of a caller, which may be repeated under the same id.
fn named(by: &Caller, request: RequestId) -> RequestContext {
    RequestContext::by_request(by.subject.to_string(), request)
}

impl Handler<AddUser> for AccessActor {
    type Result = AccessReply<Arc<User>>;

    fn handle(&mut self, asked: AddUser, _: &mut Context<Self>) -> Self::Result {
        let (request, name) = (named(&asked.by, asked.request), asked.name.clone());
        let decide = |at: &AccessDecisionContext<'_>| at.add_user(&asked);
        self.answer_access_request(request, decide, move |actor, _| actor.user(&name))
    }
}

impl Handler<ChangeUser> for AccessActor {
    type Result = AccessReply<Arc<User>>;

    fn handle(&mut self, asked: ChangeUser, _: &mut Context<Self>) -> Self::Result {
        let (request, name) = (named(&asked.by, asked.request), asked.name.clone());
        let decide = |at: &AccessDecisionContext<'_>| at.change_user(&asked);
        self.answer_access_request(request, decide, move |actor, _| actor.user(&name))
    }
}

impl Handler<RemoveUser> for AccessActor {
    type Result = AccessReply<()>;

    fn handle(&mut self, asked: RemoveUser, _: &mut Context<Self>) -> Self::Result {
        let request = named(&asked.by, asked.request);
        let decide = |at: &AccessDecisionContext<'_>| at.remove_user(&asked);
        self.answer_access_request(request, decide, |_, _| Ok(()))
    }
}

impl Handler<CreateToken> for AccessActor {
    type Result = AccessReply<Arc<Token>>;

    fn handle(&mut self, asked: CreateToken, _: &mut Context<Self>) -> Self::Result {
        let (request, name, hash) =
            (named(&asked.by, asked.request), asked.name.clone(), asked.hash);
        let decide = |at: &AccessDecisionContext<'_>| at.create_token(&asked);
        self.answer_access_request(request, decide, move |actor, _| actor.token(&name, hash))
    }
}

impl Handler<RotateToken> for AccessActor {
    type Result = AccessReply<Arc<Token>>;

    fn handle(&mut self, asked: RotateToken, _: &mut Context<Self>) -> Self::Result {
        let (request, name, hash) =
            (named(&asked.by, asked.request), asked.name.clone(), asked.hash);
        let decide = |at: &AccessDecisionContext<'_>| at.rotate_token(&asked);
        self.answer_access_request(request, decide, move |actor, _| actor.token(&name, hash))
    }
}

impl Handler<RevokeToken> for AccessActor {
    type Result = AccessReply<()>;

    fn handle(&mut self, asked: RevokeToken, _: &mut Context<Self>) -> Self::Result {
        let request = named(&asked.by, asked.request);
        let decide = |at: &AccessDecisionContext<'_>| at.revoke_token(&asked);
        self.answer_access_request(request, decide, |_, _| Ok(()))
    }
}

impl Handler<EnsureAdmin> for AccessActor {
    type Result = AccessReply<bool>;

    fn handle(&mut self, EnsureAdmin { hash }: EnsureAdmin, _: &mut Context<Self>) -> Self::Result {
        let request = self.unnamed(&Subject::Node);
        let decide = |at: &AccessDecisionContext<'_>| at.ensure_admin(hash);
        self.answer_access_request(request, decide, |_, is_news| Ok(is_news))
    }
}

impl Handler<RecoverAdmin> for AccessActor {
    type Result = AccessReply<()>;

    fn handle(&mut self, asked: RecoverAdmin, _: &mut Context<Self>) -> Self::Result {
        let request = self.unnamed(&Subject::Node);
        let decide = |at: &AccessDecisionContext<'_>| at.recover_admin(asked.hash);
        self.answer_access_request(request, decide, |_, _| Ok(()))
    }
}

impl Handler<IssueLoginLink> for AccessActor {
    type Result = AccessReply<Millis>;

    fn handle(&mut self, asked: IssueLoginLink, _: &mut Context<Self>) -> Self::Result {
        let (request, hash) = (self.unnamed(&asked.by.subject), asked.hash);
        let decide = |at: &AccessDecisionContext<'_>| at.issue_link(&asked);
        self.answer_access_request(request, decide, move |actor, _| {
            let link = actor.replica.piece().links.get(&hash);
            Ok(link.ok_or(AccessRefusal::LinkNotValid)?.expires_at)
        })
    }
}

impl Handler<BeginSession> for AccessActor {
    type Result = AccessReply<Arc<Session>>;

    fn handle(&mut self, asked: BeginSession, _: &mut Context<Self>) -> Self::Result {
        let (request, hash) = (self.replica.unnamed_request("login"), asked.hash);
        let decide = |at: &AccessDecisionContext<'_>| at.begin_session(&asked);
        self.answer_access_request(request, decide, move |actor, _| {
            let session = actor.replica.piece().sessions.get(&hash);
            // It may have ended since.
            Ok(Arc::clone(session.ok_or(AccessRefusal::CredentialsChanged)?))
        })
    }
}

impl Handler<EndSession> for AccessActor {
    type Result = AccessReply<bool>;

    fn handle(&mut self, asked: EndSession, _: &mut Context<Self>) -> Self::Result {
        let request = self.unnamed(&asked.by.subject);
        let decide = |at: &AccessDecisionContext<'_>| at.end_session(&asked);
        self.answer_access_request(request, decide, |_, is_news| Ok(is_news))
    }
}

impl Handler<EndSessionsOf> for AccessActor {
    type Result = AccessReply<bool>;

    fn handle(&mut self, asked: EndSessionsOf, _: &mut Context<Self>) -> Self::Result {
        let request = named(&asked.by, asked.request);
        let decide = |at: &AccessDecisionContext<'_>| at.end_sessions_of(&asked);
        self.answer_access_request(request, decide, |_, is_news| Ok(is_news))
    }
}

impl Handler<ReportWrongPassword> for AccessActor {
    type Result = AccessReply<Option<Millis>>;

    fn handle(&mut self, asked: ReportWrongPassword, _: &mut Context<Self>) -> Self::Result {
        if let Err(error) = self.replica.leading() {
            return reply_now(Err(error.into()));
        }
        let ReportWrongPassword { name } = asked;
        let now = self.clock.now();
        let user = self.replica.piece().user(&name);
        if user.is_none_or(|user| user.is_locked(now)) {
            return reply_now(Ok(None));
        }
        if !self.failures.record(&name, self.clock.uptime(), &self.settings) {
            return reply_now(Ok(None));
        }
        let until = now.after(self.settings.lock_for);
        tracing::warn!(user = name.as_str(), %until, "an account is locked after wrong passwords");
        let request = self.replica.unnamed_request("login");
        let event = AccessEvent::UserLocked { name, until };
        self.answer_access_request(request, |at| at.decide(event), move |_, _| Ok(Some(until)))
    }
}
