//! Every call of the API in one table. The routes and the OpenAPI document are both made from it,
//! so that they cannot differ.

use actix_web::http::Method;
use actix_web::{FromRequest, Handler, Responder, Route, guard, web};
use utoipa::__dev::SchemaReferences;
use utoipa::openapi::path::{HttpMethod, Operation};
use utoipa::openapi::{RefOr, Schema};

use super::{config, events, openapi, status};
use crate::http::api::box_calls::box_refusals::LEASE_KINDS;
use crate::http::api::box_calls::{acquire, boxes, leases, pools};
use crate::http::api::share_calls::{file_moves, new_share, share_events, shares};
use crate::http::api::yard_calls::{
    explain, files, history, host_changes, hosts, pins, plan, removals, tasks, workers,
};

/// Problem kinds of a call that sends a request to an actor.
const ASKED: &[&str] = &["busy", "outcome-unknown"];

/// Problem kinds of a call that commits to the journal.
const COMMITTED: &[&str] =
    &["not-leader", "deposed", "stopped", "busy", "disk-full", "outcome-unknown"];

/// Problem kinds of a call with a request body.
const CARRIES_BODY: &[&str] = &["bad-body", "unsupported-media-type", "too-large"];

/// All calls. The macro argument before each handler is the type that `utoipa::path` generates from
/// the name of the handler.
pub fn all() -> Vec<ApiCall> {
    // Lease calls are the most frequent ones, and paths are looked up in this order.
    let mut calls = of_leases();
    calls.extend(of_boxes());
    calls.extend(of_the_yard());
    calls.extend(of_shares());
    calls.extend(of_the_node());
    calls
}

