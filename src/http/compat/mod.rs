//! cfm's wire protocol: `/tasks` and the three dashboards.
//!
//! Reads use snapshots and never wait. Changes are sent to the TaskManager, with a limit on
//! concurrent ones. A change over the limit is answered with 503 and has no effect.

pub mod pages;
pub mod paths;
mod tasks;

use std::sync::Arc;

use actix_web::http::Method;
use actix_web::http::header::LOCATION;
use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_core::clock::Clock;
use reelyard_core::supervision::Route;
use reelyard_yard::heartbeat::HeartbeatViewHandle;
use reelyard_yard::task_manager::{CancelTask, ChangeTask, Task};
use tokio::sync::Semaphore;

use pages::FileTable;

/// Largest body of a `PATCH` in bytes. A cfw sends 20.
pub const LONGEST_BODY: usize = 64 << 10;

/// Largest number of concurrent changes. The mailbox of the TaskManager must be at least this long.
pub const CHANGES_UNDER_WAY: usize = 64;

/// State of the handlers of cfm's wire protocol.
pub struct CompatState {
    /// The current tasks.
    pub tasks: Arc<dyn Fn() -> Arc<Vec<Arc<Task>>> + Send + Sync>,
    /// The tasks as old cfws see them: started tasks may be offered again.
    pub tasks_for_cfws: Arc<dyn Fn() -> Arc<Vec<Arc<Task>>> + Send + Sync>,
    /// Changes the state of a task: the TaskManager.
    pub change: Route<ChangeTask>,
    /// Cancels a task: the TaskManager.
    pub cancel: Route<CancelTask>,
    /// Health of the hosts.
    pub heartbeat: HeartbeatViewHandle,
    /// The current ranking with hits.
    pub files: Arc<dyn Fn() -> Arc<dyn FileTable> + Send + Sync>,
    /// Clock of the node; simulated in tests.
    pub clock: Clock,
    /// Limits concurrent changes; made by [`change_turns`].
    pub turns: Arc<Semaphore>,
}

/// The semaphore for [`CHANGES_UNDER_WAY`]. Make it once per process, because all HTTP threads
/// share it.
pub fn change_turns() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(CHANGES_UNDER_WAY))
}

/// Adds cfm's routes to an application. Also wrap the application with [`paths::clean`], and use
/// [`not_found`] as its default service.
pub fn routes(state: web::Data<CompatState>) -> impl FnOnce(&mut web::ServiceConfig) {
    move |config| {
        config.app_data(state);
        add(config, "/tasks", || vec![(Method::GET, web::to(tasks::list))]);
        add(config, "/tasks/{id}", || {
            vec![(Method::PATCH, web::to(tasks::change)), (Method::DELETE, web::to(tasks::cancel))]
        });
        add(config, "/dashboard", || vec![(Method::GET, web::to(pages::tasks))]);
        add(config, "/dashboard/hb", || vec![(Method::GET, web::to(pages::heartbeat))]);
        add(config, "/dashboard/filemetas", || vec![(Method::GET, web::to(pages::files))]);
    }
}

/// Adds one path. Other methods get an empty 405; a trailing slash redirects to the path without
/// it.
fn add(
    config: &mut web::ServiceConfig,
    path: &str,
    routes: impl Fn() -> Vec<(Method, actix_web::Route)>,
) {
    let mut plain = web::resource(path);
    let mut slashed = web::resource(format!("{path}/"));
    for (method, route) in routes() {
        slashed = slashed.route(web::method(method.clone()).to(without_slash));
        plain = plain.route(route.method(method));
    }
    config.service(plain).service(slashed);
}

/// `301` to the same path without its trailing slash.
async fn without_slash(request: HttpRequest) -> HttpResponse {
    let path = request.uri().path().trim_end_matches('/');
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let target = format!("{path}{query}");
    let mut answer = HttpResponse::MovedPermanently();
    answer.insert_header((LOCATION, target.as_str()));
    if request.method() != Method::GET {
        return answer.finish();
    }
    // The format of Go's http.Redirect.
    let link = maud::html! { a href=(target) { "Moved Permanently" } "." };
    answer.content_type("text/html; charset=utf-8").body(format!("{}\n\n", link.into_string()))
}

/// The answer to an unknown path: 404 as text.
pub async fn not_found() -> HttpResponse {
    HttpResponse::NotFound()
        .content_type("text/plain; charset=utf-8")
        .insert_header(("X-Content-Type-Options", "nosniff"))
        .body("404 page not found\n")
}
