//! The HTTP server of a node: API, cfm's wire protocol and health checks.

use std::net::{IpAddr, TcpListener};
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::{self, BoxBody, MessageBody};
use actix_web::dev::{Payload, ServerHandle, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::{self, Next};
use actix_web::{App, HttpMessage, web};
use futures::StreamExt;
use percent_encoding::percent_decode_str;
use reelyard_access::rights::{Caller, Rights, Subject};
use reelyard_api::{API, ProblemKind};
use reelyard_core::host::HostAddr;
use reelyard_core::open_files;
use reelyard_core::token::SharedToken;
use reelyard_protocol::signed_call::{Addressee, PROOF_HEADER, SignedCallRefused, VerifiedCall};
use tokio::sync::{mpsc, watch};

use super::access::authority::{Authority, NoAuthority, bearer_or_signature};
use super::access::{self, RequestCaller};
use super::audit;
use super::called_name::{self, CalledNames};
use super::connections::{
    self, CertificateSource, HttpConnectionLimiter, HttpLimits, ServerSettings,
};
use super::console;
use super::file_table::RankedFiles;
use super::forwarding;
use super::legacy::{self, CompatState};
use super::metrics;
use super::metrics::requests::{self, RequestCounts};
use super::node_state::NodeHttpState;
use super::overview;
use super::passed_files;
use super::problem::ProblemResponse;
use super::{api, guide, health, login_page};
use crate::config::HttpConfig;
use crate::http::api::sessions;
use crate::node::{ForwardedStream, LiveConfig};

/// Longest wait for running answers when the server stops, in seconds.
const STOP_PATIENCE_SECONDS: u64 = 5;

/// Timeout of an idle connection. It is longer than cfm's five seconds, because workers report each
/// second and old cfws poll every few seconds.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Time limit for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// Time limit for a client that takes nothing of an answer, or less than [`LEAST_PACE`].
const STALL: Duration = Duration::from_secs(20);

/// Slowest accepted pace of a client that reads an answer, in bytes per second.
const LEAST_PACE: u64 = 4 << 10;

/// Connections for other clients in a yard with many workers.
const BESIDE_WORKERS: usize = 1024;
/// Percentage of all file descriptors for these connections. Public links may use another part, and
/// the rest is a reserve.
const DESCRIPTORS_PERCENT: u64 = 40;

/// Serves `state` on `listener`, and on streams of other nodes, until the handle is stopped. Answers the number of
/// open streams too. There are enough connections for `hosts` workers. Needs an actix system.
pub fn serve(
    (listener, forwarded): (TcpListener, mpsc::Receiver<ForwardedStream>),
    settings: &HttpConfig,
    hosts: usize,
    state: NodeHttpState,
) -> std::io::Result<(ServerHandle, watch::Receiver<usize>)> {
    let certificate = certificate_of(&state.live);
    let state = web::Data::new(state);
    let compat = web::Data::new(compat_state(&state));
    let requests = web::Data::new(RequestCounts::default());
    let names = web::Data::new(CalledNames::new(&settings.names));
    let renderings = web::Data::new(console::LiveRenderings::default());
    let has_console = state.live.now().config.console.enabled;
    let body_limit = usize::try_from(settings.body_limit.as_u64()).unwrap_or(usize::MAX);
    actix_web::rt::spawn(overview::keep(state.clone()));
    let app = move || {
        App::new()
            .app_data(state.clone())
            .app_data(requests.clone())
            .app_data(names.clone())
            .wrap(middleware::from_fn(console::in_language))
            .wrap(middleware::from_fn(legacy::paths::clean))
            .wrap(middleware::from_fn(called_name::check))
            .wrap(middleware::from_fn(audit::record))
            .wrap(middleware::from_fn(forwarding::to_leader))
            .wrap(middleware::from_fn(requests::count))
            .wrap(middleware::from_fn(connections::track_activity))
            .service(web::resource("/healthz").route(api::read().to(health::healthz)))
            .service(web::resource("/readyz").route(api::read().to(health::readyz)))
            .service(
                web::resource("/shared-files/{id}").route(api::read().to(passed_files::answer)),
            )
            .service(
                web::resource("/shared-files/{id}/contents")
                    .route(api::read().to(passed_files::contents)),
            )
            .service(
                web::resource("/shared-files/{id}/archive")
                    .route(api::read().to(passed_files::archive)),
            )
            .service(
                web::resource("/shared-files/{id}/count")
                    .route(api::read().to(passed_files::count)),
            )
            .service(web::resource("/metrics").route(api::read().to(metrics::node)))
            .service(web::resource(["/guide", "/guide/"]).route(api::read().to(guide::contents)))
            .service(web::resource("/guide/pictures/{name}").route(api::read().to(guide::picture)))
            .service(web::resource("/guide/{topic}").route(api::read().to(guide::chapter)))
            .service(
                web::scope(API)
                    .wrap(middleware::from_fn(api::with_members))
                    .wrap(middleware::from_fn(with_token))
                    .wrap(middleware::from_fn(api::with_promise))
                    .configure(|config| api::routes(config, body_limit)),
            )
            .configure(|config| {
                if has_console {
                    login_page::routes(config);
                    console::routes(config, renderings.clone());
                }
            })
            .configure(legacy::routes(compat.clone()))
            .default_service(web::to(legacy::not_found))
    };
    let served = ServerSettings {
        threads: settings.threads.map(NonZeroUsize::get),
        head_time: HEAD_TIME,
        keep_alive: KEEP_ALIVE,
        stop_patience_seconds: STOP_PATIENCE_SECONDS,
    };
    let limiter = HttpConnectionLimiter::new(limits(settings, hosts));
    let open = connections::serve_forwarded(forwarded, app.clone());
    let server = connections::serve(listener, &served, &limiter, certificate, app)?;
    Ok((server, open))
}

/// The certificate of the running configuration.
pub fn certificate_of(live: &LiveConfig) -> CertificateSource {
    let live = live.clone();
    Arc::new(move || live.now().config.tls.certificate().cloned())
}

/// Limits of connections. A worker uses two: its long poll and one for reports. All workers may
/// share the address of one gateway.
fn limits(settings: &HttpConfig, hosts: usize) -> HttpLimits {
    let count = |number: NonZeroU32| usize::try_from(number.get()).unwrap_or(usize::MAX);
    let of_workers = 2 * hosts;
    let wanted = count(settings.connections).max(of_workers + BESIDE_WORKERS);
    HttpLimits {
        connections: open_files::at_most(wanted, DESCRIPTORS_PERCENT),
        per_address: count(settings.connections_per_address).saturating_add(of_workers),
        request_time: settings.request_timeout,
        stall: STALL,
        least_pace: LEAST_PACE,
    }
}

/// The state of the handlers of cfm's wire protocol.
fn compat_state(state: &web::Data<NodeHttpState>) -> CompatState {
    let (of_tasks, for_cfws, of_files) = (state.clone(), state.clone(), state.clone());
    let task_manager = &state.actors.task_manager;
    CompatState {
        tasks: Arc::new(move || {
            let view = of_tasks.actors.task_views.load();
            Arc::new(view.tasks().into_iter().cloned().collect())
        }),
        tasks_for_cfws: Arc::new(move || {
            Arc::new(for_cfws.actors.task_views.load().tasks_for_cfws())
        }),
        change: task_manager.route(),
        cancel: task_manager.route(),
        heartbeat: state.actors.heartbeat_view.clone(),
        files: Arc::new(move || {
            let catalog = of_files.actors.catalog_view.load();
            let tasks = of_files.actors.task_views.load();
            Arc::new(RankedFiles::new(of_files.names.clone(), catalog, tasks))
        }),
        clock: state.clock.clone(),
        turns: legacy::change_turns(),
    }
}

/// Workers call below this path. Only these calls may be signed.
const WORKERS: &str = "/workers/";

async fn with_token(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let Some(state) = request.app_data::<web::Data<NodeHttpState>>().cloned() else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let path = request.path().strip_prefix(API).unwrap_or_default();
    if !path.starts_with(WORKERS) {
        let is_login = request.method() == Method::POST && path == sessions::PATH;
        if !is_login {
            let (caller, credential) = access::authenticate(request.request(), &state)?;
            request.extensions_mut().insert(caller);
            request.extensions_mut().insert(credential);
        }
        api::keep_promise(&request, &state).await?;
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let worker = CallingWorker::of(path, &request, &state);
    match worker.authority(&request, &state) {
        Ok(admitted) => {
            if let Some(host) = worker.host {
                state.worker_refusals.clear(host);
            }
            if let Some(host) = worker.named {
                let caller =
                    Caller { subject: Subject::Worker(host), rights: Rights::Worker(host) };
                request.extensions_mut().insert(RequestCaller(caller, None));
            }
            api::keep_promise(&request, &state).await?;
            match (admitted, worker.token) {
                (Authority::Signed(admitted), Some(token)) => {
                    check_body(&mut request, &admitted, &state.live.now().config.http).await?;
                    let answer = next.call(request).await?.map_into_boxed_body();
                    proved(answer, &token, &admitted).await
                }
                _ => Ok(next.call(request).await?.map_into_boxed_body()),
            }
        }
        Err(refused) => {
            if let Some(host) = worker.host {
                let why = &refused.problem().detail;
                state.worker_refusals.record(host, why, worker.address, state.clock.now());
            }
            Err(refused.into())
        }
    }
}

/// The worker that a call below [`WORKERS`] names, before its authority is known.
struct CallingWorker {
    /// The host in the path. None if it has another form; then the call is refused.
    named: Option<HostAddr>,
    /// The same host. None if it is not one of the yard.
    host: Option<HostAddr>,
    /// The address of the caller.
    address: IpAddr,
    /// The key of the worker, or the shared token.
    token: Option<SharedToken>,
    /// Whether the worker has a token of its own. Then the shared one is refused.
    has_own: bool,
}

impl CallingWorker {
    fn of(path: &str, request: &ServiceRequest, state: &NodeHttpState) -> Self {
        let name = path.strip_prefix(WORKERS).and_then(|rest| rest.split('/').next());
        let named = name.and_then(|name| percent_decode_str(name).decode_utf8().ok()?.parse().ok());
        let host = named.filter(|host| state.actors.hosts.get(*host).is_some());
        let own = host.and_then(|host| state.actors.access_views.load().worker_key(host));
        let has_own = own.is_some();
        let token = own.or_else(|| state.live.now().config.token.clone());
        let address = access::address_of(request.request());
        CallingWorker { named, host, address, token, has_own }
    }

    /// How the call is authorized.
    ///
    /// # Errors
    ///
    /// Signature or token are missing or wrong, or the worker's token has expired or does not admit the address.
    fn authority(
        &self,
        request: &ServiceRequest,
        state: &NodeHttpState,
    ) -> Result<Authority, ProblemResponse> {
        let view = state.actors.access_views.load();
        if !view.is_ready {
            return Err(ProblemResponse::starting());
        }
        let (request, token) = (request.request(), self.token.as_ref());
        let authority = bearer_or_signature(request, token, &state.gate, Addressee::Node);
        if let Err(NoAuthority::OtherToken) = authority {
            state.login_guard.admit_token(self.address, &state.clock)?;
        }
        let challenged = |none| ProblemResponse::from(none).with_challenge(state.gate.challenge());
        let authority = authority.map_err(challenged)?;
        let is_open = matches!(authority, Authority::Open);
        if is_open && view.has_worker_tokens() {
            let detail = "this worker has no token, and other workers of this yard have some. Create its token by \
                          \"reelyard token create --worker\"";
            return Err(ProblemResponse::new(ProblemKind::Unauthorized, detail));
        }
        if is_open && !state.is_of_yard(self.address) {
            let detail = "a worker without a token may call only from the address of a host of the yard. Create its \
                          token by \"reelyard token create --worker\"";
            return Err(ProblemResponse::new(ProblemKind::Unauthorized, detail));
        }
        let Some(host) = self.host.filter(|_| self.has_own) else { return Ok(authority) };
        match view.authenticate_worker(host, self.address, state.clock.now()) {
            Ok(_) => Ok(authority),
            Err(refused) => {
                Err(ProblemResponse::new(ProblemKind::Unauthorized, refused.to_string()))
            }
        }
    }
}

/// Reads the body of a signed call, and refuses a body that does not match the signature.
async fn check_body(
    request: &mut ServiceRequest,
    admitted: &VerifiedCall,
    settings: &HttpConfig,
) -> Result<(), actix_web::Error> {
    let limit = usize::try_from(settings.body_limit.as_u64()).unwrap_or(usize::MAX);
    let mut payload = request.take_payload();
    let mut body = web::BytesMut::new();
    while let Some(piece) = payload.next().await {
        let piece = piece.map_err(ProblemResponse::from)?;
        if body.len() + piece.len() > limit {
            let detail = format!("the body is longer than {limit} bytes");
            return Err(ProblemResponse::new(ProblemKind::TooLarge, detail).into());
        }
        body.extend_from_slice(&piece);
    }
    if !admitted.covers(&body) {
        return Err(ProblemResponse::from(NoAuthority::Signature(SignedCallRefused::Wrong)).into());
    }
    let again = futures::stream::once(std::future::ready(Ok(body.freeze())));
    request.set_payload(Payload::Stream { payload: Box::pin(again) });
    Ok(())
}

/// Adds the proof that this node knows the token. Answers to workers are short.
async fn proved(
    answer: ServiceResponse<BoxBody>,
    token: &SharedToken,
    admitted: &VerifiedCall,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let (request, answer) = answer.into_parts();
    let (mut answer, body) = answer.into_parts();
    let body = body::to_bytes(body).await.map_err(actix_web::error::ErrorInternalServerError)?;
    let proof = admitted.prove(token, answer.status().as_u16(), &body);
    let proof =
        HeaderValue::from_str(&proof).map_err(actix_web::error::ErrorInternalServerError)?;
    let name = HeaderName::from_bytes(PROOF_HEADER.as_bytes());
    let name = name.map_err(actix_web::error::ErrorInternalServerError)?;
    answer.headers_mut().insert(name, proof);
    Ok(ServiceResponse::new(request, answer.set_body(BoxBody::new(body))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NodeConfig;

    #[test]
    fn there_is_room_for_all_workers_also_behind_one_address() {
        let settings = NodeConfig::default().http;
        let of = |hosts| limits(&settings, hosts);
        assert_eq!((of(0).connections, of(0).per_address), (4096, 512));
        assert_eq!((of(400).connections, of(400).per_address), (4096, 1312));
        assert_eq!((of(2000).connections, of(2000).per_address), (5024, 4512));
    }
}
