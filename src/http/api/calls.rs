//! Every call of the API in one table. The routes and the OpenAPI document are both made from it,
//! so that they cannot differ.

use actix_web::http::Method;
use reelyard_access::rights::AccessScope::{
    AccessRead, AccessWrite, AuditRead, BoxesRead, BoxesWrite, ClusterWrite, ConfigRead,
    ConfigWrite, SharesRead, SharesWrite, YardRead, YardWrite,
};
use reelyard_api::API;

use super::api_call::ApiCall;
use super::node_calls::{config, config_versions, document, events, overview, status};
use crate::http::access::CallRights::{Known, LeaseInPath, LeaseOfPool, Open, OwnWorker, Scope};
use crate::http::api::access_calls::{sessions, tokens, users, whoami};
use crate::http::api::audit_calls::{audit, audit_events, audit_export};
use crate::http::api::box_calls::{acquire, boxes, leases, pools};
use crate::http::api::cluster_calls::{cluster, members, transfer};
use crate::http::api::share_calls::{downloads, file_moves, new_share, share_events, shares};
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
    calls.extend(of_access());
    calls.extend(of_audit());
    calls.extend(of_the_cluster());
    calls.extend(of_the_node());
    calls
}

/// The path pattern, the method and the id of each changing call.
pub fn operations() -> Vec<(String, Method, String)> {
    let mut operations = Vec::new();
    for call in all() {
        let id = call.operation.operation_id.unwrap_or_default();
        if !call.method.is_safe() {
            operations.push((format!("{API}{}", call.path), call.method, id));
        }
    }
    operations
}

fn of_leases() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<acquire::__path_acquire, _, _>(LeaseOfPool, acquire::acquire),
        ApiCall::of::<leases::__path_list, _, _>(Scope(BoxesRead), leases::list),
        ApiCall::of::<leases::__path_renew, _, _>(LeaseInPath, leases::renew),
        ApiCall::of::<leases::__path_release, _, _>(LeaseInPath, leases::release),
        ApiCall::of::<leases::__path_verify, _, _>(LeaseInPath, leases::verify),
        ApiCall::of::<leases::__path_revoke, _, _>(Scope(BoxesWrite), leases::revoke),
        ApiCall::of::<leases::__path_one, _, _>(Scope(BoxesRead), leases::one),
    ]
}

fn of_boxes() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<pools::__path_list, _, _>(Scope(BoxesRead), pools::list),
        ApiCall::of::<pools::__path_one, _, _>(Scope(BoxesRead), pools::one),
        ApiCall::of::<pools::__path_put, _, _>(Scope(BoxesWrite), pools::put),
        ApiCall::of::<pools::__path_remove, _, _>(Scope(BoxesWrite), pools::remove),
        ApiCall::of::<pools::__path_recheck, _, _>(Scope(BoxesWrite), pools::recheck),
        ApiCall::of::<pools::__path_adopt, _, _>(Scope(BoxesWrite), pools::adopt),
        ApiCall::of::<boxes::__path_list, _, _>(Scope(BoxesRead), boxes::list),
        ApiCall::of::<boxes::__path_one, _, _>(Scope(BoxesRead), boxes::one),
        ApiCall::of::<boxes::__path_quarantine, _, _>(Scope(BoxesWrite), boxes::quarantine),
        ApiCall::of::<boxes::__path_unquarantine, _, _>(Scope(BoxesWrite), boxes::unquarantine),
        ApiCall::of::<boxes::__path_audit_pool, _, _>(Scope(BoxesRead), boxes::audit_pool),
        ApiCall::of::<boxes::__path_audit_box, _, _>(Scope(BoxesRead), boxes::audit_box),
    ]
}

