//! The network of this node to the others: it starts before the journal, and follows reloads.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex as StdMutex, OnceLock, PoisonError};
use std::time::Duration;

use reelyard_cluster::{
    ClusterConfig, ClusterListener, ClusterTransport, ListenError, ListenerLimits, LocalMember,
    LocalNode, PeerView,
};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::settings::EffectiveSetting;
use reelyard_core::task_threads::TaskThreads;
use reelyard_journal::Journal;
use reelyard_replication::{MemberRecord, NodeIdentity};
use tokio::sync::{Mutex, mpsc, watch};

use super::change_log::ClusterCounts;
use super::journal_member::{JournalMember, OpenedJournal, times};
use super::leader_calls::LeaderCalls;
use super::node_service::{ForwardedStream, JoinParts, NodeService};
use super::own_record::{own_record, own_url};
use crate::config::NodeConfig;

/// Forwarded streams that wait for a server.
const WAITING_STREAMS: usize = 64;

/// Threads of the network between nodes. One may be busy with the encryption of a snapshot.
const THREADS: usize = 2;

/// Why the network to the other nodes does not start.
#[derive(Debug, thiserror::Error)]
pub enum ClusterLinkError {
    /// The system gives no threads.
    #[error("cannot start the threads of the network between nodes")]
    Threads(#[source] std::io::Error),
    /// The address cannot be used.
    #[error(transparent)]
    Listen(#[from] ListenError),
}

/// The network to the other nodes.
pub struct ClusterLink {
    threads: TaskThreads,
    member: Arc<JournalMember>,
    local: Arc<LocalNode>,
    service: NodeService,
    journal: OpenedJournal,
    transport: ClusterTransport,
    counts: ClusterCounts,
    leader_calls: LeaderCalls,
    /// How long a leader may be silent.
    patience: Duration,
    /// Where a reload changes the record of this node.
    recording: OnceLock<(watch::Sender<MemberRecord>, SocketAddr)>,
    /// How this node runs with the settings on record.
    record: StdMutex<RecordState>,
    /// None while `cluster.listen` is not set.
    listening: Mutex<Option<ActiveListener>>,
}

/// How a node runs with the settings on record.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordState {
    /// Whether it runs with settings on record.
    pub(super) is_followed: bool,
    /// Settings of the cluster that its file sets to other values.
    pub(super) differing_keys: Vec<String>,
    /// Webhooks that send nothing, because their secrets cannot be read here.
    pub(super) silent_hooks: Vec<String>,
    /// Why the newest ones do not take effect.
    pub(super) not_followed: Option<String>,
}

struct ActiveListener {
    configured: SocketAddr,
    listener: ClusterListener,
}

impl ClusterLink {
    /// Starts the network of the node with this identity, and answers where forwarded streams arrive.
    ///
    /// # Errors
    /// The system gives no threads, or the address cannot be used.
    pub async fn start(
        identity: NodeIdentity,
        config: &NodeConfig,
        effective: &[EffectiveSetting],
        clock: &Clock,
    ) -> Result<(Arc<ClusterLink>, mpsc::Receiver<ForwardedStream>), ClusterLinkError> {
        // So neither the API nor the disk of the journal delays a heartbeat.
        let threads = TaskThreads::start("cluster", THREADS).map_err(ClusterLinkError::Threads)?;
        let journal = OpenedJournal::default();
        let election = &config.journal.election;
        let times = times(election, &config.cluster.clock);
        let member = Arc::new(JournalMember::new(identity, times, effective, journal.clone()));
        let local = LocalNode::new(member.clone(), config.cluster.security(), clock.clone());
        let (sender, forwarded) = mpsc::channel(WAITING_STREAMS);
        let link = Arc::new(ClusterLink {
            transport: ClusterTransport::new(threads.handle().clone(), local.clone()),
            service: NodeService::new(journal.clone(), sender),
            counts: ClusterCounts::default(),
            leader_calls: LeaderCalls::default(),
            patience: election.election_max,
            threads,
            member,
            local,
            journal,
            recording: OnceLock::new(),
            record: StdMutex::default(),
            listening: Mutex::default(),
        });
        link.listen(&config.cluster).await?;
        Ok((link, forwarded))
    }

    /// The journal is open: its calls are answered from now on.
    pub fn has_journal(&self, journal: &Journal) {
        self.journal.set(journal.clone());
    }

    /// From now on nodes can join.
    pub fn admit_by(&self, parts: JoinParts) {
        self.service.admit_by(parts);
    }

    /// From now on a reload also changes the record of this node, whose API listens here.
    pub fn record_by(&self, wanted: watch::Sender<MemberRecord>, api: SocketAddr) {
        // It is called once.
        let _ = self.recording.set((wanted, api));
    }

    /// Carries calls to other nodes.
    pub fn transport(&self) -> &ClusterTransport {
        &self.transport
    }

    /// The nodes that were called or that called.
    pub fn peers(&self) -> Vec<PeerView> {
        self.transport.peers()
    }

    /// Counts of changes of the leader and of forwarded requests.
    pub fn counts(&self) -> &ClusterCounts {
        &self.counts
    }

    /// When the certificate of this node ends. None without certificates.
    pub fn certificate_end(&self) -> Option<Millis> {
        self.local.certificate_end()
    }

