//! cfm's wire, exactly as spec 2.1 has it: `/tasks` and the three dashboards.
//!
//! Reads come from snapshots and wait for nobody. Changes go to the TaskManager, of which only so
//! many may be under way at a time: one more is answered with 503 and changes nothing.

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

/// The longest body of a `PATCH` that is read, in bytes. cfws send 20.
pub const LONGEST_BODY: usize = 64 << 10;

/// Changes that may be under way at a time. Keep the TaskManager's mailbox at least this long.
pub const CHANGES_UNDER_WAY: usize = 64;

/// What cfm's wire shows and whom it asks.
pub struct CompatState {
    /// The tasks as they are now.
    pub tasks: Arc<dyn Fn() -> Arc<Vec<Arc<Task>>> + Send + Sync>,
    /// The same as they are listed for old cfws, where begun ones may be offered again.
    pub tasks_for_cfws: Arc<dyn Fn() -> Arc<Vec<Arc<Task>>> + Send + Sync>,
    /// Who changes a task's state: the TaskManager.
    pub change: Route<ChangeTask>,
    /// Who takes a task back: the TaskManager.
    pub cancel: Route<CancelTask>,
    /// The health of the hosts.
    pub heartbeat: HeartbeatViewHandle,
    /// The files as they are ranked now.
    pub files: Arc<dyn Fn() -> Arc<dyn FileTable> + Send + Sync>,
    /// What time it is.
    pub clock: Clock,
    /// The bound on changes under way; [`change_turns`] makes it.
    pub turns: Arc<Semaphore>,
}

/// The bound of [`CHANGES_UNDER_WAY`], made once per process: every HTTP worker shares it.
pub fn change_turns() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(CHANGES_UNDER_WAY))
}

/// Adds cfm's routes to an application. Wrap that with
/// [`paths::clean`] too, and give it [`not_found`] as its default.
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

/// Adds one path. Its other methods are answered with an empty 405; with a slash behind it, it
/// leads to the path without.
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

/// `301` to the same path without its last slash.
async fn without_slash(request: HttpRequest) -> HttpResponse {
    let path = request.uri().path().trim_end_matches('/');
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let target = format!("{path}{query}");
    let mut answer = HttpResponse::MovedPermanently();
    answer.insert_header((LOCATION, target.as_str()));
    if request.method() != Method::GET {
        return answer.finish();
    }
    // As Go's http.Redirect writes it.
    let link = maud::html! { a href=(target) { "Moved Permanently" } "." };
    answer.content_type("text/html; charset=utf-8").body(format!("{}\n\n", link.into_string()))
}

/// What an unknown path is answered with: 404 in words.
pub async fn not_found() -> HttpResponse {
    HttpResponse::NotFound()
        .content_type("text/plain; charset=utf-8")
        .insert_header(("X-Content-Type-Options", "nosniff"))
        .body("404 page not found\n")
}