fn of_the_yard() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<tasks::__path_list, _, _>(Scope(YardRead), tasks::list),
        ApiCall::of::<tasks::__path_copy, _, _>(Scope(YardWrite), tasks::copy),
        ApiCall::of::<tasks::__path_retry, _, _>(Scope(YardWrite), tasks::retry),
        ApiCall::of::<tasks::__path_one, _, _>(Scope(YardRead), tasks::one),
        ApiCall::of::<tasks::__path_cancel, _, _>(Scope(YardWrite), tasks::cancel),
        ApiCall::of::<hosts::__path_list, _, _>(Scope(YardRead), hosts::list),
        ApiCall::of::<hosts::__path_one, _, _>(Scope(YardRead), hosts::one),
        ApiCall::of::<host_changes::__path_add, _, _>(Scope(YardWrite), host_changes::add),
        ApiCall::of::<host_changes::__path_remove, _, _>(Scope(YardWrite), host_changes::remove),
        ApiCall::of::<host_changes::__path_set_mode, _, _>(
            Scope(YardWrite),
            host_changes::set_mode,
        ),
        ApiCall::of::<hosts::__path_reset, _, _>(Scope(YardWrite), hosts::reset),
        ApiCall::of::<hosts::__path_probe, _, _>(Scope(YardWrite), hosts::probe),
        ApiCall::of::<hosts::__path_adopt, _, _>(Scope(YardWrite), hosts::adopt),
        ApiCall::of::<files::__path_list, _, _>(Scope(YardRead), files::list),
        ApiCall::of::<file_moves::__path_make, _, _>(Scope(SharesWrite), file_moves::make),
        ApiCall::of::<file_moves::__path_list, _, _>(Scope(SharesRead), file_moves::list),
        ApiCall::of::<explain::__path_show, _, _>(Scope(YardRead), explain::show),
        ApiCall::of::<pins::__path_pin, _, _>(Scope(YardWrite), pins::pin),
        ApiCall::of::<pins::__path_unpin, _, _>(Scope(YardWrite), pins::unpin),
        ApiCall::of::<pins::__path_list, _, _>(Scope(YardRead), pins::list),
        ApiCall::of::<removals::__path_show, _, _>(Scope(YardRead), removals::show),
        ApiCall::of::<removals::__path_look_now, _, _>(Scope(YardWrite), removals::look_now),
        ApiCall::of::<removals::__path_list_copies, _, _>(Scope(YardRead), removals::list_copies),
        ApiCall::of::<removals::__path_list_rooms, _, _>(Scope(YardRead), removals::list_rooms),
    ]
}

fn of_shares() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<new_share::__path_create, _, _>(Scope(SharesWrite), new_share::create),
        ApiCall::of::<shares::__path_list, _, _>(Scope(SharesRead), shares::list),
        ApiCall::of::<shares::__path_show_reclaim, _, _>(Scope(SharesRead), shares::show_reclaim),
        ApiCall::of::<shares::__path_pause, _, _>(Scope(SharesWrite), shares::pause),
        ApiCall::of::<shares::__path_confirm_clock, _, _>(
            Scope(SharesWrite),
            shares::confirm_clock,
        ),
        ApiCall::of::<shares::__path_hooks, _, _>(Scope(SharesRead), shares::hooks),
        ApiCall::of::<share_events::__path_follow, _, _>(Scope(SharesRead), share_events::follow)
            .held(),
        ApiCall::of::<shares::__path_revoke_many, _, _>(Scope(SharesWrite), shares::revoke_many),
        ApiCall::of::<downloads::__path_list, _, _>(Scope(SharesRead), downloads::list),
        ApiCall::of::<shares::__path_one, _, _>(Scope(SharesRead), shares::one),
        ApiCall::of::<shares::__path_change, _, _>(Scope(SharesWrite), shares::change),
        ApiCall::of::<shares::__path_revoke, _, _>(Scope(SharesWrite), shares::revoke),
    ]
}