fn of_leases() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<acquire::__path_acquire, _, _>(acquire::acquire)
            .refused(&["no-pool", "pool-goes", "terms", "over-quota", "no-box-in-time"])
            .refused(&[
                "queue-full",
                "request-id-reused",
                "request-of-other",
                "changed-meanwhile",
                "unreadable",
            ])
            .refused(&["lease-released", "lease-expired", "lease-revoked", "lease-never-held"])
            .refused(&["unknown-lease", "leader-changed"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        ApiCall::of::<leases::__path_list, _, _>(leases::list).refused(&["no-pool", "starting"]),
        ApiCall::of::<leases::__path_renew, _, _>(leases::renew)
            .refused(LEASE_KINDS)
            .refused(&["terms", "held-too-long"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        ApiCall::of::<leases::__path_release, _, _>(leases::release)
            .refused(LEASE_KINDS)
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        ApiCall::of::<leases::__path_verify, _, _>(leases::verify)
            .refused(LEASE_KINDS)
            .refused(&["starting", "not-leader", "deposed", "stopped"])
            .refused(ASKED)
            .refused(CARRIES_BODY),
        ApiCall::of::<leases::__path_revoke, _, _>(leases::revoke)
            .refused(&["unknown-lease", "lease-released", "lease-expired"])
            .refused(&["lease-revoked", "lease-never-held"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        ApiCall::of::<leases::__path_one, _, _>(leases::one)
            .refused(&["unknown-lease", "starting"]),
    ]
}

fn of_boxes() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<pools::__path_list, _, _>(pools::list).refused(&["starting"]),
        ApiCall::of::<pools::__path_one, _, _>(pools::one).refused(&["no-pool", "starting"]),
        ApiCall::of::<pools::__path_put, _, _>(pools::put)
            .refused(&["bad-pool", "pool-in-use", "no-pool", "ids-taken"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        ApiCall::of::<pools::__path_remove, _, _>(pools::remove)
            .refused(&["no-pool"])
            .refused(COMMITTED),
        ApiCall::of::<pools::__path_recheck, _, _>(pools::recheck)
            .refused(&["no-pool"])
            .refused(COMMITTED),
        ApiCall::of::<pools::__path_adopt, _, _>(pools::adopt)
            .refused(&["no-pool", "bad-pool", "host-silent"])
            .refused(COMMITTED),
        ApiCall::of::<boxes::__path_list, _, _>(boxes::list).refused(&["no-pool", "starting"]),
        ApiCall::of::<boxes::__path_one, _, _>(boxes::one)
            .refused(&["no-pool", "no-box", "starting"]),
        ApiCall::of::<boxes::__path_quarantine, _, _>(boxes::quarantine)
            .refused(&["no-pool", "no-box", "box-leased", "already-quarantined", "starting"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        ApiCall::of::<boxes::__path_unquarantine, _, _>(boxes::unquarantine)
            .refused(&["no-pool", "no-box", "not-quarantined", "starting"])
            .refused(COMMITTED),
        ApiCall::of::<boxes::__path_audit_pool, _, _>(boxes::audit_pool)
            .refused(&["no-pool", "starting"]),
        ApiCall::of::<boxes::__path_audit_box, _, _>(boxes::audit_box)
            .refused(&["no-pool", "starting"]),
    ]
}

fn of_the_yard() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<tasks::__path_list, _, _>(tasks::list),
        ApiCall::of::<tasks::__path_copy, _, _>(tasks::copy)
            .refused(CARRIES_BODY)
            .refused(&["not-allowed"])
            .refused(COMMITTED),
        ApiCall::of::<tasks::__path_retry, _, _>(tasks::retry)
            .refused(&["not-found", "transition", "not-allowed"])
            .refused(COMMITTED),
        ApiCall::of::<tasks::__path_one, _, _>(tasks::one).refused(&["not-found"]),
        ApiCall::of::<tasks::__path_cancel, _, _>(tasks::cancel)
            .refused(&["not-found", "transition"])
            .refused(COMMITTED),
        ApiCall::of::<hosts::__path_list, _, _>(hosts::list),
        ApiCall::of::<hosts::__path_one, _, _>(hosts::one).refused(&["not-found"]),
        ApiCall::of::<host_changes::__path_add, _, _>(host_changes::add)
            .refused(&["configured"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        ApiCall::of::<host_changes::__path_remove, _, _>(host_changes::remove)
            .refused(&["not-found", "configured"])
            .refused(COMMITTED),
        ApiCall::of::<host_changes::__path_set_mode, _, _>(host_changes::set_mode)
            .refused(&["not-found"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        ApiCall::of::<hosts::__path_reset, _, _>(hosts::reset)
            .refused(&["not-found"])
            .refused(COMMITTED),
        ApiCall::of::<hosts::__path_adopt, _, _>(hosts::adopt)
            .refused(&["not-found", "not-leader", "host-refused"])
            .refused(ASKED),
        ApiCall::of::<files::__path_list, _, _>(files::list),
        ApiCall::of::<file_moves::__path_make, _, _>(file_moves::make)
            .refused(&["not-found", "not-allowed", "target-exists", "other-file-system"])
            .refused(&["being-moved", "changed-meanwhile", "request-id-reused", "unreadable"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        ApiCall::of::<file_moves::__path_list, _, _>(file_moves::list).refused(&[
            "starting",
            "not-leader",
            "deposed",
            "stopped",
        ]),
        ApiCall::of::<explain::__path_show, _, _>(explain::show).refused(ASKED),
        ApiCall::of::<pins::__path_pin, _, _>(pins::pin).refused(COMMITTED),
        ApiCall::of::<pins::__path_unpin, _, _>(pins::unpin).refused(COMMITTED),
        ApiCall::of::<pins::__path_list, _, _>(pins::list),
        ApiCall::of::<removals::__path_show, _, _>(removals::show),
        ApiCall::of::<removals::__path_look_now, _, _>(removals::look_now).refused(COMMITTED),
    ]
}

fn of_shares() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<new_share::__path_create, _, _>(new_share::create)
            .refused(&["not-found", "not-allowed", "unreadable", "terms", "limit-reached"])
            .refused(&["being-moved", "request-id-reused", "gone", "clock-unconfirmed"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        ApiCall::of::<shares::__path_list, _, _>(shares::list).refused(&["starting"]),
        ApiCall::of::<shares::__path_show_reclaim, _, _>(shares::show_reclaim),
        ApiCall::of::<shares::__path_pause, _, _>(shares::pause)
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        ApiCall::of::<shares::__path_confirm_clock, _, _>(shares::confirm_clock).refused(COMMITTED),
        ApiCall::of::<shares::__path_hooks, _, _>(shares::hooks),
        ApiCall::of::<share_events::__path_follow, _, _>(share_events::follow)
            .held()
            .refused(&["too-many-listeners", "starting"]),
        ApiCall::of::<shares::__path_revoke_many, _, _>(shares::revoke_many)
            .refused(&["starting"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        ApiCall::of::<shares::__path_one, _, _>(shares::one).refused(&[
            "not-found",
            "gone",
            "starting",
        ]),
        ApiCall::of::<shares::__path_change, _, _>(shares::change)
            .refused(&["not-found", "gone", "terms", "condition-failed", "not-allowed"])
            .refused(&[
                "limit-reached",
                "changed-meanwhile",
                "request-id-reused",
                "clock-unconfirmed",
            ])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
        ApiCall::of::<shares::__path_revoke, _, _>(shares::revoke)
            .refused(&["not-found", "starting"])
            .refused(COMMITTED),
    ]
}

fn of_the_node() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<history::__path_list, _, _>(history::list),
        ApiCall::of::<plan::__path_show, _, _>(plan::show),
        ApiCall::of::<config::__path_reload, _, _>(config::reload).refused(&["bad-configuration"]),
        ApiCall::of::<events::__path_follow, _, _>(events::follow)
            .held()
            .refused(&["too-many-listeners"]),
        ApiCall::of::<status::__path_show, _, _>(status::show),
        ApiCall::of::<openapi::__path_show, _, _>(openapi::show),
        ApiCall::of::<workers::__path_tasks, _, _>(workers::tasks)
            .held()
            .refused(&["unknown-host", "not-leader"]),
        ApiCall::of::<workers::__path_reports, _, _>(workers::reports)
            .refused(&["unknown-host"])
            .refused(CARRIES_BODY)
            .refused(COMMITTED),
    ]
}

/// A call of the API: its route and its documentation.
pub struct ApiCall {
    /// Path below `/api/v1`, with `{parameters}`.
    pub path: String,
    /// GET calls also answer HEAD, unless `held` is set.
    pub method: Method,
    /// Documentation of the call in the OpenAPI document.
    pub operation: Operation,
    /// Names of the problem kinds that can refuse the call.
    pub refusals: Vec<&'static str>,
    /// Adds the schemas that `operation` refers to.
    pub schemas: fn(&mut Vec<(String, RefOr<Schema>)>),
    /// Whether the answer may be held for long. Such a call does not support HEAD.
    held: bool,
    handled: Box<dyn FnOnce(Route) -> Route>,
}

impl ApiCall {
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
        ApiCall {
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

    /// The value of the header `Allow`. A call with GET also supports HEAD; the server omits the
    /// body.
    pub fn allow(&self) -> String {
        if self.is_read() { "GET, HEAD".to_owned() } else { self.method.to_string() }
    }

    /// The route of the call for actix.
    pub fn route(self) -> Route {
        let route = if self.is_read() { read() } else { web::method(self.method.clone()) };
        (self.handled)(route)
    }

    fn is_read(&self) -> bool {
        self.method == Method::GET && !self.held
    }
}

/// A route for GET and HEAD.
pub fn read() -> Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}
