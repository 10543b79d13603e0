//! Both ends of a copy without a node, for comparison with other programs:
//!
//! - `copy_bench serve LISTEN SOURCE_DIR STATE_DIR`: the data port of a source, until its standard input is
//!   closed.
//! - `copy_bench fetch SOURCE SOURCE_DIR BASE_DIR STATE_DIR AT_ONCE < NAMES`: copies the masters named on
//!   standard input, one name a line, `AT_ONCE` at a time: verified, synced, in place.
//!
//! Each ends with one line of JSON on standard output: the copies, the time, and the CPU time of the process,
//! in seconds.

use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use reelyard_core::clock::Clock;
use reelyard_core::names::FileName;
use reelyard_file_server::data_port::{DataPort, DataPortLimits, DataPortRoutes};
use reelyard_protocol::worker::TaskId;
use reelyard_worker::downloader::copying::cancel::CopyCancellation;
use reelyard_worker::downloader::copying::order::CopyOrder;
use reelyard_worker::downloader::disk::base_dir::BaseDir;
use reelyard_worker::downloader::disk::hash_cache::HashCache;
use reelyard_worker::downloader::fetching::fetch::Fetcher;
use reelyard_worker::downloader::fetching::live_rate::LiveRate;
use reelyard_worker::downloader::fetching::partials::{KeepFor, Partials};
use reelyard_worker::downloader::fetching::source_stream::SourcePort;
use reelyard_worker::kept_state::state_store::StateStore;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", listen, source_dir, state_dir] => {
            serve(listen.parse()?, source_dir.as_ref(), state_dir.as_ref())
        }
        ["fetch", source, source_dir, base_dir, state_dir, at_once] => {
            let mut names = String::new();
            std::io::stdin().read_to_string(&mut names)?;
            let orders = orders(source.parse()?, source_dir, &names)?;
            fetch(&orders, base_dir.as_ref(), state_dir.as_ref(), at_once.parse()?)
        }
        _ => bail!(
            "serve LISTEN SOURCE_DIR STATE_DIR, or fetch SOURCE SOURCE_DIR BASE_DIR STATE_DIR AT_ONCE"
        ),
    }
}

fn serve(listen: SocketAddr, source_dir: &Path, state_dir: &Path) -> Result<()> {
    let clock = Clock::system();
    let store = Arc::new(StateStore::open(state_dir)?);
    let hashes = HashCache::new(store, clock.clone());
    let routes = DataPortRoutes::new(vec![source_dir.to_owned()], None);
    let limits = DataPortLimits::default();
    let mut port = DataPort::start(listen, routes, hashes, None, None, clock, limits)?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    let bytes = port.counters().bytes;
    port.stop();
    println!("{}", serde_json::json!({ "bytes": bytes, "cpu": cpu_seconds()? }));
    Ok(())
}

fn orders(source: SocketAddr, dir: &str, names: &str) -> Result<Vec<CopyOrder>> {
    let order = |(number, name): (i64, &str)| {
        Ok(CopyOrder {
            id: TaskId(number),
            name: FileName::new(name)?,
            dir: dir.to_owned(),
            source: source.into(),
            source_tls: false,
            source_data: Some(SourcePort { addr: source, tls: false }),
            size: None,
            copy_speed: None,
            tickets: None,
        })
    };
    (1..).zip(names.lines()).map(order).collect()
}

fn fetch(orders: &[CopyOrder], base_dir: &Path, state_dir: &Path, at_once: usize) -> Result<()> {
    let (base, clock) = (Arc::new(BaseDir::open(base_dir)?), Clock::system());
    let store = Arc::new(StateStore::open(state_dir)?);
    let partials = Partials::new(Arc::clone(&base), store, clock.clone(), KeepFor::default());
    let mut fetcher = Fetcher::new(base, partials, clock);
    fetcher.storage_limit_percent = 100.into();
    let (next, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
    let one_after_the_other = || {
        while let Some(order) = orders.get(next.fetch_add(1, Ordering::Relaxed)) {
            match fetcher.fetch(
                order,
                &CopyCancellation::default(),
                &LiveRate::at(order.copy_speed),
                &|_| {},
            ) {
                Ok(copied) => bytes.fetch_add(copied.size, Ordering::Relaxed),
                Err(fault) => bail!("{}: {fault:?}", order.name),
            };
        }
        Ok(())
    };
    let began = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(one_after_the_other)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().ok().context("a panic")?)
    })?;
    let done = serde_json::json!({
        "files": orders.len(),
        "bytes": bytes.into_inner(),
        "seconds": began.elapsed().as_secs_f64(),
        "cpu": cpu_seconds()?,
    });
    println!("{done}");
    Ok(())
}

/// User and system time of this process so far (`/proc/self/stat`, in hundredths of a second).
fn cpu_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let behind_name = stat.rsplit_once(')').context("a process has a name")?.1;
    let ticks = behind_name.split_whitespace().skip(11).take(2);
    let ticks = ticks.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(ticks as f64 / 100.0)
}
