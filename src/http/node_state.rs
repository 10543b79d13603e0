//! State of the HTTP handlers of a node, and what it says about the node: warnings and readiness.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use reelyard_access::audit::AuditRecorder;
use reelyard_api::{OverviewView, ShareInfo};
use reelyard_boxes::box_lease::BoxPhase;
use reelyard_console::pages::yard::TroublePlace;
use reelyard_core::address_range::AddressRange;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::host::HostAddr;
use reelyard_core::names::NameTable;
use reelyard_core::open_files;
use reelyard_core::token::SharedToken;
use reelyard_journal::Journal;
use reelyard_protocol::signed_call::SignedCallVerifier;
use reelyard_replication::Leadership;
use reelyard_shares::share_expiry::Share;
use reelyard_shares::share_files::ROOT_ID_FILE;
use reelyard_yard::heartbeat::Health;
use reelyard_yard::task_manager::Unusable;
use reelyard_yard::task_manager::{PlanningMode, Task, TaskManagerView, TaskSettings};
use tokio::sync::watch;

use super::access::{LoginGuard, WorkerRefusals};
use super::computing::{SharedAnswer, WorkLimit};
use super::forwarding::ForwardedWaits;
use super::overview::{HourCounts, KeptHourCounts, KeptNameOrder, KeptShareCounts, OverviewMemory};
use crate::node::{ClusterLink, LiveConfig, NodeReloader, ShareLinksView, Wiring};

/// State of the HTTP handlers of a node: views, and addresses of actors. No handler touches the
/// state of an actor.
pub struct NodeHttpState {
    /// Start time of the node.
    pub started: Millis,
    /// Clock of the node; simulated in tests.
    pub clock: Clock,
    /// Names of the file ids in views.
    pub names: NameTable,
    /// Number of this node in its cluster.
    pub node_id: u64,
    /// The network to the other nodes.
    pub cluster: Arc<ClusterLink>,
    /// The running configuration.
    pub live: LiveConfig,
    /// The file with the token of the first administrator.
    pub admin_token_file: PathBuf,
    /// Limits on guessing tokens and passwords.
    pub login_guard: LoginGuard,
    /// The workers whose calls are refused.
    pub worker_refusals: WorkerRefusals,
    /// Verifies the signed calls of workers.
    pub gate: SignedCallVerifier,
    /// Records changes and refused calls.
    pub audit: AuditRecorder,
    /// Reloads the configuration on request.
    pub reloader: Arc<NodeReloader>,
    /// For readiness and the current leader.
    pub journal: Journal,
    /// Views and mailboxes of the actors.
    pub actors: Arc<Wiring>,
    /// View of the public links of shares.
    pub share_links: Arc<ShareLinksView>,
    /// Counts of share links, for the page of links.
    pub share_counts: KeptShareCounts,
    /// The files in the order of their names, for the page of files.
    pub file_names: KeptNameOrder,
    /// Counts of the copies of the last hour, for all pages.
    pub hour_counts: KeptHourCounts,
    /// The memory of troubles, rates and loads.
    pub overview: OverviewMemory,
    /// Limits the requests that wait at the leader.
    pub forwarded_waits: ForwardedWaits,
    /// Limits the pages and overviews that are computed at once.
    pub page_work: WorkLimit,
    /// The last answer of `GET /overview`, with everything in it.
    pub overview_answer: SharedAnswer<OverviewView>,
    /// True when the node stops: waiting calls are then answered at once.
    pub stopping: watch::Receiver<bool>,
}

/// The destinations of a yard of which none answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoDestination {
    /// Destinations that do not answer.
    pub down: u64,
    /// Destinations in maintenance.
    pub in_maintenance: u64,
}

impl fmt::Display for NoDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("No destination is up, so no copies are possible. ")?;
        let NoDestination { down, in_maintenance } = self;
        let silent = if *down == 1 { "does" } else { "do" };
        let rests = if *in_maintenance == 1 { "is" } else { "are" };
        match (down, in_maintenance) {
            (0, 1) => f.write_str("The only one is in maintenance: see reelyard hosts."),
            (0, 0) => f.write_str("None is configured: set hosts.destinations."),
            (0, resting) => write!(f, "All {resting} are in maintenance: see reelyard hosts."),
            (down, 0) => write!(f, "{down} {silent} not answer: see reelyard hosts."),
            (down, resting) => {
                write!(f, "{down} {silent} not answer, {resting} {rests} in maintenance.")
            }
        }
    }
}

