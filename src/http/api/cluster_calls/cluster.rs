//! `/api/v1/cluster`: the members of the cluster.

use actix_web::web;
use reelyard_api::{ClusterView, MemberInfo, MemberRank};
use reelyard_cluster::PeerView;
use reelyard_core::event::Epoch;
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
    web::Json(view(&state))
}

/// The cluster, as this node knows it.
pub fn view(state: &NodeHttpState) -> ClusterView {
    let journal = &state.journal;
    let NodeIdentity { cluster, number: node, .. } = journal.identity();
    let status = journal.status();
    let (leader, peers) = (journal.leader(), state.cluster.peers());
    let member = |member: Member| {
        let peer = peers.iter().find(|peer| peer.number == member.number);
        let peer = peer.filter(|peer| peer.number != node);
        let behind = status.behind.get(&member.number).copied();
        info(member, leader, peer, behind)
    };
    ClusterView {
        cluster,
        node,
        leader,
        epoch: Epoch(status.term),
        applied: status.applied.unwrap_or(0),
        members: journal.members().into_iter().map(member).collect(),
    }
}

fn info(
    member: Member,
    leader: Option<u64>,
    peer: Option<&PeerView>,
    behind: Option<u64>,
) -> MemberInfo {
    let Member { number, is_voter, record } = member;
    let rank = match is_voter {
        _ if leader == Some(number) => MemberRank::Leader,
        true => MemberRank::Voter,
        false => MemberRank::Learner,
    };
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    MemberInfo {
        number,
        rank,
        cluster_address: record.cluster_address,
        api_address: record.api_address,
        store: record.store,
        behind,
        contact_ms: peer.and_then(|peer| peer.since_contact).map(millis),
        round_trip_us: peer.and_then(|peer| peer.round_trip).map(micros),
        clock_skew_ms: peer.and_then(|peer| peer.clock_skew_ms),
        version: peer.and_then(|peer| peer.program.clone()),
        trouble: peer.and_then(|peer| peer.unreachable.clone()),
    }
}
