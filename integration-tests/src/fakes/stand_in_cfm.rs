//! A stand-in for an old cfm for tests, with the behaviour of the Go program. It has cfm's wire for
//! cfws and the rounds that remove duplicates and plan tasks. It keeps the defects of cfm on purpose. Not
//! included: rising hits, removal from full disks, the dashboards, and the task store on disk.

mod metas;
mod round;
mod tasks;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use actix_web::web::{self, Bytes};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use tokio::sync::watch;

pub use super::stand_in_cfm::tasks::{CfmTaskRow, CfmTaskTable};

/// The settings of cfm.yml that these tests need.
#[derive(Clone, Debug)]
pub struct CfmSettings {
    /// `listen_addr`: the address of the HTTP interface.
    pub listen: SocketAddr,
    /// `source_dirs`: the directories of the masters.
    pub source_dirs: Vec<PathBuf>,
    /// `grade_info_file`: the ranking of the files.
    pub grade_info_file: PathBuf,
    /// `hitcount_history_file`: the sizes and holders of the files.
    pub hitcount_history_file: PathBuf,
    /// `servers.sources`: the addresses of the source hosts.
    pub sources: Vec<SocketAddr>,
    /// `servers.destinations`: the addresses of the destination hosts.
    pub destinations: Vec<SocketAddr>,
    /// `tasker.task_timeout_sec`: the age at which a task is removed.
    pub task_timeout: Duration,
    /// The pause between rounds, and between heartbeats.
    pub pause: Duration,
}

/// A running stand-in. Dropping it stops it immediately, as `kill` does.
pub struct StandInCfm {
    shared: Arc<StandInCfmState>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

struct StandInCfmState {
    tasks: Mutex<CfmTaskTable>,
    /// `DELETE` calls with the answer 200, as `host name`.
    deleted: Mutex<Vec<String>>,
    task_timeout: Duration,
}

impl StandInCfm {
    /// Serves and plans until the value is dropped.
    pub fn start(settings: CfmSettings) -> std::io::Result<Self> {
        let shared = Arc::new(StandInCfmState {
            tasks: Mutex::default(),
            deleted: Mutex::default(),
            task_timeout: settings.task_timeout,
        });
        let listener = std::net::TcpListener::bind(settings.listen)?;
        let (stop, mut stopped) = watch::channel(false);
        let served = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            actix_rt::System::new().block_on(async move {
                let data = web::Data::from(Arc::clone(&served));
                let app = move || {
                    App::new()
                        .app_data(data.clone())
                        .route("/tasks", web::get().to(list))
                        .route("/tasks/{id}", web::patch().to(patch))
                        .route("/tasks/{id}", web::delete().to(delete))
                        .default_service(web::to(not_found))
                };
                let server = HttpServer::new(app).workers(1).disable_signals().shutdown_timeout(0);
                let Ok(server) = server.listen(listener) else { return };
                let server = server.run();
                let handle = server.handle();
                actix_rt::spawn(server);
                let until_stopped = async move {
                    // An error means that the stand-in was dropped, which also ends the server.
                    let _ = stopped.wait_for(|is_stopped| *is_stopped).await;
                };
                tokio::select! {
                    () = until_stopped => {}
                    () = round::run_endlessly(&settings, &served) => {}
                }
                handle.stop(false).await;
            });
        });
        Ok(StandInCfm { shared, stop, thread: Some(thread) })
    }

    /// The current tasks.
    pub fn tasks(&self) -> Vec<CfmTaskRow> {
        self.shared.tasks().rows()
    }

    /// The number of tasks for this file since the start.
    pub fn times_planned(&self, file: &str) -> usize {
        self.shared.tasks().times_planned(file)
    }

    /// The files that it removed, as `host name`.
    pub fn deleted(&self) -> Vec<String> {
        self.shared.deleted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for StandInCfm {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl StandInCfmState {
    fn tasks(&self) -> MutexGuard<'_, CfmTaskTable> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn json(status: u16) -> actix_web::HttpResponseBuilder {
    let status = actix_web::http::StatusCode::from_u16(status).unwrap_or_default();
    let mut answer = HttpResponse::build(status);
    answer.content_type("application/json;charset=UTF-8");
    answer
}

async fn list(shared: web::Data<StandInCfmState>) -> HttpResponse {
    let body = serde_json::to_string(&shared.tasks().rows()).unwrap_or_default();
    json(200).body(body + "\n")
}

async fn patch(
    request: HttpRequest,
    body: Bytes,
    shared: web::Data<StandInCfmState>,
) -> HttpResponse {
    let Some(id) = number(&request) else { return json(400).finish() };
    json(shared.tasks().patch(id, &body)).finish()
}

async fn delete(request: HttpRequest, shared: web::Data<StandInCfmState>) -> HttpResponse {
    let Some(id) = number(&request) else { return json(400).finish() };
    json(if shared.tasks().remove(id) { 200 } else { 404 }).finish()
}

async fn not_found() -> HttpResponse {
    HttpResponse::NotFound().content_type("text/plain; charset=utf-8").body("404 page not found\n")
}

fn number(request: &HttpRequest) -> Option<i64> {
    request.match_info().get("id").and_then(|id| id.parse().ok())
}