fn of_access() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<tokens::__path_list, _, _>(Scope(AccessRead), tokens::list),
        ApiCall::of::<tokens::__path_create, _, _>(Scope(AccessWrite), tokens::create),
        ApiCall::of::<tokens::__path_rotate, _, _>(Scope(AccessWrite), tokens::rotate),
        ApiCall::of::<tokens::__path_revoke, _, _>(Scope(AccessWrite), tokens::revoke),
        ApiCall::of::<users::__path_list, _, _>(Scope(AccessRead), users::list),
        ApiCall::of::<users::__path_add, _, _>(Scope(AccessWrite), users::add),
        ApiCall::of::<users::__path_change, _, _>(Scope(AccessWrite), users::change),
        ApiCall::of::<users::__path_remove, _, _>(Scope(AccessWrite), users::remove),
        ApiCall::of::<sessions::__path_log_in, _, _>(Open, sessions::log_in),
        ApiCall::of::<sessions::__path_list, _, _>(Scope(AccessRead), sessions::list),
        ApiCall::of::<sessions::__path_log_out, _, _>(Known, sessions::log_out),
        ApiCall::of::<sessions::__path_end, _, _>(Scope(AccessWrite), sessions::end),
        ApiCall::of::<sessions::__path_issue_link, _, _>(Known, sessions::issue_link),
        ApiCall::of::<whoami::__path_show, _, _>(Known, whoami::show),
    ]
}

fn of_audit() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<audit::__path_list, _, _>(Scope(AuditRead), audit::list),
        ApiCall::of::<audit_events::__path_follow, _, _>(Scope(AuditRead), audit_events::follow)
            .held(),
        ApiCall::of::<audit_export::__path_export, _, _>(Scope(AuditRead), audit_export::export)
            .held(),
    ]
}

fn of_the_cluster() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<cluster::__path_show, _, _>(Scope(YardRead), cluster::show),
        ApiCall::of::<members::__path_promote, _, _>(Scope(ClusterWrite), members::promote),
        ApiCall::of::<members::__path_replace, _, _>(Scope(ClusterWrite), members::replace),
        ApiCall::of::<members::__path_remove, _, _>(Scope(ClusterWrite), members::remove),
        ApiCall::of::<transfer::__path_transfer, _, _>(Scope(ClusterWrite), transfer::transfer),
    ]
}

fn of_the_node() -> Vec<ApiCall> {
    vec![
        ApiCall::of::<history::__path_list, _, _>(Scope(YardRead), history::list),
        ApiCall::of::<plan::__path_show, _, _>(Scope(YardRead), plan::show),
        ApiCall::of::<plan::__path_list_back_offs, _, _>(Scope(YardRead), plan::list_back_offs),
        ApiCall::of::<config::__path_reload, _, _>(Scope(ConfigWrite), config::reload),
        ApiCall::of::<config_versions::__path_list, _, _>(Scope(ConfigRead), config_versions::list),
        ApiCall::of::<config_versions::__path_record, _, _>(
            Scope(ConfigWrite),
            config_versions::record,
        ),
        ApiCall::of::<config_versions::__path_show, _, _>(Scope(ConfigRead), config_versions::show),
        ApiCall::of::<events::__path_follow, _, _>(Scope(YardRead), events::follow).held(),
        ApiCall::of::<overview::__path_show, _, _>(Scope(YardRead), overview::show),
        ApiCall::of::<status::__path_show, _, _>(Scope(YardRead), status::show),
        ApiCall::of::<document::__path_show, _, _>(Known, document::show),
        ApiCall::of::<workers::__path_tasks, _, _>(OwnWorker, workers::tasks).held(),
        ApiCall::of::<workers::__path_reports, _, _>(OwnWorker, workers::reports),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use reelyard_api::ProblemKind::{Busy, NotLeader, OutcomeUnknown, Starting};

    use super::*;
    use crate::http::forwarding::LeaderNeed;

    #[test]
    fn calls_declare_how_they_fail_on_the_way_to_the_leader() {
        let mut forwarded = 0;
        for call in all() {
            let mut expected = BTreeSet::from([Starting]);
            if LeaderNeed::of(&call.method, &format!("{API}{}", call.path)) != LeaderNeed::None {
                forwarded += 1;
                expected.extend([NotLeader, Busy]);
                if !call.method.is_safe() {
                    expected.insert(OutcomeUnknown);
                }
            }
            let (method, path) = (&call.method, &call.path);
            assert!(call.refusals.is_superset(&expected), "{method} {path}: {:?}", call.refusals);
        }
        assert!(forwarded > 20, "only {forwarded}");
    }
}
