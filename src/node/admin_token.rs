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

    /// Draws a token and writes it to its file, which only the user of the node can read. Returns its hash.
    fn write_new(&self) -> Result<TokenHash, AdminTokenError> {
        let random = draw().map_err(|error| AdminTokenError::NoRandomness(error.to_string()))?;
        let secret = TokenSecret::new(TokenKind::General, &random);
        let path = self.token();
        self.write(&path, &secret).map_err(|error| AdminTokenError::File { path, error })?;
        Ok(secret.hash())
    }

    /// Replaces the file atomically, so that a reader never sees half a token.
    fn write(&self, path: &Path, secret: &TokenSecret) -> std::io::Result<()> {
        let new = self.dir.join("admin.token.new");
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        writeln!(file, "{}", secret.reveal())?;
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        File::open(&self.dir)?.sync_all()
    }
}

/// Writes the token of the first administrator once this node leads a yard without an administrator. Also writes a
/// new one if an operator on the host requested it. Returns when somebody can administrate the yard.
///
/// `url` is the node's own, for the link with which the administrator can log in.
pub async fn ensure(
    actors: Arc<Wiring>,
    files: AdminTokenFiles,
    url: String,
    audit: AuditRecorder,
) {
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
                true => recover(&actors, &files, &audit).await,
                false => write_first(&actors, &files, &url).await,
            };
            match written {
                Ok(()) => return,
                Err(error) => {
                    tracing::error!(%error, "the administrator's token could not be created, retrying");
                    tokio::time::sleep(RETRY).await;
                }
            }
        } else if news.changed().await.is_err() {
            return;
        }
    }
}

async fn write_first(
    actors: &Wiring,
    files: &AdminTokenFiles,
    url: &str,
) -> Result<(), AdminTokenError> {
    let hash = files.write_new()?;
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

/// Replaces a lost token of the administrator, if an operator on the host requested that.
pub async fn recover_on_request(actors: &Wiring, files: &AdminTokenFiles, audit: &AuditRecorder) {
    if !files.recovery().exists() {
        return;
    }
    if let Err(error) = recover(actors, files, audit).await {
        tracing::error!(%error, "the administrator's token was not replaced: reload again");
    }
}

async fn recover(
    actors: &Wiring,
    files: &AdminTokenFiles,
    audit: &AuditRecorder,
) -> Result<(), AdminTokenError> {
    let hash = files.write_new()?;
    let answer = actors.access.ask(RecoverAdmin { hash }).await;
    let answer = answer.map_err(|error| AdminTokenError::Refused(error.to_string()))?;
    answer.map_err(|error| AdminTokenError::Refused(error.to_string()))?;
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
