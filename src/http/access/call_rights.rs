//! The rights that a call needs, declared beside its handler and checked before it runs.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, web};
use reelyard_access::rights::{AccessScope, Caller, Rights};
use reelyard_api::ProblemKind;
use reelyard_core::host::HostAddr;
use reelyard_protocol::boxes::PoolName;

use super::request_caller::RequestCaller;
use super::rights_watch::CheckedScope;
use crate::http::audit::AuditDetails;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// The rights that a call needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallRights {
    /// Any caller: the call checks its proof itself, and limits wrong ones.
    Open,
    /// Any known caller.
    Known,
    /// A caller with this scope.
    Scope(AccessScope),
    /// A caller that may lease boxes of the pool in the path.
    LeaseOfPool,
    /// A caller that may lease boxes of the pool of the lease in the path.
    LeaseInPath,
    /// The worker on the host in the path, which was authenticated before.
    OwnWorker,
}

impl CallRights {
    /// The rights in words, for documents.
    pub fn in_words(&self) -> String {
        match self {
            CallRights::Open => "no token".to_owned(),
            CallRights::Known => "any token".to_owned(),
            CallRights::Scope(scope) => scope.to_string(),
            CallRights::LeaseOfPool | CallRights::LeaseInPath => "boxes:lease:POOL".to_owned(),
            CallRights::OwnWorker => "the signature of a worker".to_owned(),
        }
    }

    /// The scope that this request needs. None if any known caller may make it. That includes calls with a bad
    /// pool or an unknown lease: their answers reveal nothing, and a holder must learn that its lease is gone.
    fn scope(&self, request: &ServiceRequest) -> Option<AccessScope> {
        match self {
            CallRights::Open | CallRights::Known | CallRights::OwnWorker => None,
            CallRights::Scope(scope) => Some(scope.clone()),
            CallRights::LeaseOfPool => {
                let pool = PoolName::new(request.match_info().get("pool")?).ok()?;
                Some(AccessScope::BoxesLeaseOf(pool))
            }
            CallRights::LeaseInPath => {
                let id = request.match_info().get("id")?.parse().ok()?;
                let state = request.app_data::<web::Data<NodeHttpState>>()?;
                let (pool, _) = state.actors.boxes.views.box_of_lease(id)?;
                Some(AccessScope::BoxesLeaseOf(pool))
            }
        }
    }
}

/// Checks that the caller may make the call, and runs it.
pub async fn authorize(
    needed: CallRights,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    if let Some(RequestCaller(caller, _)) = request.extensions().get::<RequestCaller>() {
        AuditDetails::of(request.request()).actor(&caller.subject);
    }
    if needed == CallRights::OwnWorker {
        check_own_worker(&mut request).await?;
        AuditDetails::remember_worker(&request);
    }
    if let Some(scope) = needed.scope(&request) {
        let caller = request.extensions().get::<RequestCaller>().cloned();
        let Some(RequestCaller(caller, _)) = caller else {
            let detail = "the caller of this request is not known";
            return Err(ProblemResponse::new(ProblemKind::Unauthorized, detail).into());
        };
        require(&caller, &scope)?;
        request.extensions_mut().insert(CheckedScope(scope));
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}

/// Refuses a caller that is not the worker on the host in the path. The host is read as the handler reads it, so that
/// no other spelling of the path means another host.
async fn check_own_worker(request: &mut ServiceRequest) -> Result<(), actix_web::Error> {
    let host = *request.extract::<web::Path<HostAddr>>().await?;
    let caller = request.extensions().get::<RequestCaller>().cloned();
    match caller {
        Some(RequestCaller(caller, _)) if caller.rights == Rights::Worker(host) => Ok(()),
        Some(RequestCaller(caller, _)) => {
            let detail = format!(
                "only the worker on {host} may make this call, and this is {}",
                caller.subject
            );
            Err(ProblemResponse::new(ProblemKind::Forbidden, detail).into())
        }
        None => {
            let detail = "the worker that makes this call is not known";
            Err(ProblemResponse::new(ProblemKind::Unauthorized, detail).into())
        }
    }
}

/// Refuses a caller without this scope.
///
/// # Errors
/// The caller has no such scope.
pub fn require(caller: &Caller, scope: &AccessScope) -> Result<(), ProblemResponse> {
    let Caller { subject, rights } = caller;
    if rights.allow(scope) {
        return Ok(());
    }
    let detail = format!(
        "this call needs {scope}, and {subject} has {rights}: use a token with that scope, or ask an administrator"
    );
    Err(ProblemResponse::new(ProblemKind::Forbidden, detail))
}
