//! Pools of boxes: requests and answers of the API.

use std::collections::BTreeMap;

use reelyard_boxes::box_lease::{
    BoxCounts, BoxPhase, LeaseEnd, PoolQueueView, PoolSpec, PoolStatus, PoolTotals, SlotRange,
};
use reelyard_core::durations::rounded;
use reelyard_core::host::HostAddr;
use reelyard_protocol::boxes::{BoxNumber, FenceToken, HooksName, PoolName, SlotId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::span::Span;

/// Settings of a pool. A missing setting gets its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedPool {
    /// The number of boxes. Surplus boxes are removed as soon as they have no holder.
    #[schema(maximum = 65_536)]
    pub size: u32,
    /// The number of the first box.
    #[serde(default)]
    pub first_id: BoxNumber,
    /// Range of ids for the boxes as holders see them. Without it holders see the number of the box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<WantedSlots>,
    /// Worker that runs the hooks of the boxes. Without one the pool is purely logical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostAddr>,
    /// Name of the hooks in the worker's configuration; by default the pool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HooksName>,
    /// Labels for people and scripts. The node does not read them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Term of a lease if the request sets none. Default: 1m.
    #[serde(default = "usual::ttl_default")]
    pub ttl_default: Span,
    /// Longest term of a lease without a renewal. Default: 1day.
    #[serde(default = "usual::ttl_max")]
    pub ttl_max: Span,
    /// Longest time of a lease, renewals included. Missing for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_hold: Option<Span>,
    /// Pause before the cleanup of a box after its lease expired or was revoked, because its holder may not
    /// know of the end yet. Default: 5s.
    #[serde(default = "usual::grace")]
    pub grace: Span,
    /// Largest number of waiting requests. Default: 1000.
    #[serde(default = "usual::queue_limit")]
    pub queue_limit: u32,
    /// Largest number of boxes that one holder has or waits for; 0 for no limit. Default: 0.
    #[serde(default)]
    pub quota: u32,
    /// A request rises by one priority each time it has waited this long. Default: 1m.
    #[serde(default = "usual::priority_ages")]
    pub priority_ages: Span,
    /// Attempts of a cleanup before the box is quarantined. Default: 5.
    #[serde(default = "usual::clean_attempts")]
    #[schema(minimum = 1)]
    pub clean_attempts: u32,
    /// Pause after the first failed cleanup. It doubles with each further failure. Default: 1s.
    #[serde(default = "usual::clean_again_after")]
    pub clean_again_after: Span,
    /// Longest pause after a failed cleanup. Default: 1m.
    #[serde(default = "usual::clean_again_at_most")]
    pub clean_again_at_most: Span,
}

/// A range of ids. Each lease gets another id, so that a late holder does not disturb the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedSlots {
    /// First id of the pool.
    pub first: SlotId,
    /// Number of ids: at least the number of boxes.
    #[schema(maximum = 1_000_000)]
    pub count: u32,
    /// An id is not used again for this long after the end of its lease. Default: 0s.
    #[serde(default)]
    pub rest: Span,
}

/// Defaults of a pool.
mod usual {
    use super::{PoolSpec, Span};

    macro_rules! usual {
        ($($field:ident: $type:ty = $read:expr;)+) => {
            $(pub(crate) fn $field() -> $type {
                let read: fn(PoolSpec) -> $type = $read;
                read(PoolSpec::of(0, 0))
            })+
        };
    }

    usual! {
        ttl_default: Span = |pool| Span(pool.ttl_default);
        ttl_max: Span = |pool| Span(pool.ttl_max);
        grace: Span = |pool| Span(pool.grace);
        queue_limit: u32 = |pool| pool.queue_limit;
        priority_ages: Span = |pool| Span(pool.priority_ages);
        clean_attempts: u32 = |pool| pool.clean_attempts;
        clean_again_after: Span = |pool| Span(pool.clean_again_after);
        clean_again_at_most: Span = |pool| Span(pool.clean_again_at_most);
    }
}

