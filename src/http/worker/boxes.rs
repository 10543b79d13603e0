//! The calls of nodes about boxes that this worker hosts.

use actix_web::{HttpResponse, web};
use reelyard_protocol::boxes::{
    BoxAdoptionRequest, BoxAdoptionResponse, BoxInspectionRequest, HookRunRequest, HookRunResponse,
};
use reelyard_protocol::signed_call::SignedCallRefused;
use reelyard_worker::kept_state::epoch_guard::EpochStepLimit;
use serde::de::DeserializeOwned;

use super::answer_parts::{JSON, TEXT, json_line, unauthorized};
use super::state::WorkerHttp;
use crate::http::access::authority::{Authority, NoAuthority};

/// Largest body of a call in bytes: far more than all boxes of a pool need.
const LONGEST_QUESTION: usize = 4 << 20;

/// `POST /boxes/run`: answered when the hook has ended.
pub async fn run(http: &WorkerHttp, authority: Authority, body: web::Payload) -> HttpResponse {
    match read::<HookRunRequest>(http, authority, body).await {
        Ok(asked) => {
            let answer = http.boxes.run(asked.on(http.info.host)).await;
            json_line(HttpResponse::Ok().content_type(JSON), &HookRunResponse::from(answer))
        }
        Err(unreadable) => unreadable,
    }
}

/// `POST /boxes/look`
pub async fn look(http: &WorkerHttp, authority: Authority, body: web::Payload) -> HttpResponse {
    match read::<BoxInspectionRequest>(http, authority, body).await {
        Ok(asked) => {
            let answer = http.boxes.inspect(asked.clone().on(http.info.host)).await;
            json_line(HttpResponse::Ok().content_type(JSON), &asked.answered(answer))
        }
        Err(unreadable) => unreadable,
    }
}

/// `POST /boxes/adopt`
pub async fn adopt(http: &WorkerHttp, authority: Authority, body: web::Payload) -> HttpResponse {
    // Without a token any client may call.
    let step_limit = match &authority {
        Authority::Open => EpochStepLimit::Bounded,
        _ => EpochStepLimit::Unbounded,
    };
    match read::<BoxAdoptionRequest>(http, authority, body).await {
        Ok(asked) => {
            let answer = http.boxes.adopt(asked.on(http.info.host), step_limit).await;
            json_line(HttpResponse::Ok().content_type(JSON), &BoxAdoptionResponse::from(answer))
        }
        Err(unreadable) => unreadable,
    }
}

async fn read<T: DeserializeOwned>(
    http: &WorkerHttp,
    authority: Authority,
    body: web::Payload,
) -> Result<T, HttpResponse> {
    let unreadable = |why: String| {
        HttpResponse::BadRequest()
            .content_type(TEXT)
            .body(format!("the body is not valid: {why}\n"))
    };
    let body = match body.to_bytes_limited(LONGEST_QUESTION).await {
        Ok(Ok(body)) => body,
        Ok(Err(error)) => return Err(unreadable(error.to_string())),
        Err(_) => return Err(unreadable(format!("it is longer than {LONGEST_QUESTION} bytes"))),
    };
    if let Authority::Signed(admitted) = authority
        && !admitted.covers(&body)
    {
        return Err(unauthorized(http, NoAuthority::Signature(SignedCallRefused::Wrong)));
    }
    serde_json::from_slice(&body).map_err(|error| unreadable(error.to_string()))
}
