//! A client of shares that remembers what it was answered, and what it was not.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use reelyard_api::Rfc3339;
use reelyard_core::clock::{Clock, Millis};
use reelyard_integration_tests::waiting::eventually_some;
use serde_json::{Value, json};

/// What is shared.
pub const FILM: &[u8] = b"0123456789";

/// Where a node is asked.
#[derive(Clone)]
pub struct ShareApi {
    http: reqwest::Client,
    node: SocketAddr,
    links: SocketAddr,
}

impl ShareApi {
    pub fn new(node: SocketAddr, links: SocketAddr) -> Self {
        // Whoever was the first to ask for TLS has chosen it for all.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().timeout(Duration::from_secs(20)).build().unwrap();
        ShareApi { http, node, links }
    }

    /// Status and body; none when nothing is known of what came of it.
    pub async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Option<(u16, Value)> {
        let url = format!("http://{}/api/v1{path}", self.node);
        let mut asked = self.http.request(method.parse().unwrap(), url);
        if let Some(body) = body {
            asked = asked.header("content-type", "application/json").body(body.to_string());
        }
        let answer = asked.send().await.ok()?;
        let status = answer.status().as_u16();
        let text = answer.text().await.ok()?;
        (status < 500).then(|| (status, serde_json::from_str(&text).unwrap_or(Value::Null)))
    }

    /// The same of a node that is up.
    pub async fn answer(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        eventually_some("an answer", || self.ask(method, path, body.clone())).await
    }

    /// Waits until a share is gone for the node itself, too.
    pub async fn reclaimed(&self, id: &str) {
        let path = format!("/shares/{id}");
        let reclaimed = || async { (self.ask("GET", &path, None).await?.0 == 410).then_some(()) };
        eventually_some("it is reclaimed", reclaimed).await;
    }

    /// Asks a link for its bytes, from an address of its own. None when nothing is known of what came
    /// of it.
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

    /// Whatever a node answers first of this link that has to do with it: it has ended.
    pub async fn refused_at_first(&self, id: &str) {
        let told = eventually_some("the link is answered", || {
            self.download(id, Ipv4Addr::new(10, 255, 0, 1))
        })
        .await;
        assert_eq!(told, 410, "{id} is overdue");
    }
}

/// What a client knows of a share.
#[derive(Clone, Debug)]
pub struct KnownShare {
    pub id: String,
    /// How many downloads it allows; 0 for any number.
    limit: u32,
    /// Downloads that were counted, as it was told.
    pub taken: u32,
    /// Those of which it was not told whether they were.
    unsure: u32,
    deadline: Millis,
    /// Who or what told it that it has ended.
    pub ended: Option<&'static str>,
}

impl KnownShare {
    fn is_exhausted(&self) -> bool {
        self.limit > 0 && self.taken + self.unsure >= self.limit
    }

    /// Whether it may be told as ended at `now`.
    fn may_have_ended(&self, now: Millis) -> bool {
        self.ended.is_some() || now >= self.deadline || self.is_exhausted()
    }
}

/// What a client wants. Shares are named by their places in its list.
#[derive(Clone, Debug)]
enum ClientRequest {
    Create { limit: u32, body: Value },
    Extend { share: usize, brief: bool, body: Value },
    Revoke { share: usize, hard: bool },
    Download { share: usize },
}

/// A client.
pub struct ShareClient {
    api: ShareApi,
    random: fastrand::Rng,
    number: u8,
    /// How many names it has given to requests, and addresses to downloads.
    names: u16,
    pub shares: Vec<KnownShare>,
    /// How many it made that had ended before it was told their ids.
    pub unseen: usize,
    /// What it was not answered.
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

    /// Those that have come due, unless it waits to hear of another deadline.
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

    /// Does one thing after the other until it is not answered.
    pub async fn work(&mut self) {
        while self.open.is_none() {
            let wish = self.wish();
            if !self.get(&wish, false).await {
                self.open = Some(wish);
            }
        }
    }

    /// The node is there again: what it was not answered is asked again by the same name, and what
    /// it was answered before holds.
    pub async fn settle(&mut self) {
        match self.open.take() {
            None => {}
            // Whoever clicks again has another download.
            Some(ClientRequest::Download { share }) => self.shares[share].unsure += 1,
            Some(wish) => {
                // A node that is up may still be about to lead.
                while !self.get(&wish, true).await {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        }
        for share in 0..self.shares.len() {
            self.compare(share).await;
        }
    }

    /// Compares what it knows of a share with what the node says.
    async fn compare(&mut self, share: usize) {
        let known = &mut self.shares[share];
        let (status, told) = self.api.answer("GET", &format!("/shares/{}", known.id), None).await;
        match status {
            200 => {
                assert_eq!(known.ended, None, "{known:?}: {told}");
                let taken = told["downloads"].as_u64().unwrap_or(0) as u32;
                let possible = known.taken..=known.taken + known.unsure;
                assert!(possible.contains(&taken), "{known:?}: {told}");
                (known.taken, known.unsure) = (taken, 0);
                if !known.is_exhausted() {
                    assert_eq!(expires(&told), known.deadline, "{known:?}: {told}");
                }
            }
            410 => {
                assert!(known.may_have_ended(now()), "{known:?}: {told}");
                known.ended.get_or_insert("the node says so");
            }
            _ => panic!("{known:?}: {status} {told}"),
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
        // The newest ones are of more interest than those that have long ended.
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

    /// Asks for it. Answers whether it was answered.
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
        let Some((status, told)) = self.api.ask("POST", "/shares", Some(body.clone())).await else {
            return false;
        };
        match status {
            201 => {
                let id = told["id"].as_str().unwrap().to_owned();
                let (taken, unsure, deadline) = (0, 0, expires(&told));
                self.shares.push(KnownShare { id, limit, taken, unsure, deadline, ended: None });
            }
            // It was made, and is over.
            410 => self.unseen += 1,
            _ => panic!("{body}: {status} {told}"),
        }
        true
    }

    async fn extend(&mut self, share: usize, may_be_over: bool, body: &Value) -> bool {
        let known = &mut self.shares[share];
        let path = format!("/shares/{}", known.id);
        let Some((status, told)) = self.api.ask("PATCH", &path, Some(body.clone())).await else {
            return false;
        };
        match status {
            200 => {
                assert_eq!(known.ended, None, "{told}");
                known.deadline = expires(&told);
            }
            410 => {
                assert!(may_be_over || known.may_have_ended(now()), "{known:?}: {told}");
                // One that is exhausted is there until nobody may resume it.
                if !known.is_exhausted() {
                    known.ended.get_or_insert("it was refused other terms");
                }
            }
            _ => panic!("{known:?}: {status} {told}"),
        }
        true
    }

    async fn revoke(&mut self, share: usize, hard: bool) -> bool {
        let known = &mut self.shares[share];
        let path = format!("/shares/{}?hard={hard}", known.id);
        let Some((status, told)) = self.api.ask("DELETE", &path, None).await else { return false };
        assert_eq!(status, 204, "{known:?}: {told}");
        known.ended.get_or_insert("it was taken back");
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

fn expires(told: &Value) -> Millis {
    let Rfc3339(at) = told["expires_at"].as_str().unwrap().parse().unwrap();
    at
}
