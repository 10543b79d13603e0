//! The answers of a worker. Where cfw has the same call, they are byte for byte like cfw's.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, web};
use reelyard_core::event::Epoch;
use reelyard_core::manager::{MANAGER_HEADER, ManagerId, YardId};
use reelyard_core::names::{BadFileName, FileName};
use reelyard_protocol::inventory::{InventoryLine, ListedFile, write_inventory};
use reelyard_protocol::legacy::cfw::{Deleted, write_df};
use reelyard_protocol::signed_call::{Addressee, PROOF_HEADER};
use reelyard_protocol::worker::{
    EPOCH_HEADER, INVENTORY_HEADER, INVENTORY_SINCE_HEADER, InventoryCursor, ManagerAction,
    WorkerAdopted, WorkerInfo,
};
use reelyard_worker::downloader::disk::base_dir::{BaseDir, BaseDirEntry};
use reelyard_worker::downloader::disk::inventory::{BaseDirChange, BaseDirListing};
use reelyard_worker::kept_state::epoch_guard::{MOST_AHEAD, NotObeyed};

use super::answer_parts::{JSON, TEXT, json, json_line, unauthorized};
use super::router::{WorkerHttpCall, route};
use super::state::WorkerHttp;
use super::{boxes, readiness};
use crate::http::access::authority::{Authority, NoAuthority, bearer_or_signature};
use crate::http::health;

/// Answers any request to the worker.
pub async fn answer(
    request: HttpRequest,
    body: web::Payload,
    http: web::Data<WorkerHttp>,
) -> HttpResponse {
    let call = route(request.method().as_str(), request.uri().path());
    let authority = match authority(&request, &http, &call) {
        Ok(authority) => authority,
        Err(none) => return unauthorized(&http, none),
    };
    record_manager(&request, &http, &call);
    match call {
        WorkerHttpCall::Heartbeat => HttpResponse::Ok().content_type(TEXT).finish(),
        WorkerHttpCall::Files => files(http.into_inner()).await,
        WorkerHttpCall::Disk => disk(&http).await,
        WorkerHttpCall::Delete(name) => delete(&request, &http, name).await,
        WorkerHttpCall::Info => info(&http, authority),
        WorkerHttpCall::Inventory => inventory(&request, &http).await,
        WorkerHttpCall::Metrics => metrics(&request, &http),
        WorkerHttpCall::Healthz => health::healthz().await,
        WorkerHttpCall::Readyz => readiness::readyz(http.into_inner()).await,
        WorkerHttpCall::RunHook => boxes::run(&http, authority, body).await,
        WorkerHttpCall::LookAtBoxes => boxes::look(&http, authority, body).await,
        WorkerHttpCall::AdoptBoxes => boxes::adopt(&http, authority, body).await,
        WorkerHttpCall::Adopt => adopt(&request, &http, authority).await,
        WorkerHttpCall::Clean(path) => moved(&request, &path).finish(),
        WorkerHttpCall::WithoutSlash(path) => without_slash(&request, &path),
        WorkerHttpCall::Method => HttpResponse::MethodNotAllowed().finish(),
        WorkerHttpCall::Nothing => HttpResponse::NotFound()
            .content_type("text/plain; charset=utf-8")
            .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .body("404 page not found\n"),
    }
}

fn needs_token(call: &WorkerHttpCall) -> bool {
    matches!(
        call,
        WorkerHttpCall::Delete(_)
            | WorkerHttpCall::Info
            | WorkerHttpCall::Inventory
            | WorkerHttpCall::RunHook
            | WorkerHttpCall::LookAtBoxes
            | WorkerHttpCall::AdoptBoxes
            | WorkerHttpCall::Adopt
    )
}

/// How the call is authorized. Calls that cfw leaves open need no authorization.
fn authority(
    request: &HttpRequest,
    http: &WorkerHttp,
    call: &WorkerHttpCall,
) -> Result<Authority, NoAuthority> {
    if !needs_token(call) {
        return Ok(Authority::Open);
    }
    // The worker's own address: a call that was signed for another host is refused.
    let to = Addressee::Worker(http.info.host);
    let token = http.token.now();
    bearer_or_signature(request, Option::as_ref(&token), &http.gate, to)
}

/// Records the caller of lists and deletions. Probes and disk figures are not recorded, because
/// monitoring uses them too.
fn record_manager(request: &HttpRequest, http: &WorkerHttp, call: &WorkerHttpCall) {
    let does = match call {
        WorkerHttpCall::Files | WorkerHttpCall::Inventory => ManagerAction::Lists,
        WorkerHttpCall::Delete(_) => ManagerAction::Deletes,
        _ => return,
    };
    let manager = manager_of(request);
    let from = request.peer_addr().map(|peer| peer.ip().to_string()).unwrap_or_default();
    http.managers.record(manager, from, does, http.clock.now());
}

/// The calling node; none if the header is missing or invalid.
fn manager_of(request: &HttpRequest) -> Option<ManagerId> {
    request.headers().get(MANAGER_HEADER)?.to_str().ok()?.parse().ok()
}

