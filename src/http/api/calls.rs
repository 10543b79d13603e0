//! Every call of the API, in one table: of it both the routes and the document are made, so that
//! neither has a call that the other has not.

use actix_web::http::Method;
use actix_web::{FromRequest, Handler, Responder, Route, guard, web};
use utoipa::__dev::SchemaReferences;
use utoipa::openapi::path::{HttpMethod, Operation};
use utoipa::openapi::{RefOr, Schema};

use super::{
    config, events, explain, file_moves, files, history, host_changes, hosts, openapi, pins, plan,
    removals, shares, status, tasks, workers,
};

/// Why a call may be refused that hands a request to an actor.
const ASKED: &[&str] = &["busy", "outcome-unknown"];

/// Why a call may be refused that commits something.
const COMMITTED: &[&str] =
    &["not-leader", "deposed", "stopped", "busy", "disk-full", "outcome-unknown"];

/// Why a call may be refused that carries a body.
const CARRIES_BODY: &[&str] = &["bad-body", "unsupported-media-type", "too-large"];

/// All calls. Of each, the name of its documentation comes before its handler: `utoipa::path` makes
/// it of the handler's name.
pub fn all() -> Vec<Call> {
    vec![
        Call::of::<tasks::__path_list, _, _>(tasks::list),
        Call::of::<tasks::__path_copy, _, _>(tasks::copy)
            .refused(CARRIES_BODY)
            .refused(&["not-allowed"])
            .refused(COMMITTED),
        Call::of::<tasks::__path_retry, _, _>(tasks::retry)
            .refused(&["not-found", "transition", "not-allowed"])
            .refused(COMMITTED),
        Call::of::<tasks::__path_one, _, _>(tasks::one).refused(&["not-found"]),
        Call::of::<tasks::__path_cancel, _, _>(tasks::cancel)
            .refused(&["not-found", "transition"])
            .refused(COMMITTED),
        Call::of::<hosts::__path_list, _, _>(hosts::list),
        Call::of::<hosts::__path_one, _, _>(hosts::one).refused(&["not-found"]),
        Call::of::<host_changes::__path_add, _, _>(host_changes::add)
            .refused(&["configured"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        Call::of::<host_changes::__path_remove, _, _>(host_changes::remove)
            .refused(&["not-found", "configured"])
            .refused(COMMITTED),
        Call::of::<host_changes::__path_set_mode, _, _>(host_changes::set_mode)
            .refused(&["not-found"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        Call::of::<hosts::__path_reset, _, _>(hosts::reset)
            .refused(&["not-found"])
            .refused(COMMITTED),
        Call::of::<files::__path_list, _, _>(files::list),
        Call::of::<file_moves::__path_make, _, _>(file_moves::make)
            .refused(&["not-found", "not-allowed", "target-exists", "other-file-system"])
            .refused(&["being-moved", "changed-meanwhile", "request-id-reused", "unreadable"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        Call::of::<explain::__path_show, _, _>(explain::show).refused(ASKED),
        Call::of::<pins::__path_pin, _, _>(pins::pin).refused(COMMITTED),
        Call::of::<pins::__path_unpin, _, _>(pins::unpin).refused(COMMITTED),
        Call::of::<pins::__path_list, _, _>(pins::list),
        Call::of::<removals::__path_show, _, _>(removals::show),
        Call::of::<removals::__path_look_now, _, _>(removals::look_now).refused(COMMITTED),
        Call::of::<shares::__path_create, _, _>(shares::create)
            .refused(&["not-found", "not-allowed", "unreadable", "terms", "limit-reached"])
            .refused(&["being-moved", "request-id-reused"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        Call::of::<shares::__path_list, _, _>(shares::list).refused(&["starting"]),
        Call::of::<shares::__path_show_reclaim, _, _>(shares::show_reclaim),
        Call::of::<shares::__path_pause, _, _>(shares::pause)
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        Call::of::<shares::__path_hooks, _, _>(shares::hooks),
        Call::of::<shares::__path_revoke_many, _, _>(shares::revoke_many)
            .refused(&["starting"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        Call::of::<shares::__path_one, _, _>(shares::one).refused(&[
            "not-found",
            "gone",
            "starting",
        ]),
        Call::of::<shares::__path_change, _, _>(shares::change)
            .refused(&["not-found", "gone", "terms", "condition-failed", "not-allowed"])
            .refused(&["limit-reached", "changed-meanwhile", "request-id-reused"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        Call::of::<shares::__path_revoke, _, _>(shares::revoke)
            .refused(&["not-found", "starting"])
            .refused(COMMITTED),
        Call::of::<history::__path_list, _, _>(history::list),
        Call::of::<plan::__path_show, _, _>(plan::show),
        Call::of::<config::__path_reload, _, _>(config::reload).refused(&["bad-configuration"]),
        Call::of::<events::__path_follow, _, _>(events::follow)
            .held()
            .refused(&["too-many-listeners"]),
        Call::of::<status::__path_show, _, _>(status::show),
        Call::of::<openapi::__path_show, _, _>(openapi::show),
        Call::of::<workers::__path_tasks, _, _>(workers::tasks)
            .held()
            .refused(&["unknown-host", "not-leader"]),
        Call::of::<workers::__path_reports, _, _>(workers::reports)
            .refused(&["unknown-host"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
    ]
}

/// One call.
pub struct Call {
    /// Its path below the API's, with `{parameters}`.
    pub path: String,
    /// Its method.
    pub method: Method,
    /// What it is, for the document.
    pub operation: Operation,
    /// The kinds of problems with which it may be refused.
    pub refusals: Vec<&'static str>,
    /// Adds the schemas that `operation` refers to.
    pub schemas: fn(&mut Vec<(String, RefOr<Schema>)>),
    /// Whether it may be held for long, and so is not for HEAD.
    held: bool,
    handled: Box<dyn FnOnce(Route) -> Route>,
}

impl Call {
    /// The call that `P` documents and `handler` answers.
    fn of<P, F, Args>(handler: F) -> Self
    where
        P: utoipa::Path + SchemaReferences,
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        let method = match P::methods().first() {
            Some(HttpMethod::Post) => Method::POST,
            Some(HttpMethod::Put) => Method::PUT,
            Some(HttpMethod::Delete) => Method::DELETE,
            Some(HttpMethod::Patch) => Method::PATCH,
            _ => Method::GET,
        };
        Call {
            path: P::path(),
            method,
            operation: P::operation(),
            refusals: vec!["bad-request", "unauthorized"],
            schemas: <P as SchemaReferences>::schemas,
            held: false,
            handled: Box::new(move |route| route.to(handler)),
        }
    }

    fn refused(mut self, kinds: &[&'static str]) -> Self {
        self.refusals.extend(kinds);
        self
    }

    fn held(mut self) -> Self {
        self.held = true;
        self
    }

    /// The methods that lead to it. Whoever may GET may also HEAD; the server leaves the body out.
    pub fn allow(&self) -> String {
        if self.is_read() { "GET, HEAD".to_owned() } else { self.method.to_string() }
    }

    /// Its route.
    pub fn route(self) -> Route {
        let route = if self.is_read() { read() } else { web::method(self.method.clone()) };
        (self.handled)(route)
    }

    fn is_read(&self) -> bool {
        self.method == Method::GET && !self.held
    }
}

/// Takes GET and HEAD.
pub fn read() -> Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}
