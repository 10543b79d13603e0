//! The token of the first administrator: a file in the data directory that only the operator of the host can read.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reelyard_access::access::{EnsureAdmin, IssueLoginLink, RecoverAdmin, SessionSubject};
use reelyard_access::audit::{AuditRecord, AuditRecorder};
use reelyard_access::rights::{Caller, TokenName};
use reelyard_access::secrets::{LinkSecret, TokenHash, TokenKind, TokenSecret, draw};
use reelyard_core::clock::Clock;
use tokio::sync::{oneshot, watch};

use super::actors::Wiring;

/// Pause before another attempt, if the journal or the disk refused the first one.
const RETRY: Duration = Duration::from_secs(1);

/// The files of the token in a data directory.
#[derive(Clone, Debug)]
pub struct AdminTokenFiles {
    dir: PathBuf,
}

/// Why the token could not be written.
#[derive(Debug, thiserror::Error)]
enum AdminTokenError {
    #[error("the system has no random bytes: {0}")]
    NoRandomness(String),
    #[error("{path} cannot be written: {error}", path = .path.display())]
    File { path: PathBuf, error: std::io::Error },
    #[error("{0}")]
    Refused(String),
}

impl AdminTokenFiles {
    /// The files of a node with this data directory.
    pub fn new(data_dir: &Path) -> Self {
        let dir = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
        AdminTokenFiles { dir }
    }

    /// The file with the token.
    pub fn token(&self) -> PathBuf {
        self.dir.join("admin.token")
    }

    /// The file by which an operator on the host requests a new token, after the old one was lost.
    pub fn recovery(&self) -> PathBuf {
        self.dir.join("admin.recover")
    }

    /// Requests a new token from the node, which creates it when it starts or reloads its configuration.
    ///
    /// # Errors
    ///
    /// The file cannot be created.
    pub fn request_recovery(&self) -> std::io::Result<()> {
        let created = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.recovery());
        created?.sync_all()
    }

    /// The file of a token that is not in use yet.
    fn next_token(&self) -> PathBuf {
        self.dir.join("admin.token.new")
    }

    /// Draws a token and writes it beside the present one, where only the user of the node can read it. Returns its hash.
    fn write_next(&self) -> Result<TokenHash, AdminTokenError> {
        let random = draw().map_err(|error| AdminTokenError::NoRandomness(error.to_string()))?;
        let secret = TokenSecret::new(TokenKind::General, &random);
        let path = self.next_token();
        write_private(&path, &secret).map_err(|error| AdminTokenError::File { path, error })?;
        Ok(secret.hash())
    }

    /// Replaces the present token by the next one, atomically.
    fn put_in_place(&self) -> Result<(), AdminTokenError> {
        let path = self.token();
        let replaced = std::fs::rename(self.next_token(), &path)
            .and_then(|()| File::open(&self.dir)?.sync_all());
        replaced.map_err(|error| AdminTokenError::File { path, error })
    }
}

fn write_private(path: &Path, secret: &TokenSecret) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{}", secret.reveal())?;
    file.sync_all()
}

/// Writes the token of the administrator.
pub struct AdminTokenKeeper {
    /// The owner of the tokens, and its view.
    pub actors: Arc<Wiring>,
    /// Where the token is written.
    pub files: AdminTokenFiles,
    /// URL of this node, for the link with which the administrator can log in.
    pub url: String,
    /// Records each new token.
    pub audit: AuditRecorder,
    /// Changes when an operator on the host may have requested another token.
    pub reloads: watch::Receiver<u64>,
}

