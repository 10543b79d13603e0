//! Three journals in this process that form a cluster over TCP, each with its own store and threads.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use actix::{Actor, Addr};
use anyhow::{Context, Result};
use futures::FutureExt;
use futures::future::BoxFuture;
use reelyard_cluster::{
    ClusterListener, ClusterService, ClusterTransport, LinkSecurity, ListenerLimits, LocalMember,
    LocalNode, NodeStream,
};
use reelyard_core::clock::Clock;
use reelyard_core::cluster_id::{ClusterId, StoreId};
use reelyard_core::event::PieceId;
use reelyard_core::task_threads::TaskThreads;
use reelyard_integration_tests::probes::journal_probe::ProbeActor;
use reelyard_journal::{Journal, JournalOptions};
use reelyard_protocol::cluster::{ElectionTimes, JoinOutcome, JoinRequest, SettingsDigest};
use reelyard_replication::{CallKind, MemberRecord, NodeIdentity};

const NUMBERS: [u64; 3] = [1, 2, 3];

/// The threads of the network of one member, as of a node.
const NETWORK_THREADS: usize = 2;

/// A cluster of three journals.
pub struct JoinedJournals {
    members: Vec<JoinedJournal>,
}

/// A journal with its network. The listener and the threads end with it.
struct JoinedJournal {
    journal: Journal,
    probe: Addr<ProbeActor>,
    _listener: ClusterListener,
    _threads: TaskThreads,
}

impl JoinedJournals {
    /// Opens three stores in `dir`. The last member founds the cluster, and leads at once.
    pub async fn open(dir: &Path) -> Result<Self> {
        let networks = NUMBERS.map(MemberNetwork::start);
        let networks = networks.into_iter().collect::<Result<Vec<_>>>()?;
        let records: BTreeMap<u64, MemberRecord> =
            networks.iter().map(|network| (network.number, network.record())).collect();
        let mut members = Vec::new();
        for network in networks {
            members.push(network.open(dir, &records).await?);
        }
        Ok(JoinedJournals { members })
    }

    /// The probe of the member that leads.
    pub async fn leader(&self) -> Result<Addr<ProbeActor>> {
        let waiting = self.members.iter().map(|member| {
            async {
                member.journal.leadership().wait_for(|now| now.epoch().is_some()).await?;
                anyhow::Ok(member.probe.clone())
            }
            .boxed_local()
        });
        futures::future::select_ok(waiting).await.map(|(probe, _)| probe)
    }

    /// Stops all members.
    pub async fn stop(self) {
        for member in &self.members {
            member.journal.stop().await;
        }
    }
}

/// The network of a member before its journal is open.
struct MemberNetwork {
    number: u64,
    service: JournalService,
    transport: ClusterTransport,
    listener: ClusterListener,
    threads: TaskThreads,
}

impl MemberNetwork {
    fn start(number: u64) -> Result<Self> {
        let threads = TaskThreads::start("cluster", NETWORK_THREADS)?;
        let member = Arc::new(BenchMember { number });
        let local = LocalNode::new(member, LinkSecurity::PlainOnLoopback, Clock::system());
        let service = JournalService::default();
        let listener = ClusterListener::start(
            threads.handle(),
            local.clone(),
            Arc::new(service.clone()),
            SocketAddr::from(([127, 0, 0, 1], 0)),
            ListenerLimits::default(),
        )?;
        let transport = ClusterTransport::new(threads.handle().clone(), local);
        Ok(MemberNetwork { number, service, transport, listener, threads })
    }

    fn record(&self) -> MemberRecord {
        MemberRecord {
            store: Some(identity(self.number).store),
            cluster_address: self.listener.address().to_string(),
            numbers_given: self.number,
            ..MemberRecord::default()
        }
    }

    async fn open(
        self,
        dir: &Path,
        records: &BTreeMap<u64, MemberRecord>,
    ) -> Result<JoinedJournal> {
        let alone = JournalOptions::alone(dir.join(self.number.to_string()), self.number);
        let is_founder = NUMBERS.last() == Some(&self.number);
        let founders = if is_founder { records.clone() } else { BTreeMap::new() };
        let options = JournalOptions { founders, ..alone };
        let journal = Journal::open(options, Arc::new(self.transport), &[PieceId::Probe]).await?;
        self.service.0.set(journal.clone()).ok().context("the journal was opened twice")?;
        let probe = ProbeActor::new(journal.clone()).start();
        Ok(JoinedJournal { journal, probe, _listener: self.listener, _threads: self.threads })
    }
}

/// Hands calls to the journal, once it is open.
#[derive(Clone, Default)]
struct JournalService(Arc<OnceLock<Journal>>);

impl ClusterService for JournalService {
    fn answer(
        &self,
        _: CallKind,
        from: NodeIdentity,
        request: Vec<u8>,
    ) -> BoxFuture<'static, Vec<u8>> {
        let journal = self.0.get().cloned();
        async move {
            match journal {
                Some(journal) => journal.answer(from.number, &request).await,
                None => Journal::not_ready(),
            }
        }
        .boxed()
    }

    fn join(&self, _: SocketAddr, _: JoinRequest) -> BoxFuture<'static, JoinOutcome> {
        let why = "the members of this cluster are fixed".to_owned();
        async { JoinOutcome::Refused { kind: "fixed".to_owned(), why } }.boxed()
    }

    fn forward(&self, _: NodeIdentity, _: NodeStream) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }
}

/// The facts of a member for its connections.
struct BenchMember {
    number: u64,
}

impl LocalMember for BenchMember {
    fn identity(&self) -> NodeIdentity {
        identity(self.number)
    }

    /// Only compared with those of the other members.
    fn times(&self) -> ElectionTimes {
        ElectionTimes {
            heartbeat_ms: 100,
            election_min_ms: 250,
            election_max_ms: 500,
            clock_bound_ms: 1000,
        }
    }

    fn settings(&self) -> SettingsDigest {
        SettingsDigest([0; 32])
    }

    /// Not known before the journal is open: an empty list lets every node of the cluster in.
    fn members(&self) -> Vec<(u64, MemberRecord)> {
        Vec::new()
    }

    fn present_leader(&self) -> Option<u64> {
        None
    }
}

fn identity(number: u64) -> NodeIdentity {
    let store = StoreId::from(u128::from(number));
    NodeIdentity { cluster: ClusterId::from(1), number, store }
}