/// Reads the base directory off the server threads. None without one, or if it fails.
async fn from_disk<T: Send + 'static>(
    http: &WorkerHttp,
    what: &'static str,
    ask: impl FnOnce(&BaseDir) -> std::io::Result<T> + Send + 'static,
) -> Option<T> {
    let base = Arc::clone(http.base.as_ref()?);
    blocking(what, move || ask(&base)).await
}

/// Runs a blocking operation on the base directory off the server threads. None if it fails.
async fn blocking<T: Send + 'static>(
    what: &'static str,
    ask: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Option<T> {
    match web::block(ask).await {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            tracing::error!(%error, "{what} failed on the base directory");
            None
        }
        Err(error) => {
            tracing::error!(%error, "{what} did not run");
            None
        }
    }
}

async fn files(http: Arc<WorkerHttp>) -> HttpResponse {
    let Some(names) = from_disk(&http, "GET /files", BaseDir::names).await else {
        return HttpResponse::InternalServerError().content_type(TEXT).finish();
    };
    let total = names.len();
    // A name with a line feed would read as two names, and a manager might delete either.
    let lines: Vec<FileName> =
        names.into_iter().filter(|name| !name.as_bytes().contains(&b'\n')).collect();
    http.unlistable_names.store((total - lines.len()) as u64, Ordering::Relaxed);
    let mut body = Vec::new();
    for name in lines {
        body.extend_from_slice(name.as_bytes());
        body.push(b'\n');
    }
    HttpResponse::Ok().content_type(TEXT).body(body)
}

async fn disk(http: &WorkerHttp) -> HttpResponse {
    match from_disk(http, "GET /df", BaseDir::disk).await {
        Some(disk) => HttpResponse::Ok().content_type(JSON).body(write_df(disk)),
        None => HttpResponse::InternalServerError().content_type(JSON).finish(),
    }
}

