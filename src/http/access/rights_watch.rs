//! The rights of a caller while an answer lasts longer than its request: streams of events, and waits for a lease.

use std::net::IpAddr;
use std::time::Duration;

use actix_web::{HttpMessage, HttpRequest, web};
use reelyard_access::rights::{AccessScope, Rights, Role};
use tokio::sync::watch;
use tokio::time::sleep;

use super::request_caller::address_of;
use super::request_credential::RequestCredential;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// How often a waiting answer looks whether its caller's session or token has expired. Other ends of rights wake it
/// at once, and nothing is sent without a check.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(15);

/// The scope that was checked before the handler ran. Middleware inserts it.
#[derive(Clone)]
pub struct CheckedScope(pub AccessScope);

/// The rights that an answer needs to its end.
pub struct CallerRightsWatch {
    state: web::Data<NodeHttpState>,
    /// None for a request that was not authenticated. It has no rights.
    credential: Option<RequestCredential>,
    address: IpAddr,
    scopes: Vec<AccessScope>,
    news: watch::Receiver<u64>,
}

impl CallerRightsWatch {
    /// The rights of this request: its credential and the scope that was checked.
    pub fn of(request: &HttpRequest, state: &web::Data<NodeHttpState>) -> Self {
        let extensions = request.extensions();
        let scope = extensions.get::<CheckedScope>().map(|CheckedScope(scope)| scope.clone());
        CallerRightsWatch {
            state: state.clone(),
            credential: extensions.get::<RequestCredential>().cloned(),
            address: address_of(request),
            scopes: scope.into_iter().collect(),
            news: state.actors.access_views.news(),
        }
    }

    /// Needs this scope as well.
    pub fn need(&mut self, scope: AccessScope) {
        self.scopes.push(scope);
    }

    /// Whether the caller has all of them now.
    pub fn hold(&self) -> bool {
        let rights = self.rights();
        rights.is_some_and(|rights| self.scopes.iter().all(|scope| rights.allow(scope)))
    }

    /// Returns when the caller has lost some of them.
    pub async fn lost(&mut self) {
        loop {
            // Marked before the check, so that a change meanwhile wakes this task.
            self.news.mark_unchanged();
            if !self.hold() {
                return;
            }
            tokio::select! {
                changed = self.news.changed() => if changed.is_err() {
                    return;
                },
                () = sleep(EXPIRY_INTERVAL) => {}
            }
        }
    }

    /// The refusal of a wait whose caller lost the rights.
    pub fn refusal() -> ProblemResponse {
        super::request_caller::unauthorized(
            "the caller lost its rights during the wait: its token was revoked or its session has ended. Log in again \
             or use another token",
        )
    }

    fn rights(&self) -> Option<Rights> {
        let (view, now) = (self.state.actors.access_views.load(), self.state.clock.now());
        match self.credential.as_ref()? {
            RequestCredential::Legacy(token) => {
                let in_force = self.state.live.now();
                let is_same = in_force.config.token.as_ref() == Some(token);
                is_same.then_some(Rights::Role(Role::Admin))
            }
            RequestCredential::Token(hash) => view.rights_of_token(hash, self.address, now),
            RequestCredential::Session(secret) => view.rights_of_session(secret, self.address, now),
        }
    }
}
