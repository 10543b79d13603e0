//! A cfm that plans the tasks of a test: the tasks of [`stand_in_cfm`](crate::fakes::stand_in_cfm) behind `GET
//! /tasks` and `PATCH /tasks/{id}`, without its rounds.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use reelyard_core::host::HostAddr;

use crate::fakes::stand_in_cfm::{CfmTaskRow, CfmTaskTable};

/// A task that a test plans.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its status: ready, working, done or timeout.
    pub status: String,
    /// The address of the source host.
    pub source: HostAddr,
    /// The destination host, as text.
    pub destination: String,
    /// Path of the master.
    pub file_path: String,
    /// Base name, as cfm has it.
    pub file_name: String,
}

impl Planned {
    fn row(self, id: i64) -> CfmTaskRow {
        CfmTaskRow {
            id: id.to_string(),
            ctime: 1,
            mtime: 1,
            status: self.status,
            src_ip: self.source.ip().to_string(),
            dst_ip: "127.0.0.1".to_owned(),
            file_path: self.file_path,
            file_name: self.file_name,
            grade: 7,
            copy_speed: "80000000".to_owned(),
            src_addr: self.source.to_string(),
            dst_addr: self.destination,
        }
    }
}

/// A running stand-in for cfm.
pub struct FakeCfm {
    /// The base URL of the stand-in.
    pub url: String,
    state: Arc<FakeCfmState>,
    server: ServerHandle,
}

#[derive(Default)]
struct FakeCfmState {
    tasks: Mutex<CfmTaskTable>,
    patches: Mutex<Vec<(i64, String)>>,
    /// The number of later PATCH calls that fail with 500.
    errs: Mutex<u32>,
}

impl FakeCfm {
    /// Starts a cfm without tasks.
    pub fn start() -> Self {
        let state = Arc::new(FakeCfmState::default());
        let data = web::Data::from(Arc::clone(&state));
        let app = move || {
            App::new()
                .app_data(data.clone())
                .route("/tasks", web::get().to(tasks))
                .route("/tasks/{id}", web::patch().to(patch))
                .default_service(web::to(|| async {
                    HttpResponse::NotFound().content_type("text/plain").body("404 page not found\n")
                }))
        };
        let server = HttpServer::new(app).workers(1).disable_signals().shutdown_timeout(0);
        let server = server.bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", server.addrs()[0]);
        let server = server.run();
        let handle = server.handle();
        actix_rt::spawn(server);
        FakeCfm { url, state, server: handle }
    }

    /// Adds or replaces a task.
    pub fn plan(&self, id: i64, task: Planned) {
        locked(&self.state.tasks).insert(id, task.row(id));
    }

    /// Removes a task.
    pub fn forget(&self, id: i64) {
        locked(&self.state.tasks).remove(id);
    }

    /// The status of a task.
    pub fn status(&self, id: i64) -> Option<String> {
        locked(&self.state.tasks).get(id).map(|task| task.status.clone())
    }

    /// Every PATCH with the answer 200 so far, as task number and status.
    pub fn patches(&self) -> Vec<(i64, String)> {
        locked(&self.state.patches).clone()
    }

    /// Answers the next `count` PATCHes with 500.
    pub fn err(&self, count: u32) {
        *locked(&self.state.errs) = count;
    }

    /// Stops the server.
    pub async fn stop(self) {
        self.server.stop(false).await;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn tasks(state: web::Data<FakeCfmState>) -> HttpResponse {
    let rows = serde_json::to_string(&locked(&state.tasks).rows()).expect("rows are JSON");
    HttpResponse::Ok().content_type("application/json;charset=UTF-8").body(rows + "\n")
}

async fn patch(
    request: HttpRequest,
    body: web::Bytes,
    state: web::Data<FakeCfmState>,
) -> HttpResponse {
    {
        let mut errs = locked(&state.errs);
        if *errs > 0 {
            *errs -= 1;
            return HttpResponse::InternalServerError().finish();
        }
    }
    let id: i64 = request.match_info().get("id").and_then(|id| id.parse().ok()).expect("a number");
    let code = locked(&state.tasks).patch(id, &body);
    if code == 200 {
        let body: serde_json::Value = serde_json::from_slice(&body).expect("it was read");
        let to = body["status"].as_str().expect("it was taken").to_owned();
        locked(&state.patches).push((id, to));
    }
    let status = actix_web::http::StatusCode::from_u16(code).expect("a status");
    HttpResponse::build(status).finish()
}