impl From<WantedPool> for PoolSpec {
    fn from(wanted: WantedPool) -> Self {
        PoolSpec {
            first_id: wanted.first_id,
            size: wanted.size,
            slots: wanted.slots.map(|slots| SlotRange {
                first: slots.first,
                count: slots.count,
                rest: slots.rest.0,
            }),
            host: wanted.host,
            hooks: wanted.hooks,
            labels: wanted.labels,
            ttl_default: wanted.ttl_default.0,
            ttl_max: wanted.ttl_max.0,
            max_hold: wanted.max_hold.map(|Span(most)| most),
            grace: wanted.grace.0,
            queue_limit: wanted.queue_limit,
            quota: wanted.quota,
            priority_ages: wanted.priority_ages.0,
            clean_attempts: wanted.clean_attempts,
            clean_again_after: wanted.clean_again_after.0,
            clean_again_at_most: wanted.clean_again_at_most.0,
        }
    }
}

impl From<&PoolSpec> for WantedPool {
    fn from(spec: &PoolSpec) -> Self {
        WantedPool {
            size: spec.size,
            first_id: spec.first_id,
            slots: spec.slots.map(|slots| WantedSlots {
                first: slots.first,
                count: slots.count,
                rest: Span(slots.rest),
            }),
            host: spec.host,
            hooks: spec.hooks.clone(),
            labels: spec.labels.clone(),
            ttl_default: Span(spec.ttl_default),
            ttl_max: Span(spec.ttl_max),
            max_hold: spec.max_hold.map(Span),
            grace: Span(spec.grace),
            queue_limit: spec.queue_limit,
            quota: spec.quota,
            priority_ages: Span(spec.priority_ages),
            clean_attempts: spec.clean_attempts,
            clean_again_after: Span(spec.clean_again_after),
            clean_again_at_most: Span(spec.clean_again_at_most),
        }
    }
}

/// A pool of boxes and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PoolInfo {
    /// Name of the pool.
    pub name: PoolName,
    /// Settings of the pool. A client can change them and send them back by PUT.
    pub spec: WantedPool,
    /// Whether the pool is being removed: it grants no more boxes and ends with its last box.
    pub goes: bool,
    /// Number of boxes in each state. There may be more than `size` while the pool shrinks.
    pub boxes: BoxStateCounts,
    /// Number of waiting requests. Only the leader knows it; 0 on other nodes.
    pub waiting: u64,
    /// Number of boxes that the waiting requests ask for.
    pub wanted: u64,
    /// Mean time for which boxes were held recently. Missing before the first end of a lease, and on nodes that
    /// are not the leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_hold: Option<Span>,
    /// Reason why its host does not answer. Boxes meanwhile stay unchecked or draining. Missing while the host
    /// answers, and on nodes that are not the leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_is_silent: Option<String>,
    /// Reason why some boxes cannot be granted: they are quarantined, or cannot be cleaned or prepared.
    /// Missing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindered_by: Option<String>,
    /// Fencing token of the newest lease.
    pub last_token: FenceToken,
    /// Totals since the pool was created.
    pub totals: PoolTotalsInfo,
}

/// Number of boxes in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BoxStateCounts {
    /// Boxes that can be granted now.
    pub free: u32,
    /// Boxes that wait for the check by their host.
    pub unchecked: u32,
    /// Granted boxes that are being prepared.
    pub preparing: u32,
    /// Boxes that a holder has.
    pub leased: u32,
    /// Boxes that are being cleaned, or wait for that.
    pub draining: u32,
    /// Boxes that are out of use.
    pub quarantined: u32,
}

impl From<BoxCounts> for BoxStateCounts {
    fn from(counts: BoxCounts) -> Self {
        BoxStateCounts {
            free: counts.of(BoxPhase::Free),
            unchecked: counts.of(BoxPhase::Unchecked),
            preparing: counts.of(BoxPhase::Preparing),
            leased: counts.of(BoxPhase::Leased),
            draining: counts.of(BoxPhase::Draining),
            quarantined: counts.of(BoxPhase::Quarantined),
        }
    }
}

