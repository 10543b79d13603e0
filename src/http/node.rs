//! The HTTP of a node: the API, cfm's wire, and whether it is well.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::dev::{ServerHandle, ServiceRequest, ServiceResponse};
use actix_web::middleware::{self, Next};
use actix_web::{App, HttpServer, web};
use reelyard_actors::box_lease::BoxPhase;
use reelyard_actors::clock::{Clock, Millis};
use reelyard_actors::heartbeat::Health;
use reelyard_actors::journal::{Journal, Leadership};
use reelyard_actors::names::NameTable;
use reelyard_actors::task_manager::plan::Unusable;
use reelyard_actors::task_manager::{PlanningMode, TaskSettings};
use tokio::sync::watch;

use super::compat::{self, CompatState};
use super::file_table::RankedFiles;
use super::metrics::requests::{self, RequestCounts};
use super::{api, auth, health, metrics};
use crate::config::HttpSettings;
use crate::node::{Live, Reloader, ShareLinksView, Wiring};

/// How long stopping waits for answers under way.
const STOP_PATIENCE_SECONDS: u64 = 5;

/// How long an idle connection is kept. Longer than cfm's five seconds: workers report each
/// second, and old cfws ask every few.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// What the HTTP of a node works with. All of it is views and ways to send messages: no handler
/// touches an actor's state.
pub struct NodeState {
    /// When the node started.
    pub started: Millis,
    /// What time it is.
    pub clock: Clock,
    /// The names behind the ids in views.
    pub names: NameTable,
    /// The number of this node.
    pub node_id: u64,
    /// The configuration in force.
    pub live: Live,
    /// Reads it again.
    pub reloader: Arc<Reloader>,
    /// The journal.
    pub journal: Journal,
    /// The actors, for their views and mailboxes.
    pub actors: Arc<Wiring>,
    /// The public links of shares.
    pub share_links: Arc<ShareLinksView>,
    /// True once the node is stopping: whoever is kept waiting is answered at once.
    pub stopping: watch::Receiver<bool>,
}

impl NodeState {
    /// What wants looking at though the node does all it is there for, in words.
    pub fn warnings(&self) -> Vec<String> {
        let view = self.actors.task_board.view();
        let told = view.strangers.iter().map(|stranger| {
            let host = stranger.host.map(|host| format!("{host}: ")).unwrap_or_default();
            let how_sure = if stranger.sure { "manages" } else { "may manage" };
            let (what, last) = (&stranger.what, stranger.last);
            format!("somebody else {how_sure} this yard too: {host}{what}; seen last at {last}")
        });
        let refused = self.actors.boxes.configured.refused();
        let not_so = refused.iter().map(|(pool, why)| {
            format!("pool {pool} is not as the configuration has it, which is tried again: {why}")
        });
        let boxes = self.actors.boxes.board.view();
        let silent = boxes.lines.iter().filter_map(|(pool, line)| {
            let why = line.silence.as_ref()?;
            Some(format!(
                "the host of pool {pool} does not make its boxes ready or clean them: {why}"
            ))
        });
        let off = self.live.now().config.task.mode == PlanningMode::Off;
        let off = off.then(|| {
            "Planning is switched off: no new copies are planned. Set task.mode = \"on\" and reload."
                .to_owned()
        });
        let of_boxes = not_so.chain(silent).chain(self.hindered_pools());
        let of_copies = self.unlisted_hosts().into_iter().chain(off).chain(self.no_destination());
        let of_inputs = self.actors.catalog_view.load().warnings.clone();
        let clock = self.actors.share_board.view().trouble.map(|trouble| trouble.to_string());
        told.chain(of_boxes).chain(of_copies).chain(of_inputs).chain(clock).collect()
    }

    /// Pools of which no box can be granted, and why, in words.
    fn hindered_pools(&self) -> Vec<String> {
        let hindered = self.actors.boxes.board.pools().into_iter().filter_map(|pool| {
            let can = [BoxPhase::Free, BoxPhase::Leased, BoxPhase::Preparing];
            let can_go_on = can.iter().any(|phase| pool.counts.of(*phase) > 0);
            let why = pool.hindrance.filter(|_| !can_go_on)?;
            Some(format!("pool {} has no box that can be granted: {why}", pool.name))
        });
        hindered.collect()
    }

    /// The destinations that answer but whose files were not listed since this node started, and
    /// what follows from that, in words.
    pub fn unlisted_hosts(&self) -> Vec<String> {
        let view = self.actors.task_board.view();
        let unlisted = view.hosts.iter().filter(|planned| {
            let unknown = [Unusable::InventoryUnknown, Unusable::KindUnknown];
            planned.no_destination.is_some_and(|why| unknown.contains(&why))
        });
        // Whoever is being listed for the first time is not worth a word yet.
        let is_patient = self.clock.now().since(self.started) < TaskSettings::default().first_look;
        let words = unlisted.filter_map(|planned| {
            let host = planned.host;
            let called = self.actors.hosts.get(host)?.view.load_full();
            if is_patient && called.failed_looks == 0 {
                return None;
            }
            let why = called
                .last_failure
                .as_ref()
                .map(|last| format!(" ({}: {})", last.asked, last.failure));
            let risk = match planned.files {
                Some(_) => "What was on record of it still counts",
                None => "A file that only it holds may be copied elsewhere",
            };
            Some(format!(
                "{host} answers, but its files were not listed since this node started{}. Nothing \
                 is copied to it. {risk}.",
                why.unwrap_or_default()
            ))
        });
        words.collect()
    }

