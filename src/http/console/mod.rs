//! `/console`: the pages for operators. A handler fills the model of a page from the published views of the actors;
//! the crate `console` renders it. No page changes anything by GET.

mod actions;
mod answer;
mod assets;
mod changed_meanwhile;
mod choices;
mod chosen;
mod live;
mod live_part;
mod pages;
mod posted_form;
mod preferences;
mod refusal;
mod session;
mod visitor;

use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};
pub use answer::yard_name;
pub use choices::choices_of;
pub use live::LiveRenderings;
pub use posted_form::is_console_path;
pub use refusal::{ConsoleRefusal, in_language, starting_page};

use crate::http::api::read;

/// Largest form in bytes. A form may pick a page of files with long names.
const LARGEST_FORM: usize = 256 << 10;

/// The routes of the console. Its servers share the renderings of live pages.
pub fn routes(config: &mut web::ServiceConfig, renderings: web::Data<LiveRenderings>) {
    config
        .app_data(renderings)
        .app_data(web::FormConfig::default().limit(LARGEST_FORM))
        .app_data(
            web::PathConfig::default().error_handler(|_, request| {
                ConsoleRefusal::Problem(refusal::absent(request)).into()
            }),
        )
        .service(web::resource("/").route(read().to(to_console)))
        .service(web::resource("/console").route(read().to(pages::yard::show)))
        .configure(asset_routes)
        .service(web::resource("/console/preferences").route(web::post().to(preferences::keep)))
        .service(web::resource("/console/live/{page}").route(web::get().to(live::follow)))
        .service(web::resource("/console/session").route(read().to(session::show)))
        .service(web::resource("/console/hosts").route(read().to(pages::storage::hosts::show)))
        .service(
            web::resource("/console/hosts/{host}").route(read().to(pages::storage::host::show)),
        )
        .service(
            web::resource("/console/hosts/{host}/{action}")
                .route(web::post().to(actions::hosts::act_on_one)),
        )
        .service(
            web::resource("/console/host-actions/add")
                .route(read().to(|| to_form("/console/hosts?ask=add")))
                .route(web::post().to(actions::additions::add_hosts)),
        )
        .service(
            web::resource("/console/host-actions/{action}")
                .route(web::post().to(actions::hosts::act_on_picked)),
        )
        .service(web::resource("/console/files").route(read().to(pages::storage::files::show)))
        .service(
            web::resource("/console/files/export")
                .route(read().to(pages::storage::file_export::show)),
        )
        .service(
            web::resource("/console/files/{name}/{action}")
                .route(web::post().to(actions::files::act_on_one)),
        )
        .service(
            web::resource("/console/file-actions/{action}")
                .route(web::post().to(actions::files::act_on_picked)),
        )
        .service(web::resource("/console/tasks").route(read().to(pages::storage::tasks::show)))
        .service(
            web::resource("/console/tasks/{id}/{action}")
                .route(web::post().to(actions::tasks::act_on_one)),
        )
        .service(
            web::resource("/console/task-actions/{action}")
                .route(web::post().to(actions::tasks::act_on_picked)),
        )
        .service(
            web::resource("/console/task-retries").route(web::post().to(actions::tasks::retry_all)),
        )
        .configure(given_out)
        .configure(on_record)
        .configure(of_access)
        .configure(of_node)
        .service(web::resource("/console/{rest:.*}").route(read().to(refusal::no_page)));
}

/// Style, scripts and shapes, which need no state of the node.
pub fn asset_routes(config: &mut web::ServiceConfig) {
    config.service(web::resource("/console/assets/{hash}/{name}").route(read().to(assets::show)));
}

/// The pages of links and boxes.
fn given_out(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/console/shares").route(read().to(pages::given_out::shares::show)))
        .service(
            web::resource("/console/shares/new")
                .route(read().to(|| to_form("/console/shares?new=true")))
                .route(web::post().to(actions::shares::create)),
        )
        .service(
            web::resource("/console/shares/{id}").route(read().to(pages::given_out::share::show)),
        )
        .service(
            web::resource("/console/share-actions/{action}")
                .route(web::post().to(actions::shares::act_on_picked)),
        )
        .service(web::resource("/console/boxes").route(read().to(pages::given_out::boxes::show)))
        .service(
            web::resource("/console/pools/new")
                .route(read().to(|| to_form("/console/boxes?ask=new-pool")))
                .route(web::post().to(actions::additions::create_pool)),
        )
        .service(
            web::resource("/console/boxes/{pool}/{number}/{action}")
                .route(web::post().to(actions::boxes::act_on_box)),
        )
        .service(
            web::resource("/console/leases/{id}/revoke")
                .route(web::post().to(actions::boxes::revoke_lease)),
        );
}

/// The pages of history and audit.
fn on_record(config: &mut web::ServiceConfig) {
    config
        .service(
            web::resource("/console/history").route(read().to(pages::on_record::history::show)),
        )
        .service(
            web::resource("/console/history/export")
                .route(read().to(pages::on_record::history::export)),
        )
        .service(web::resource("/console/audit").route(read().to(pages::on_record::audit::show)))
        .service(
            web::resource("/console/audit/export").route(web::post().to(actions::audit::export)),
        );
}

/// The page of users, tokens and sessions.
fn of_access(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/console/access").route(read().to(pages::of_node::access::show)))
        .service(
            web::resource("/console/access/users/new")
                .route(read().to(|| to_form("/console/access?ask=new-user")))
                .route(web::post().to(actions::access::add_user)),
        )
        .service(
            web::resource("/console/access/users/{name}/{action}")
                .route(web::post().to(actions::access::change_user)),
        )
        .service(
            web::resource("/console/access/tokens/new")
                .route(read().to(|| to_form("/console/access?ask=new-token")))
                .route(web::post().to(actions::access::create_token)),
        )
        .service(
            web::resource("/console/access/tokens/{name}/{action}")
                .route(web::post().to(actions::access::change_token)),
        )
        .service(
            web::resource("/console/access/sessions/{id}/end")
                .route(web::post().to(actions::access::end_session)),
        );
}

/// The pages of the plan, the node and the manual, and the search.
fn of_node(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/console/plan").route(read().to(pages::storage::plan::show)))
        .service(web::resource("/console/map").route(read().to(pages::storage::map::show)))
        .service(web::resource("/console/cluster").route(read().to(pages::of_node::cluster::show)))
        .service(
            web::resource("/console/cluster/invite")
                .route(read().to(|| to_form("/console/cluster?ask=invite")))
                .route(web::post().to(actions::cluster::invite)),
        )
        .service(
            web::resource("/console/cluster/members/{number}/{action}")
                .route(web::post().to(actions::cluster::change_member)),
        )
        .service(
            web::resource("/console/settings").route(read().to(pages::of_node::settings::show)),
        )
        .service(
            web::resource("/console/settings/reload")
                .route(web::post().to(actions::settings::reload)),
        )
        .service(
            web::resource("/console/settings/versions/{number}/revert")
                .route(web::post().to(actions::settings::revert)),
        )
        .service(web::resource("/console/guide").route(read().to(pages::of_node::guide::contents)))
        .service(
            web::resource("/console/guide/{topic}").route(read().to(pages::of_node::guide::show)),
        )
        .service(web::resource("/console/find").route(read().to(pages::find::show)));
}

/// `GET /`: the address that people type.
async fn to_console() -> HttpResponse {
    HttpResponse::SeeOther().insert_header((LOCATION, "/console")).finish()
}

/// The page with a form, for a browser that opens the address of its answer again.
async fn to_form(page: &'static str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((LOCATION, page)).finish()
}
