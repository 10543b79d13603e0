//! Shares of a real node that is killed repeatedly at random times, while clients create, extend, revoke and
//! read links. Confirmed requests hold, ended shares stay ended, and every event is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use futures::future::join_all;
use reelyard_core::clock::Clock;
use reelyard_integration_tests::fakes::hook_receiver::HookReceiver;
use reelyard_integration_tests::probes::waiting::{eventually, eventually_some};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, free_addr};
use serde_json::{Value, json};

use crate::clients::{FILM, ShareApi, ShareClient};

const ROUNDS: usize = 9;
const CLIENTS: u8 = 4;

/// The node is killed at a random time up to this long after its first answer.
const LONGEST_ROUND: Duration = Duration::from_millis(900);

/// The time after a start in which a node must reclaim overdue shares.
const SOON: Duration = Duration::from_secs(5);

struct ShareKillYard {
    node: RoleProcess,
    api: ShareApi,
    receiver: HookReceiver,
    random: fastrand::Rng,
    is_paused: bool,
    _ground: ProcessYard,
}

impl ShareKillYard {
    fn start(seed: u64) -> anyhow::Result<Self> {
        let (ground, receiver) = (ProcessYard::new(1, 0)?, HookReceiver::start()?);
        let root = ground.path("films");
        std::fs::create_dir_all(&root)?;
        std::fs::write(root.join("a.mpg"), FILM)?;
        let links = free_addr(Ipv4Addr::LOCALHOST)?;
        let node = ground.start_node(&[
            ("share.roots", &format!("{{ films = \"{}\" }}", root.display())),
            ("share.listen", &links.to_string()),
            ("share.trusted_proxies", "[\"127.0.0.1\"]"),
            ("share.resume_within", "1s"),
            ("share.webhooks", &format!("{{ books = {} }}", receiver.hook(""))),
            ("journal.snapshot_log_bytes", "32KiB"),
        ])?;
        let (random, api) = (fastrand::Rng::with_seed(seed), ShareApi::new(&ground, links));
        Ok(ShareKillYard { node, api, receiver, random, is_paused: false, _ground: ground })
    }

    async fn until_up(&self) {
        eventually_some("the hook stands", || async {
            let (_, hooks) = self.api.ask("GET", "/shares/hooks", None).await?;
            hooks["items"][0]["told_up_to"].as_u64()
        })
        .await;
    }

    fn at_random(&mut self, longest: Duration) -> Duration {
        longest.mul_f64(self.random.f64())
    }

    async fn pause(&self, paused: bool) {
        let body = json!({ "paused": paused });
        let (status, reply) = self.api.answer("PUT", "/shares/reclaim", Some(body)).await;
        assert_eq!(status, 200, "{reply}");
    }

    /// Runs the clients until the node is killed.
    async fn round(&mut self, clients: Vec<ShareClient>) -> Vec<ShareClient> {
        let wait = self.at_random(LONGEST_ROUND);
        // While reclaim is paused, only the comparison with the clock refuses overdue shares.
        self.is_paused = self.random.bool();
        self.pause(self.is_paused).await;
        let working = clients.into_iter().map(|mut client| {
            actix::spawn(async move {
                client.work().await;
                client
            })
        });
        let working: Vec<_> = working.collect();
        tokio::time::sleep(wait).await;
        assert!(!self.node.has_ended(), "{}", self.node.log_text());
        self.node.kill();
        join_all(working).await.into_iter().map(Result::unwrap).collect()
    }

    /// Starts the node again, sometimes twice. It must refuse overdue shares in its first answer and reclaim
    /// them soon.
    async fn restart(&mut self, clients: &[ShareClient]) {
        let overdue = || {
            let now = Clock::system().now();
            let shares = clients.iter().flat_map(|client| client.overdue(now));
            shares.map(str::to_owned).collect::<Vec<String>>()
        };
        if clients.iter().any(ShareClient::awaits_an_end) {
            eventually("something came due", || !overdue().is_empty()).await;
        }
        let overdue = overdue();
        if self.random.bool() {
            self.node.start_again().unwrap();
            let wait = self.at_random(LONGEST_ROUND / 2);
            tokio::time::sleep(wait).await;
            self.node.kill();
        }
        let mut began = Instant::now();
        self.node.start_again().unwrap();
        join_all(overdue.iter().map(|id| self.api.refused_at_first(id))).await;
        if self.is_paused {
            self.until_up().await;
            began = Instant::now();
            self.pause(false).await;
        }
        join_all(overdue.iter().map(|id| self.api.reclaimed(id))).await;
        assert!(began.elapsed() < SOON, "reclaimed after {:?}", began.elapsed());
        self.until_up().await;
    }

