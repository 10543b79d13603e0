//! Every call of the API in one table. The routes and the OpenAPI document are both made from it,
//! so that they cannot differ.

use super::api_call::ApiCall;
use super::node_calls::{config, document, events, status};
use crate::http::api::box_calls::{acquire, boxes, leases, pools};
use crate::http::api::share_calls::{file_moves, new_share, share_events, shares};
use crate::http::api::yard_calls::host_calls::{host_changes, hosts};
use crate::http::api::yard_calls::{explain, files, history, pins, plan, removals, tasks, workers};

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
        ApiCall::of::<acquire::__path_acquire, _, _>(acquire::acquire),
        ApiCall::of::<leases::__path_list, _, _>(leases::list),
        ApiCall::of::<leases::__path_renew, _, _>(leases::renew),
        ApiCall::of::<leases::__path_release, _, _>(leases::release),
        ApiCall::of::<leases::__path_verify, _, _>(leases::verify),
        ApiCall::of::<leases::__path_revoke, _, _>(leases::revoke),
        ApiCall::of::<leases::__path_one, _, _>(leases::one),
    ]
}

fn of_boxes() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<pools::__path_list, _, _>(pools::list),
        ApiCall::of::<pools::__path_one, _, _>(pools::one),
        ApiCall::of::<pools::__path_put, _, _>(pools::put),
        ApiCall::of::<pools::__path_remove, _, _>(pools::remove),
        ApiCall::of::<pools::__path_recheck, _, _>(pools::recheck),
        ApiCall::of::<pools::__path_adopt, _, _>(pools::adopt),
        ApiCall::of::<boxes::__path_list, _, _>(boxes::list),
        ApiCall::of::<boxes::__path_one, _, _>(boxes::one),
        ApiCall::of::<boxes::__path_quarantine, _, _>(boxes::quarantine),
        ApiCall::of::<boxes::__path_unquarantine, _, _>(boxes::unquarantine),
        ApiCall::of::<boxes::__path_audit_pool, _, _>(boxes::audit_pool),
        ApiCall::of::<boxes::__path_audit_box, _, _>(boxes::audit_box),
    ]
}

fn of_the_yard() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<tasks::__path_list, _, _>(tasks::list),
        ApiCall::of::<tasks::__path_copy, _, _>(tasks::copy),
        ApiCall::of::<tasks::__path_retry, _, _>(tasks::retry),
        ApiCall::of::<tasks::__path_one, _, _>(tasks::one),
        ApiCall::of::<tasks::__path_cancel, _, _>(tasks::cancel),
        ApiCall::of::<hosts::__path_list, _, _>(hosts::list),
        ApiCall::of::<hosts::__path_one, _, _>(hosts::one),
        ApiCall::of::<host_changes::__path_add, _, _>(host_changes::add),
        ApiCall::of::<host_changes::__path_remove, _, _>(host_changes::remove),
        ApiCall::of::<host_changes::__path_set_mode, _, _>(host_changes::set_mode),
        ApiCall::of::<hosts::__path_reset, _, _>(hosts::reset),
        ApiCall::of::<hosts::__path_adopt, _, _>(hosts::adopt),
        ApiCall::of::<files::__path_list, _, _>(files::list),
        ApiCall::of::<file_moves::__path_make, _, _>(file_moves::make),
        ApiCall::of::<file_moves::__path_list, _, _>(file_moves::list),
        ApiCall::of::<explain::__path_show, _, _>(explain::show),
        ApiCall::of::<pins::__path_pin, _, _>(pins::pin),
        ApiCall::of::<pins::__path_unpin, _, _>(pins::unpin),
        ApiCall::of::<pins::__path_list, _, _>(pins::list),
        ApiCall::of::<removals::__path_show, _, _>(removals::show),
        ApiCall::of::<removals::__path_look_now, _, _>(removals::look_now),
    ]
}

fn of_shares() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<new_share::__path_create, _, _>(new_share::create),
        ApiCall::of::<shares::__path_list, _, _>(shares::list),
        ApiCall::of::<shares::__path_show_reclaim, _, _>(shares::show_reclaim),
        ApiCall::of::<shares::__path_pause, _, _>(shares::pause),
        ApiCall::of::<shares::__path_confirm_clock, _, _>(shares::confirm_clock),
        ApiCall::of::<shares::__path_hooks, _, _>(shares::hooks),
        ApiCall::of::<share_events::__path_follow, _, _>(share_events::follow).held(),
        ApiCall::of::<shares::__path_revoke_many, _, _>(shares::revoke_many),
        ApiCall::of::<shares::__path_one, _, _>(shares::one),
        ApiCall::of::<shares::__path_change, _, _>(shares::change),
        ApiCall::of::<shares::__path_revoke, _, _>(shares::revoke),
    ]
}

fn of_the_node() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<history::__path_list, _, _>(history::list),
        ApiCall::of::<plan::__path_show, _, _>(plan::show),
        ApiCall::of::<config::__path_reload, _, _>(config::reload),
        ApiCall::of::<events::__path_follow, _, _>(events::follow).held(),
        ApiCall::of::<status::__path_show, _, _>(status::show),
        ApiCall::of::<document::__path_show, _, _>(document::show),
        ApiCall::of::<workers::__path_tasks, _, _>(workers::tasks).held(),
        ApiCall::of::<workers::__path_reports, _, _>(workers::reports),
    ]
}
