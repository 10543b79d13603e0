//! The calls to one host, each with its time-out and its reading of the answer.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reelyard_core::event::Epoch;
use reelyard_core::host::{HostAddr, HostKind};
use reelyard_core::manager::{MANAGER_HEADER, ManagerIdentity};
use reelyard_core::names::{FileName, NameTable};
use reelyard_core::open_files;
use reelyard_core::token::{SharedToken, WorkerKeys};
use reelyard_core::traffic::Traffic;
use reelyard_protocol::inventory::additions::AdditionLimiter;
use reelyard_protocol::inventory::limits::BadList;
use reelyard_protocol::inventory::listing::{FileListing, ListForm, ListReader};
use reelyard_protocol::legacy::cfw::{Deleted, DiskFigures, parse_df};
use reelyard_protocol::signed_call::{Addressee, SignedCaller, SignedResponse};
use reelyard_protocol::tls::{HostTls, NEEDS_TLS};
use reelyard_protocol::worker::{
    EPOCH_HEADER, INVENTORY_HEADER, INVENTORY_SINCE_HEADER, InventoryCursor, ManagerSeen,
    WorkerAdopted, WorkerInfo,
};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use roaring::RoaringBitmap;

use super::ask_failure::{AskFailure, TokenTrouble};
use crate::cfw_worker::lists::holdings::{Extent, InventoryAnswer};
use crate::cfw_worker::lists::list_body::{ListFingerprint, ListHasher};
use crate::cfw_worker::settings::CfwWorkerSettings;
use tokio::time::Instant;

/// The longest answer of calls that do not return a list, in bytes.
const LONGEST_ANSWER: u64 = 64 << 10;

/// An unused connection is dropped after this time. An old cfw closes it after 5 s. So no call is sent on a
/// connection that the other side is closing.
const IDLE_CONNECTION: Duration = Duration::from_millis(4500);

