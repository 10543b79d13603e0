//! Sends a request to the leader, and passes its answer on.
//!
//! A request that the leader did not take is sent again, to the next leader. A request without an answer is sent
//! again only if the leader does it once under its id.

use std::time::Duration;

use actix_web::body::{self, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::middleware::Next;
use actix_web::{HttpResponse, ResponseError, web};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use reelyard_api::{Problem, ProblemKind};
use reelyard_cluster::NodeStream;
use reelyard_core::call_version::KEPT_STREAMS_SINCE;
use reelyard_protocol::cluster::shared_files::client_line;
use reelyard_replication::{CallTarget, CommitError, Leadership};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep, timeout_at};

use super::accepted_stream::{ForwardedBy, name_client};
use super::followed_leader::FollowedLeader;
use super::forwarded_request::{ForwardedRequest, NotForwarded, RepetitionId};
use super::idle_streams::{self, LeaderStream};
use super::leader_routes::{LeaderNeed, is_of_leader, may_wait};
use super::passed_answer::{has_events, passed_on, until_another_leads};
use crate::http::called_name;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// How long a request waits until a leader has taken it.
const LEADER_TIME: Duration = Duration::from_millis(2500);

/// The same for a request that this node can answer, too.
const BETTER_ANSWER_TIME: Duration = Duration::from_secs(1);

/// Pause before the next attempt.
const RETRY: Duration = Duration::from_millis(20);

/// The longest problem of a leader that is read here.
const LONGEST_PROBLEM: usize = 16 << 10;

/// The outcome of one attempt.
enum HopOutcome {
    Answered(HttpResponse),
    /// The leader did nothing.
    NotTaken(String),
    /// The leader may have done it.
    Lost(String),
}

/// The node that answers a request.
enum RequestPlace {
    ThisOne,
    Other(CallTarget),
}

/// Middleware: answers here if this node leads, and otherwise passes requests for the leader on.
pub async fn to_leader(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    name_client(&mut request);
    let state = request.app_data::<web::Data<NodeHttpState>>().cloned();
    // A request for another server is refused here.
    let need = LeaderNeed::of(request.method(), request.path());
    let is_for_leader = need != LeaderNeed::None && !called_name::is_foreign(request.request());
    let Some(state) = state.filter(|_| is_for_leader) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let is_read = request.method().is_safe();
    let answer = match is_with_others(&state) {
        true => answer_by_leader(&state, need, request, next).await?,
        false => next.call(request).await?.map_into_boxed_body(),
    };
    if is_read && has_events(answer.headers()) {
        return Ok(answer.map_body(|_, events| until_another_leads(&state.journal, events)));
    }
    Ok(answer)
}

