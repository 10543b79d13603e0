//! A stand-in for an old cfw for tests, with the behaviour of the Go program. It has the HTTP interface over a
//! real directory and the loop that polls for tasks. It keeps the defects of cfw on purpose.

mod polling;

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fs, io};

use actix_web::dev::ServerHandle;
use actix_web::http::header::AUTHORIZATION;
use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, Bytes};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use percent_encoding::percent_decode_str;
use reelyard_core::host::HostAddr;
use tokio::sync::{Notify, watch};

pub use super::stand_in_cfw::polling::{DownloaderBehavior, Polling};

/// The entry in the list of calls for a directory list that was read and is delayed.
pub const HELD_LIST: &str = "holding GET /files";

/// A running stand-in. Dropping it stops it.
pub struct StandInCfw {
    addr: HostAddr,
    dir: PathBuf,
    switches: watch::Sender<Switches>,
    calls: RecordedCalls,
    server: ServerHandle,
    thread: Option<JoinHandle<()>>,
}

/// The selected misbehaviour.
#[derive(Clone, Copy, Debug, Default)]
struct Switches {
    is_frozen: bool,
    holds_lists: bool,
    tears_lists: bool,
    df_fails: bool,
}

/// Every call that arrived, in order.
#[derive(Clone, Default)]
struct RecordedCalls {
    /// As `METHOD path`.
    taken: Arc<Mutex<Vec<String>>>,
    /// The number of calls with credentials. An old cfw must never receive any.
    with_authorization: Arc<AtomicUsize>,
    /// Wakes tasks that wait for a call.
    more: Arc<Notify>,
}

#[derive(Clone)]
struct StandInCfwState {
    dir: PathBuf,
    switches: watch::Receiver<Switches>,
    calls: RecordedCalls,
}

impl StandInCfw {
    /// Serves `dir` on a free port of `127.0.0.1`.
    pub fn start(dir: &Path) -> io::Result<StandInCfw> {
        StandInCfw::start_at(dir, "127.0.0.1:0")
    }

    /// Serves `dir` at `listen`, for example at the address of a stopped stand-in.
    pub fn start_at(dir: &Path, listen: &str) -> io::Result<StandInCfw> {
        let (switches, seen) = watch::channel(Switches::default());
        let calls = RecordedCalls::default();
        let shared = StandInCfwState { dir: dir.to_owned(), switches: seen, calls: calls.clone() };
        let listener = std::net::TcpListener::bind(listen)?;
        let addr = HostAddr::from(listener.local_addr()?);
        let (ready, server) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            actix_rt::System::new().block_on(async move {
                let running = HttpServer::new(move || {
                    App::new()
                        .app_data(web::Data::new(shared.clone()))
                        .default_service(web::to(answer))
                })
                .workers(1)
                .keep_alive(Duration::from_secs(5))
                .shutdown_timeout(0)
                .disable_signals()
                .listen(listener);
                if let Ok(running) = running {
                    let running = running.run();
                    // The starter waits for this. If the starter is gone, the server is dropped.
                    if ready.send(running.handle()).is_ok() {
                        let _ = running.await;
                    }
                }
            });
        });
        let server = server.recv().map_err(io::Error::other)?;
        Ok(StandInCfw { addr, dir: dir.to_owned(), switches, calls, server, thread: Some(thread) })
    }

    /// The address of the stand-in.
    pub fn addr(&self) -> HostAddr {
        self.addr
    }

    /// The directory it serves.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// While frozen, it accepts connections and answers nothing, like a stopped process.
    pub fn set_frozen(&self, is_frozen: bool) {
        self.switches.send_modify(|switches| switches.is_frozen = is_frozen);
    }

    /// While this is set, it reads the directory for `GET /files` and delays the answer.
    pub fn set_holding_lists(&self, holds_lists: bool) {
        self.switches.send_modify(|switches| switches.holds_lists = holds_lists);
    }

    /// While this is set, it breaks the connection in the middle of the answer to `GET /files`.
    pub fn set_tearing_lists(&self, tears_lists: bool) {
        self.switches.send_modify(|switches| switches.tears_lists = tears_lists);
    }

    /// While this is set, `GET /df` has the answer 500 with an empty body.
    pub fn set_df_failing(&self, df_fails: bool) {
        self.switches.send_modify(|switches| switches.df_fails = df_fails);
    }

    /// The calls so far, as `METHOD path`.
    pub fn calls(&self) -> Vec<String> {
        self.calls.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of calls equal to `call` so far.
    pub fn count_of(&self, call: &str) -> usize {
        self.calls().iter().filter(|seen| *seen == call).count()
    }

    /// The number of calls with an `Authorization` header.
    pub fn calls_with_authorization(&self) -> usize {
        self.calls.with_authorization.load(Ordering::SeqCst)
    }

    /// Waits until `call` arrived at least `times` times.
    pub async fn was_called(&self, call: &str, times: usize) {
        loop {
            let more = self.calls.more.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            if self.count_of(call) >= times {
                return;
            }
            more.await;
        }
    }

    /// Starts to poll a node for tasks, as the Go program does.
    pub fn poll(
        &self,
        node: std::net::SocketAddr,
        every: Duration,
        how: DownloaderBehavior,
    ) -> Polling {
        Polling::start(self.addr, self.dir.clone(), node, every, how)
    }
}

