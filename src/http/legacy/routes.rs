//! The routes of cfm's wire protocol.

use actix_web::http::Method;
use actix_web::http::header::LOCATION;
use actix_web::middleware::from_fn;
use actix_web::{HttpRequest, HttpResponse, web};

use super::state::CompatState;
use super::{allowed, pages, tasks};

/// Adds cfm's routes to an application. Also wrap the application with [`super::paths::clean`], and use
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
    let (plain, slashed) =
        (plain.wrap(from_fn(allowed::check)), slashed.wrap(from_fn(allowed::check)));
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
