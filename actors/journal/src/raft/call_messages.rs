//! The calls between nodes and their answers, as bytes.

use openraft::raft::AppendEntriesResponse;
use reelyard_core::call_version::CALL_VERSIONS;
use reelyard_replication::CallKind;
use serde::{Deserialize, Serialize};

use super::contact::{ContactMark, LeaderNews};
use super::members::MemberNode;
use super::snapshot_transfer::{SnapshotPart, SnapshotProgress};
use super::wire::{WireAppend, WireAppended, WireCandidate, WireLogId, WireVote, WireVoted};

/// A call from another node, in postcard behind the version of its kind. A test keeps the bytes.
#[derive(Serialize, Deserialize)]
pub(super) enum RaftRequest {
    Append {
        request: WireAppend,
        news: Option<LeaderNews>,
    },
    Vote(WireCandidate),
    Snapshot(SnapshotPart),
    /// The leader with the vote `own` wants all voters to follow the vote `candidate` instead.
    GiveWay {
        own: WireVote,
        candidate: WireVote,
    },
    /// The leader with the vote `own` wants the receiver to stand for election.
    Stand {
        own: WireVote,
    },
    /// The receiver confirms with a quorum that it leads, and answers the end of its log.
    ConfirmRead,
    /// Whether the receiver would vote for the caller, whose log ends with `last`.
    WouldVote {
        last: Option<WireLogId>,
    },
    /// The receiver, as the leader, puts this record of the caller into the log. An earlier program does not know it.
    KeepRecord {
        record: MemberNode,
    },
    /// Whether the disk of the receiver has room for commits. An earlier program does not know it.
    HasRoom,
    /// Whether the receiver can connect to this member. A program of version 7 does not know it.
    CanCall {
        node: u64,
    },
    /// The receiver, as the leader, admits a node that asked the caller. A program of version 7 does not know it.
    Admit {
        record: MemberNode,
    },
}

impl RaftRequest {
    /// The node in whose name a call votes or leads.
    pub(super) fn of_node(&self) -> Option<u64> {
        match self {
            RaftRequest::Append { request, .. } => Some(request.vote().node()),
            RaftRequest::Vote(candidate) => Some(candidate.vote().node()),
            RaftRequest::Snapshot(part) => Some(part.vote.node()),
            RaftRequest::GiveWay { own, .. } | RaftRequest::Stand { own } => Some(own.node()),
            RaftRequest::ConfirmRead
            | RaftRequest::WouldVote { .. }
            | RaftRequest::KeepRecord { .. }
            | RaftRequest::HasRoom
            | RaftRequest::CanCall { .. }
            | RaftRequest::Admit { .. } => None,
        }
    }

    /// The kind of the call. A heartbeat is an append without entries.
    pub(super) fn kind(&self) -> CallKind {
        match self {
            RaftRequest::Append { request, .. } if request.is_heartbeat() => CallKind::Vote,
            RaftRequest::Append { .. } => CallKind::Log,
            RaftRequest::Vote(_)
            | RaftRequest::GiveWay { .. }
            | RaftRequest::Stand { .. }
            | RaftRequest::ConfirmRead
            | RaftRequest::WouldVote { .. }
            | RaftRequest::KeepRecord { .. }
            | RaftRequest::HasRoom
            | RaftRequest::CanCall { .. }
            | RaftRequest::Admit { .. } => CallKind::Vote,
            RaftRequest::Snapshot(_) => CallKind::Snapshot,
        }
    }
}

/// The answer of a node to a call. A failure is a text for people: the caller tries again in any case.
#[derive(Serialize, Deserialize)]
pub(super) enum RaftResponse {
    Append {
        answer: Result<WireAppended, String>,
        mark: ContactMark,
    },
    Vote(Result<WireVoted, String>),
    Snapshot(SnapshotProgress),
    /// The journal there is starting or stopping.
    NotReady,
    /// The call is in a version, or of a kind, that is not known there.
    NotUnderstood,
    /// Whether the node does what is wanted, or is as asked.
    Followed(bool),
    /// The last entry that a read must see. None if no quorum confirms that the node leads.
    Confirmed(Option<u64>),
    /// The node does not do this for the caller.
    Refused(String),
    /// The number of a node that was admitted.
    Admitted(Result<u64, String>),
}

