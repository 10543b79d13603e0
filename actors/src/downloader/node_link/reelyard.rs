//! The line to a Reelyard node: the long poll and the reports.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::{RequestBuilder, Response, StatusCode};

use super::{Line, LinkError, Speaks, listed};
use crate::downloader::order::CopyOrder;
use crate::wire::worker::{Report, Reports, ReportsTaken, TaskId, TaskOrders};

/// How long a node may take beyond the time it was asked to wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks for the orders of this host; the node holds the answer up to `wait` while it has nothing
/// new, compared with `known` and with the rates that `rates` stands for. Answers also what stands
/// for the rates in its orders.
pub async fn orders(
    line: &Line,
    known: &[TaskId],
    rates: Option<u32>,
    wait: Duration,
) -> Result<(Vec<CopyOrder>, Option<u32>), LinkError> {
    let host = line.settings.host;
    let rates = rates.map(|rates| format!("&rates={rates}")).unwrap_or_default();
    let (known, wait_secs) = (listed(known), wait.as_secs());
    let path = format!("/api/v1/workers/{host}/tasks?known={known}&wait={wait_secs}s{rates}");
    let call = || line.http.get(line.url(&path)).timeout(wait + PATIENCE);
    let mut response = if *line.speaks.borrow() == Speaks::Unknown {
        call().send().await?
    } else {
        with_token(line, call()).send().await?
    };
    // The token is told only to a program that asks for it, which no old cfm does.
    if response.status() == StatusCode::UNAUTHORIZED && line.settings.token.now().is_some() {
        response = with_token(line, call()).send().await?;
    }
    if is_no_reelyard(&response) {
        return Err(LinkError::NotReelyard);
    }
    let body = body_of(response).await?;
    let orders: TaskOrders = read(&body)?;
    line.hear(orders.epoch).await?;
    // A node that does not know its cluster yet tells it with its next answer.
    if orders.manager.is_some() {
        line.took_orders_of(orders.manager);
    }
    Ok((orders.tasks.into_iter().map(CopyOrder::from).collect(), orders.rates))
}

/// Delivers reports. Answers the tasks that are no longer this host's.
pub async fn deliver(line: &Line, reports: &[Report]) -> Result<Vec<TaskId>, LinkError> {
    let path = format!("/api/v1/workers/{}/reports", line.settings.host);
    let body = serde_json::to_vec(&Reports { reports: reports.to_vec() })
        .map_err(|error| LinkError::Garbled(error.to_string()))?;
    let call = line
        .http
        .post(line.url(&path))
        .timeout(PATIENCE)
        .header(CONTENT_TYPE, "application/json")
        .body(body);
    let body = body_of(with_token(line, call).send().await?).await?;
    let taken: ReportsTaken = read(&body)?;
    line.hear(taken.epoch).await?;
    Ok(taken.cancelled)
}

fn with_token(line: &Line, call: RequestBuilder) -> RequestBuilder {
    match &*line.settings.token.now() {
        Some(token) => call.header(AUTHORIZATION, token.bearer()),
        None => call,
    }
}

/// An old cfm answers 404 in plain text. A node that does not know this host says so in a problem
/// document, and is a node all the same.
fn is_no_reelyard(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE);
    let is_problem = content_type.is_some_and(|value| {
        value.as_bytes().to_ascii_lowercase().starts_with(b"application/problem+json")
    });
    matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)
        && !is_problem
}

async fn body_of(response: Response) -> Result<Vec<u8>, LinkError> {
    let status = response.status();
    let body = super::answer::body_of(response).await?;
    if status != StatusCode::OK {
        let text: String = String::from_utf8_lossy(&body).trim().chars().take(200).collect();
        return Err(LinkError::Status(status.as_u16(), text));
    }
    Ok(body)
}

fn read<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, LinkError> {
    serde_json::from_slice(body).map_err(|error| LinkError::Garbled(error.to_string()))
}