async fn answer_by_leader(
    state: &NodeHttpState,
    need: LeaderNeed,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let leads = || state.journal.leadership().borrow().epoch().is_some();
    if request.request().conn_data::<ForwardedBy>().is_some() {
        // The node that sent it looks for the leader again.
        if !leads() {
            return Err(no_leader("this node does not lead").into());
        }
        return answer_here(state, request, next).await;
    }
    let mut forwarded = ForwardedRequest::of(&mut request).await?;
    let is_answerable = need == LeaderNeed::KnowsMore;
    let until = Instant::now() + if is_answerable { BETTER_ANSWER_TIME } else { LEADER_TIME };
    match pass_on(state, &mut forwarded, until).await {
        Ok(Some(answer)) => return Ok(request.into_response(answer)),
        Err(refusal) if !is_answerable => return Err(refusal.into()),
        _ => {}
    }
    let is_kept = forwarded.is_kept();
    forwarded.give_back(&mut request);
    if is_answerable {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let response = answer_here(state, request, next).await?;
    if !is_kept || leads() || !was_not_taken(response.response()) {
        return Ok(response);
    }
    // This node stopped leading meanwhile, and did nothing.
    let (request, refusal) = response.into_parts();
    match pass_on(state, &mut forwarded, until).await? {
        Some(answer) => Ok(ServiceResponse::new(request, answer)),
        None => Ok(ServiceResponse::new(request, refusal)),
    }
}

/// Answers as the leader. Whether this node still leads is checked when the answer is written. A change that was made
/// needs no check, because a quorum has it. A refusal follows from the state, as the answer to a read does.
async fn answer_here(
    state: &NodeHttpState,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let needs_rank = is_of_leader(request.method(), request.path());
    let answer = next.call(request).await?.map_into_boxed_body();
    let status = answer.status();
    let is_of_state = status.is_client_error() || (needs_rank && status.is_success());
    if is_of_state && !state.journal.certainly_leads() {
        return Ok(answer.error_response(no_leader("no quorum followed this node meanwhile")));
    }
    Ok(answer)
}

/// Whether another node can lead.
fn is_with_others(state: &NodeHttpState) -> bool {
    let own = state.journal.identity().number;
    state.journal.members().iter().any(|member| member.number != own)
}

fn no_leader(why: &str) -> ProblemResponse {
    tracing::debug!(why, "a request found no leader");
    CommitError::NotLeader { leader: None }.into()
}

/// Whether a refusal says that nothing was done, because the node does not lead.
fn was_not_taken(response: &HttpResponse) -> bool {
    // A form of the console that did a part has another status.
    let kind = response.extensions().get::<ProblemKind>().copied();
    response.status() == StatusCode::SERVICE_UNAVAILABLE && kind.is_some_and(is_of_no_leader)
}

fn is_of_no_leader(kind: ProblemKind) -> bool {
    matches!(kind, ProblemKind::NotLeader | ProblemKind::Deposed | ProblemKind::Stopped)
}

/// Sends the request to the leader until one has taken it. None if this node leads.
async fn pass_on(
    state: &NodeHttpState,
    request: &mut ForwardedRequest,
    mut until: Instant,
) -> Result<Option<HttpResponse>, ProblemResponse> {
    let since = Instant::now();
    let mut lost: Option<String> = None;
    let mut why = "no node leads".to_owned();
    while let Some(node) = answering_node(state, since, until).await {
        let RequestPlace::Other(target) = node else { return Ok(None) };
        request.name();
        let leader = FollowedLeader { node: target.node, journal: state.journal.clone(), since };
        match attempt(state, &target, request, (&leader, until)).await {
            HopOutcome::Answered(answer) => {
                state.cluster.counts().forward();
                return Ok(Some(answer));
            }
            HopOutcome::NotTaken(reason) => why = reason,
            HopOutcome::Lost(reason) => {
                let reason = format!("node {} led, and {reason}", target.node);
                if lost.is_some() || !request.is_repeatable() {
                    return Err(unanswered(&reason, request));
                }
                lost = Some(reason);
                until = Instant::now() + leader.silence_left();
            }
        }
        if Instant::now() >= until || !request.is_kept() {
            break;
        }
        sleep(RETRY).await;
    }
    match lost {
        Some(reason) => Err(unanswered(&reason, request)),
        None => Err(no_leader(&why)),
    }
}

/// The refusal of a request that a leader may have taken. A read changes nothing, so its outcome is not unknown.
fn unanswered(reason: &str, request: &ForwardedRequest) -> ProblemResponse {
    if request.is_read() {
        return no_leader(reason);
    }
    tracing::debug!(reason, "a request was not answered by the leader");
    let next = match request.request_id() {
        Some(RepetitionId::InBody(id)) => format!("repeat it with \"request_id\": \"{id}\""),
        Some(RepetitionId::InHeader(id)) => {
            format!("repeat it with the header \"Idempotency-Key: {id}\"")
        }
        None => "look at the present state before you repeat it".to_owned(),
    };
    let detail = format!("{reason}. The request may have been carried out: {next}");
    ProblemResponse::new(ProblemKind::OutcomeUnknown, detail)
}

/// The node that leads. None if nobody does until then.
async fn answering_node(
    state: &NodeHttpState,
    since: Instant,
    until: Instant,
) -> Option<RequestPlace> {
    let mut leadership = state.journal.leadership();
    loop {
        let known = leadership.wait_for(|now| *now != Leadership::Nobody);
        let leader = match *timeout_at(until, known).await.ok()?.ok()? {
            Leadership::Leading { .. } => return Some(RequestPlace::ThisOne),
            Leadership::Following { leader } => leader,
            Leadership::Nobody | Leadership::Stopped => return None,
        };
        let mut members = state.journal.members().into_iter();
        if let Some(member) = members.find(|member| member.number == leader) {
            return Some(RequestPlace::Other(CallTarget { node: leader, record: member.record }));
        }
        // It was removed, and another one will lead.
        let removed = FollowedLeader { node: leader, journal: state.journal.clone(), since };
        timeout_at(until, removed.deposed()).await.ok()?;
    }
}

/// Sends the request once.
async fn attempt(
    state: &NodeHttpState,
    target: &CallTarget,
    request: &mut ForwardedRequest,
    (leader, until): (&FollowedLeader, Instant),
) -> HopOutcome {
    let place = match state.forwarded_waits.place(may_wait(request.method(), request.target())) {
        Ok(place) => place,
        // A request that this node can answer, too, would make the limit useless.
        Err(busy) => return HopOutcome::Answered(busy.error_response()),
    };
    // The leader may close an idle stream at any moment.
    let may_be_lost = request.is_repeatable() && leader.is_in_contact();
    let idle = if may_be_lost { idle_streams::take(target.node) } else { None };
    let mut lost = None;
    if let Some(stream) = idle {
        match sent(stream, request, leader).await {
            Ok(answer) => {
                return examine(passed_on(answer, leader.clone(), request.is_read(), place)).await;
            }
            Err(error) => lost = Some(error.to_string()),
        }
    }
    // An answer that was lost may belong to a request that was carried out.
    let not_taken = |why: String| match lost.clone() {
        Some(lost) => HopOutcome::Lost(lost),
        None => HopOutcome::NotTaken(why),
    };
    let opened = tokio::select! {
        opened = timeout_at(until, state.cluster.transport().open_forward(target)) => opened,
        () = leader.deposed() => {
            return not_taken(format!("node {} leads no longer", target.node));
        }
    };
    let stream = match opened {
        Ok(Ok(stream)) => begun(stream, request.client()).await,
        Ok(Err(error)) => return not_taken(error.to_string()),
        Err(_) => return not_taken(format!("node {} gives no connection", target.node)),
    };
    let answer = match stream {
        Ok(stream) => sent(stream, request, leader).await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(answer) => {
            let passed = passed_on(answer, leader.clone(), request.is_read(), place);
            match examine(passed).await {
                HopOutcome::NotTaken(why) => not_taken(why),
                other => other,
            }
        }
        Err(error) => HopOutcome::Lost(error.to_string()),
    }
}

/// Begins HTTP on a new stream of this client.
async fn begun(mut stream: NodeStream, client: &str) -> Result<LeaderStream, NotForwarded> {
    stream.write_all(client_line(client).as_bytes()).await?;
    let takes_more = stream.version() >= KEPT_STREAMS_SINCE;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    actix_web::rt::spawn(async move {
        // The answer reports the same failure.
        let _ = connection.await;
    });
    Ok(LeaderStream { sender, takes_more })
}

/// Sends the request, and waits for the head of the answer. Afterwards the stream may take further requests.
async fn sent(
    mut stream: LeaderStream,
    request: &mut ForwardedRequest,
    leader: &FollowedLeader,
) -> Result<hyper::Response<Incoming>, NotForwarded> {
    let sending = stream.sender.send_request(request.attempt()?);
    let answer = tokio::select! {
        answer = sending => answer?,
        lost = leader.lost_with_answer() => return Err(lost.into()),
    };
    idle_streams::keep(stream, leader.clone());
    Ok(answer)
}

/// Whether the leader has answered the request, or only that it does not lead.
async fn examine(answer: HttpResponse) -> HopOutcome {
    if answer.status() != StatusCode::SERVICE_UNAVAILABLE {
        return HopOutcome::Answered(answer);
    }
    let (head, content) = answer.into_parts();
    match body::to_bytes_limited(content, LONGEST_PROBLEM).await {
        Ok(Ok(bytes)) => {
            let problem: Option<Problem> = serde_json::from_slice(&bytes).ok();
            match problem.and_then(|problem| problem.known_kind()).is_some_and(is_of_no_leader) {
                true => HopOutcome::NotTaken("the node leads no longer".to_owned()),
                false => HopOutcome::Answered(head.set_body(bytes).map_into_boxed_body()),
            }
        }
        Ok(Err(error)) => HopOutcome::Lost(error.to_string()),
        Err(_) => HopOutcome::Lost("its refusal is too long".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[tokio::test]
    async fn only_a_change_without_an_answer_has_an_unknown_outcome() {
        for (request, expected) in [
            (TestRequest::get().uri("/api/v1/plan"), ProblemKind::NotLeader),
            (TestRequest::post().uri("/api/v1/plan"), ProblemKind::OutcomeUnknown),
        ] {
            let forwarded = ForwardedRequest::of(&mut request.to_srv_request()).await.unwrap();
            assert_eq!(unanswered("it was silent", &forwarded).kind(), expected);
        }
    }
}
