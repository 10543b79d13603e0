//! Limits cfm's interface to some addresses, because old programs have no token.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::CONTENT_TYPE;
use actix_web::middleware::Next;
use actix_web::{HttpResponse, web};

use crate::http::node_state::NodeHttpState;

/// Refuses a caller whose address is not allowed with 403.
pub async fn check(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let state = request.app_data::<web::Data<NodeHttpState>>().cloned();
    let peer = request.peer_addr().map(|peer| peer.ip().to_canonical());
    if let (Some(state), Some(peer)) = (state, peer)
        && !state.is_allowed(state.live.now().config.compat.allow.as_deref(), peer)
    {
        let text = format!(
            "cfm's interface is closed to {peer}. It is open to this host and to the hosts of the yard, or to the \
             addresses in compat.allow of the node.\n"
        );
        let answer =
            HttpResponse::Forbidden().insert_header((CONTENT_TYPE, "text/plain")).body(text);
        return Ok(request.into_response(answer));
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}
