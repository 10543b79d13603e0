//! Boxes at their actor, durable, in comparison with locks on Redis and etcd.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use reelyard_boxes::box_lease::{
    BoxLeaseRequest, BoxLeaseSettings, BoxViewHandle, Lease, PoolSpec,
};
use reelyard_core::clock::Clock;
use reelyard_integration_tests::rigs::boxes::box_yard::{BoxYard, ScriptedHosts, ask, one};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_protocol::boxes::PoolName;

use crate::figure::{BenchFigure, FigureTarget};
use crate::peers::etcd::Etcd;
use crate::peers::redis::Redis;
use crate::peers::wrk;
use crate::usage;

/// The number of clients in cases with many clients.
pub const CLIENTS: usize = 64;

/// The duration of each measurement.
const SPAN: Duration = Duration::from_secs(5);

/// The number of waiting requests.
const WAITERS: u32 = 10_000;
const BOXES: u32 = 8;

/// The number of clients that hold boxes in turns.
const HOLDERS: usize = 32;
const HOLD: Duration = Duration::from_millis(50);

/// The number of handovers of a box.
const HANDED_ON: usize = 300;

/// Measures cycles, handovers, a crowd of waiting requests and a closed loop.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let ours = on_a_system(at_the_actor())?;
    let dir = tempfile::tempdir_in(std::env::current_dir()?)?;
    let redis = Redis::start(&dir.path().join("redis"), &[])?;
    let redis_one = redis.cycles_per_second(1, SPAN)?;
    let redis_many = redis.cycles_per_second(CLIENTS, SPAN)?;
    let (redis_used, mut redis_waits) = redis.polled((HOLDERS, BOXES as usize), HOLD, SPAN)?;
    drop(redis);
    let etcd = Etcd::start(&dir.path().join("etcd"))?;
    let etcd_cycles = |clients| {
        let script = wrk::script(dir.path(), Etcd::cycles())?;
        anyhow::Ok(wrk::answers_per_second(&etcd.url(), &script, clients, SPAN)? / 2.0)
    };
    let (etcd_one, etcd_many) = (etcd_cycles(1)?, etcd_cycles(CLIENTS)?);
    let redis_worst = worst_to_median(&mut redis_waits)?;
    Ok(vec![
        cycles("one client", ours.one, 1_000.0)
            .beside("Redis, SET NX and a script", redis_one)
            .beside("etcd, over its gateway", etcd_one),
        cycles("64 clients with a box each", ours.many, 15_000.0)
            .beside("Redis", redis_many)
            .beside("etcd", etcd_many),
        cycles("64 clients in turns on 8 boxes", ours.contended, 15_000.0),
        BenchFigure::new(
            "a box handed on to the next waiter, p50",
            ours.handed_on,
            "ms",
            FigureTarget::AtMost(2.0),
        ),
        BenchFigure::new(
            format!("{WAITERS} waiters on {BOXES} boxes, served in order"),
            ours.crowd.as_secs_f64(),
            "s",
            FigureTarget::AtMost(4.0),
        ),
        BenchFigure::new(
            "… the most memory of the process",
            ours.memory as f64 / 1e6,
            "MB",
            FigureTarget::AtMost(200.0),
        ),
        BenchFigure::new(
            format!("{HOLDERS} clients hold {BOXES} boxes for 50 ms in turns: the boxes are held"),
            ours.used * 100.0,
            "%",
            FigureTarget::AtLeast(98.0),
        )
        .beside("Redis, polled", redis_used * 100.0),
        BenchFigure::new("… worst wait to the median", ours.worst, "x", FigureTarget::AtMost(1.5))
            .beside("Redis, polled", redis_worst),
    ])
}

fn cycles(by: &str, rate: f64, wanted: f64) -> BenchFigure {
    let what = format!("a box acquired and released, durable, {by}");
    BenchFigure::new(what, rate, "/s", FigureTarget::AtLeast(wanted))
}

struct AtTheActor {
    one: f64,
    many: f64,
    contended: f64,
    handed_on: f64,
    crowd: Duration,
    memory: u64,
    used: f64,
    worst: f64,
}

async fn at_the_actor() -> Result<AtTheActor> {
    let dir = tempfile::tempdir_in(std::env::current_dir()?)?;
    let (settings, hosts) = (BoxLeaseSettings::default(), ScriptedHosts::default());
    let yard = BoxYard::open_with(dir.path(), &Clock::system(), settings, hosts).await;
    let one = cycles_per_second(&yard, "one", 1, 1).await?;
    let many = cycles_per_second(&yard, "many", CLIENTS, CLIENTS as u32).await?;
    let contended = cycles_per_second(&yard, "contended", CLIENTS, BOXES).await?;
    let handed_on = handed_on(&yard).await?;
    let crowd = crowd(&yard).await?;
    let memory = usage::peak_memory_of(std::process::id())?;
    let (used, mut waits) = in_turns(&yard).await?;
    let worst = worst_to_median(&mut waits)?;
    yard.close().await;
    Ok(AtTheActor { one, many, contended, handed_on, crowd, memory, used, worst })
}