/// A call or an answer, whose kind a version has brought.
pub(super) trait VersionedCall: Serialize {
    /// The version that brought its kind. An earlier program does not read it.
    fn version(&self) -> u8;
}

impl VersionedCall for RaftRequest {
    fn version(&self) -> u8 {
        match self {
            RaftRequest::Append { .. }
            | RaftRequest::Vote(_)
            | RaftRequest::Snapshot(_)
            | RaftRequest::GiveWay { .. }
            | RaftRequest::Stand { .. }
            | RaftRequest::ConfirmRead
            | RaftRequest::WouldVote { .. }
            | RaftRequest::KeepRecord { .. }
            | RaftRequest::HasRoom => 7,
            RaftRequest::CanCall { .. } | RaftRequest::Admit { .. } => 8,
        }
    }
}

impl VersionedCall for RaftResponse {
    fn version(&self) -> u8 {
        match self {
            RaftResponse::Append { .. }
            | RaftResponse::Vote(_)
            | RaftResponse::Snapshot(_)
            | RaftResponse::NotReady
            | RaftResponse::NotUnderstood
            | RaftResponse::Followed(_)
            | RaftResponse::Confirmed(_)
            | RaftResponse::Refused(_) => 7,
            RaftResponse::Admitted(_) => 8,
        }
    }
}

/// The answer to every call while the raft node does not exist.
pub(crate) fn not_ready() -> Vec<u8> {
    encode(&RaftResponse::NotReady)
}

/// Encodes a call or an answer.
pub(super) fn encode(message: &impl VersionedCall) -> Vec<u8> {
    // Encoding into a growing vector fails only for values that no message contains. The receiver refuses
    // an empty message.
    let version = message.version();
    postcard::to_extend(message, vec![version]).unwrap_or_else(|_| vec![version])
}

/// Reads a call or an answer; none if its version or its kind is not known.
pub(super) fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    match bytes.split_first() {
        Some((version, body)) if CALL_VERSIONS.contains(version) => postcard::from_bytes(body).ok(),
        _ => None,
    }
}

