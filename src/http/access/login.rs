//! Begins sessions: checks the proof of a login and asks the owner for a session.

use std::net::IpAddr;
use std::sync::Arc;

use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::header::USER_AGENT;
use actix_web::{HttpRequest, web};
use reelyard_access::access::{
    AccessError, AccessRefusal, BeginSession, LoginProof, LoginRefused, ReportWrongPassword,
    Session, UserAgent,
};
use reelyard_access::audit::AuditRecord;
use reelyard_access::rights::{Caller, Rights, Subject, UserName};
use reelyard_access::secrets::{LinkSecret, SessionSecret, TokenHash, draw};
use reelyard_api::{Password, ProblemKind, Rfc3339};
use reelyard_core::clock::Millis;

use super::request_caller::{SESSION_COOKIE, address_of, unauthorized};
use crate::http::audit::AuditDetails;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// The answer to a wrong name and to a wrong password. Only the lock of an account shows that its name exists.
const WRONG: &str = "the name or the password is wrong";

/// How a caller logs in.
pub enum GivenProof {
    /// Name and password of a user.
    Password(String, Password),
    /// The secret of a login link.
    Link(Password),
    /// The text of a token, whose rights the session gets.
    Token(Password),
}

/// A session that began, with its secret.
pub struct BegunSession {
    /// The secret, which the node does not store.
    pub secret: SessionSecret,
    /// The part that the node stores.
    pub session: Arc<Session>,
}