impl NodeHttpState {
    /// Whether this address belongs to this host or to a host of the yard.
    pub fn is_of_yard(&self, peer: IpAddr) -> bool {
        let hosts = self.actors.hosts.present();
        peer.is_loopback() || hosts.keys().any(|host| host.ip().to_canonical() == peer)
    }

    /// Whether this address is in one of the ranges. Without ranges, whether it belongs to the yard.
    pub fn is_allowed(&self, ranges: Option<&[AddressRange]>, peer: IpAddr) -> bool {
        match ranges {
            Some(ranges) => ranges.iter().any(|range| range.contains(peer)),
            None => self.is_of_yard(peer),
        }
    }

    /// The copies that ended in the last hour, as counted within the last second.
    pub fn last_hour(&self) -> Arc<HourCounts> {
        let tasks = self.actors.task_views.load();
        let copied = |task: &Arc<Task>| Some(self.names.find(task.name.as_bytes())?.0);
        let open = || tasks.open.values().filter_map(copied).collect();
        self.hour_counts.counts(&tasks.history, open, self.clock.now())
    }

    /// The time that decides whether a link has ended.
    pub fn share_time(&self) -> Millis {
        self.actors.share_views.moment(&self.actors.share_clock).latest
    }

    /// A link as it is at `now`, with its address.
    pub fn share_info(&self, share: &Share, now: Millis) -> ShareInfo {
        ShareInfo::of(share, &self.share_links.public_url(), now)
    }

    /// The token that signs calls to and from the worker on this host: its own, or the shared one.
    pub fn worker_token(&self, host: HostAddr) -> Option<SharedToken> {
        let own = self.actors.access_views.load().worker_key(host);
        own.or_else(|| self.live.now().config.token.clone())
    }

    /// Conditions that need attention although the node is ready, as text lines.
    pub fn warnings(&self) -> Vec<String> {
        let others = self.other_warnings().into_iter();
        let mut warnings: Vec<String> = others.map(|(_, text)| text).collect();
        warnings.extend(self.planning_off());
        warnings.extend(self.no_destination().map(|missing| missing.to_string()));
        warnings
    }

    /// Says that planning is switched off, if it is.
    pub fn planning_off(&self) -> Option<String> {
        let off = self.live.now().config.yard.task.mode == PlanningMode::Off;
        off.then(|| {
            "Planning is off: no new copies are planned. Set task.mode = \"on\" and reload."
                .to_owned()
        })
    }

    /// The warnings besides those about planning, each with the page on which it ends.
    pub fn other_warnings(&self) -> Vec<(TroublePlace, String)> {
        let mut warnings = self.host_warnings();
        let about = |place: TroublePlace| move |text: String| (place.clone(), text);
        warnings.extend(self.box_warnings().into_iter().map(about(TroublePlace::Boxes)));
        let view = self.actors.task_views.load();
        let of_inputs = self.actors.catalog_view.load().warnings.clone().into_iter();
        let of_inputs = of_inputs.chain(input_fault_warnings(&view)).chain(self.insecure_listen());
        warnings.extend(of_inputs.map(about(TroublePlace::Settings)));
        let of_cluster = self.cluster.warnings(self.clock.now()).into_iter();
        warnings.extend(of_cluster.map(about(TroublePlace::Cluster)));
        let clock = self.actors.share_views.view().trouble.map(|trouble| trouble.to_string());
        let of_shares = self.share_root_warnings().into_iter().chain(clock);
        warnings.extend(of_shares.map(about(TroublePlace::Shares)));
        let audit =
            self.audit.status().trouble.map(|why| {
                format!("The audit cannot be written, so changes are not recorded: {why}")
            });
        let of_process = audit.into_iter().chain(open_files::shortage_warning());
        warnings.extend(of_process.map(about(TroublePlace::Manual)));
        warnings
    }