    /// That nothing can be copied because no destination answers; none while one does, before each was
    /// asked, and in a yard without hosts.
    fn no_destination(&self) -> Option<String> {
        let (hosts, beats) = (self.actors.hosts.present(), self.actors.heartbeat_view.load());
        let health = |host| beats.of(host).map(|one| one.health);
        let destinations = hosts.iter().filter(|(_, host)| host.role.is_destination());
        let (mut down, mut in_maintenance) = (0, 0);
        for (addr, host) in destinations {
            match health(*addr) {
                _ if host.in_maintenance() => in_maintenance += 1,
                Some(Health::Suspect | Health::Down) => down += 1,
                Some(Health::Up | Health::Unknown) | None => return None,
            }
        }
        let what = match (down, in_maintenance) {
            _ if hosts.is_empty() => return None,
            (0, 0) => "None is configured: see hosts.destinations.".to_owned(),
            (down, 0) => format!("{down} do not answer: see reelyard hosts."),
            (down, resting) => format!("{down} do not answer, {resting} are in maintenance."),
        };
        Some(format!("No destination is up: nothing can be copied. {what}"))
    }

    /// What keeps the node from doing all it is there for, in words; empty when nothing does.
    pub fn not_ready(&self) -> Vec<String> {
        let mut missing = Vec::new();
        missing.extend(self.journal.disk_full());
        missing.extend(self.journal.stuck());
        match *self.journal.leadership().borrow() {
            Leadership::Leading { .. } | Leadership::Following { .. } => {}
            Leadership::Nobody => missing.push("no node leads the yard".to_owned()),
            Leadership::Stopped => missing.push("the journal has stopped".to_owned()),
        }
        let catalog = self.actors.catalog_view.load();
        missing.extend(catalog.problems.iter().cloned());
        if !catalog.ready && catalog.problems.is_empty() {
            missing.push("the inputs have not been read yet".to_owned());
        }
        missing
    }
}

/// Serves `state` on `listener` until the handle is told to stop. Needs an actix system.
pub fn serve(
    listener: TcpListener,
    settings: &HttpSettings,
    state: NodeState,
) -> std::io::Result<ServerHandle> {
    let state = web::Data::new(state);
    let compat = web::Data::new(compat_state(&state));
    let requests = web::Data::new(RequestCounts::default());
    let body_limit = usize::try_from(settings.body_limit.as_u64()).unwrap_or(usize::MAX);
    let app = move || {
        App::new()
            .app_data(state.clone())
            .app_data(requests.clone())
            .wrap(middleware::from_fn(compat::paths::clean))
            .wrap(middleware::from_fn(requests::count))
            .service(web::resource("/healthz").route(api::read().to(health::healthz)))
            .service(web::resource("/readyz").route(api::read().to(health::readyz)))
            .service(web::resource("/metrics").route(api::read().to(metrics::node)))
            .service(
                web::scope(api::API)
                    .wrap(middleware::from_fn(with_token))
                    .configure(|config| api::routes(config, body_limit)),
            )
            .configure(compat::routes(compat.clone()))
            .default_service(web::to(compat::not_found))
    };
    let mut server = HttpServer::new(app)
        .disable_signals()
        .keep_alive(KEEP_ALIVE)
        .shutdown_timeout(STOP_PATIENCE_SECONDS)
        // A client that left is noticed.
        .h1_allow_half_closed(false);
    if let Some(workers) = settings.workers {
        server = server.workers(workers.get());
    }
    let server = server.listen(listener)?.run();
    let handle = server.handle();
    actix_rt::spawn(server);
    Ok(handle)
}

/// What cfm's wire shows, and whom it asks.
fn compat_state(state: &web::Data<NodeState>) -> CompatState {
    let (of_tasks, for_cfws, of_files) = (state.clone(), state.clone(), state.clone());
    let task_manager = &state.actors.task_manager;
    CompatState {
        tasks: Arc::new(move || {
            let view = of_tasks.actors.task_board.view();
            Arc::new(view.tasks().into_iter().cloned().collect())
        }),
        tasks_for_cfws: Arc::new(move || {
            Arc::new(for_cfws.actors.task_board.view().tasks_for_cfws())
        }),
        change: task_manager.route(),
        cancel: task_manager.route(),
        heartbeat: state.actors.heartbeat_view.clone(),
        files: Arc::new(move || {
            let catalog = of_files.actors.catalog_view.load_full();
            let tasks = of_files.actors.task_board.view();
            Arc::new(RankedFiles::new(of_files.names.clone(), catalog, tasks))
        }),
        clock: state.clock.clone(),
        turns: compat::change_turns(),
    }
}

async fn with_token(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    if let Some(state) = request.app_data::<web::Data<NodeState>>() {
        auth::check(request.request(), state.live.now().config.token.as_ref())?;
    }
    next.call(request).await
}
