//! The clients: shares that are created, repeated and revoked, and leases of boxes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::chaos_client::ChaosClient;
use super::history::{ChaosHistory, HoldingOfBox, ShareEnd};

/// The pool whose boxes the clients lease.
pub const POOL: &str = "chaos";

/// The file that all shares give out.
pub const SHARED: &str = "masters/a.mpg";

/// Pause of a client between its requests.
const PACE: Duration = Duration::from_millis(20);

/// Term of a lease. It is over within most rounds if the holder cannot release it.
const TERM: &str = "2s";

/// Creates shares, repeats some requests, and revokes some shares, until the load ends.
pub async fn share(client: ChaosClient, history: Arc<ChaosHistory>, number: usize) {
    for round in 0.. {
        let request = format!("share-{number}-{round}");
        let body = json!({ "path": SHARED, "note": request, "request_id": request });
        let Some(id) = create(&client, &history, number + round, &body).await else { return };
        history.shared(&request, &id);
        history.acknowledge();
        if round % 2 == 0 {
            let Some(again) = create(&client, &history, number + round + 1, &body).await else {
                return;
            };
            history.shared(&request, &again);
        }
        if round % 3 == 0 {
            history.ends(&request, ShareEnd::Open);
            let path = format!("/shares/{id}");
            let revoked = client.decided(number + round, Method::DELETE, &path, None).await;
            let Some(revoked) = revoked else { return };
            // A repetition may find it gone.
            let is_gone = revoked.repeated && matches!(revoked.status, 404 | 410);
            if revoked.status < 300 || is_gone {
                history.ends(&request, ShareEnd::Revoked);
                history.acknowledge();
            }
        }
        sleep(PACE).await;
        if !client.goes_on() {
            return;
        }
    }
}

/// The id of the share that answers a request. None when the load ends before.
async fn create(
    client: &ChaosClient,
    history: &ChaosHistory,
    node: usize,
    body: &Value,
) -> Option<String> {
    let created = client.decided(node, Method::POST, "/shares", Some(body)).await?;
    match created.body["id"].as_str() {
        Some(id) if created.status < 300 => Some(id.to_owned()),
        _ => {
            history.violates(format!("status {} for a share: {}", created.status, created.body));
            None
        }
    }
}

/// Leases a box, holds it for a moment and releases it, until the load ends.
pub async fn lease(client: ChaosClient, history: Arc<ChaosHistory>, number: usize) {
    for round in 0.. {
        let request = format!("lease-{number}-{round}");
        let body =
            json!({ "holder": format!("holder-{number}"), "ttl": TERM, "request_id": request });
        let path = format!("/pools/{POOL}/leases");
        let granted = client.decided(number + round, Method::POST, &path, Some(&body)).await;
        let Some(granted) = granted else { return };
        let known = Instant::now();
        if let (true, Some(held)) = (granted.status < 300, held(&granted.body, granted.sent, known))
        {
            history.acknowledge();
            sleep(Duration::from_millis(20 + 17 * (round as u64 % 11))).await;
            let released = Instant::now();
            history.held(HoldingOfBox { until: held.until.min(released), ..held.clone() });
            let id = granted.body["lease_id"].as_str().unwrap_or_default();
            let path = format!("/leases/{id}/release");
            let token = json!({ "token": granted.body["token"] });
            if client.decided(number + round, Method::POST, &path, Some(&token)).await.is_none() {
                return;
            }
        }
        sleep(PACE).await;
        if !client.goes_on() {
            return;
        }
    }
}

/// The box of a granted lease. The rest of the term counts from the moment before the request.
fn held(lease: &Value, sent: Instant, known: Instant) -> Option<HoldingOfBox> {
    let left: Duration = lease["left"].as_str().and_then(span)?;
    Some(HoldingOfBox {
        number: lease["box"].as_u64()?,
        token: lease["token"].as_u64()?,
        from: known,
        until: (sent + left).max(known),
    })
}

/// A span such as `1.99s` or `1s 990ms`.
fn span(text: &str) -> Option<Duration> {
    text.parse::<reelyard_api::Span>().ok().map(|span| span.0)
}
