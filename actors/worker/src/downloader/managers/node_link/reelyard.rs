//! The link to a Reelyard node: the long poll and the reports.

use std::time::Duration;

use reelyard_protocol::node_address::MEMBERS_HEADER;
use reelyard_protocol::signed_call::{Addressee, CHALLENGE_HEADER, SignedResponse};
use reelyard_protocol::tls::NEEDS_TLS;
use reelyard_protocol::worker::{Report, Reports, ReportsTaken, TaskId, TaskOrders};
use reqwest::header::CONTENT_TYPE;
use reqwest::{RequestBuilder, Response, StatusCode, Url};

use super::link_error::LinkError;
use super::shared::NodeLinkShared;
use crate::downloader::copying::order::CopyOrder;

/// How long a node may take longer than the requested wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// Requests the orders of this host. The node holds the answer up to `wait` while nothing is new,
/// compared with `known` and with the rates that the number `rates` identifies. Answers also the number
/// that identifies the rates in its orders.
pub async fn orders(
    link: &NodeLinkShared,
    known: &[TaskId],
    rates: Option<u32>,
    wait: Duration,
) -> Result<(Vec<CopyOrder>, Option<u32>), LinkError> {
    let host = link.settings.host;
    let rates = rates.map(|rates| format!("&rates={rates}")).unwrap_or_default();
    let (known, wait_secs) = (listed(known), wait.as_secs());
    let path = format!("/api/v1/workers/{host}/tasks?known={known}&wait={wait_secs}s{rates}");
    let sent = send(link, link.http.now().get(link.url(&path)).timeout(wait + PATIENCE)).await?;
    if is_no_reelyard(&sent.response) {
        return Err(LinkError::NotReelyard);
    }
    let answer = answer_of(link, sent).await?;
    let orders: TaskOrders = read(&answer.body)?;
    link.accept_leader(orders.manager, orders.epoch).await?;
    answer.teach(link).await;
    // A node that does not know its cluster yet reports it with its next answer.
    if orders.manager.is_some() {
        link.took_orders_of(orders.manager);
    }
    Ok((orders.tasks.into_iter().map(CopyOrder::from).collect(), orders.rates))
}

/// Delivers reports. Answers the tasks that no longer belong to this host.
pub async fn deliver(link: &NodeLinkShared, reports: &[Report]) -> Result<Vec<TaskId>, LinkError> {
    let path = format!("/api/v1/workers/{}/reports", link.settings.host);
    let body = serde_json::to_vec(&Reports { reports: reports.to_vec() })
        .map_err(|error| LinkError::Garbled(error.to_string()))?;
    let call = link
        .http
        .now()
        .post(link.url(&path))
        .timeout(PATIENCE)
        .header(CONTENT_TYPE, "application/json")
        .body(body);
    let answer = answer_of(link, send(link, call).await?).await?;
    let taken: ReportsTaken = read(&answer.body)?;
    link.accept_leader(None, taken.epoch).await?;
    answer.teach(link).await;
    Ok(taken.cancelled)
}

/// Sends a call, signed if the node asks for that.
async fn send(link: &NodeLinkShared, call: RequestBuilder) -> Result<SignedResponse, LinkError> {
    let token = link.settings.token.now();
    let http = link.http.now();
    Ok(link.signed.send(&http, Option::as_ref(&token), Addressee::Node, call.build()?).await?)
}

/// An old cfm answers 404 in plain text. A node that does not know this host answers with a problem
/// document, which shows that it is a node.
fn is_no_reelyard(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE);
    let is_problem = content_type.is_some_and(|value| {
        value.as_bytes().to_ascii_lowercase().starts_with(b"application/problem+json")
    });
    matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)
        && !is_problem
}

/// A good answer of a node. The members in it count only once its cluster is accepted.
struct NodeAnswer {
    body: Vec<u8>,
    node: Url,
    members: Option<String>,
}

impl NodeAnswer {
    /// Lets the worker learn the members of the cluster of this node.
    async fn teach(self, link: &NodeLinkShared) {
        if let Some(members) = self.members {
            link.learn(&self.node, &members).await;
        }
    }
}

/// The answer to a call. With a token, only of a node that proves that it knows the same token.
async fn answer_of(link: &NodeLinkShared, sent: SignedResponse) -> Result<NodeAnswer, LinkError> {
    let (response, proof) = sent.into_parts();
    let status = response.status();
    // A node that could not check the signature asks for another one. Without a challenge, the token itself is refused.
    let has_challenge = response.headers().contains_key(CHALLENGE_HEADER);
    let node = response.url().clone();
    let members = response.headers().get(MEMBERS_HEADER);
    let members = members.and_then(|members| members.to_str().ok()).map(str::to_owned);
    let body = super::answer::body_of(response).await?;
    if status != StatusCode::OK {
        let text: String = String::from_utf8_lossy(&body).trim().chars().take(200).collect();
        return Err(match (status, &*link.settings.token.now()) {
            (NEEDS_TLS, _) => LinkError::NeedsTls,
            (StatusCode::UNAUTHORIZED, None) => LinkError::TokenWanted,
            (StatusCode::UNAUTHORIZED, Some(_)) if has_challenge => LinkError::OtherToken,
            (StatusCode::UNAUTHORIZED, Some(_)) => {
                LinkError::TokenRefused(detail_of(&body).unwrap_or(text))
            }
            _ => LinkError::Status(status.as_u16(), text),
        });
    }
    match &*link.settings.token.now() {
        Some(token) if !proof.is_good(token, &body) => Err(LinkError::NotProved),
        _ => Ok(NodeAnswer { body, node, members }),
    }
}

/// The words of a problem document.
fn detail_of(body: &[u8]) -> Option<String> {
    let problem: serde_json::Value = serde_json::from_slice(body).ok()?;
    let detail = problem.get("detail")?.as_str()?;
    Some(detail.chars().take(200).collect())
}

fn read<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, LinkError> {
    serde_json::from_slice(body).map_err(|error| LinkError::Garbled(error.to_string()))
}

/// The ids of tasks as one list of the long poll's query.
fn listed(tasks: &[TaskId]) -> String {
    tasks.iter().map(TaskId::to_string).collect::<Vec<_>>().join(",")
}
