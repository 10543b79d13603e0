//! A client of shares that records its answers and its unanswered requests.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use reelyard_api::Rfc3339;
use reelyard_core::clock::{Clock, Millis};
use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_integration_tests::rigs::yard::{ProcessYard, bearer_in};
use serde_json::{Value, json};

/// The content of the shared file.
pub const FILM: &[u8] = b"0123456789";

/// The API of a node.
#[derive(Clone)]
pub struct ShareApi {
    http: reqwest::Client,
    node: SocketAddr,
    /// Data directory of the node, with the token of its administrator.
    data_dir: PathBuf,
    links: SocketAddr,
}

impl ShareApi {
    pub fn new(ground: &ProcessYard, links: SocketAddr) -> Self {
        // The first user of TLS in the process sets the provider; a second call fails without harm.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().timeout(Duration::from_secs(20)).build().unwrap();
        ShareApi { http, node: ground.node, data_dir: ground.path("node"), links }
    }

    /// The status and body of a call; `None` when the outcome is unknown.
    pub async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Option<(u16, Value)> {
        let url = format!("http://{}/api/v1{path}", self.node);
        let mut asked = self.http.request(method.parse().unwrap(), url);
        // A node without a token has not answered any call yet.
        let bearer = bearer_in(&self.data_dir);
        asked = asked.header("authorization", bearer.split_once(": ")?.1);
        if let Some(body) = body {
            asked = asked.header("content-type", "application/json").body(body.to_string());
        }
        let answer = asked.send().await.ok()?;
        let status = answer.status().as_u16();
        let text = answer.text().await.ok()?;
        (status < 500).then(|| (status, serde_json::from_str(&text).unwrap_or(Value::Null)))
    }

    /// The same for a node that is up.
    pub async fn answer(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        eventually_some("an answer", || self.ask(method, path, body.clone())).await
    }

    /// Waits until the node has also reclaimed a share.
    pub async fn reclaimed(&self, id: &str) {
        let path = format!("/shares/{id}");
        let reclaimed = || async { (self.ask("GET", &path, None).await?.0 == 410).then_some(()) };
        eventually_some("it is reclaimed", reclaimed).await;
    }

    /// Downloads a link from the address `from`. `None` when the outcome is unknown.
    async fn download(&self, id: &str, from: Ipv4Addr) -> Option<u16> {
        let asked = self.http.get(format!("http://{}/s/{id}/file", self.links));
        let answer = asked.header("x-forwarded-for", from.to_string()).send().await.ok()?;
        let status = answer.status().as_u16();
        let read = answer.bytes().await;
        if let (200, Ok(bytes)) = (status, read) {
            assert_eq!(bytes, FILM);
        }
        (status < 500).then_some(status)
    }

    /// Checks that the first relevant answer for this link is that it has ended.
    pub async fn refused_at_first(&self, id: &str) {
        let answer = eventually_some("the link is answered", || {
            self.download(id, Ipv4Addr::new(10, 255, 0, 1))
        })
        .await;
        assert_eq!(answer, 410, "{id} is overdue");
    }
}

/// The knowledge of a client about a share.
#[derive(Clone, Debug)]
pub struct KnownShare {
    pub id: String,
    /// The allowed number of downloads; 0 for any number.
    limit: u32,
    /// Downloads that the node confirmed as counted.
    pub taken: u32,
    /// Downloads with an unknown outcome.
    unsure: u32,
    deadline: Millis,
    /// The source of the knowledge that it has ended.
    pub ended: Option<&'static str>,
}

impl KnownShare {
    fn is_exhausted(&self) -> bool {
        self.limit > 0 && self.taken + self.unsure >= self.limit
    }

    /// Whether the node may report its end at `now`.
    fn may_have_ended(&self, now: Millis) -> bool {
        self.ended.is_some() || now >= self.deadline || self.is_exhausted()
    }
}

/// A request of a client. Shares are named by their positions in its list.
#[derive(Clone, Debug)]
enum ClientRequest {
    Create { limit: u32, body: Value },
    Extend { share: usize, brief: bool, body: Value },
    Revoke { share: usize, hard: bool },
    Download { share: usize },
}

/// A client with its shares and its open request.
pub struct ShareClient {
    api: ShareApi,
    random: fastrand::Rng,
    number: u8,
    /// The number of request names and download addresses so far.
    names: u16,
    pub shares: Vec<KnownShare>,
    /// The number of shares that ended before the client received their ids.
    pub unseen: usize,
    /// The request without an answer.
    open: Option<ClientRequest>,
}

fn now() -> Millis {
    Clock::system().now()
}

