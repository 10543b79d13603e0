//! The cost of a caller: its token, with few and with many tokens and users, a whole request, and a login.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::{Actor, Addr};
use anyhow::{Context, Result, ensure};
use reelyard_access::access::{AccessActor, AccessSettings, AccessView, AddUser, CreateToken};
use reelyard_access::rights::{Caller, Rights, Role};
use reelyard_access::secrets::{TokenKind, TokenSecret, UserPasswordHash, draw};
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{PieceId, RequestId};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_integration_tests::rigs::yard::{RoleProcess, free_addr};
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_protocol::http_client::without_tls;
use reqwest::RequestBuilder;

use crate::figure::{BenchFigure, FigureTarget};
use crate::peers::node_api::BenchApi;

/// The number of tokens, and of users, in the large yard.
const MANY: usize = 1_000;

/// The number of checks in one measurement.
const CHECKS: u32 = 200_000;

/// The number of requests in one run over HTTP.
const REQUESTS: u32 = 5_000;

/// The number of alternating runs over HTTP. The best one counts, because noise only slows a run down.
const RUNS: usize = 5;

/// The longest time until the node answers.
const PATIENCE: Duration = Duration::from_secs(30);

const FROM: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Measures the check of a token, a request with one, and the check of a password.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let Checks { few, many, password } = on_a_system(checks())?;
    let Requests { with_token, without } = on_a_system(requests())?;
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let more = micros(with_token) - micros(without);
    Ok(vec![
        BenchFigure::new(
            "a request with a token (whoami) takes longer than one without (healthz) by",
            more,
            "µs",
            FigureTarget::AtMost(20.0),
        )
        .beside("the request without", micros(without)),
        BenchFigure::new("the check of a token", micros(few), "µs", FigureTarget::AtMost(20.0)),
        BenchFigure::new(
            format!("… with {MANY} tokens and {MANY} users"),
            micros(many),
            "µs",
            FigureTarget::AtMost(20.0),
        )
        .beside("one token", micros(few)),
        BenchFigure::new(
            "the check of a password",
            password.as_secs_f64() * 1e3,
            "ms",
            FigureTarget::AtLeast(50.0),
        ),
    ])
}

/// The time of each check.
struct Checks {
    few: Duration,
    many: Duration,
    password: Duration,
}

async fn checks() -> Result<Checks> {
    let dir = tempfile::tempdir_in(std::env::current_dir()?)?;
    let (view, clock) = (ViewHandle::default(), Clock::system());
    let options = JournalOptions::alone(dir.path(), 1);
    let journal = Journal::open(options, Arc::new(NoPeers), &[PieceId::Access]).await?;
    let settings = AccessSettings::default();
    let actor = AccessActor::new(settings, clock.clone(), journal.clone(), view.clone()).start();
    let mut news = view.news();
    while view.load().epoch.is_none() {
        news.changed().await?;
    }
    let secret = create_token(&actor, 0).await?;
    let few = token_check(&view, &secret, clock.now());
    let hash = UserPasswordHash::of("the password of a user")?;
    for number in 1..MANY {
        create_token(&actor, number).await?;
    }
    for number in 0..MANY {
        let name = format!("user-{number}").parse()?;
        let (by, request) = (Caller::node(), RequestId::random());
        let (role, password) = (Role::Viewer, Some(hash.clone()));
        actor.send(AddUser { name, role, password, by, request }).await??;
    }
    let many = token_check(&view, &secret, clock.now());
    let login = view.load().password_login("user-7", clock.now())?;
    let begun = Instant::now();
    login.check("the password of a user").context("the password is right")?;
    let password = begun.elapsed();
    journal.stop().await;
    Ok(Checks { few, many, password })
}

/// The time of each request on a connection that stays open.
struct Requests {
    with_token: Duration,
    without: Duration,
}

async fn requests() -> Result<Requests> {
    let dir = tempfile::tempdir_in(std::env::current_dir()?)?;
    let listen = free_addr(Ipv4Addr::LOCALHOST)?;
    let data_dir = dir.path().join("node");
    let settings = [
        ("listen".to_owned(), listen.to_string()),
        ("data_dir".to_owned(), data_dir.display().to_string()),
    ];
    let node = RoleProcess::start("node", &settings, dir.path().join("node.log"))?;
    let api = BenchApi::new(listen, &data_dir)?;
    let begun = Instant::now();
    while api.get("/api/v1/whoami").await.is_err() {
        ensure!(begun.elapsed() < PATIENCE, "the node does not answer: {}", node.log_text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let http = without_tls().build()?;
    let authorization = api.authorization();
    let mut best = Requests { with_token: Duration::MAX, without: Duration::MAX };
    for _ in 0..RUNS {
        let open = http.get(format!("{}/healthz", api.url()));
        best.without = best.without.min(request_time(&open).await?);
        let own = http.get(format!("{}/api/v1/whoami", api.url()));
        let own = own.header("authorization", &authorization);
        best.with_token = best.with_token.min(request_time(&own).await?);
    }
    Ok(best)
}

/// The mean time of one request after another.
async fn request_time(request: &RequestBuilder) -> Result<Duration> {
    let begun = Instant::now();
    for _ in 0..REQUESTS {
        let request = request.try_clone().context("the request has no body")?;
        request.send().await?.error_for_status()?.bytes().await?;
    }
    Ok(begun.elapsed() / REQUESTS)
}

async fn create_token(actor: &Addr<AccessActor>, number: usize) -> Result<TokenSecret> {
    let secret = TokenSecret::new(TokenKind::General, &draw()?);
    let create = CreateToken {
        name: format!("token-{number}").parse()?,
        hash: secret.hash(),
        rights: Rights::Role(Role::Viewer),
        expires_at: None,
        addresses: Vec::new(),
        replace: false,
        by: Caller::node(),
        request: RequestId::random(),
    };
    actor.send(create).await??;
    Ok(secret)
}

/// The mean time in which a token is checked, as for each request.
fn token_check(view: &ViewHandle<AccessView>, secret: &TokenSecret, now: Millis) -> Duration {
    let begun = Instant::now();
    for _ in 0..CHECKS {
        let caller = view.load().authenticate_token(secret.reveal(), FROM, now);
        let _ = black_box(caller);
    }
    begun.elapsed() / CHECKS
}
