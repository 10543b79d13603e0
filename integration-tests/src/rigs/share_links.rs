//! Public links over a share table that a test fills with the piece's own events. Tests download with a real
//! curl.

use std::net::{SocketAddr, TcpListener};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::supervision::Route;
use reelyard_file_server::certificate::Certificate;
use reelyard_links::{
    LinkAccessLog, LinksConfig, OtherNodes, Roots, ShareServer, ShareServerCollaborators,
    ShareServerSettings,
};
use reelyard_replication::Piece;
use reelyard_shares::share_expiry::{
    Deadline, DownloadAdmission, NewShare, RootName, Share, ShareError, ShareEvent, ShareId,
    ShareKind, ShareLimits, ShareLookup, ShareOutcome, SharePath, ShareTable, ShareTerms,
    ShareViewHandle, TakeDownload,
};
use tempfile::TempDir;
use tokio::process::Command;

use crate::rigs::tls::certificate::Pem;

/// The time of the manual clock when a test begins.
pub const START: Millis = Millis(1_800_000_000_000);

/// The period in which a client can resume a download.
pub const RESUME_WITHIN: Duration = Duration::from_secs(86400);

/// The default lifetime of a share in these tests.
pub const A_DAY: Duration = Duration::from_secs(86400);

/// A share table that a test changes directly.
#[derive(Clone)]
pub struct ManualShareTable {
    table: Arc<Mutex<ShareTable>>,
    clock: Clock,
}

/// Counts downloads as the ShareExpiryActor does, but without a journal.
struct Counter(ManualShareTable);

impl Actor for Counter {
    type Context = Context<Self>;
}

impl Handler<TakeDownload> for Counter {
    type Result = Result<DownloadAdmission, ShareError>;

    fn handle(&mut self, asked: TakeDownload, _: &mut Context<Self>) -> Self::Result {
        let now = self.0.clock.now();
        let found = self.0.lock(|table| table.live_at(asked.id, now))?;
        let Some(downloads) = found.downloads() else { return Ok(DownloadAdmission::Unlimited) };
        if asked.ranged && downloads.taken_by(asked.client).is_some() {
            return Ok(DownloadAdmission::Resumed);
        }
        let (id, client, request) = (asked.id, asked.client, asked.request);
        if !asked.ranged && downloads.in_part_by(client).is_some() {
            self.0.apply(&ShareEvent::WholeBegun { id, client, request })?;
            return Ok(DownloadAdmission::Resumed);
        }
        let resume_until = now.after(RESUME_WITHIN);
        let forget_before = now.before(RESUME_WITHIN);
        let taken = self.0.apply(&match asked.ranged {
            true => ShareEvent::TakenInPart { id, client, resume_until, forget_before, request },
            false => ShareEvent::Taken { id, client, resume_until, forget_before, request },
        })?;
        match taken {
            ShareOutcome::Taken { left, .. } => Ok(DownloadAdmission::Counted { left }),
            other => panic!("a download was not taken: {other:?}"),
        }
    }
}

impl ManualShareTable {
    fn lock<T>(&self, f: impl FnOnce(&mut ShareTable) -> T) -> T {
        f(&mut lock(&self.table))
    }

