//! The addresses of all members in each answer of the API, so that a client can call another one.

use actix_web::HttpMessage;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web;
use reelyard_protocol::node_address::MEMBERS_HEADER;
use reelyard_replication::Member;

use crate::http::access::RequestCaller;
use crate::http::node_state::NodeHttpState;

/// The header of an answer with the members of the cluster.
pub const MEMBERS: HeaderName = HeaderName::from_static(MEMBERS_HEADER);

/// Middleware: names the members to a known caller.
pub async fn with_members(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let state = request.app_data::<web::Data<NodeHttpState>>().cloned();
    let is_known = request.extensions().contains::<RequestCaller>();
    let mut answer = next.call(request).await?.map_into_boxed_body();
    let members = state.filter(|_| is_known).and_then(|state| named(&state.journal.members()));
    if let Some(members) = members {
        answer.headers_mut().insert(MEMBERS, members);
    }
    Ok(answer)
}

/// The URLs of the members. None for a node that is alone.
fn named(members: &[Member]) -> Option<HeaderValue> {
    if members.len() < 2 {
        return None;
    }
    let urls = members.iter().map(|member| member.record.api_address.as_str());
    let urls: Vec<&str> = urls.filter(|url| !url.is_empty()).collect();
    HeaderValue::from_str(&urls.join(", ")).ok()
}

#[cfg(test)]
mod tests {
    use reelyard_replication::MemberRecord;

    use super::*;

    #[test]
    fn only_nodes_of_a_cluster_are_named() {
        let member = |number: u64, api: &str| Member {
            number,
            is_voter: true,
            record: MemberRecord { api_address: api.to_owned(), ..MemberRecord::default() },
        };
        let alone = [member(1, "http://a:8080")];
        assert_eq!(named(&alone), None);
        let three = [member(1, "http://a:8080"), member(2, ""), member(3, "https://c")];
        assert_eq!(named(&three).unwrap(), "http://a:8080, https://c");
    }
}