async fn pool(yard: &BoxYard, name: &str, size: u32) -> Result<PoolName> {
    let (pool, spec) = (PoolName::new(name)?, PoolSpec::of(0, size));
    yard.put_as(pool.clone(), PoolSpec { queue_limit: WAITERS, ..spec }).await?;
    Ok(pool)
}

async fn take(yard: &BoxYard, pool: &PoolName, number: usize) -> Result<Arc<Lease>> {
    let ask = BoxLeaseRequest { pool: pool.clone(), ..ask(&format!("client {number}"), 60) };
    Ok(one(yard.acquire(ask).await))
}

async fn cycles_per_second(yard: &BoxYard, name: &str, clients: usize, boxes: u32) -> Result<f64> {
    let (pool, began) = (pool(yard, name, boxes).await?, Instant::now());
    let client = async |number| {
        let mut cycles = 0;
        while began.elapsed() < SPAN {
            let lease = take(yard, &pool, number).await?;
            yard.release(&lease).await?;
            cycles += 1;
        }
        anyhow::Ok(cycles)
    };
    let cycles = try_join_all((0..clients).map(client)).await?;
    Ok(f64::from(cycles.iter().sum::<u32>()) / began.elapsed().as_secs_f64())
}

/// The median time from a release to the grant of the waiting request, in milliseconds.
async fn handed_on(yard: &BoxYard) -> Result<f64> {
    let pool = pool(yard, "handed-on", 1).await?;
    let mut took = Vec::new();
    let mut held = take(yard, &pool, 0).await?;
    for number in 1..=HANDED_ON {
        let ask = BoxLeaseRequest { pool: pool.clone(), ..ask(&format!("client {number}"), 60) };
        let waiter = yard.acquire(ask);
        until_waiting(&yard.views, &pool, 1).await?;
        let began = Instant::now();
        let (released, granted) = tokio::join!(yard.release(&held), waiter);
        released?;
        held = one(granted);
        took.push(began.elapsed());
    }
    yard.release(&held).await?;
    took.sort_unstable();
    Ok(took[took.len() / 2].as_secs_f64() * 1e3)
}

async fn until_waiting(views: &BoxViewHandle, pool: &PoolName, count: u64) -> Result<()> {
    let waiting = || views.view().queues.get(pool).map_or(0, |queue| queue.waiting);
    let patience = Instant::now() + Duration::from_secs(10);
    while waiting() != count {
        ensure!(Instant::now() < patience, "{} wait, not {count}", waiting());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// The time until every request of a crowd had a box. Checks that the order is right.
async fn crowd(yard: &BoxYard) -> Result<Duration> {
    let (pool, began) = (pool(yard, "crowd", BOXES).await?, Instant::now());
    let client = async |number| {
        let lease = take(yard, &pool, number).await?;
        yard.release(&lease).await?;
        anyhow::Ok(lease.token)
    };
    let tokens = try_join_all((0..WAITERS as usize).map(client)).await?;
    let took = began.elapsed();
    ensure!(tokens.is_sorted(), "some were served before others that came first");
    Ok(took)
}

/// The share of time in which clients hold boxes in turns, and the wait of each.
async fn in_turns(yard: &BoxYard) -> Result<(f64, Vec<Duration>)> {
    let (pool, began) = (pool(yard, "in-turns", BOXES).await?, Instant::now());
    let client = async |number| {
        let mut rounds = Vec::new();
        while began.elapsed() < SPAN {
            let asked = Instant::now();
            let lease = take(yard, &pool, number).await?;
            let got = Instant::now();
            tokio::time::sleep(HOLD).await;
            rounds.push((got - asked, got.elapsed()));
            yard.release(&lease).await?;
        }
        anyhow::Ok(rounds)
    };
    let rounds = try_join_all((0..HOLDERS).map(client)).await?;
    let held: Duration = rounds.iter().flatten().map(|(_, held)| held).sum();
    let used = held.as_secs_f64() / (began.elapsed().as_secs_f64() * f64::from(BOXES));
    Ok((used, rounds.into_iter().flatten().map(|(waited, _)| waited).collect()))
}

/// The ratio of the longest wait to the median.
fn worst_to_median(waits: &mut [Duration]) -> Result<f64> {
    waits.sort_unstable();
    let worst = waits.last().context("no client waited")?;
    Ok(worst.as_secs_f64() / waits[waits.len() / 2].as_secs_f64())
}
