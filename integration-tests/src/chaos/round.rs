//! One round: three nodes, load, faults, and the check of the histories.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fastrand::Rng;
use reqwest::Method;
use tokio::runtime::Runtime;

use super::chaos_client::ChaosClient;
use super::chaos_cluster::{ChaosCluster, NodePlace};
use super::faults::{ChaosFault, FaultOutcome};
use super::histories::shares::ShareEnd;
use super::histories::{ChaosHistories, RECOVERY, hook_listener, notifications};
use super::record::ChaosRecord;

/// Time without a fault between two of them.
const QUIET: Duration = Duration::from_millis(700);

/// The longest fault. A longer round has longer faults.
const LONGEST: Duration = Duration::from_secs(30);

/// While two of three nodes are whole, changes pause no longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Nodes may be behind for this time although there were no faults.
const WITHOUT_RECOVERY: Duration = Duration::from_secs(5);

/// In a round of this length, the members are changed at least once during a fault.
const WITH_MEMBER_CHANGES: Duration = Duration::from_secs(60);

/// The length and the seed of a round.
#[derive(Clone, Debug)]
pub struct ChaosOptions {
    /// How long faults happen.
    pub time: Duration,
    /// Gives the faults.
    pub seed: u64,
    /// Shows that the check finds something: forgets acknowledged shares on purpose.
    pub lose_on_purpose: bool,
    /// Only faults whose text contains this.
    pub only: Option<String>,
    /// Where the logs of all processes are copied at the end.
    pub logs: Option<PathBuf>,
}

impl ChaosOptions {
    /// Whether the members must change during a fault.
    fn needs_member_changes(&self) -> bool {
        self.time >= WITH_MEMBER_CHANGES && self.only.is_none()
    }
}

/// Runs a round. Returns the first violation.
///
/// # Errors
/// The round itself could not go on.
pub fn run(options: &ChaosOptions) -> Result<Option<String>> {
    let runtime = Runtime::new()?;
    let notified = Arc::<notifications::NotificationHistory>::default();
    let hook = runtime.block_on(hook_listener::listen(Arc::clone(&notified)))?;
    let mut cluster = ChaosCluster::form(runtime.handle(), hook)?;
    let urls = cluster.nodes.nodes.iter().map(|node| format!("http://{}", node.api)).collect();
    let token = std::fs::read_to_string(cluster.token_file())?;
    let client = ChaosClient::new(urls, &cluster.links, token.trim().to_owned())?;
    let record = Arc::new(ChaosRecord::default());
    let masters = cluster.yard.path("masters");
    let histories = ChaosHistories::new(client.clone(), record, notified, &masters);
    let found = under_load(&runtime, &mut cluster, &client, &histories, options);
    if let Some(dir) = &options.logs {
        cluster.copy_logs(dir)?;
    }
    found
}

/// Causes faults under load, and checks the histories afterwards.
fn under_load(
    runtime: &Runtime,
    cluster: &mut ChaosCluster,
    client: &ChaosClient,
    histories: &ChaosHistories,
    options: &ChaosOptions,
) -> Result<Option<String>> {
    let load = histories.start(runtime.handle());
    let mut faults = FaultRound::default();
    let found = faults.go_on(cluster, histories, options);
    client.end();
    // A change that is still under way would differ from the history that the nodes are compared with.
    for ended in runtime.block_on(futures::future::join_all(load)) {
        ended?;
    }
    let FaultRound { number, longest_pause, slowest } = faults;
    println!(
        "{number} faults, the longest pause {longest_pause:?}, the slowest recovery {slowest:?}"
    );
    if let Some(violation) = found? {
        return Ok(Some(violation));
    }
    let mut recovery = RECOVERY;
    if options.lose_on_purpose {
        lose(runtime, client, histories)?;
        // No recovery brings the share back.
        recovery = WITHOUT_RECOVERY;
    }
    let copies = cluster.yard.copies(0);
    let found = runtime.block_on(histories.final_violation(&copies, recovery));
    println!("checked: {}", histories.summary());
    Ok(found)
}

/// The faults of a round so far.
#[derive(Default)]
struct FaultRound {
    number: usize,
    longest_pause: Duration,
    /// The slowest recovery after the end of a fault.
    slowest: Duration,
}

impl FaultRound {
    /// Causes faults until the time is over. Returns the first violation.
    fn go_on(
        &mut self,
        cluster: &mut ChaosCluster,
        histories: &ChaosHistories,
        options: &ChaosOptions,
    ) -> Result<Option<String>> {
        let mut rng = Rng::with_seed(options.seed);
        let until = Instant::now() + options.time;
        while Instant::now() < until {
            let longest = (options.time / 6).min(LONGEST);
            let mut fault = ChaosFault::draw(&mut rng, cluster.leader(), longest);
            let is_late = until.saturating_duration_since(Instant::now()) < options.time / 2;
            if is_late && cluster.member_changes == 0 && options.needs_member_changes() {
                let place = NodePlace::ALL[rng.usize(..3)];
                fault = ChaosFault::draw_membership(&mut rng, place);
            }
            if options.only.as_ref().is_some_and(|only| !fault.to_string().contains(only)) {
                continue;
            }
            sleep(QUIET);
            println!("{fault}");
            if let Some(violation) = self.one(cluster, &histories.record, &fault)? {
                return Ok(Some(format!("{violation}, at: {fault}")));
            }
            if let Some(violation) = cluster.ended().or_else(|| histories.violation()) {
                return Ok(Some(violation));
            }
        }
        if cluster.member_changes == 0 && options.needs_member_changes() {
            return Ok(Some("the members were never changed during a fault".to_owned()));
        }
        Ok(None)
    }

    /// Causes one fault, and waits until a change is acknowledged after its end.
    fn one(
        &mut self,
        cluster: &mut ChaosCluster,
        record: &ChaosRecord,
        fault: &ChaosFault,
    ) -> Result<Option<String>> {
        let (begin, before) = (Instant::now(), record.acknowledged());
        if let FaultOutcome::Skipped(missing) = fault.happen(cluster, record)? {
            println!("  skipped, because this is missing: {missing}");
            return Ok(None);
        }
        let (healed, after) = (Instant::now(), record.acknowledged());
        while record.acknowledged() <= after {
            if healed.elapsed() > RECOVERY {
                return Ok(Some(format!("no change was acknowledged for {RECOVERY:?} afterwards")));
            }
            sleep(Duration::from_millis(10));
        }
        let (pause, recovery) = (record.pause_since(begin), healed.elapsed());
        println!(
            "  {} changes meanwhile, the longest pause {pause:?}, the next one {recovery:?} after its end",
            record.acknowledged() - before
        );
        self.number += 1;
        self.slowest = self.slowest.max(recovery);
        self.longest_pause = self.longest_pause.max(pause);
        let is_too_long = fault.leaves_a_quorum() && pause > LONGEST_PAUSE;
        Ok(is_too_long.then(|| format!("no change was acknowledged for {pause:?}")))
    }
}

/// Revokes one acknowledged share behind the back of the history.
fn lose(runtime: &Runtime, client: &ChaosClient, histories: &ChaosHistories) -> Result<()> {
    let live = histories.shares.all().into_values().find(|(_, end)| *end == ShareEnd::Live);
    let (id, _) = live.context("no share is live")?;
    let path = format!("/shares/{id}");
    runtime.block_on(async {
        for node in 0..3 {
            client.attempt(node, Method::DELETE, &path, None).await;
        }
    });
    Ok(())
}
