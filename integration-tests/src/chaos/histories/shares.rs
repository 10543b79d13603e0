//! Shares: a repeated request makes one share, no acknowledged share is lost, and no revoked one comes back.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::notifications::NotificationHistory;
use crate::chaos::chaos_client::{ChaosClient, PACE};
use crate::chaos::chaos_cluster::SHARED_PATH;
use crate::chaos::record::ChaosRecord;

/// How far the end of a share is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareEnd {
    /// It must be there.
    Live,
    /// A revocation is under way, or had no answer.
    Open,
    /// It must not be there.
    Revoked,
}

/// The id of the share of each request, and its end.
type SharesByRequest = BTreeMap<String, (String, ShareEnd)>;

/// The answers about shares.
#[derive(Debug, Default)]
pub struct ShareHistory(Mutex<SharesByRequest>);

impl ShareHistory {
    /// The shares by request.
    pub fn all(&self) -> SharesByRequest {
        self.lock().clone()
    }

    /// The number of checked shares.
    pub fn summary(&self) -> String {
        format!("{} shares", self.lock().len())
    }

    /// The request `request` was answered with this share. The violation, if it had another one before.
    fn shared(&self, request: &str, share: &str) -> Option<String> {
        let mut shares = self.lock();
        let new = || (share.to_owned(), ShareEnd::Live);
        let (known, _) = shares.entry(request.to_owned()).or_insert_with(new);
        (known != share)
            .then(|| format!("request {request} had two results: shares {known} and {share}"))
    }

    /// The end of a share is `end` now.
    fn ends(&self, request: &str, end: ShareEnd) {
        if let Some((_, present)) = self.lock().get_mut(request) {
            *present = end;
        }
    }

    fn lock(&self) -> MutexGuard<'_, SharesByRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates shares, repeats some requests, and revokes some shares, until the load ends.
pub async fn use_shares(
    client: &ChaosClient,
    history: &ShareHistory,
    notifications: &NotificationHistory,
    record: &ChaosRecord,
    number: usize,
) {
    for round in 0.. {
        let request = format!("share-{number}-{round}");
        let body = json!({ "path": SHARED_PATH, "note": request, "request_id": request });
        // One request in two is repeated.
        for repetition in 0..=(round + 1) % 2 {
            let node = number + round + repetition;
            let Some(id) = create(client, record, node, &body).await else { return };
            if let Some(violation) = history.shared(&request, &id) {
                record.violates(violation);
            }
        }
        record.acknowledge();
        if round % 3 == 0 && !revoke(client, history, notifications, record, &request).await {
            return;
        }
        sleep(PACE).await;
        if !client.goes_on() {
            return;
        }
    }
}

/// Revokes the share of a request. False when the load ends before.
async fn revoke(
    client: &ChaosClient,
    history: &ShareHistory,
    notifications: &NotificationHistory,
    record: &ChaosRecord,
    request: &str,
) -> bool {
    let known = history.lock().get(request).cloned();
    let Some((id, _)) = known else { return true };
    history.ends(request, ShareEnd::Open);
    let path = format!("/shares/{id}");
    let revoked = client.decided(fastrand::usize(..3), Method::DELETE, &path, None).await;
    let Some(revoked) = revoked else { return false };
    // A repetition may find it gone.
    let is_gone = revoked.repeated && matches!(revoked.status, 404 | 410);
    if revoked.status < 300 || is_gone {
        history.ends(request, ShareEnd::Revoked);
        notifications.expect(&id, "revoked");
        record.acknowledge();
    } else {
        record.violates(format!("status {} for a revocation: {}", revoked.status, revoked.body));
    }
    true
}

/// The id of the share that answers a request. None when the load ends before.
pub async fn create(
    client: &ChaosClient,
    record: &ChaosRecord,
    node: usize,
    body: &Value,
) -> Option<String> {
    let created = client.decided(node, Method::POST, "/shares", Some(body)).await?;
    match created.body["id"].as_str() {
        Some(id) if created.status < 300 => Some(id.to_owned()),
        _ => {
            record.violates(format!("status {} for a share: {}", created.status, created.body));
            None
        }
    }
}

/// The live shares of a node with a note: their notes by id.
pub async fn live_shares(client: &ChaosClient, node: usize) -> Option<BTreeMap<String, String>> {
    let mut live = BTreeMap::new();
    for share in client.list(node, "/shares", "").await? {
        let text = |name: &str| share[name].as_str().unwrap_or_default().to_owned();
        if share["state"] == "live" && share["note"].is_string() {
            live.insert(text("id"), text("note"));
        }
    }
    Some(live)
}

/// The first difference between acknowledged requests and live shares.
pub fn difference(expected: &SharesByRequest, live: &BTreeMap<String, String>) -> Option<String> {
    for (request, (id, end)) in expected {
        match (end, live.contains_key(id)) {
            (ShareEnd::Live, false) => {
                return Some(format!("share {id} of {request} was acknowledged and is lost"));
            }
            (ShareEnd::Revoked, true) => {
                return Some(format!("share {id} of {request} was revoked and is back"));
            }
            _ => {}
        }
    }
    let mut requests = BTreeMap::new();
    for (id, note) in live {
        if let Some(other) = requests.insert(note, id) {
            return Some(format!("{note} was done twice: shares {other} and {id}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_with_two_shares_is_a_violation() {
        let history = ShareHistory::default();
        assert_eq!(history.shared("a", "1"), None);
        assert_eq!(history.shared("a", "1"), None);
        assert!(history.shared("a", "2").is_some_and(|text| text.contains("two results")));
    }

    #[test]
    fn a_lost_a_returned_and_a_double_share_are_found() {
        let expected = |end| BTreeMap::from([("r".to_owned(), ("1".to_owned(), end))]);
        let live = BTreeMap::from([("1".to_owned(), "r".to_owned())]);
        assert_eq!(difference(&expected(ShareEnd::Live), &live), None);
        assert_eq!(difference(&expected(ShareEnd::Open), &BTreeMap::new()), None);
        let lost = difference(&expected(ShareEnd::Live), &BTreeMap::new());
        assert!(lost.is_some_and(|text| text.contains("is lost")));
        let back = difference(&expected(ShareEnd::Revoked), &live);
        assert!(back.is_some_and(|text| text.contains("is back")));
        let twice = BTreeMap::from([("1".to_owned(), "r".into()), ("2".to_owned(), "r".into())]);
        let twice = difference(&expected(ShareEnd::Live), &twice);
        assert!(twice.is_some_and(|text| text.contains("done twice")));
    }
}