impl AdminTokenKeeper {
    /// Sends one message when somebody can administrate the yard, and then writes another token at each request. Runs
    /// until the node stops.
    pub async fn run(mut self, ensured: oneshot::Sender<()>) {
        let mut ensured = Some(ensured);
        loop {
            ensure(&self.actors, &self.files, &self.url, &self.audit).await;
            // Nobody waits any more when it takes long.
            let _ = ensured.take().map(|ensured| ensured.send(()));
            if self.reloads.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Writes the token of the first administrator once this node leads a yard without an administrator. Also writes a
/// new one if an operator on the host requested it. Returns when somebody can administrate the yard.
async fn ensure(actors: &Wiring, files: &AdminTokenFiles, url: &str, audit: &AuditRecorder) {
    let mut is_announced = false;
    let mut news = actors.access_views.news();
    loop {
        news.mark_unchanged();
        let view = actors.access_views.load();
        let is_requested = files.recovery().exists();
        if view.is_ready && view.has_admin && !is_requested {
            return;
        }
        if view.is_ready && view.epoch.is_some() {
            let written = match is_requested {
                true => recover(actors, files, audit).await,
                false => write_first(actors, files, url).await,
            };
            match written {
                Ok(()) => return,
                Err(error) => {
                    tracing::error!(%error, "the administrator's token could not be created, retrying");
                    tokio::time::sleep(RETRY).await;
                }
            }
            continue;
        }
        if is_requested && view.is_ready && !std::mem::replace(&mut is_announced, true) {
            tracing::warn!(
                "the administrator's token is replaced once this node leads: request it on the host of the leader instead"
            );
        }
        if news.changed().await.is_err() {
            return;
        }
    }
}

async fn write_first(
    actors: &Wiring,
    files: &AdminTokenFiles,
    url: &str,
) -> Result<(), AdminTokenError> {
    let hash = files.write_next()?;
    // After a crash nobody else could log in.
    files.put_in_place()?;
    let answer = actors.access.ask(EnsureAdmin { hash }).await;
    let answer = answer.map_err(|error| AdminTokenError::Refused(error.to_string()))?;
    let is_new = answer.map_err(|error| AdminTokenError::Refused(error.to_string()))?;
    if is_new {
        let file = files.token();
        tracing::info!(file = %file.display(), "the token of the first administrator was written");
        if let Err(error) = log_login_link(actors, url).await {
            tracing::warn!(%error, "no link for a login was issued: use \"reelyard login --web\"");
        }
    }
    Ok(())
}

/// Logs a link with which the first administrator can log in with a browser. It is valid once, and for 15 minutes.
async fn log_login_link(actors: &Wiring, url: &str) -> Result<(), AdminTokenError> {
    let random = draw().map_err(|error| AdminTokenError::NoRandomness(error.to_string()))?;
    let secret = LinkSecret::new(random);
    let subject = SessionSubject::Token(TokenName::admin());
    let issue = IssueLoginLink { hash: secret.hash(), subject, by: Caller::node() };
    let answer = actors.access.ask(issue).await;
    let answer = answer.map_err(|error| AdminTokenError::Refused(error.to_string()))?;
    let expires_at = answer.map_err(|error| AdminTokenError::Refused(error.to_string()))?;
    let link = format!("{url}/login?link={}", secret.reveal());
    tracing::info!(%link, %expires_at, "open this link once to log in as the administrator");
    Ok(())
}

async fn recover(
    actors: &Wiring,
    files: &AdminTokenFiles,
    audit: &AuditRecorder,
) -> Result<(), AdminTokenError> {
    let hash = files.write_next()?;
    let answer = actors.access.ask(RecoverAdmin { hash }).await;
    let answer = answer.map_err(|error| AdminTokenError::Refused(error.to_string()))?;
    answer.map_err(|error| AdminTokenError::Refused(error.to_string()))?;
    // The request stays until then, so a crash before this is harmless.
    files.put_in_place()?;
    let now = Clock::system().now();
    audit.record(AuditRecord {
        subject: Some("token admin".to_owned()),
        ..AuditRecord::of_node(now, "access.admin_token_replaced")
    });
    let file = files.token();
    tracing::warn!(file = %file.display(), "the administrator's token was replaced on request of the host");
    let path = files.recovery();
    std::fs::remove_file(&path).map_err(|error| AdminTokenError::File { path, error })
}