impl ShareClient {
    pub fn new(number: u8, api: ShareApi, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed ^ (u64::from(number) + 1));
        ShareClient { api, random, number, names: 0, shares: Vec::new(), unseen: 0, open: None }
    }

    /// The shares whose deadline has passed, except those with an unknown new deadline.
    pub fn overdue(&self, now: Millis) -> impl Iterator<Item = &str> {
        let shares = self.shares.iter().enumerate();
        let due = shares.filter(move |(number, share)| {
            share.ended.is_none() && share.deadline <= now && !self.waits_for(*number)
        });
        due.map(|(_, share)| &*share.id)
    }

    /// Whether one of its shares ends soon.
    pub fn awaits_an_end(&self) -> bool {
        let soon = now().after(Duration::from_secs(2));
        self.overdue(soon).next().is_some()
    }

    fn waits_for(&self, share: usize) -> bool {
        matches!(self.open, Some(ClientRequest::Extend { share: other, .. }) if other == share)
    }

    /// Sends requests until one gets no answer.
    pub async fn work(&mut self) {
        while self.open.is_none() {
            let wish = self.wish();
            if !self.get(&wish, false).await {
                self.open = Some(wish);
            }
        }
    }

    /// After a restart of the node, repeats the request without an answer under the same name, and checks
    /// earlier answers.
    pub async fn repeat_open_request(&mut self) {
        match self.open.take() {
            None => {}
            // A repeated click is another download.
            Some(ClientRequest::Download { share }) => self.shares[share].unsure += 1,
            Some(wish) => {
                // A node that is up may not lead yet.
                while !self.get(&wish, true).await {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        }
        for share in 0..self.shares.len() {
            self.compare(share).await;
        }
    }

    /// Compares its knowledge of a share with the node's answer.
    async fn compare(&mut self, share: usize) {
        let known = &mut self.shares[share];
        let (status, answer) = self.api.answer("GET", &format!("/shares/{}", known.id), None).await;
        match status {
            200 => {
                assert_eq!(known.ended, None, "{known:?}: {answer}");
                let taken = answer["downloads"].as_u64().unwrap_or(0) as u32;
                let possible = known.taken..=known.taken + known.unsure;
                assert!(possible.contains(&taken), "{known:?}: {answer}");
                (known.taken, known.unsure) = (taken, 0);
                if !known.is_exhausted() {
                    assert_eq!(expires(&answer), known.deadline, "{known:?}: {answer}");
                }
            }
            410 => {
                assert!(known.may_have_ended(now()), "{known:?}: {answer}");
                known.ended.get_or_insert("the node says so");
            }
            _ => panic!("{known:?}: {status} {answer}"),
        }
    }

    fn wish(&mut self) -> ClientRequest {
        let random = &mut self.random;
        let count = self.shares.len();
        if count == 0 || random.u8(..) < 70 {
            let ttl = ["1s", "2s", "1d"][random.usize(..3)];
            let limit = random.u32(..4);
            let mut body = json!({ "path": "films/a.mpg", "ttl": ttl, "request_id": self.name() });
            if limit > 0 {
                body["max_downloads"] = json!(limit);
            }
            return ClientRequest::Create { limit, body };
        }
        // The newest shares are more interesting than those that ended long ago.
        let share = count - 1 - random.usize(..count.min(12));
        match random.u8(..8) {
            0 => {
                let brief = random.bool();
                let ttl = if brief { "1s" } else { "2d" };
                let body = json!({ "ttl": ttl, "request_id": self.name() });
                ClientRequest::Extend { share, brief, body }
            }
            1 => ClientRequest::Revoke { share, hard: random.bool() },
            _ => ClientRequest::Download { share },
        }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("{} {}", self.number, self.names)
    }

    /// Sends a request. Returns whether it had an answer.
    async fn get(&mut self, wish: &ClientRequest, again: bool) -> bool {
        match wish {
            ClientRequest::Create { limit, body } => self.create(*limit, body).await,
            ClientRequest::Extend { share, brief, body } => {
                self.extend(*share, again && *brief, body).await
            }
            ClientRequest::Revoke { share, hard } => self.revoke(*share, *hard).await,
            ClientRequest::Download { share } => self.download(*share).await,
        }
    }

    async fn create(&mut self, limit: u32, body: &Value) -> bool {
        let Some((status, answer)) = self.api.ask("POST", "/shares", Some(body.clone())).await
        else {
            return false;
        };
        match status {
            201 => {
                let id = answer["id"].as_str().unwrap().to_owned();
                let (taken, unsure, deadline) = (0, 0, expires(&answer));
                self.shares.push(KnownShare { id, limit, taken, unsure, deadline, ended: None });
            }
            // It was created, and has ended.
            410 => self.unseen += 1,
            _ => panic!("{body}: {status} {answer}"),
        }
        true
    }

    async fn extend(&mut self, share: usize, may_be_over: bool, body: &Value) -> bool {
        let known = &mut self.shares[share];
        let path = format!("/shares/{}", known.id);
        let Some((status, answer)) = self.api.ask("PATCH", &path, Some(body.clone())).await else {
            return false;
        };
        match status {
            200 => {
                assert_eq!(known.ended, None, "{answer}");
                known.deadline = expires(&answer);
            }
            410 => {
                assert!(may_be_over || known.may_have_ended(now()), "{known:?}: {answer}");
                // An exhausted share remains while a client may resume a download.
                if !known.is_exhausted() {
                    known.ended.get_or_insert("it was refused other terms");
                }
            }
            _ => panic!("{known:?}: {status} {answer}"),
        }
        true
    }

    async fn revoke(&mut self, share: usize, hard: bool) -> bool {
        let known = &mut self.shares[share];
        let path = format!("/shares/{}?hard={hard}", known.id);
        let Some((status, answer)) = self.api.ask("DELETE", &path, None).await else {
            return false;
        };
        assert_eq!(status, 204, "{known:?}: {answer}");
        known.ended.get_or_insert("it was revoked");
        true
    }

    async fn download(&mut self, share: usize) -> bool {
        self.names += 1;
        let [high, low] = self.names.to_be_bytes();
        let from = Ipv4Addr::new(10, self.number, high, low);
        let (known, began) = (&mut self.shares[share], now());
        let Some(status) = self.api.download(&known.id, from).await else { return false };
        match status {
            200 => {
                assert!(known.ended.is_none() && began < known.deadline, "{known:?} at {began}");
                if known.limit > 0 {
                    known.taken += 1;
                    assert!(known.taken <= known.limit, "{known:?}");
                }
            }
            410 => assert!(known.may_have_ended(now()), "{known:?}"),
            _ => panic!("{known:?}: {status}"),
        }
        true
    }
}

fn expires(share: &Value) -> Millis {
    let Rfc3339(at) = share["expires_at"].as_str().unwrap().parse().unwrap();
    at
}
