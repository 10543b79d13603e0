//! The clients of a round, each with the history of its answers and the rules for it.

pub mod downloads;
pub mod hook_listener;
pub mod leases;
pub mod notifications;
pub mod register;
pub mod shares;
pub mod tasks;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::chaos_client::ChaosClient;
use super::chaos_cluster::NodePlace;
use super::record::ChaosRecord;
use downloads::DownloadHistory;
use leases::LeaseHistory;
use notifications::NotificationHistory;
use register::RegisterHistory;
use shares::ShareHistory;
use tasks::TaskHistory;

/// Clients that share, and clients that lease.
const CLIENTS: usize = 4;

/// A cluster without faults has everything within this time.
pub const RECOVERY: Duration = Duration::from_secs(30);

/// All histories of a round. Clones share them.
#[derive(Clone)]
pub struct ChaosHistories {
    client: ChaosClient,
    /// The moments of all acknowledged changes.
    pub record: Arc<ChaosRecord>,
    /// The shares, and their ends.
    pub shares: Arc<ShareHistory>,
    leases: Arc<LeaseHistory>,
    register: Arc<RegisterHistory>,
    downloads: Arc<DownloadHistory>,
    notifications: Arc<NotificationHistory>,
    tasks: Arc<TaskHistory>,
}

impl ChaosHistories {
    /// Empty histories. `notifications` has the requests of the webhook already.
    pub fn new(
        client: ChaosClient,
        record: Arc<ChaosRecord>,
        notifications: Arc<NotificationHistory>,
        masters: &Path,
    ) -> Self {
        ChaosHistories {
            client,
            record,
            shares: Arc::default(),
            leases: Arc::default(),
            register: Arc::default(),
            downloads: Arc::default(),
            notifications,
            tasks: Arc::new(TaskHistory::new(masters)),
        }
    }

    /// Starts all clients.
    pub fn start(&self, runtime: &Handle) -> Vec<JoinHandle<()>> {
        let mut clients = Vec::new();
        for number in 0..CLIENTS {
            let (own, client) = (self.clone(), self.client.clone());
            clients.push(runtime.spawn(async move {
                shares::use_shares(&client, &own.shares, &own.notifications, &own.record, number)
                    .await;
            }));
            let (own, client) = (self.clone(), self.client.clone());
            clients.push(runtime.spawn(async move {
                leases::use_leases(&client, &own.leases, &own.record, number).await;
            }));
        }
        let (own, client) = (self.clone(), self.client.clone());
        clients.push(runtime.spawn(async move {
            register::use_register(&client, &own.register, &own.record).await;
        }));
        let (own, client) = (self.clone(), self.client.clone());
        clients.push(runtime.spawn(async move {
            downloads::use_downloads(&client, &own.downloads, &own.notifications, &own.record)
                .await;
        }));
        let (own, client) = (self.clone(), self.client.clone());
        clients.push(runtime.spawn(async move {
            notifications::use_short_shares(&client, &own.notifications, &own.record).await;
        }));
        let (own, client) = (self.clone(), self.client.clone());
        clients.push(runtime.spawn(async move {
            tasks::watch_copies(&client, &own.tasks, &own.record).await;
        }));
        clients
    }

    /// The first violation so far.
    pub fn violation(&self) -> Option<String> {
        self.record
            .violation()
            .or_else(|| self.leases.violation())
            .or_else(|| self.downloads.violation())
            .or_else(|| self.notifications.violation())
    }

    /// The first violation after the load and all faults have ended. Nodes may lack something for this time.
    pub async fn final_violation(&self, copies: &Path, recovery: Duration) -> Option<String> {
        for node in 0..3 {
            let shares = || async {
                match shares::live_shares(&self.client, node).await {
                    Some(live) => shares::difference(&self.shares.all(), &live),
                    None => Some("it does not answer".to_owned()),
                }
            };
            if let Some(why) = within(recovery, shares).await {
                return Some(format!("{}: {why}", NodePlace(node)));
            }
        }
        let notified = || async { self.notifications.missing() };
        if let Some(why) = within(recovery, notified).await {
            return Some(why);
        }
        if let Some(why) = within(recovery, || self.tasks.missing(&self.client, copies)).await {
            return Some(why);
        }
        self.violation()
    }

    /// The numbers of checked answers.
    pub fn summary(&self) -> String {
        let acknowledged = format!("{} changes", self.record.acknowledged());
        [
            acknowledged,
            self.shares.summary(),
            self.leases.summary(),
            self.register.summary(),
            self.downloads.summary(),
            self.notifications.summary(),
            self.tasks.summary(),
        ]
        .join(", ")
    }
}

/// Looks again until nothing is missing. The last finding, if something is still missing after the recovery.
async fn within<F>(recovery: Duration, mut look: impl FnMut() -> F) -> Option<String>
where
    F: Future<Output = Option<String>>,
{
    let began = Instant::now();
    loop {
        let found = look().await?;
        if began.elapsed() >= recovery {
            return Some(found);
        }
        sleep(Duration::from_millis(200)).await;
    }
}
