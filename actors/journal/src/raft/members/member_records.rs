//! Records that a node passes on to the leader. Its own one has its addresses and the format level of its program. The
//! other one is of a node that joins here.

use std::time::Duration;

use reelyard_replication::MemberRecord;
use tokio::time::timeout;

use super::member_node::MemberNode;
use super::membership::{MemberChange, MemberChangeError};
use crate::raft::call_messages::{RaftRequest, RaftResponse};
use crate::raft::node::RaftNode;

/// Time limit for one call. A quorum has to confirm the change.
const CALL_TIME: Duration = Duration::from_secs(2);

impl RaftNode {
    /// Puts the record of this node into the log: itself while it leads, otherwise by a call to the leader. While the
    /// leader cannot call this node, it may not know which one leads. So it asks each member.
    pub(crate) async fn keep_record(&self, record: MemberRecord) -> Result<(), MemberChangeError> {
        let not_here = match self.keep_record_of(self.id, record.clone()).await {
            Err(error @ MemberChangeError::NotLeader { .. }) => error,
            decided => return decided,
        };
        for member in self.members().into_iter().filter(|member| member.number != self.id) {
            let peer = self.peers.peer(member.number, &member.record);
            let request = RaftRequest::KeepRecord { record: MemberNode(record.clone()) };
            match timeout(CALL_TIME, peer.call(request)).await {
                Ok(Ok(RaftResponse::Followed(true))) => return Ok(()),
                answer => tracing::debug!(
                    node = member.number,
                    is_late = answer.is_err(),
                    "a member did not record this node"
                ),
            }
        }
        Err(not_here)
    }

    /// Adds a node that follows and does not vote, and answers its number: itself while it leads, otherwise by a call to
    /// the leader.
    pub(crate) async fn admit(&self, record: MemberRecord) -> Result<u64, MemberChangeError> {
        let not_here = match self.admit_as_leader(record.clone()).await {
            Err(error @ MemberChangeError::NotLeader { .. }) => error,
            decided => return decided,
        };
        let MemberChangeError::NotLeader { leader: Some(leader) } = not_here else {
            return Err(not_here);
        };
        let members = self.members();
        let Some(leader) = members.into_iter().find(|member| member.number == leader) else {
            return Err(not_here);
        };
        let peer = self.peers.peer(leader.number, &leader.record);
        let request = RaftRequest::Admit { record: MemberNode(record) };
        match timeout(CALL_TIME, peer.call(request)).await {
            Ok(Ok(RaftResponse::Admitted(Ok(number)))) => Ok(number),
            Ok(Ok(RaftResponse::Admitted(Err(why)))) => {
                Err(MemberChangeError::OfLeader { leader: leader.number, why })
            }
            _ => Err(not_here),
        }
    }

    /// Admits a node that asked the member `by`, on the leader. That member has checked the invitation. A connection of
    /// a removed member may still be open, and a removed member admits nobody.
    pub(in crate::raft) async fn admit_for(
        &self,
        by: u64,
        record: MemberRecord,
    ) -> Result<u64, MemberChangeError> {
        match self.members().iter().any(|member| member.number == by) {
            true => self.admit_as_leader(record).await,
            false => Err(MemberChangeError::NoMember(by)),
        }
    }

    /// Puts the record of the member `number` into the log, on the leader. Only the node with its store gives one.
    pub(in crate::raft) async fn keep_record_of(
        &self,
        number: u64,
        record: MemberRecord,
    ) -> Result<(), MemberChangeError> {
        let members = self.members();
        let known = members.iter().find(|member| member.number == number);
        let known = &known.ok_or(MemberChangeError::NoMember(number))?.record;
        if self.led_epoch().is_none() {
            return Err(MemberChangeError::NotLeader { leader: None });
        }
        if known.store.is_some() && known.store != record.store {
            return Err(MemberChangeError::NoMember(number));
        }
        let wanted = MemberRecord { numbers_given: known.numbers_given, ..record };
        if *known == wanted {
            return Ok(());
        }
        self.change_members(MemberChange::SetAddresses { number, record: wanted }).await
    }
}