async fn delete(
    request: &HttpRequest,
    http: &WorkerHttp,
    name: Result<FileName, BadFileName>,
) -> HttpResponse {
    let leader = (manager_of(request).map(|manager| manager.cluster), epoch_of(request));
    let status = match (leader, name) {
        ((_, Err(status)), _) => status,
        ((cluster, Ok(epoch)), Ok(name)) => match delete_file(http, cluster, epoch, name).await {
            Ok(status) => status,
            Err(refusal) => {
                let mut answer = HttpResponse::PreconditionFailed();
                return answer.content_type(TEXT).body(format!("{refusal}\n"));
            }
        },
        // Like cfw, whose file system refuses such a name.
        ((_, Ok(_)), Err(_)) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    HttpResponse::build(status).content_type(JSON).finish()
}

/// Makes the calling node the obeyed one in its epoch, whatever the worker knew before.
async fn adopt(request: &HttpRequest, http: &WorkerHttp, authority: Authority) -> HttpResponse {
    let (Some(manager), Ok(Some(epoch))) = (manager_of(request), epoch_of(request)) else {
        let why = format!("the headers {MANAGER_HEADER} and {EPOCH_HEADER} are missing or wrong\n");
        return HttpResponse::BadRequest().content_type(TEXT).body(why);
    };
    let epochs = http.epochs.clone();
    // Without a token any client may call. None may raise the epoch so far that a node cannot reach
    // it.
    let highest = epochs.highest();
    if matches!(authority, Authority::Open) && epoch.0.saturating_sub(highest.0) > MOST_AHEAD {
        let why = format!(
            "epoch {epoch} is more than {MOST_AHEAD} above {highest}, the highest that this worker knows. \
             Configure a token for node and worker, then run \"reelyard hosts adopt\"\n"
        );
        return HttpResponse::PreconditionFailed().content_type(TEXT).body(why);
    }
    let adopting = move || epochs.adopt(manager.cluster, epoch).map_err(std::io::Error::other);
    match blocking("POST /adopt", adopting).await {
        Some(before) => {
            json_line(HttpResponse::Ok().content_type(JSON), &WorkerAdopted { epoch, before })
        }
        None => HttpResponse::InternalServerError().content_type(TEXT).finish(),
    }
}

/// The epoch of the leader that decided this call; none on a call of an old cfm.
fn epoch_of(request: &HttpRequest) -> Result<Option<Epoch>, StatusCode> {
    let Some(header) = request.headers().get(EPOCH_HEADER) else { return Ok(None) };
    let epoch = header.to_str().ok().and_then(|text| text.parse().ok());
    epoch.map(|epoch| Some(Epoch(epoch))).ok_or(StatusCode::BAD_REQUEST)
}

/// Deletes a file, unless the leader that decided it was deposed.
async fn delete_file(
    http: &WorkerHttp,
    cluster: Option<YardId>,
    epoch: Option<Epoch>,
    name: FileName,
) -> Result<StatusCode, NotObeyed> {
    let (epochs, file_name) = (http.epochs.clone(), name.clone());
    let deleted = from_disk(http, "DELETE", move |base| {
        let Some(epoch) = epoch else { return base.unlink(&name).map(Ok) };
        if let Err(refusal) = epochs.would_obey(cluster, epoch) {
            return Ok(Err(refusal));
        }
        // A call without effect must not raise the epoch.
        if base.is_absent(&name)? {
            return Ok(Ok(Deleted::Absent));
        }
        match epochs.obey(cluster, epoch, || base.unlink(&name)) {
            Ok(Ok(deleted)) => deleted.map(Ok),
            Ok(Err(refusal)) => Ok(Err(refusal)),
            Err(error) => Err(std::io::Error::other(error)),
        }
    });
    Ok(match deleted.await {
        Some(Ok(Deleted::Removed)) => {
            tracing::info!(file = file_name.to_string(), "copy deleted");
            StatusCode::OK
        }
        Some(Ok(Deleted::Absent)) => StatusCode::NOT_FOUND,
        Some(Ok(Deleted::Directory)) => StatusCode::NOT_ACCEPTABLE,
        Some(Ok(Deleted::Deposed)) => StatusCode::PRECONDITION_FAILED,
        Some(Err(refusal)) => {
            tracing::warn!(file = file_name.to_string(), %refusal, "refused to delete a file");
            return Err(refusal);
        }
        None => StatusCode::INTERNAL_SERVER_ERROR,
    })
}

/// Adds a proof that this worker knows the token, if the call was signed.
fn info(http: &WorkerHttp, authority: Authority) -> HttpResponse {
    let managers = http.managers.lately(http.clock.now());
    let (epoch, traffic) = (http.epochs.highest(), http.link.traffic());
    let fetches_from_old = http.base.is_some() && http.external.now().is_some();
    let (configured, box_hooks) = (http.info.clone(), http.boxes.names());
    let data_tls = http.data_certificate.now().is_some();
    let info = WorkerInfo {
        data_tls,
        epoch,
        managers,
        traffic,
        fetches_from_old,
        box_hooks,
        ..configured
    };
    let mut answer = HttpResponse::Ok();
    answer.content_type(JSON);
    if let (Authority::Signed(admitted), Some(token)) = (authority, &*http.token.now())
        && let Ok(body) = json(&info)
    {
        let proof = admitted.prove(token, 200, body.as_bytes());
        return answer.insert_header((PROOF_HEADER, proof)).body(body);
    }
    json_line(&mut answer, &info)
}

fn metrics(request: &HttpRequest, http: &WorkerHttp) -> HttpResponse {
    let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let (epoch, unlistable) = (http.epochs.highest(), http.unlistable_names());
    http.figures.page(epoch, unlistable, http.link.traffic(), accept.unwrap_or_default())
}

async fn inventory(request: &HttpRequest, http: &WorkerHttp) -> HttpResponse {
    let since = cursor_asked(request);
    let stock = match http.inventory.clone() {
        Some(inventory) => blocking("GET /inventory", move || inventory.list(since)).await,
        None => None,
    };
    let mut answer = HttpResponse::Ok();
    answer.content_type(TEXT);
    let body = match stock {
        None => return HttpResponse::InternalServerError().content_type(TEXT).finish(),
        Some(BaseDirListing::Whole { files, cursor }) => {
            if let Some(cursor) = cursor {
                answer.insert_header((INVENTORY_HEADER, cursor.to_string()));
            }
            write_inventory(files.iter().map(|file| InventoryLine::File(listed(file))))
        }
        Some(BaseDirListing::Changes { changes, cursor }) => {
            answer.insert_header((INVENTORY_HEADER, cursor.to_string()));
            if let Some(since) = since {
                answer.insert_header((INVENTORY_SINCE_HEADER, since.to_string()));
            }
            write_inventory(changes.iter().map(line_of))
        }
    };
    answer.body(body)
}

/// The position from which changes are requested. An invalid cursor gets everything.
fn cursor_asked(request: &HttpRequest) -> Option<InventoryCursor> {
    let mut settings = request.query_string().split('&');
    settings.find_map(|setting| setting.strip_prefix("since="))?.parse().ok()
}

fn listed(file: &BaseDirEntry) -> ListedFile<'_> {
    ListedFile { name: &file.name, size: file.size, modified: file.modified }
}

fn line_of(change: &BaseDirChange) -> InventoryLine<'_> {
    match change {
        BaseDirChange::Held(file) => InventoryLine::Held(listed(file)),
        BaseDirChange::Gone(name) => InventoryLine::Gone(name),
    }
}

fn moved(request: &HttpRequest, path: &str) -> HttpResponseBuilder {
    let location = match request.uri().query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut answer = HttpResponse::MovedPermanently();
    answer.insert_header((header::LOCATION, location));
    answer
}

/// Go adds a small HTML page if a browser may have sent the request.
fn without_slash(request: &HttpRequest, path: &str) -> HttpResponse {
    let mut answer = moved(request, path);
    if request.method() == "GET" {
        let link = path.replace('&', "&amp;").replace('\'', "&#39;");
        answer
            .content_type("text/html; charset=utf-8")
            .body(format!("<a href=\"{link}\">Moved Permanently</a>.\n\n"))
    } else {
        answer.finish()
    }
}