/// Totals since the pool was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PoolTotalsInfo {
    /// Leases that were granted.
    pub granted: u64,
    /// Renewals since the pool was created.
    pub renewed: u64,
    /// Leases that their holders released.
    pub released: u64,
    /// Leases whose term passed.
    pub expired: u64,
    /// Leases that an operator or the node revoked.
    pub revoked: u64,
    /// Leases that no holder received, because the requester stopped waiting.
    pub not_taken: u64,
    /// Leases that no holder received, because a box could not be prepared.
    pub init_failed: u64,
    /// Cleanings that succeeded.
    pub cleaned: u64,
    /// Attempts at cleaning that failed.
    pub clean_failures: u64,
    /// Number of quarantines.
    pub quarantined: u64,
}

impl From<PoolTotals> for PoolTotalsInfo {
    fn from(totals: PoolTotals) -> Self {
        PoolTotalsInfo {
            granted: totals.granted,
            renewed: totals.renewed,
            released: totals.ended(LeaseEnd::Released),
            expired: totals.ended(LeaseEnd::Expired),
            revoked: totals.ended(LeaseEnd::Revoked),
            not_taken: totals.ended(LeaseEnd::NotTaken),
            init_failed: totals.ended(LeaseEnd::InitFailed),
            cleaned: totals.cleaned,
            clean_failures: totals.clean_failures,
            quarantined: totals.quarantined,
        }
    }
}

impl PoolInfo {
    /// View of a pool, with its queue if this node knows it.
    pub fn of(pool: &PoolStatus, line: Option<&PoolQueueView>) -> Self {
        PoolInfo {
            name: pool.name.clone(),
            spec: WantedPool::from(&*pool.spec),
            goes: pool.goes,
            boxes: pool.counts.into(),
            waiting: line.map_or(0, |line| line.waiting),
            wanted: line.map_or(0, |line| line.wanted),
            mean_hold: line.and_then(|line| line.mean_hold).map(rounded).map(Span),
            host_is_silent: line.and_then(|line| line.silence.clone()),
            hindered_by: pool.hindrance.clone(),
            last_token: pool.last_token,
            totals: pool.totals.into(),
        }
    }
}

/// Result of the removal of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PoolRemoval {
    /// Whether the pool is removed. If not, it ends with its last box.
    pub gone: bool,
}

/// Result of an adoption of boxes by a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PoolAdoption {
    /// The pools that lost boxes, of any cluster.
    pub from: Vec<PoolName>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_pool_members_have_defaults_and_a_shown_pool_is_accepted() {
        let wanted: WantedPool = serde_json::from_str(r#"{"size": 8, "first_id": 3}"#).unwrap();
        assert_eq!(PoolSpec::from(wanted.clone()), PoolSpec::of(3, 8));
        assert_eq!(WantedPool::from(&PoolSpec::of(3, 8)), wanted);
        let full = r#"{"size": 8, "first_id": 0, "slots": {"first": 100, "count": 64, "rest": "1m"},
            "host": "10.0.0.1:8888", "hooks": "isolate", "labels": {"a": "b"}, "ttl_default": "10s",
            "ttl_max": "1h", "max_hold": "2h", "grace": "0s", "queue_limit": 5, "quota": 2,
            "priority_ages": "10s", "clean_attempts": 3, "clean_again_after": "2s",
            "clean_again_at_most": "1m"}"#;
        let wanted: WantedPool = serde_json::from_str(full).unwrap();
        let spec = PoolSpec::from(wanted.clone());
        assert_eq!((spec.check(), WantedPool::from(&spec)), (Ok(()), wanted.clone()));
        let shown = serde_json::to_string(&wanted).unwrap();
        assert_eq!(serde_json::from_str::<WantedPool>(&shown).unwrap(), wanted);
        let unknown = serde_json::from_str::<WantedPool>(r#"{"size": 8, "sise": 9}"#).unwrap_err();
        assert!(unknown.to_string().contains("unknown field `sise`"), "{unknown}");
    }
}
