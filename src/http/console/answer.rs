//! Answers of the console: pages in their frame.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::cookie::Cookie;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_ENCODING, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use flate2::Compression;
use reelyard_boxes::box_lease::BoxPhase;
use reelyard_console::address::ROOT;
use reelyard_console::frame::{self, FrameModel, LiveMark, PageParts};
use reelyard_console::pages::find::{FindPageQuery, palette};
use reelyard_replication::Leadership;

use super::actions::{OUTCOME_COOKIE, outcome_of};
use super::refusal::html_answer;
use super::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::packed::{GZIP, accepts_gzip, gzip};

/// Answers with a page in its frame.
pub fn page(
    request: &HttpRequest,
    state: &web::Data<NodeHttpState>,
    visitor: &Visitor,
    parts: &PageParts,
) -> HttpResponse {
    page_at(here_of(request), request, state, visitor, parts)
}

fn here_of(request: &HttpRequest) -> &str {
    request.uri().path_and_query().map_or(ROOT, |path| path.as_str())
}

/// Answers with a page whose parts follow changes by the stream of this word.
pub fn live_page(
    request: &HttpRequest,
    state: &web::Data<NodeHttpState>,
    visitor: &Visitor,
    parts: &PageParts,
    stream: &str,
) -> HttpResponse {
    live_page_of(request, state, visitor, parts, stream, request.query_string())
}

/// The same with a query of the stream that is not the query of the page.
pub fn live_page_of(
    request: &HttpRequest,
    state: &web::Data<NodeHttpState>,
    visitor: &Visitor,
    parts: &PageParts,
    stream: &str,
    query: &str,
) -> HttpResponse {
    let mark = if query.is_empty() { "" } else { "?" };
    let stream = Some(format!("{ROOT}/live/{stream}{mark}{query}"));
    let frame = FrameModel { live: LiveMark::Live, stream, ..frame_model(state) };
    framed(here_of(request), request, visitor, parts, frame)
}

/// Answers a form with a page. Its links lead back to the page `here`, not to the address of the form.
pub fn page_at(
    here: &str,
    request: &HttpRequest,
    state: &web::Data<NodeHttpState>,
    visitor: &Visitor,
    parts: &PageParts,
) -> HttpResponse {
    framed(here, request, visitor, parts, frame_model(state))
}

fn framed(
    here: &str,
    request: &HttpRequest,
    visitor: &Visitor,
    parts: &PageParts,
    frame: FrameModel,
) -> HttpResponse {
    let kept = request.cookie(OUTCOME_COOKIE);
    let outcome = kept.as_ref().and_then(|kept| outcome_of(kept.value()));
    let path = here.split('?').next().unwrap_or_default();
    let palette = (path != FindPageQuery::path()).then(|| palette(&visitor.viewer, path));
    let model = FrameModel { here: here.to_owned(), outcome, palette, ..frame };
    let body = frame::page(parts, &model, &visitor.viewer);
    let policy = frame::security_policy(&visitor.viewer.nonce);
    let mut answer = html_answer(StatusCode::OK, &policy, body);
    if kept.is_none() {
        answer = packed(request, answer);
    } else {
        let mut shown = Cookie::build(OUTCOME_COOKIE, "").path(ROOT).finish();
        shown.make_removal();
        // A cookie of this form always fits a header.
        let _ = answer.add_cookie(&shown);
    }
    answer
}

/// Packs the body of a page for a browser that unpacks it. A page with text of its address or a cookie stays plain:
/// the length of a packed body could reveal the token of its forms.
fn packed(request: &HttpRequest, answer: HttpResponse) -> HttpResponse {
    if !request.query_string().is_empty() || !accepts_gzip(request) {
        return answer;
    }
    let mut is_packed = false;
    let mut answer = answer.map_body(|_, body| match body.try_into_bytes() {
        Ok(plain) => match gzip(&plain, Compression::fast()) {
            Some(packed) => {
                is_packed = true;
                BoxBody::new(Bytes::from(packed))
            }
            None => BoxBody::new(plain),
        },
        Err(stream) => stream,
    });
    if is_packed {
        answer.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(GZIP));
    }
    answer
}

/// The facts of the frame: who leads, and counts of troubles.
pub fn frame_model(state: &web::Data<NodeHttpState>) -> FrameModel {
    let leadership = *state.journal.leadership().borrow();
    let leader = match leadership {
        Leadership::Leading { .. } => Some(state.node_id),
        Leadership::Following { leader } => Some(leader),
        Leadership::Nobody | Leadership::Stopped => None,
    };
    let beats = state.actors.heartbeat_view.load();
    let hosts = state.actors.hosts.present();
    let down = hosts.keys().filter(|host| beats.is_down(**host));
    let quarantined = state
        .actors
        .boxes
        .views
        .pools()
        .iter()
        .map(|pool| u64::from(pool.counts.of(BoxPhase::Quarantined)))
        .sum();
    FrameModel {
        yard: yard_name(state),
        node: state.node_id,
        leader,
        epoch: state.journal.status().term,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        hosts_down: down.count() as u64,
        tasks_failed: state.last_hour().to_retry,
        boxes_quarantined: quarantined,
        not_ready: state.not_ready(),
        live: LiveMark::Fixed,
        stream: None,
        here: String::new(),
        outcome: None,
        palette: None,
    }
}

/// The name of the yard: the host name of this node.
pub fn yard_name(state: &NodeHttpState) -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { format!("node {}", state.node_id) } else { name }
}
