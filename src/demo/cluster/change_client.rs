//! A client that creates and revokes shares through any node that answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reelyard_api::ShareInfo;
use reelyard_shares::share_expiry::ShareId;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::change_record::ChangeRecord;
use crate::demo::api::{DemoApi, DemoRequest};

/// The path that all shares give out: its root, and a file of the demo.
pub const SHARED_ROOT: &str = "demo";
/// Name of the file in that root.
pub const SHARED_FILE: &str = "shared.txt";

/// Pause between two changes.
const PACE: Duration = Duration::from_millis(100);

/// Time limit of one attempt at one node.
const ATTEMPT: Duration = Duration::from_secs(1);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// A change that no node acknowledges within this time has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A record that the client, the status line and the check share.
#[derive(Clone, Debug, Default)]
pub struct SharedRecord(Arc<Mutex<ChangeRecord>>);

impl SharedRecord {
    /// The record, until the guard is dropped.
    pub fn lock(&self) -> MutexGuard<'_, ChangeRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer that decides a change.
struct DecidedChange {
    status: StatusCode,
    body: Vec<u8>,
    /// An earlier attempt may have been carried out.
    is_repeated: bool,
}

/// The client. It stays with a node while that one answers.
struct ChangeClient {
    api: DemoApi,
    record: SharedRecord,
    place: usize,
}

/// Makes changes until it is dropped: it creates shares, and revokes every second one.
pub async fn make_changes(api: DemoApi, record: SharedRecord) {
    record.lock().begin(Instant::now());
    let mut client = ChangeClient { api, record, place: 0 };
    loop {
        client.create().await;
        sleep(PACE).await;
        if let Some(share) = client.create().await {
            sleep(PACE).await;
            client.revoke(share).await;
        }
        sleep(PACE).await;
    }
}

impl ChangeClient {
    async fn create(&mut self) -> Option<ShareId> {
        // A repetition of the same request gets the same share.
        let request = format!("demo-{:032x}", fastrand::u128(..));
        let path = format!("{SHARED_ROOT}/{SHARED_FILE}");
        let wanted = json!({ "path": path, "ttl": "1day", "request_id": request });
        let decided = self.decided(Method::POST, "shares", Some(&wanted)).await?;
        let share = serde_json::from_slice::<ShareInfo>(&decided.body);
        match share {
            Ok(share) if decided.status.is_success() => {
                self.record.lock().created(share.id, Instant::now());
                Some(share.id)
            }
            _ => {
                self.record.lock().fail(refusal("a new share", &decided));
                None
            }
        }
    }

    async fn revoke(&mut self, share: ShareId) {
        self.record.lock().revoking(share);
        let path = format!("shares/{share}");
        let Some(decided) = self.decided(Method::DELETE, &path, None).await else { return };
        let is_gone = matches!(decided.status, StatusCode::NOT_FOUND | StatusCode::GONE);
        if decided.status.is_success() || (is_gone && decided.is_repeated) {
            self.record.lock().revoked(share, Instant::now());
        } else {
            self.record.lock().fail(refusal("a revocation", &decided));
        }
    }

    /// Asks one node after the other until one of them decides. Records a failure and returns None if none
    /// does in time.
    async fn decided(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Option<DecidedChange> {
        let request = DemoRequest { method, path, token: None, body };
        let until = Instant::now() + PATIENCE;
        let mut is_repeated = false;
        while Instant::now() < until {
            let asked = timeout(ATTEMPT, self.api.ask(self.place, &request)).await;
            match asked {
                // No leader, busy, or an unknown outcome: the same request again.
                Ok(Ok((status, _)))
                    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {}
                Ok(Ok((status, body))) => {
                    return Some(DecidedChange { status, body, is_repeated });
                }
                Ok(Err(_)) | Err(_) => {}
            }
            is_repeated = true;
            self.place += 1;
            sleep(PAUSE).await;
        }
        let why = format!("no node acknowledged a change within {PATIENCE:?}");
        self.record.lock().fail(why);
        None
    }
}

fn refusal(change: &str, decided: &DecidedChange) -> String {
    let DecidedChange { status, body, .. } = decided;
    format!("{change} was answered with {status}: {}", String::from_utf8_lossy(body))
}
