//! The network of this node to the others: it starts before the journal, and follows reloads.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reelyard_cluster::{
    ClusterConfig, ClusterListener, ClusterRuntime, ClusterTransport, ListenError, ListenerLimits,
    LocalMember, LocalNode, PeerView,
};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::settings::EffectiveSetting;
use reelyard_journal::Journal;
use reelyard_replication::{MemberRecord, NodeIdentity};
use tokio::sync::{Mutex, mpsc, watch};

use super::change_log::ClusterCounts;
use super::journal_member::{JournalMember, OpenedJournal};
use super::node_service::{ForwardedStream, JoinParts, NodeService};
use super::own_record::own_record;
use crate::config::NodeConfig;

/// Forwarded streams that wait for a server.
const WAITING_STREAMS: usize = 64;

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
    runtime: ClusterRuntime,
    member: Arc<JournalMember>,
    local: Arc<LocalNode>,
    service: NodeService,
    journal: OpenedJournal,
    transport: ClusterTransport,
    counts: ClusterCounts,
    /// How long a leader may be silent.
    patience: Duration,
    /// Where a reload changes the record of this node.
    recording: OnceLock<(watch::Sender<MemberRecord>, String)>,
    /// None while `cluster.listen` is not set.
    listening: Mutex<Option<ActiveListener>>,
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
        let runtime = ClusterRuntime::start().map_err(ClusterLinkError::Threads)?;
        let journal = OpenedJournal::default();
        let election = &config.journal.election;
        let member = Arc::new(JournalMember::new(identity, election, effective, journal.clone()));
        let local = LocalNode::new(member.clone(), config.cluster.security(), clock.clone());
        let (sender, forwarded) = mpsc::channel(WAITING_STREAMS);
        let link = Arc::new(ClusterLink {
            transport: ClusterTransport::new(runtime.handle().clone(), local.clone()),
            service: NodeService::new(journal.clone(), sender),
            counts: ClusterCounts::default(),
            patience: election.election_max,
            runtime,
            member,
            local,
            journal,
            recording: OnceLock::new(),
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

    /// From now on a reload also changes the record of this node, whose API has this address.
    pub fn record_by(&self, wanted: watch::Sender<MemberRecord>, api_address: String) {
        // It is called once.
        let _ = self.recording.set((wanted, api_address));
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
        if let Some((wanted, api_address)) = self.recording.get() {
            wanted.send_replace(own_record(self.member.identity(), config, api_address));
        }
        Ok(())
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
        let started = match configured {
            None => None,
            Some(configured) => {
                let listener = ClusterListener::start(
                    self.runtime.handle(),
                    Arc::clone(&self.local),
                    Arc::new(self.service.clone()),
                    configured,
                    ListenerLimits::default(),
                )?;
                Some(ActiveListener { configured, listener })
            }
        };
        if let Some(former) = std::mem::replace(&mut *listening, started) {
            former.listener.stop().await;
        }
        Ok(())
    }
}