    /// The ids of all shares that have not ended.
    async fn listed(&self) -> BTreeSet<String> {
        let (mut ids, mut cursor) = (BTreeSet::new(), String::new());
        loop {
            let path = format!("/shares?limit=1000{cursor}");
            let (status, page) = self.api.answer("GET", &path, None).await;
            assert_eq!(status, 200, "{page}");
            for share in page["items"].as_array().unwrap() {
                let is_new = ids.insert(share["id"].as_str().unwrap().to_owned());
                assert!(is_new, "twice on the list: {share}");
            }
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return ids,
            }
        }
    }

    async fn totals(&self) -> Value {
        self.api.answer("GET", "/shares/reclaim", None).await.1
    }

    /// Checks the combined knowledge of all clients.
    async fn check(&self, clients: &[ShareClient]) {
        let known = || clients.iter().flat_map(|client| &client.shares);
        let ids: BTreeSet<&str> = known().map(|share| &*share.id).collect();
        assert_eq!(ids.len(), known().count(), "no id twice");
        let listed = self.listed().await;
        let is_back = |id: &&str| listed.contains(*id);
        let closed = known().filter(|share| share.ended.is_some()).map(|share| &*share.id);
        assert_eq!(closed.filter(is_back).collect::<Vec<_>>(), [""; 0], "an ended share is back");
        let unrequested = listed.iter().filter(|id| !ids.contains(id.as_str()));
        assert_eq!(unrequested.count(), 0, "an unrequested share exists");
        let ghosts: usize = clients.iter().map(|client| client.unseen).sum();
        let reclaim = self.totals().await;
        assert_eq!(reclaim["totals"]["created"], ids.len() + ghosts, "{reclaim}");
        assert_eq!(
            reclaim["totals"]["created"],
            reclaim["shares"].as_u64().unwrap() + ended(&reclaim)
        );
    }

    /// Checks that all shares have ended and that each end was reported.
    async fn check_notifications(&self, clients: &[ShareClient]) {
        let (_, hooks) = self.api.answer("GET", "/shares/hooks", None).await;
        assert_eq!(hooks["items"][0]["dropped"].as_u64().unwrap_or(0), 0, "{hooks}");
        let mut reported = BTreeMap::<u64, (String, String)>::new();
        let ids = || clients.iter().flat_map(|client| &client.shares).map(|share| &share.id);
        eventually("every end is reported", || {
            reported.clear();
            for one in self.receiver.taken() {
                let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let what = (word(&one.body["share"]["id"]), word(&one.body["why"]));
                let before = reported.insert(one.number(), what.clone());
                assert!(before.is_none_or(|before| before == what), "{one:?}");
            }
            let of: BTreeSet<&String> = reported.values().map(|(id, _)| id).collect();
            ids().all(|id| of.contains(id))
        })
        .await;
        assert!(reported.keys().copied().eq(0..reported.len() as u64), "numbered without gaps");
        let what: BTreeSet<_> = reported.values().collect();
        assert_eq!(what.len(), reported.len(), "nothing has two numbers");
    }
}

fn ended(reclaim: &Value) -> u64 {
    let why = ["expired", "exhausted", "revoked", "removed", "root_gone", "evicted"];
    why.iter().map(|why| reclaim["totals"][why].as_u64().unwrap()).sum()
}

#[test]
fn answers_hold_over_any_number_of_kills() {
    let seed = fastrand::u64(..);
    eprintln!("seed {seed}");
    on_a_system(async {
        let mut place = ShareKillYard::start(seed).unwrap();
        place.until_up().await;
        let fork = |number| ShareClient::new(number, place.api.clone(), seed);
        let mut clients: Vec<ShareClient> = (0..CLIENTS).map(fork).collect();
        for _ in 0..ROUNDS {
            clients = place.round(clients).await;
            place.restart(&clients).await;
            join_all(clients.iter_mut().map(ShareClient::repeat_open_request)).await;
            place.check(&clients).await;
        }
        let all = json!({ "path": "films" });
        place.api.answer("POST", "/shares/revoke", Some(all)).await;
        let reclaim = place.totals().await;
        assert_eq!(
            (&reclaim["shares"], &reclaim["totals"]["created"]),
            (&json!(0), &json!(ended(&reclaim)))
        );
        place.check_notifications(&clients).await;
        let made: usize = clients.iter().map(|client| client.shares.len()).sum();
        let counted: u32 =
            clients.iter().flat_map(|client| &client.shares).map(|share| share.taken).sum();
        eprintln!("{made} shares, {counted} counted downloads, {reclaim}");
        assert!(made > 50 && counted > 10, "{made} shares, {counted} counted downloads");
    });
}
