//! This node, as its connections to other nodes need to know it.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};

use reelyard_core::clock::{Clock, Millis};
use reelyard_protocol::cluster::{
    AddressedNode, ConnectionUse, ElectionTimes, FormatLevels, HelloNode, HelloSkips, NodeHello,
    SettingsDigest,
};
use reelyard_replication::{FORMAT_LEVEL, LOWEST_FORMAT_LEVEL, MemberRecord, NodeIdentity};

use super::peers::{PeerBook, PeerRecord};
use super::security::LinkSecurity;
use super::socket::split_address;

/// The format levels of this program. During an update nodes of two versions run together.
const LEVELS: FormatLevels = FormatLevels { min: LOWEST_FORMAT_LEVEL, max: FORMAT_LEVEL };
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The facts of this node that change while it runs. They are read for each connection.
pub trait LocalMember: Send + Sync + 'static {
    /// The identity in its store.
    fn identity(&self) -> NodeIdentity;

    /// Its election times.
    fn times(&self) -> ElectionTimes;

    /// Its settings of the cluster.
    fn settings(&self) -> SettingsDigest;

    /// The entries of the log that it skips.
    fn skips(&self) -> HelloSkips {
        HelloSkips::default()
    }

    /// The members in the log that it has applied, itself included. May be empty or old: the node may not have the
    /// whole log. Members of an entry that may still be cut off do not belong here, or a leader that must cut it
    /// off would be refused.
    fn members(&self) -> Vec<(u64, MemberRecord)>;

    /// The node that leads and is heard now. It may be this one.
    fn present_leader(&self) -> Option<u64>;
}

/// This node with its certificates, its clock and the record of its peers. The transport and the listener
/// share it.
pub struct LocalNode {
    member: Arc<dyn LocalMember>,
    security: RwLock<LinkSecurity>,
    clock: Clock,
    peers: PeerBook,
}

impl LocalNode {
    /// This node, with its first certificates.
    pub fn new(member: Arc<dyn LocalMember>, security: LinkSecurity, clock: Clock) -> Arc<Self> {
        let security = RwLock::new(security);
        Arc::new(LocalNode { member, security, clock, peers: PeerBook::default() })
    }

    /// Uses other certificates for new connections. The existing connections stay.
    pub fn set_security(&self, security: LinkSecurity) {
        *self.security.write().unwrap_or_else(PoisonError::into_inner) = security;
    }

    /// When the certificate of this node ends. None without certificates.
    pub fn certificate_end(&self) -> Option<Millis> {
        match self.security() {
            LinkSecurity::Tls(tls) => Some(tls.ends()),
            LinkSecurity::PlainOnLoopback | LinkSecurity::PlainEverywhere => None,
        }
    }

    pub(super) fn security(&self) -> LinkSecurity {
        self.security.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn member(&self) -> &dyn LocalMember {
        self.member.as_ref()
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn peers(&self) -> &PeerBook {
        &self.peers
    }

    /// The record of the member with this number.
    pub(super) fn record_of(&self, number: u64) -> Option<MemberRecord> {
        let found = self.member.members().into_iter().find(|(other, _)| *other == number);
        found.map(|(_, record)| record)
    }

    /// Whether this number was given to a node that is no member any more. A higher number may be newer than the list
    /// of this node.
    pub(super) fn was_removed(&self, number: u64) -> bool {
        let members = self.member.members();
        let given = members.iter().map(|(member, record)| record.numbers_given.max(*member)).max();
        members.iter().all(|(member, _)| *member != number)
            && given.is_some_and(|given| number <= given)
    }

    /// Whether a node with this number can be a member that the list of this node does not have yet. The list is current
    /// while a leader is heard. Only the leader itself can be missing then: its first entries are on their way.
    pub(super) fn may_be_newer(&self, number: u64) -> bool {
        self.member.present_leader().is_none_or(|leader| leader == number)
    }

    /// Whether a member is reached at this address. Names are not resolved.
    pub(super) fn is_address_of_member(&self, ip: IpAddr) -> bool {
        self.member.members().iter().any(|(_, record)| {
            let host = split_address(&record.cluster_address).map(|(host, _)| host);
            host.is_ok_and(|host| host.parse() == Ok(ip))
        })
    }

    /// Takes the hello of a peer. A node that skips other entries of the log is news, once.
    pub(super) fn greeted(&self, peer: &PeerRecord, hello: &NodeHello) {
        if peer.greeted(hello, self.member.skips().conflict(&hello.skips)) {
            let node = peer.number();
            tracing::warn!(node, "this node and another one skip different entries of the log");
        }
    }

    /// The hello of this node.
    pub(super) fn hello(
        &self,
        purpose: ConnectionUse,
        expected: Option<AddressedNode>,
    ) -> NodeHello {
        let NodeIdentity { cluster, number, store } = self.member.identity();
        NodeHello {
            sender: Some(HelloNode { cluster, number, store }),
            times: self.member.times(),
            settings: self.member.settings(),
            skips: self.member.skips(),
            ..hello_of_newcomer(&self.clock, purpose, expected)
        }
    }
}

/// The hello of a node that is no member yet. Its times and settings do not count.
pub(super) fn hello_of_newcomer(
    clock: &Clock,
    purpose: ConnectionUse,
    expected: Option<AddressedNode>,
) -> NodeHello {
    NodeHello {
        purpose,
        sender: None,
        expected,
        program: PROGRAM.to_owned(),
        levels: LEVELS,
        times: ElectionTimes {
            heartbeat_ms: 0,
            election_min_ms: 0,
            election_max_ms: 0,
            clock_bound_ms: 0,
        },
        settings: SettingsDigest::default(),
        clock: clock.reading().wall,
        skips: HelloSkips::default(),
    }
}

impl fmt::Debug for LocalNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalNode").field(&self.member.identity()).finish()
    }
}