impl Drop for StandInCfw {
    fn drop(&mut self) {
        // Ends every delay first: otherwise the server would wait for the delayed calls.
        self.switches.send_modify(|switches| *switches = Switches::default());
        drop(self.server.stop(false));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl RecordedCalls {
    fn record(&self, request: &HttpRequest) {
        if request.headers().contains_key(AUTHORIZATION) {
            self.with_authorization.fetch_add(1, Ordering::SeqCst);
        }
        self.take(format!("{} {}", request.method(), request.uri().path()));
    }

    fn take(&self, call: String) {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        self.more.notify_waiters();
    }
}

async fn answer(request: HttpRequest, shared: web::Data<StandInCfwState>) -> HttpResponse {
    let path = request.uri().path();
    shared.calls.record(&request);
    let mut switches = shared.switches.clone();
    // The sender lives as long as the server, therefore the wait cannot fail.
    let _ = switches.wait_for(|switches| !switches.is_frozen).await;
    match (request.method(), path) {
        (&Method::HEAD, "/hb") => text(StatusCode::OK).finish(),
        (&Method::GET, "/files") => list(&shared, switches).await,
        (&Method::GET, "/df") if !switches.borrow().df_fails => df(&shared.dir),
        (&Method::GET, "/df") => json(StatusCode::INTERNAL_SERVER_ERROR),
        (_, "/hb" | "/files" | "/df") => HttpResponse::MethodNotAllowed().finish(),
        (method, path) => match path.strip_prefix("/files/") {
            Some(name) if !name.is_empty() && !name.contains('/') => match *method {
                Method::DELETE => json(delete(&shared.dir, name)),
                _ => HttpResponse::MethodNotAllowed().finish(),
            },
            _ => HttpResponse::NotFound()
                .content_type("text/plain; charset=utf-8")
                .body("404 page not found\n"),
        },
    }
}

fn text(status: StatusCode) -> actix_web::HttpResponseBuilder {
    let mut answer = HttpResponse::build(status);
    answer.content_type("text/plain;charset=UTF-8");
    answer
}

fn json(status: StatusCode) -> HttpResponse {
    HttpResponse::build(status).content_type("application/json;charset=UTF-8").finish()
}

async fn list(shared: &StandInCfwState, mut switches: watch::Receiver<Switches>) -> HttpResponse {
    let Ok(names) = names_in(&shared.dir) else {
        return text(StatusCode::INTERNAL_SERVER_ERROR).finish();
    };
    let mut body = Vec::new();
    for name in names {
        body.extend_from_slice(name.as_bytes());
        body.push(b'\n');
    }
    if switches.borrow().holds_lists {
        shared.calls.take(HELD_LIST.to_owned());
    }
    let _ = switches.wait_for(|switches| !switches.holds_lists).await;
    if switches.borrow().tears_lists {
        body.truncate(body.len() / 2);
        let torn = [Ok(Bytes::from(body)), Err(io::Error::other("torn on purpose"))];
        return text(StatusCode::OK).streaming(futures::stream::iter(torn));
    }
    text(StatusCode::OK).body(body)
}

/// Every entry that lstat does not report as a directory, sorted by name.
fn names_in(dir: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            names.push(entry.file_name());
        }
    }
    names.sort();
    Ok(names)
}

fn df(dir: &Path) -> HttpResponse {
    match disk_figures(dir) {
        Some(body) => HttpResponse::Ok().content_type("application/json;charset=UTF-8").body(body),
        None => json(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// The body of `GET /df`. It is built by hand, without the code under test.
fn disk_figures(dir: &Path) -> Option<String> {
    let disk = rustix::fs::statvfs(dir).ok()?;
    let (total, free) = (disk.f_blocks * disk.f_frsize, disk.f_bfree * disk.f_frsize);
    let (avail, used) = (disk.f_bavail * disk.f_frsize, total - free);
    let percent = used_percent(dir).ok()?;
    Some(format!(
        "{{\"total_size\":\"{total}\",\"used_size\":\"{used}\",\"avail_size\":\"{avail}\",\
         \"used_percent\":{percent},\"free_size\":\"{free}\"}}\n"
    ))
}

/// The use of the disk in percent, rounded as cfw does.
fn used_percent(dir: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(dir)?;
    let used = (disk.f_blocks - disk.f_bfree) as f64;
    let capacity = used + disk.f_bavail as f64;
    Ok(if capacity == 0.0 { 0 } else { (100.0 * used / capacity + 0.5).floor() as u64 })
}

fn delete(dir: &Path, encoded: &str) -> StatusCode {
    let name: Vec<u8> = percent_decode_str(encoded).collect();
    let path = dir.join(OsString::from_vec(name));
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => StatusCode::NOT_FOUND,
        Ok(file) if file.is_dir() => StatusCode::NOT_ACCEPTABLE,
        Ok(_) if fs::remove_file(&path).is_ok() => StatusCode::OK,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