/// Whether a node that answers so follows the leader that has called.
pub(super) fn follows(answer: &AppendEntriesResponse<u64>) -> bool {
    !matches!(answer, AppendEntriesResponse::HigherVote(_))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use openraft::error::Fatal;
    use openraft::raft::{AppendEntriesRequest, VoteRequest, VoteResponse};
    use openraft::{
        CommittedLeaderId, Entry, EntryPayload, LogId, Membership, SnapshotMeta, StoredMembership,
        Vote,
    };

    use super::*;
    use crate::raft::snapshot_transfer::SnapshotSource;
    use crate::raft::{CommitBatch, Types};
    use reelyard_core::clock::Millis;
    use reelyard_core::cluster_id::StoreId;
    use reelyard_replication::MemberRecord;

    fn log_id(index: u64) -> LogId<u64> {
        LogId::new(CommittedLeaderId::new(3, 1), index)
    }

    fn record(node: u64) -> MemberRecord {
        MemberRecord {
            store: Some(StoreId::from(u128::from(node))),
            cluster_address: format!("10.0.0.{node}:8082"),
            api_address: format!("http://10.0.0.{node}:8080"),
            format_level: 1,
            numbers_given: node,
        }
    }

    fn entries() -> Vec<Entry<Types>> {
        let batch = EntryPayload::Normal(CommitBatch(vec![1, 0].into()));
        let voters = [1, 2].map(|node| (node, MemberNode(record(node))));
        let members = Membership::new(vec![[1].into(), [1, 2].into()], BTreeMap::from(voters));
        let payloads = [batch, EntryPayload::Blank, EntryPayload::Membership(members)];
        let entry = |(index, payload)| Entry { log_id: log_id(index), payload };
        (7..).zip(payloads).map(entry).collect()
    }

    /// One call or answer of each kind, with its kept bytes.
    fn kept() -> Vec<(Vec<u8>, &'static str)> {
        let vote = Vote::new_committed(3, 1);
        let append = AppendEntriesRequest {
            vote,
            prev_log_id: Some(log_id(6)),
            entries: entries(),
            leader_commit: Some(log_id(5)),
        };
        let mark = ContactMark { process: 7, at_us: 300, wall: Millis(6) };
        let wall = Some(Millis(-1));
        let news = LeaderNews { mark, age_us: 5, applied: 10, disk_full: true, wall, ahead_ms: 2 };
        let appended =
            |answer| encode(&RaftResponse::Append { answer: Ok(WireAppended::from(answer)), mark });
        let part = SnapshotPart {
            source: SnapshotSource { node: 1, number: 4, bytes: 600 },
            vote: vote.into(),
            meta: SnapshotMeta {
                last_log_id: Some(log_id(9)),
                last_membership: StoredMembership::default(),
                snapshot_id: "3-9".to_owned(),
            }
            .into(),
            offset: 512,
            data: vec![1, 2, 3],
        };
        let fatal = Fatal::<u64>::Stopped.to_string();
        let voted = VoteResponse { vote, vote_granted: true, last_log_id: Some(log_id(4)) };
        let failed = SnapshotProgress::Failed { why: "no".to_owned() };
        vec![
            (
                encode(&RaftRequest::Append { request: append.into(), news: Some(news) }),
                concat!(
                    "070003010101030106030301070102010003010800",
                    "03010902020101020102020185017b2276657273696f6e223a2231222c227374",
                    "6f7265223a223030303030303030303030303030303030303030303030303030",
                    "303030303031222c22636c7573746572223a2231302e302e302e313a38303832",
                    "222c22617069223a22687474703a2f2f31302e302e302e313a38303830222c22",
                    "6c6576656c223a312c22676976656e223a317d0285017b2276657273696f6e22",
                    "3a2231222c2273746f7265223a22303030303030303030303030303030303030",
                    "3030303030303030303030303032222c22636c7573746572223a2231302e302e",
                    "302e323a38303832222c22617069223a22687474703a2f2f31302e302e302e32",
                    "3a38303830222c226c6576656c223a312c22676976656e223a327d",
                    "010301050107ac020c050a01010104",
                ),
            ),
            (encode(&RaftRequest::Vote(VoteRequest::new(vote, None).into())), "070103010100"),
            (
                encode(&RaftRequest::Snapshot(part)),
                "07020104d8040301010103010900000003332d39800403010203",
            ),
            (appended(AppendEntriesResponse::Success), "0700000007ac020c"),
            (appended(AppendEntriesResponse::Conflict), "0700000207ac020c"),
            (encode(&RaftResponse::Vote(Ok(voted.into()))), "0701000301010101030104"),
            (encode(&RaftResponse::Vote(Err(fatal))), "0701010c726166742073746f70706564"),
            (
                encode(&RaftResponse::Snapshot(SnapshotProgress::Wants { offset: 512 })),
                "0702008004",
            ),
            (encode(&RaftResponse::Snapshot(SnapshotProgress::Busy)), "070201"),
            (
                encode(&RaftResponse::Snapshot(SnapshotProgress::Done { vote: vote.into() })),
                "070202030101",
            ),
            (encode(&RaftResponse::Snapshot(failed)), "070203026e6f"),
            (encode(&RaftResponse::NotReady), "0703"),
            (encode(&RaftResponse::NotUnderstood), "0704"),
            (
                encode(&RaftRequest::GiveWay {
                    own: vote.into(),
                    candidate: Vote::new(4, 2).into(),
                }),
                "0703030101040200",
            ),
            (encode(&RaftRequest::Stand { own: vote.into() }), "0704030101"),
            (encode(&RaftResponse::Followed(true)), "070501"),
            (encode(&RaftRequest::ConfirmRead), "0705"),
            (encode(&RaftRequest::WouldVote { last: Some(log_id(4).into()) }), "070601030104"),
            (
                encode(&RaftRequest::KeepRecord { record: MemberNode(record(2)) }),
                concat!(
                    "070785017b2276657273696f6e223a2231222c2273746f7265223a2230303030",
                    "30303030303030303030303030303030303030303030303030303032222c2263",
                    "6c7573746572223a2231302e302e302e323a38303832222c22617069223a2268",
                    "7474703a2f2f31302e302e302e323a38303830222c226c6576656c223a312c22",
                    "676976656e223a327d",
                ),
            ),
            (encode(&RaftRequest::HasRoom), "0708"),
            (encode(&RaftRequest::CanCall { node: 2 }), "080902"),
            (
                encode(&RaftRequest::Admit { record: MemberNode(record(2)) }),
                concat!(
                    "080a85017b2276657273696f6e223a2231222c2273746f7265223a2230303030",
                    "30303030303030303030303030303030303030303030303030303032222c2263",
                    "6c7573746572223a2231302e302e302e323a38303832222c22617069223a2268",
                    "7474703a2f2f31302e302e302e323a38303830222c226c6576656c223a312c22",
                    "676976656e223a327d",
                ),
            ),
            (encode(&RaftResponse::Admitted(Ok(4))), "08080004"),
            (encode(&RaftResponse::Confirmed(Some(9))), "07060109"),
            (encode(&RaftResponse::Refused("no".to_owned())), "0707026e6f"),
        ]
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn sent_bytes_between_nodes_stay() {
        let changed: Vec<String> = kept()
            .into_iter()
            .map(|(bytes, kept)| (hex(&bytes), kept))
            .filter(|(bytes, kept)| bytes != kept)
            .map(|(bytes, kept)| format!("{kept} is now {bytes}"))
            .collect();
        assert!(changed.is_empty(), "raise CALL_VERSION:\n{}", changed.join("\n"));
    }

    /// A program of version 7 reads all calls, except the kinds that it does not know.
    #[test]
    fn calls_of_new_kinds_have_their_own_version() {
        let versions: Vec<u8> =
            kept().iter().filter_map(|(bytes, _)| bytes.first().copied()).collect();
        assert_eq!(versions.iter().filter(|version| **version == 8).count(), 3);
        assert!(versions.iter().all(|version| CALL_VERSIONS.contains(version)));
    }

    #[test]
    fn a_call_of_another_version_is_not_read() {
        let mut bytes = encode(&RaftResponse::NotReady);
        assert!(decode::<RaftResponse>(&bytes).is_some());
        for version in [CALL_VERSIONS.start() - 1, CALL_VERSIONS.end() + 1] {
            bytes[0] = version;
            assert!(decode::<RaftResponse>(&bytes).is_none());
        }
        // The former form of a call at its place has another body.
        assert!(decode::<RaftRequest>(&[7, 9]).is_none());
    }

    #[test]
    fn stored_bytes_of_entries_stay() {
        let bytes: Vec<String> = entries()
            .iter()
            .map(|entry| hex(&crate::raft::encode_entry(entry).unwrap_or_default()))
            .collect();
        assert_eq!(
            bytes,
            [
                "03010701020100",
                "03010800",
                concat!(
                    "03010902020101020102020185017b2276657273696f6e223a2231222c227374",
                    "6f7265223a223030303030303030303030303030303030303030303030303030",
                    "303030303031222c22636c7573746572223a2231302e302e302e313a38303832",
                    "222c22617069223a22687474703a2f2f31302e302e302e313a38303830222c22",
                    "6c6576656c223a312c22676976656e223a317d0285017b2276657273696f6e22",
                    "3a2231222c2273746f7265223a22303030303030303030303030303030303030",
                    "3030303030303030303030303032222c22636c7573746572223a2231302e302e",
                    "302e323a38303832222c22617069223a22687474703a2f2f31302e302e302e32",
                    "3a38303830222c226c6576656c223a312c22676976656e223a327d",
                )
            ],
            "stores hold entries of this form"
        );
    }

    /// Before records had versions, the text of a member was its address.
    #[test]
    fn stored_bytes_of_members_without_a_version_are_read() {
        let stored =
            "0301090202010102010202010d31302e302e302e313a38303832020d31302e302e302e323a38303832";
        let digits = stored.as_bytes().chunks(2).map(|two| str::from_utf8(two).unwrap());
        let bytes: Vec<u8> = digits.map(|two| u8::from_str_radix(two, 16).unwrap()).collect();
        let entry = crate::raft::decode_entry(&bytes).unwrap();
        let EntryPayload::Membership(members) = entry.payload else { panic!("{entry:?}") };
        let MemberNode(record) = members.get_node(&2).unwrap();
        let expected =
            MemberRecord { cluster_address: "10.0.0.2:8082".to_owned(), ..MemberRecord::default() };
        assert_eq!(record, &expected);
    }
}