    /// The journal; none while it opens.
    pub(super) fn journal(&self) -> Option<&Journal> {
        self.journal.get()
    }

    pub(super) fn member(&self) -> &JournalMember {
        &self.member
    }

    pub(super) fn leader_calls(&self) -> &LeaderCalls {
        &self.leader_calls
    }

    /// How long a leader may be silent before another node stands for election.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// Follows a reload: certificates, the address, and the settings that all nodes share.
    ///
    /// # Errors
    /// The new address cannot be used. The former listener goes on then.
    pub async fn apply_config(
        &self,
        config: &NodeConfig,
        effective: &[EffectiveSetting],
    ) -> Result<(), ClusterLinkError> {
        self.local.set_security(config.cluster.security());
        self.listen(&config.cluster).await?;
        self.member.change_settings(effective);
        if let Some((wanted, api)) = self.recording.get() {
            wanted.send_replace(own_record(self.member.identity(), config, &own_url(config, *api)));
        }
        Ok(())
    }

    /// This node runs with settings on record, or not. Its file sets `keys` to other values, and the secrets of the
    /// webhooks `silent` cannot be read here.
    pub fn set_record(&self, is_followed: bool, keys: Vec<String>, silent: Vec<String>) {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        record.is_followed = is_followed;
        record.differing_keys = keys;
        if record.silent_hooks != silent && !silent.is_empty() {
            tracing::warn!(hooks = ?silent, "the secrets of webhooks cannot be read on this node");
        }
        record.silent_hooks = silent;
    }

    /// Sets why the newest settings on record do not take effect here. Answers whether that is news.
    pub fn set_not_followed(&self, why: Option<String>) -> bool {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = record.not_followed != why;
        record.not_followed = why;
        is_news
    }

    /// How this node runs with the settings on record.
    pub(super) fn record_state(&self) -> RecordState {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes no more calls and requests of other nodes.
    pub async fn stop(&self) {
        if let Some(active) = self.listening.lock().await.take() {
            active.listener.stop().await;
        }
    }

    async fn listen(&self, config: &ClusterConfig) -> Result<(), ClusterLinkError> {
        let mut listening = self.listening.lock().await;
        let configured = config.listen;
        if listening.as_ref().map(|active| active.configured) == configured {
            return Ok(());
        }
        // An address of all interfaces and one of them exclude each other on the same port.
        let is_in_the_way = |former: &mut ActiveListener| {
            configured.is_some_and(|wanted| wanted.port() == former.listener.address().port())
        };
        let freed = listening.take_if(is_in_the_way);
        let before = freed.as_ref().map(|former| former.configured);
        if let Some(former) = freed {
            former.listener.stop().await;
        }
        let started = match configured.map(|configured| self.start_listener(configured)) {
            None => None,
            Some(Ok(started)) => Some(started),
            Some(Err(error)) => {
                if let Some(before) = before {
                    *listening = Some(self.start_listener(before)?);
                }
                return Err(error);
            }
        };
        if let Some(former) = std::mem::replace(&mut *listening, started) {
            former.listener.stop().await;
        }
        Ok(())
    }

    fn start_listener(&self, configured: SocketAddr) -> Result<ActiveListener, ClusterLinkError> {
        let listener = ClusterListener::start(
            self.threads.handle(),
            Arc::clone(&self.local),
            Arc::new(self.service.clone()),
            configured,
            ListenerLimits::default(),
        )?;
        Ok(ActiveListener { configured, listener })
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::cluster_id::{ClusterId, StoreId};

    use super::*;
    use crate::config::Layers;
    use crate::node::LoadedNodeConfig;

    fn configured(listen: &str) -> LoadedNodeConfig {
        let port = listen.rsplit(':').next().unwrap_or_default();
        let set = vec![
            format!("cluster.listen={listen}"),
            format!("cluster.address=127.0.0.1:{port}"),
            "cluster.insecure=true".to_owned(),
        ];
        LoadedNodeConfig::read(Layers { set, ..Layers::default() }).unwrap()
    }

    #[tokio::test]
    async fn a_reload_moves_the_listener_to_all_interfaces_on_the_same_port() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let store = StoreId::from(1);
        let identity = NodeIdentity { cluster: ClusterId::from(1), number: 1, store };
        let (one, all) =
            (configured(&format!("127.0.0.1:{port}")), configured(&format!("0.0.0.0:{port}")));
        let clock = Clock::system();
        let (link, _forwarded) =
            ClusterLink::start(identity, &one.config, &one.effective, &clock).await.unwrap();
        for next in [&all, &one] {
            link.apply_config(&next.config, &next.effective).await.unwrap();
            let listening = link.listening.lock().await;
            assert_eq!(
                listening.as_ref().map(|active| active.listener.address()),
                next.config.cluster.listen
            );
        }
        // A refused address leaves the former one in force.
        let other = std::net::TcpListener::bind("127.0.0.2:0").unwrap();
        let taken = configured(&other.local_addr().unwrap().to_string());
        assert!(link.apply_config(&taken.config, &taken.effective).await.is_err());
        let listening = link.listening.lock().await;
        assert_eq!(
            listening.as_ref().map(|active| active.listener.address()),
            one.config.cluster.listen
        );
    }
}