/// The HTTP client for all hosts of a process: it keeps their connections.
pub fn http_client(settings: &CfwWorkerSettings) -> Result<Client, reqwest::Error> {
    settings
        .tls
        .http_client()
        .connect_timeout(settings.connect_timeout)
        .pool_idle_timeout(IDLE_CONNECTION)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .http1_only()
        .user_agent(concat!("reelyard/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// The program that answers at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cfw_worker) struct HostProgram {
    pub kind: HostKind,
    pub version: Option<String>,
}

/// The status that a Reelyard worker reports in addition to its program and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cfw_worker) struct WorkerStatus {
    /// The highest epoch that it knows.
    pub epoch: Epoch,
    /// The managers that called it recently.
    pub managers: Vec<ManagerSeen>,
    /// The load of its link, if it reports one.
    pub traffic: Option<Traffic>,
}

/// Calls one host.
#[derive(Clone)]
pub(in crate::cfw_worker) struct HostClient {
    pub(in crate::cfw_worker) http: Client,
    host: HostAddr,
    pub(in crate::cfw_worker) settings: CfwWorkerSettings,
    manager_identity: Option<ManagerIdentity>,
    keys: WorkerKeys,
    /// The files that its lists added.
    pub(in crate::cfw_worker) additions: AdditionLimiter,
    signed: SignedCaller,
    /// Whether no call is made, not even a further call of a look that has begun. Clones share it.
    resting: Arc<AtomicBool>,
}

impl HostClient {
    pub fn new(
        http: Client,
        host: HostAddr,
        settings: CfwWorkerSettings,
        additions: AdditionLimiter,
    ) -> Self {
        HostClient {
            http,
            host,
            settings,
            manager_identity: None,
            keys: WorkerKeys::default(),
            additions,
            signed: SignedCaller::default(),
            resting: Arc::default(),
        }
    }

    /// Uses these settings for calls from now on.
    pub fn change_settings(&mut self, http: Client, settings: CfwWorkerSettings) {
        self.http = http;
        self.settings = settings;
    }

    /// Stops all calls from now on, or resumes them.
    pub fn set_paused(&self, on: bool) {
        self.resting.store(on, Ordering::Relaxed);
    }

    /// Sets the name under which our workers see this caller, from now on.
    pub fn set_manager_identity(&mut self, identity: ManagerIdentity) {
        self.manager_identity = Some(identity);
    }

    /// Sets the keys of workers with a token of their own, from now on.
    pub fn set_keys(&mut self, keys: WorkerKeys) {
        self.keys = keys;
    }

    /// The key of the host, or the shared token.
    fn token(&self) -> Option<SharedToken> {
        self.keys.of(self.host).or_else(|| self.settings.token.clone())
    }

    /// `HEAD /hb`: only 200 is alive.
    pub async fn probe(&self, timeout: Duration) -> Result<Duration, AskFailure> {
        let begun = Instant::now();
        match self.send(self.request(Method::HEAD, "/hb"), timeout).await?.status() {
            StatusCode::OK => Ok(begun.elapsed()),
            other => Err(AskFailure::Status(other.as_u16())),
        }
    }

    /// `GET /info`: an old cfw does not know it. With a token, a worker must prove in its answer that it
    /// knows the same token.
    pub async fn program(&self) -> Result<(HostProgram, Option<WorkerStatus>), AskFailure> {
        let timeout = self.settings.call_timeout;
        let sent = self.send_signed(self.request(Method::GET, "/info"), timeout).await?;
        let (answer, proof) = sent.into_parts();
        let token = self.token();
        match answer.status() {
            StatusCode::NOT_FOUND => Ok((HostProgram { kind: HostKind::Cfw, version: None }, None)),
            StatusCode::OK => {
                let body = read(answer, timeout).await?;
                let info = self.read_info(&body)?;
                match &token {
                    Some(token) if !proof.is_good(token, &body) => {
                        Err(AskFailure::Token(TokenTrouble::NotProved))
                    }
                    _ => Ok(info),
                }
            }
            StatusCode::UNAUTHORIZED => Err(AskFailure::Token(match token {
                Some(_) => TokenTrouble::Other,
                None => TokenTrouble::Wanted,
            })),
            other => Err(AskFailure::Status(other.as_u16())),
        }
    }

    fn read_info(&self, body: &[u8]) -> Result<(HostProgram, Option<WorkerStatus>), AskFailure> {
        let info: WorkerInfo = serde_json::from_slice(body)
            .map_err(|error| AskFailure::Garbled(format!("GET /info: {error}")))?;
        if info.program != "reelyard" {
            return Err(AskFailure::Garbled(format!(
                "GET /info reports the product {:?}",
                info.program
            )));
        }
        // A worker polls for tasks under its own name. Under another name it would never get any.
        if info.host != self.host {
            return Err(AskFailure::Garbled(format!(
                "this worker says that its address is {}, but the yard names {host}: set `listen` of \
                 the worker to {host}",
                info.host,
                host = self.host
            )));
        }
        let mut data_addr = info.data_listen;
        if data_addr.ip().is_unspecified() {
            data_addr = SocketAddr::new(self.host.ip(), data_addr.port());
        }
        let (fetches_from_old, data_tls) = (info.fetches_from_old, info.data_tls);
        let kind = HostKind::Reelyard { data_addr, fetches_from_old, data_tls };
        let (epoch, managers, traffic) = (info.epoch, info.managers, info.traffic);
        let word = WorkerStatus { epoch, managers, traffic };
        Ok((HostProgram { kind, version: Some(info.version) }, Some(word)))
    }

    /// The files of the host: the inventory of a Reelyard worker, or its changes; the list of an old
    /// cfw. An old list with the fingerprint `known` is not read again. Files that are not in `files` count
    /// as added.
    pub async fn list(
        &self,
        kind: HostKind,
        names: NameTable,
        files: &RoaringBitmap,
        since: Option<InventoryCursor>,
        known: Option<ListFingerprint>,
    ) -> Result<InventoryAnswer, AskFailure> {
        match kind {
            HostKind::Reelyard { .. } => self.inventory(names, files, since).await,
            _ => self.names(names, files, known).await,
        }
    }

    /// `GET /inventory`, with `since` for changes only. A worker that cannot report changes answers with
    /// everything.
    async fn inventory(
        &self,
        names: NameTable,
        files: &RoaringBitmap,
        since: Option<InventoryCursor>,
    ) -> Result<InventoryAnswer, AskFailure> {
        let path = match since {
            Some(cursor) => format!("/inventory?since={cursor}"),
            None => "/inventory".to_owned(),
        };
        let request = self.with_identity(self.request(Method::GET, &path));
        let answer = self.send_signed(request, self.settings.list_timeout).await?.response;
        expect_ok(&answer)?;
        let cursor_in = |header: &str| -> Option<InventoryCursor> {
            answer.headers().get(header)?.to_str().ok()?.parse().ok()
        };
        let cursor = cursor_in(INVENTORY_HEADER);
        let is_changes = answer.headers().contains_key(INVENTORY_SINCE_HEADER);
        if is_changes && (since.is_none() || cursor_in(INVENTORY_SINCE_HEADER) != since) {
            return Err(AskFailure::Garbled(
                "it sent changes although the full list was requested".to_owned(),
            ));
        }
        let (form, extent) = match is_changes {
            true => (ListForm::Changes, Extent::Changes),
            false => (ListForm::Inventory, Extent::Whole),
        };
        let (listed, _) = self.read_list(answer, form, names, files).await?;
        Ok(InventoryAnswer { extent, cursor, listed, body: None })
    }

    /// Reads a list of a host with `files` while it arrives. Memory holds only its file numbers and one batch of names, however
    /// long its body is.
    pub(in crate::cfw_worker) async fn read_list(
        &self,
        mut answer: Response,
        form: ListForm,
        names: NameTable,
        files: &RoaringBitmap,
    ) -> Result<(FileListing, ListFingerprint), AskFailure> {
        let timeout = self.settings.list_timeout;
        let limits = self.settings.list_limits();
        let mut reader = ListReader::new(form, names, limits, files, self.additions.clone());
        let mut hasher = ListHasher::default();
        while let Some(piece) = answer.chunk().await.map_err(|error| failure(error, timeout))? {
            hasher.push(&piece);
            reader.push(&piece).map_err(bad_list)?;
        }
        Ok((reader.finish().map_err(bad_list)?, hasher.finish()))
    }

    /// Reads a list only to compare it with an earlier one.
    pub(in crate::cfw_worker) async fn read_fingerprint(
        &self,
        mut answer: Response,
    ) -> Result<ListFingerprint, AskFailure> {
        let timeout = self.settings.list_timeout;
        let mut hasher = ListHasher::default();
        while let Some(piece) = answer.chunk().await.map_err(|error| failure(error, timeout))? {
            hasher.push(&piece);
        }
        Ok(hasher.finish())
    }

    /// Reads the disk figures of the host (`GET /df`).
    pub async fn disk(&self) -> Result<DiskFigures, AskFailure> {
        let timeout = self.settings.call_timeout;
        let answer = self.send(self.request(Method::GET, "/df"), timeout).await?;
        expect_ok(&answer)?;
        parse_df(&read(answer, timeout).await?).map_err(garbled)
    }

    /// `DELETE /files/{name}`. Every host gets the epoch; an old cfw does not read it.
    pub async fn delete(
        &self,
        kind: HostKind,
        name: &FileName,
        epoch: Epoch,
    ) -> Result<Deleted, AskFailure> {
        let path = format!("/files/{}", name.to_percent());
        let request = self.request(Method::DELETE, &path).header(EPOCH_HEADER, epoch.0);
        let timeout = self.settings.call_timeout;
        let answer = match kind {
            HostKind::Reelyard { .. } => {
                self.send_signed(self.with_identity(request), timeout).await?.response
            }
            _ => self.send(request, timeout).await?,
        };
        match answer.status() {
            StatusCode::OK => Ok(Deleted::Removed),
            StatusCode::NOT_FOUND => Ok(Deleted::Absent),
            StatusCode::NOT_ACCEPTABLE => Ok(Deleted::Directory),
            StatusCode::PRECONDITION_FAILED => Ok(Deleted::Deposed),
            other => Err(AskFailure::Status(other.as_u16())),
        }
    }

    /// `POST /adopt`: the worker obeys this node from now on. Answers the highest epoch before.
    pub async fn adopt(&self, epoch: Epoch) -> Result<WorkerAdopted, AskFailure> {
        if self.manager_identity.as_ref().and_then(ManagerIdentity::id).is_none() {
            let why = "this node does not know the id of its cluster yet".to_owned();
            return Err(AskFailure::NotAsked(why));
        }
        let timeout = self.settings.call_timeout;
        let request = self.request(Method::POST, "/adopt").header(EPOCH_HEADER, epoch.0);
        let answer = self.send_signed(self.with_identity(request), timeout).await?.response;
        expect_ok(&answer)?;
        serde_json::from_slice(&read(answer, timeout).await?).map_err(garbled)
    }

    /// Sends a request. `timeout` limits the whole exchange, including the body.
    pub(in crate::cfw_worker) async fn send(
        &self,
        request: RequestBuilder,
        timeout: Duration,
    ) -> Result<Response, AskFailure> {
        if self.resting.load(Ordering::Relaxed) {
            return Err(AskFailure::in_maintenance());
        }
        let answer = request.timeout(timeout).send().await;
        let answer = answer.map_err(|error| self.failure(error, timeout))?;
        self.expect_admitted(&answer)?;
        Ok(answer)
    }

    /// The same for Reelyard workers: signed, if the worker asks for it.
    async fn send_signed(
        &self,
        request: RequestBuilder,
        timeout: Duration,
    ) -> Result<SignedResponse, AskFailure> {
        if self.resting.load(Ordering::Relaxed) {
            return Err(AskFailure::in_maintenance());
        }
        let failed = |error| self.failure(error, timeout);
        let request = request.timeout(timeout).build().map_err(failed)?;
        let (token, to) = (self.token(), Addressee::Worker(self.host));
        let sent = self.signed.send(&self.http, token.as_ref(), to, request).await;
        let sent = sent.map_err(failed)?;
        self.expect_admitted(&sent.response)?;
        Ok(sent)
    }

    /// Fails if the host accepts calls over TLS only.
    fn expect_admitted(&self, answer: &Response) -> Result<(), AskFailure> {
        match answer.status() {
            NEEDS_TLS => Err(AskFailure::Unreachable(HostTls::explain_missing(self.host))),
            _ => Ok(()),
        }
    }

    /// Why a call failed. A failure of TLS names the setting to change.
    fn failure(&self, error: reqwest::Error, timeout: Duration) -> AskFailure {
        match self.settings.tls.explain(self.host, &error) {
            Some(why) => AskFailure::Unreachable(why),
            None => failure(error, timeout),
        }
    }

    pub(in crate::cfw_worker) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, self.settings.tls.url(self.host, path))
    }

    /// Adds the id of this node; for our workers only.
    fn with_identity(&self, request: RequestBuilder) -> RequestBuilder {
        match self.manager_identity.as_ref().and_then(ManagerIdentity::id) {
            Some(id) => request.header(MANAGER_HEADER, id.to_string()),
            None => request,
        }
    }
}