    /// Hosts that another manager commands, whose files were not listed, or that cannot be used.
    fn host_warnings(&self) -> Vec<(TroublePlace, String)> {
        let mut warnings = Vec::new();
        for manager in &self.actors.task_views.load().foreign_managers {
            let host = manager.host.map(|host| format!("{host}: ")).unwrap_or_default();
            let how_sure = if manager.sure { "manages" } else { "may manage" };
            let (what, last) = (&manager.what, manager.last);
            let place = manager
                .host
                .map_or(TroublePlace::Manual, |host| TroublePlace::Host(host.to_string()));
            let text = format!(
                "another manager {how_sure} this yard too: {host}{what}; last seen at {last}"
            );
            warnings.push((place, text));
        }
        let unlisted = self.unlisted_hosts().into_iter();
        warnings.extend(unlisted.map(|(host, text)| (TroublePlace::Host(host.to_string()), text)));
        for (host, actor) in self.actors.hosts.present().iter() {
            let unusable = actor.view.load().token_trouble;
            let refused = self.worker_refusals.of(*host, self.clock.now());
            let texts = [
                unusable.map(|why| format!("{host} cannot be used: {why}")),
                refused.map(|why| format!("{host} gets no orders: {why}")),
            ];
            for text in texts.into_iter().flatten() {
                warnings.push((TroublePlace::Host(host.to_string()), text));
            }
        }
        warnings
    }

    /// Pools that differ from their configuration, whose host is silent, or that cannot grant any box.
    fn box_warnings(&self) -> Vec<String> {
        let refused = self.actors.boxes.configured.refused();
        let not_so = refused.iter().map(|(pool, why)| {
            format!("cannot apply the configuration of pool {pool}, retrying: {why}")
        });
        let boxes = self.actors.boxes.views.view();
        let silent = boxes.queues.iter().filter_map(|(pool, queue)| {
            let why = queue.silence.as_ref()?;
            Some(format!("the host of pool {pool} does not prepare or clean its boxes: {why}"))
        });
        not_so.chain(silent).chain(self.hindered_pools()).collect()
    }

    /// Share roots whose directories cannot be used, or would not be recognised.
    fn share_root_warnings(&self) -> Vec<String> {
        let view = self.actors.share_files_views.load();
        let mut warnings = Vec::new();
        for (root, why) in &view.unreachable {
            warnings.push(format!(
                "Share root {root} cannot be used, and none of its shares end as removed: {why}"
            ));
        }
        for (root, why) in &view.unidentified {
            warnings.push(format!(
                "Share root {root} has no id, so no node notices another directory at its path. The file \
                 {ROOT_ID_FILE} in it cannot be written: {why}"
            ));
        }
        warnings
    }

    /// The consequence of an unencrypted `listen` that other hosts can reach.
    pub fn insecure_listen(&self) -> Option<String> {
        let in_force = self.live.now();
        let (listen, config) = (in_force.config.listen, &in_force.config);
        let is_open = !listen.ip().is_loopback() && config.tls.certificate().is_none();
        is_open.then(|| {
            format!(
                "{listen} is not encrypted: tokens, passwords and sessions are readable in the network. Set \
                 tls.certificate and tls.key, and reload."
            )
        })
    }

    /// Pools that cannot grant any box, with the reason.
    fn hindered_pools(&self) -> Vec<String> {
        let hindered = self.actors.boxes.views.pools().into_iter().filter_map(|pool| {
            let can = [BoxPhase::Free, BoxPhase::Leased, BoxPhase::Preparing];
            let can_go_on = can.iter().any(|phase| pool.counts.of(*phase) > 0);
            let why = pool.hindrance.filter(|_| !can_go_on)?;
            Some(format!("pool {} cannot grant any box: {why}", pool.name))
        });
        hindered.collect()
    }