    fn apply(
        &self,
        event: &ShareEvent,
    ) -> Result<ShareOutcome, reelyard_shares::share_expiry::ShareRefusal> {
        let now = self.clock.now();
        self.lock(|table| table.apply(now, event))
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Public links and the files behind them, for any share table.
pub struct LinkSite {
    place: TempDir,
    /// The certificate for TLS; `None` without TLS.
    certificate: Arc<Mutex<Option<(Pem, Certificate)>>>,
    /// Why the node cannot serve links now.
    hindrance: Arc<Mutex<Option<String>>>,
    /// The clock of the links.
    pub clock: Clock,
    /// The published share table that the links read.
    pub views: ShareViewHandle,
    /// The server of the public links.
    pub server: ShareServer,
}

/// Public links over a share table that a test fills.
pub struct ManualLinks {
    site: LinkSite,
    table: ManualShareTable,
}

impl Deref for ManualLinks {
    type Target = LinkSite;

    fn deref(&self) -> &LinkSite {
        &self.site
    }
}

/// The result of one curl call.
#[derive(Clone, Debug)]
pub struct CurlResponse {
    /// The exit code of curl: 0 after a complete answer.
    pub exit: i32,
    /// The HTTP status code; 0 without an answer.
    pub status: u16,
    /// The status line and headers.
    pub head: String,
    /// The received part of the body.
    pub body: Vec<u8>,
}

impl CurlResponse {
    /// The value of a header; `None` without it.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The share root of all tests.
pub fn root() -> RootName {
    RootName::new("films").unwrap_or_else(|bad| panic!("{bad}"))
}

/// A share path below the root.
pub fn path(path: &str) -> SharePath {
    SharePath::new(path).unwrap_or_else(|bad| panic!("{path}: {bad}"))
}

impl ManualLinks {
    /// Starts links with these settings and without shares. Needs an actix system.
    ///
    /// # Panics
    /// Panics when the server cannot be started.
    pub fn start(change: impl FnOnce(&mut ShareServerSettings)) -> Self {
        ManualLinks::start_with(None, change)
    }

    /// Starts links of a node whose directory is away. These nodes have its files.
    ///
    /// # Panics
    /// Panics when the server cannot be started.
    pub fn start_away(
        others: Arc<dyn OtherNodes>,
        change: impl FnOnce(&mut ShareServerSettings),
    ) -> Self {
        ManualLinks::start_with(Some(others), change)
    }

    fn start_with(
        others: Option<Arc<dyn OtherNodes>>,
        change: impl FnOnce(&mut ShareServerSettings),
    ) -> Self {
        let (clock, views) = (Clock::manual(START), ShareViewHandle::default());
        let table = Arc::<Mutex<ShareTable>>::default();
        let table = ManualShareTable { table, clock: clock.clone() };
        table.lock(|table| views.attach(table));
        let take = Route::fixed(Counter(table.clone()).start().recipient());
        ManualLinks { site: LinkSite::start_with(views, take, clock, others, change), table }
    }

    /// Shares `at` for a day. `change` can modify the share first.
    pub fn share(&self, at: &str, change: impl FnOnce(&mut NewShare)) -> ShareId {
        let id = ShareId::random().unwrap_or_else(|error| panic!("{error}"));
        let is_dir = self.below(at).is_dir();
        let mut new = NewShare {
            id,
            root: root(),
            path: path(at),
            kind: if is_dir { ShareKind::Directory } else { ShareKind::File },
            deadline: Deadline::at(self.clock.now().after(A_DAY)),
            noticed: false,
            owner: None,
            terms: ShareTerms::default(),
            room: ShareLimits::default(),
        };
        change(&mut new);
        self.apply(&ShareEvent::Created(Box::new(new)));
        id
    }

    /// Applies an event to the share table.
    ///
    /// # Panics
    /// Panics when the table refuses the event.
    pub fn apply(&self, event: &ShareEvent) -> ShareOutcome {
        self.table.apply(event).unwrap_or_else(|refusal| panic!("{event:?}: {refusal}"))
    }

    /// The links and files without the share table.
    pub fn into_site(self) -> LinkSite {
        self.site
    }

    /// Stops the server.
    pub async fn stop(self) {
        self.site.server.stop().await;
    }
}

impl LinkSite {
    /// Starts links over the published table `views`.
    ///
    /// # Panics
    /// Panics when the server cannot be started.
    pub fn start(
        views: ShareViewHandle,
        take: Route<TakeDownload>,
        clock: Clock,
        change: impl FnOnce(&mut ShareServerSettings),
    ) -> Self {
        LinkSite::start_with(views, take, clock, None, change)
    }

    /// The same, and without its directory if others have the files.
    fn start_with(
        views: ShareViewHandle,
        take: Route<TakeDownload>,
        clock: Clock,
        others: Option<Arc<dyn OtherNodes>>,
        change: impl FnOnce(&mut ShareServerSettings),
    ) -> Self {
        let must = |error: &dyn std::fmt::Display| -> ! { panic!("no links: {error}") };
        let place = tempfile::tempdir().unwrap_or_else(|error| must(&error));
        let dir = place.path().join("films");
        if others.is_none() {
            std::fs::create_dir(&dir).unwrap_or_else(|error| must(&error));
        }
        let roots = Roots::open([(root(), dir)]);
        let mut settings = ShareServerSettings::default();
        change(&mut settings);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| must(&error));
        let certificate = Arc::<Mutex<Option<(Pem, Certificate)>>>::default();
        let current_certificate = {
            let certificate = Arc::clone(&certificate);
            move || lock(&certificate).as_ref().map(|(_, certificate)| certificate.clone())
        };
        let hindrance = Arc::<Mutex<Option<String>>>::default();
        let log = LinksConfig::default().access_log_settings();
        let collaborators = ShareServerCollaborators {
            roots,
            views: views.clone(),
            take,
            others,
            clock: clock.clone(),
            not_ready: Arc::new({
                let hindrance = Arc::clone(&hindrance);
                move || lock(&hindrance).clone()
            }),
            certificate: Arc::new(current_certificate),
            access_log: LinkAccessLog::start(&place.path().join("log"), log, clock.clone())
                .unwrap_or_else(|error| must(&error)),
        };
        let server = ShareServer::start_on(listener, settings, collaborators);
        let server = server.unwrap_or_else(|error| must(&error));
        LinkSite { place, certificate, hindrance, clock, views, server }
    }

    /// The node cannot serve links from now on, for this reason. None: it can again.
    pub fn hinder(&self, why: Option<&str>) {
        *lock(&self.hindrance) = why.map(str::to_owned);
    }

    /// The address of the server.
    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// A directory for files outside of every share.
    pub fn outside(&self) -> &Path {
        self.place.path()
    }

    /// The file system path of a path below the root.
    pub fn below(&self, path: &str) -> PathBuf {
        self.place.path().join("films").join(path)
    }

    /// Writes a file below the root, and creates its directories.
    ///
    /// # Panics
    /// Panics when a file or directory cannot be written.
    pub fn write(&self, path: &str, bytes: &[u8]) {
        let at = self.below(path);
        let above = at.parent().unwrap_or(&at);
        let written = std::fs::create_dir_all(above).and_then(|()| std::fs::write(&at, bytes));
        written.unwrap_or_else(|error| panic!("{}: {error}", at.display()));
    }

    /// A share that has not ended.
    ///
    /// # Panics
    /// Panics when the share has ended or does not exist.
    pub fn found(&self, id: ShareId) -> Arc<Share> {
        match self.views.find(id) {
            ShareLookup::Live(share) => share,
            other => panic!("{id:?} is not live: {other:?}"),
        }
    }

    /// Uses TLS with a new certificate for all later connections.
    ///
    /// # Panics
    /// Panics when the certificate cannot be made or read.
    pub fn speak_tls(&self, name: &str) -> Pem {
        let pem = Pem::make(self.outside(), name);
        let read = Certificate::read(&pem.certificate, &pem.key);
        let read = read.unwrap_or_else(|bad| panic!("{name}: {bad}"));
        *lock(&self.certificate) = Some((pem.clone(), read));
        pem
    }

    /// The URL of a path.
    fn at(&self, path: &str) -> String {
        let scheme = if lock(&self.certificate).is_some() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.addr())
    }

    /// The URL of a part of a link: `""`, `"/file"` or `"/zip"`.
    pub fn url(&self, id: ShareId, part: &str) -> String {
        self.at(&format!("/s/{id}{part}"))
    }

    /// Requests a path with curl.
    pub async fn ask(&self, path: &str, arguments: &[&str]) -> CurlResponse {
        let pem =
            lock(&self.certificate).as_ref().map(|(pem, _)| pem.certificate.display().to_string());
        let trusting: Vec<&str> = pem.iter().flat_map(|pem| ["--cacert", pem]).collect();
        curl(&[&trusting[..], arguments, &[&self.at(path)]].concat()).await
    }

    /// Requests a part of a link with curl.
    pub async fn get(&self, id: ShareId, part: &str, arguments: &[&str]) -> CurlResponse {
        self.ask(&format!("/s/{id}{part}"), arguments).await
    }
}

/// Runs curl to its end.
///
/// # Panics
/// Panics when curl is missing.
pub async fn curl(arguments: &[&str]) -> CurlResponse {
    let mut command = Command::new("curl");
    command.args(["-s", "-i", "-m", "60"]).args(arguments);
    let output = command.stdin(Stdio::null()).output().await;
    let output = output.unwrap_or_else(|error| panic!("curl cannot be run: {error}"));
    let bytes = output.stdout;
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
    CurlResponse { exit: output.status.code().unwrap_or(-1), status, head, body }
}
