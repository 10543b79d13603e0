//! The one place where calls get their rows.

use std::net::IpAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, web};
use reelyard_access::audit::{AuditActor, AuditRecord};
use reelyard_api::ProblemKind;

use super::details::AuditDetails;
use super::{call_subject, reason};
use crate::http::node_state::NodeHttpState;
use crate::http::operations;

/// The header with the id of a request. A client may send one; the answer to a change always has it.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest accepted id of a request.
const LONGEST_ID: usize = 64;

/// The known parts of a call before it is answered.
struct AuditedCall {
    operation: String,
    subject: Option<String>,
    from: Option<IpAddr>,
    request_id: String,
    reason: Option<String>,
}

/// Middleware that records each changing call. Reads get no row.
pub async fn record(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let state = request.app_data::<web::Data<NodeHttpState>>().cloned();
    let call = if request.method().is_safe() { None } else { AuditedCall::of(&request) };
    let (Some(state), Some(call)) = (state, call) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let details = AuditDetails::default();
    request.extensions_mut().insert(details.clone());
    match next.call(request).await {
        Ok(mut answer) => {
            let problem = answer.response().extensions().get::<ProblemKind>().copied();
            if let Ok(id) = HeaderValue::from_str(&call.request_id) {
                answer.headers_mut().insert(REQUEST_ID, id);
            }
            call.record(&state, &details, answer.status(), problem);
            Ok(answer.map_into_boxed_body())
        }
        Err(error) => {
            let mut answer = error.as_response_error().error_response();
            let problem = answer.extensions().get::<ProblemKind>().copied();
            if let Ok(id) = HeaderValue::from_str(&call.request_id) {
                answer.headers_mut().insert(REQUEST_ID, id);
            }
            call.record(&state, &details, answer.status(), problem);
            Err(InternalError::from_response(error, answer).into())
        }
    }
}

impl AuditedCall {
    /// None for a call that does not exist, which changes nothing.
    fn of(request: &ServiceRequest) -> Option<Self> {
        let pattern = request.match_pattern()?;
        let operation = operations::name(request.method(), &pattern, request.path())?;
        Some(AuditedCall {
            operation,
            subject: call_subject::subject(&pattern, request.path()),
            from: request.peer_addr().map(|peer| peer.ip().to_canonical()),
            request_id: request_id(request.headers()),
            reason: reason::read(request.headers()),
        })
    }

    fn record(
        self,
        state: &NodeHttpState,
        details: &AuditDetails,
        status: StatusCode,
        problem: Option<ProblemKind>,
    ) {
        let details = details.collected();
        if details.changes_nothing && status.is_success() {
            return;
        }
        let row = AuditRecord {
            at: state.clock.now(),
            actor: details.actor.clone().unwrap_or_else(AuditActor::unknown),
            from: self.from,
            operation: self.operation,
            subject: self.subject,
            status: Some(status.as_u16()),
            problem: problem.map(|problem| problem.word().to_owned()),
            request_id: Some(self.request_id),
            reason: details.reason.clone().or(self.reason),
            before: details.before.clone(),
            after: details.after.clone(),
            count: None,
        };
        if details.subjects.is_empty() {
            return state.audit.record(row);
        }
        for subject in &details.subjects {
            state.audit.record(AuditRecord { subject: Some(subject.clone()), ..row.clone() });
        }
    }
}

/// The id that the client sent, or a new one.
fn request_id(headers: &HeaderMap) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    static PROCESS: LazyLock<u32> = LazyLock::new(|| fastrand::u32(..));
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let is_id = |id: &&str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(is_plain)
    };
    match given.filter(is_id) {
        Some(id) => id.to_owned(),
        None => format!("{:08x}-{}", *PROCESS, NEXT.fetch_add(1, Ordering::Relaxed)),
    }
}