/// Reads a short body.
async fn read(answer: Response, timeout: Duration) -> Result<Vec<u8>, AskFailure> {
    read_up_to(LONGEST_ANSWER, answer, timeout).await
}

/// Reads a body of at most `most` bytes.
pub(in crate::cfw_worker) async fn read_up_to(
    most: u64,
    mut answer: Response,
    timeout: Duration,
) -> Result<Vec<u8>, AskFailure> {
    let mut body = Vec::new();
    while let Some(bytes) = answer.chunk().await.map_err(|error| failure(error, timeout))? {
        if (body.len() + bytes.len()) as u64 > most {
            return Err(AskFailure::Garbled(format!("the answer is longer than {most} bytes")));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

pub(in crate::cfw_worker) fn expect_ok(answer: &Response) -> Result<(), AskFailure> {
    match answer.status() {
        StatusCode::OK => Ok(()),
        other => Err(AskFailure::Status(other.as_u16())),
    }
}

/// A list that is refused.
fn bad_list(bad: BadList) -> AskFailure {
    if bad.is_too_much() { AskFailure::TooMuch(bad.to_string()) } else { garbled(bad) }
}

pub(in crate::cfw_worker) fn garbled(error: impl ToString) -> AskFailure {
    AskFailure::Garbled(error.to_string())
}

/// The failure, in the words of the layer that noticed it first.
fn failure(error: reqwest::Error, timeout: Duration) -> AskFailure {
    if open_files::are_exhausted(&error) {
        return AskFailure::NoDescriptor;
    }
    if error.is_timeout() {
        return match error.is_connect() {
            true => AskFailure::Unreachable("no connection within the time limit".to_owned()),
            false => AskFailure::TimedOut(timeout),
        };
    }
    let mut cause: &dyn Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    AskFailure::Unreachable(cause.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::heartbeat::HeartbeatConfig;

    #[test]
    fn probes_of_an_old_cfw_share_a_connection() {
        let HeartbeatConfig { interval, jitter, .. } = HeartbeatConfig::default();
        let longest = interval.mul_f64(1.0 + jitter.get());
        assert!(longest < IDLE_CONNECTION, "a probe follows after up to {longest:?}");
        assert!(IDLE_CONNECTION < Duration::from_secs(5), "an old cfw has closed the connection");
    }
}
