//! The cost of a caller: its token, with few and with many tokens and users, and a login.

use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::{Actor, Addr};
use anyhow::{Context, Result};
use reelyard_access::access::{AccessActor, AccessSettings, AccessView, AddUser, CreateToken};
use reelyard_access::rights::{Caller, Rights, Role};
use reelyard_access::secrets::{TokenKind, TokenSecret, UserPasswordHash, draw};
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{PieceId, RequestId};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::{Journal, JournalOptions, NoPeers};

use crate::figure::{BenchFigure, FigureTarget};

/// The number of tokens, and of users, in the large yard.
const MANY: usize = 1_000;

/// The number of checks in one measurement.
const CHECKS: u32 = 200_000;

const FROM: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

/// Measures the check of a token, and of a password.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let Checks { few, many, password } = on_a_system(checks())?;
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    Ok(vec![
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
