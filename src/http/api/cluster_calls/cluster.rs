//! `/api/v1/cluster`: the members of the cluster.

use std::time::Duration;

use actix_web::web;
use reelyard_api::{ClusterView, MemberInfo, MemberRank, SnapshotProgressView};
use reelyard_cluster::PeerView;
use reelyard_core::event::Epoch;
use reelyard_journal::JournalStatus;
use reelyard_replication::{Member, NodeIdentity};

use crate::http::api::call_parts::NoQuery;
use crate::http::node_state::NodeHttpState;

/// `GET /cluster`.
#[utoipa::path(
    get,
    path = "/cluster",
    tag = "cluster",
    operation_id = "showCluster",
    summary = "Shows the members of the cluster, as this node knows them",
    responses((status = 200, description = "The cluster", body = ClusterView))
)]
pub async fn show(
    state: web::Data<NodeHttpState>,
    _: web::Query<NoQuery>,
) -> web::Json<ClusterView> {
    state.cluster.check_leader().await;
    web::Json(view(&state))
}

/// The cluster, as this node knows it.
pub fn view(state: &NodeHttpState) -> ClusterView {
    let journal = &state.journal;
    let NodeIdentity { cluster, number: node, .. } = journal.identity();
    let status = journal.status();
    // A leader that is silent is shown as none.
    let (leader, peers) = (journal.present_leader(), state.cluster.peers());
    let leads = leader == Some(node);
    let refusals = state.cluster.transport().refusals();
    let mut troubles = state.cluster.troubles();
    let member = |member: Member| {
        let number = member.number;
        let peer = peers.iter().find(|peer| peer.number == number && number != node);
        let behind = status.behind.get(&number).copied();
        let snapshot = status.snapshots_sent.get(&number);
        MemberInfo {
            behind,
            behind_ms: status.behind_ms.get(&number).copied(),
            behind_bytes: behind.map(|behind| bytes_of(behind, &status)),
            snapshot: snapshot.map(|way| SnapshotProgressView { sent: way.sent, bytes: way.bytes }),
            settings_differ: peer.is_some_and(|peer| state.cluster.differs(peer)),
            contact_ms: match leads {
                true => journal.since_answer(number),
                false => peer.and_then(|peer| peer.since_contact),
            }
            .map(millis),
            trouble: troubles.remove(&number),
            ..info(member, leader, peer)
        }
    };
    ClusterView {
        cluster,
        node,
        leader,
        epoch: Epoch(status.term),
        applied: status.applied.unwrap_or(0),
        leader_changes: state.cluster.counts().leaders(),
        forwarded: state.cluster.counts().forwarded(),
        refused: refusals.into_iter().map(|(kind, count)| (kind.to_string(), count)).collect(),
        hindrance: state.cluster.no_leader().or_else(|| state.cluster.leader_disk_full()),
        warnings: state.cluster.warnings(state.clock.now()),
        members: journal.members().into_iter().map(member).collect(),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// About how many bytes these entries have: by the mean of those since the last snapshot.
fn bytes_of(entries: u64, status: &JournalStatus) -> u64 {
    let since = status.applied.unwrap_or(0).saturating_sub(status.snapshot.unwrap_or(0));
    entries.saturating_mul(status.bytes_since_snapshot.checked_div(since).unwrap_or(0))
}

/// The facts of a member from its record and its connections.
fn info(member: Member, leader: Option<u64>, peer: Option<&PeerView>) -> MemberInfo {
    let Member { number, is_voter, record } = member;
    let rank = match is_voter {
        _ if leader == Some(number) => MemberRank::Leader,
        true => MemberRank::Voter,
        false => MemberRank::Learner,
    };
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    MemberInfo {
        number,
        rank,
        cluster_address: record.cluster_address,
        api_address: record.api_address,
        store: record.store,
        behind: None,
        behind_bytes: None,
        behind_ms: None,
        snapshot: None,
        format_level: record.format_level,
        settings_differ: false,
        contact_ms: None,
        round_trip_us: peer.and_then(|peer| peer.round_trip).map(micros),
        clock_skew_ms: peer.and_then(|peer| peer.clock_skew_ms),
        version: peer.and_then(|peer| peer.program.clone()),
        trouble: None,
    }
}