/// Begins a session for the caller of this request.
///
/// # Errors
///
/// The proof is wrong, the account is locked, there were too many attempts, or the owner cannot commit.
pub async fn begin(
    state: &web::Data<NodeHttpState>,
    request: &HttpRequest,
    proof: GivenProof,
) -> Result<BegunSession, ProblemResponse> {
    let (address, details) = (address_of(request), AuditDetails::of(request));
    let proof = match proof {
        GivenProof::Password(name, password) => {
            // Other names may be mistyped passwords.
            if let Some(user) = state.actors.access_views.load().known_user(&name) {
                details.subject(format!("user {}", user.name));
            }
            // In a task of its own, so that a wrong password counts although its client has left.
            let state = state.clone();
            let checking = actix_web::rt::spawn(async move {
                password_proof(&state, address, &name, password).await
            });
            checking.await.map_err(|_| ProblemResponse::stopped())??
        }
        GivenProof::Token(Password(text)) => token_proof(state, address, text.trim())?,
        GivenProof::Link(Password(text)) => match LinkSecret::parse(text.trim()) {
            Ok(secret) => LoginProof::Link(secret.hash()),
            Err(bad) => {
                state.login_guard.admit_token(address, &state.clock)?;
                return Err(unauthorized(bad.to_string()));
            }
        },
    };
    let is_link = matches!(proof, LoginProof::Link(_));
    let random = draw().map_err(|error| {
        let detail = format!("the system has no random bytes for a session: {error}");
        ProblemResponse::new(ProblemKind::Unreadable, detail)
    })?;
    let secret = SessionSecret::new(random);
    let agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    let begin = BeginSession {
        proof,
        hash: secret.hash(),
        address: address.into(),
        user_agent: UserAgent::cut(agent.unwrap_or_default()),
    };
    match state.actors.access.ask(begin).await? {
        Ok(session) => {
            let (subject, from) = (&session.subject, &session.address);
            tracing::info!(%subject, %from, session = session.id(), "session began");
            details.actor(&Subject::from(subject));
            details.subject(format!("session {}", session.id()));
            Ok(BegunSession { secret, session })
        }
        Err(AccessError::Refused(refused @ AccessRefusal::LinkNotValid)) if is_link => {
            state.login_guard.admit_token(address, &state.clock)?;
            Err(unauthorized(refused.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Checks a password on a thread for blocking work.
async fn password_proof(
    state: &NodeHttpState,
    address: IpAddr,
    name: &str,
    Password(given): Password,
) -> Result<LoginProof, ProblemResponse> {
    state.login_guard.admit_password(address, name, &state.clock)?;
    let now = state.clock.now();
    let login = state.actors.access_views.load().password_login(name, now);
    let login = login.map_err(|refused| match refused {
        LoginRefused::Locked(until) => {
            ProblemResponse::new(ProblemKind::TooManyAttempts, refused.to_string())
                .retry_after(until.since(now))
        }
        LoginRefused::NotReady => ProblemResponse::starting(),
    })?;
    let permit = state.login_guard.check_permit().await?;
    let checked = web::block(move || {
        let _permit = permit;
        login.check(&given)
    });
    let checked = checked.await;
    let generation = checked.map_err(|_| ProblemResponse::stopped())?;
    let Ok(name) = name.parse::<UserName>() else { return Err(unauthorized(WRONG)) };
    match generation {
        Some(generation) => {
            state.login_guard.password_was_right(address, name.as_str());
            Ok(LoginProof::Password { name, generation })
        }
        None => {
            tracing::warn!(user = %name, from = %address, "a login failed: name or password is wrong");
            let locked = name.clone();
            match state.actors.access.ask(ReportWrongPassword { name }).await? {
                Ok(Some(until)) => {
                    record_lock(state, &locked, until, now);
                    let refused = LoginRefused::Locked(until);
                    let refusal =
                        ProblemResponse::new(ProblemKind::TooManyAttempts, refused.to_string());
                    Err(refusal.retry_after(until.since(now)))
                }
                Ok(None) => Err(unauthorized(WRONG)),
                Err(error) => Err(error.into()),
            }
        }
    }
}

/// The wrong passwords of a login locked this account.
fn record_lock(state: &NodeHttpState, name: &UserName, until: Millis, now: Millis) {
    state.audit.record(AuditRecord {
        subject: Some(format!("user {name}")),
        after: Some(serde_json::json!({ "locked_until": Rfc3339(until) })),
        ..AuditRecord::of_node(now, "access.user_locked")
    });
}

fn token_proof(
    state: &NodeHttpState,
    address: IpAddr,
    text: &str,
) -> Result<LoginProof, ProblemResponse> {
    let view = state.actors.access_views.load();
    match view.authenticate_token(text, address, state.clock.now()) {
        Ok(Caller { rights: Rights::Worker(_), .. }) => {
            let detail = "a worker has no sessions: use the token of a person or program";
            Err(ProblemResponse::new(ProblemKind::NotAllowed, detail))
        }
        Ok(_) => match TokenHash::of_token(text) {
            Ok(hash) => Ok(LoginProof::Token(hash)),
            Err(bad) => Err(unauthorized(bad.to_string())),
        },
        Err(refused) => {
            state.login_guard.admit_token(address, &state.clock)?;
            Err(unauthorized(refused.to_string()))
        }
    }
}

/// The cookie of a session. Scripts cannot read it, and forms of other sites cannot send it. A link in a mail opens a
/// page with it: no page changes anything by GET.
///
/// Over https the browser sends it over https only. A proxy says in a header that its client uses https.
pub fn cookie_of(
    secret: &SessionSecret,
    state: &NodeHttpState,
    request: &HttpRequest,
) -> Cookie<'static> {
    let has_tls = state.live.now().config.tls.certificate().is_some();
    let is_tls = has_tls || request.connection_info().scheme() == "https";
    Cookie::build(SESSION_COOKIE, secret.reveal())
        .path("/")
        .http_only(true)
        .secure(is_tls)
        .same_site(SameSite::Lax)
        .finish()
}

/// A cookie that removes that of the session.
pub fn removed_cookie() -> Cookie<'static> {
    let mut removed = Cookie::build(SESSION_COOKIE, "").path("/").http_only(true).finish();
    removed.make_removal();
    removed
}