    /// Destinations that answer, but whose files were not listed since this node started, with the
    /// consequences.
    pub fn unlisted_hosts(&self) -> Vec<(HostAddr, String)> {
        let view = self.actors.task_views.load();
        let unlisted = view.hosts.iter().filter(|planned| {
            let unknown = [Unusable::InventoryUnknown, Unusable::KindUnknown];
            planned.no_destination.is_some_and(|why| unknown.contains(&why))
        });
        // No warning during the first inventory of a host.
        let is_patient = self.clock.now().since(self.started) < TaskSettings::default().first_look;
        let words = unlisted.filter_map(|planned| {
            let host = planned.host;
            let called = self.actors.hosts.get(host)?.view.load();
            if is_patient && called.failed_looks == 0 {
                return None;
            }
            let why = called
                .last_failure
                .as_ref()
                .map(|last| format!(" ({}: {})", last.asked, last.failure));
            let risk = match planned.files {
                Some(_) => "Its recorded files still count",
                None => "A file that exists only there may be copied again",
            };
            let text = format!(
                "{host} answers, but its files were not listed since this node started{}. Nothing \
                 is copied to it. {risk}.",
                why.unwrap_or_default()
            );
            Some((host, text))
        });
        words.collect()
    }

    /// Why no copies are possible. None if a destination answers, before the first probes, and in a yard without hosts.
    pub fn no_destination(&self) -> Option<NoDestination> {
        let (hosts, beats) = (self.actors.hosts.present(), self.actors.heartbeat_view.load());
        let health = |host| beats.of(host).map(|one| one.health);
        let destinations = hosts.iter().filter(|(_, host)| host.role.is_destination());
        let mut missing = NoDestination::default();
        for (addr, host) in destinations {
            match health(*addr) {
                _ if host.in_maintenance() => missing.in_maintenance += 1,
                Some(Health::Suspect | Health::Down) => missing.down += 1,
                Some(Health::Up | Health::Unknown) | None => return None,
            }
        }
        (!hosts.is_empty()).then_some(missing)
    }

    /// Whether no change would succeed now: no node leads the yard, or the leader is silent.
    pub fn has_no_leader(&self) -> bool {
        self.cluster.no_leader().is_some()
    }

    /// Conditions that make the node not ready, as text lines; empty if it is ready.
    pub fn not_ready(&self) -> Vec<String> {
        let mut missing = self.not_ready_with_leader();
        if let Some(why) = self.cluster.no_leader() {
            missing.insert(0, why);
        }
        missing
    }

    /// The same conditions besides a missing leader.
    pub fn not_ready_with_leader(&self) -> Vec<String> {
        let mut missing = self.journal_faults();
        let catalog = self.actors.catalog_view.load();
        missing.extend(catalog.problems.iter().cloned());
        if !catalog.ready && catalog.problems.is_empty() {
            missing.push("the inputs have not been read yet".to_owned());
        }
        missing
    }

    /// Why the journal takes no changes.
    pub fn journal_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        faults.extend(self.journal.disk_full());
        faults.extend(self.cluster.leader_disk_full());
        faults.extend(self.journal.stuck());
        if matches!(*self.journal.leadership().borrow(), Leadership::Stopped) {
            faults.push("the journal has stopped".to_owned());
        }
        faults
    }
}

/// Inputs by which this node does not plan, although it leads.
fn input_fault_warnings(view: &TaskManagerView) -> Vec<String> {
    let faults = view.input_faults.iter().filter(|_| view.epoch.is_some());
    let texts = faults.map(|fault| {
        format!(
            "No copies are planned and none are removed: {fault}. Put the right files in place, or let another node \
             lead. To plan by these files: task.check_inputs = false."
        )
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use reelyard_console::text::{Language, node_words};

    use super::*;

    #[test]
    fn destinations_are_counted_in_both_numbers_and_languages() {
        let says = |down, in_maintenance| NoDestination { down, in_maintenance }.to_string();
        for (down, resting, words) in [
            (1, 0, "1 does not answer: see reelyard hosts."),
            (2, 0, "2 do not answer: see reelyard hosts."),
            (1, 1, "1 does not answer, 1 is in maintenance."),
            (2, 3, "2 do not answer, 3 are in maintenance."),
            (0, 1, "The only one is in maintenance: see reelyard hosts."),
            (0, 2, "All 2 are in maintenance: see reelyard hosts."),
            (0, 0, "None is configured: set hosts.destinations."),
        ] {
            let english = says(down, resting);
            assert!(english.ends_with(words), "{english}");
            let korean = node_words(Language::Korean, &english);
            assert!(!korean.contains("answer") && !korean.contains("is "), "{korean}");
        }
    }
}
