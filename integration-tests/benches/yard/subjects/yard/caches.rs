//! Placement by remembered demand, and the caches of libCacheSim on the same requests.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use reelyard::config::{Layers, load_node};
use reelyard::node::simulation_rules;
use reelyard_core::host::BitsPerSecond;
use reelyard_simulate::options::{DemandOptions, SimulationOptions, SyntheticOptions, YardOptions};
use reelyard_simulate::{RequestTrace, simulate};
use serde::Deserialize;

use crate::figure::{BenchFigure, FigureTarget};

/// The days that count, after the same number of days to warm up.
const DAYS: u32 = 14;

/// Sizes are 32 bits in the format of the trace, and files are larger than 4 GiB.
const TRACE_UNIT: u64 = 1 << 20;

const TIB: f64 = (1_u64 << 40) as f64;

/// The Python with libCacheSim, which `integration-tests/bench` installs.
const PYTHON: &str = "BENCH_PYTHON";

/// The figures of one cache in the days that count.
#[derive(Debug, Deserialize)]
struct CacheFigures {
    cache: String,
    requests: u64,
    hits: u64,
    /// Unit: [`TRACE_UNIT`].
    filled: u64,
}

/// Measures hits, and bytes copied or filled.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let options = options();
    let rules = simulation_rules(&load_node(&Layers::default())?);
    let (limit, low_water) = (rules.tasks.storage_limit_percent, rules.tasks.fill_percent);
    let trace = RequestTrace::of(&options, low_water)?;
    let capacity = trace.disk * u64::from(options.yard.destinations) * u64::from(limit) / 100;
    let caches = run_caches(&trace, capacity)?;
    let report = simulate(&options, rules, &mut |_| {})?;
    let days = report.days.get(DAYS as usize..).context("the days that count")?;
    let requests: u64 = days.iter().map(|day| day.tally.requests).sum();
    ensure!(caches.iter().all(|cache| cache.requests == requests), "other requests: {caches:?}");
    let percent = |hits: u64| hits as f64 / requests as f64 * 100.0;
    let a_day = |bytes: f64| bytes / TIB / f64::from(DAYS);
    let hits = percent(days.iter().map(|day| day.tally.hits).sum());
    let copied = a_day(days.iter().map(|day| day.tally.copied.bytes as f64).sum());
    let title = "20000 files, disks for 20 %, fitted demand: hits of days 15 to 28";
    let mut served = BenchFigure::new(title, hits, "%", FigureTarget::TimesPeer(1.0));
    let mut moved =
        BenchFigure::new("… copied a day", copied, "TiB", FigureTarget::AtMostTimesPeer(0.05));
    for CacheFigures { cache, hits, filled, .. } in &caches {
        served = served.beside(cache, percent(*hits));
        moved = moved.beside(cache, a_day((*filled * TRACE_UNIT) as f64));
    }
    Ok(vec![served, moved])
}

/// The default demand and yard of `reelyard simulate`.
fn options() -> SimulationOptions {
    SimulationOptions {
        seed: 1,
        yard: YardOptions {
            destinations: 20,
            sources: None,
            disk: None,
            source_rate: BitsPerSecond(400_000_000),
            start_fill: None,
            failures: 0.0,
        },
        demand: DemandOptions::Synthetic(SyntheticOptions {
            files: 20_000,
            requests_per_day: None,
            zipf: 0.7,
            drift: 0.01,
            new_titles_per_day: None,
            rises_per_day: None,
        }),
        days: Some(2 * DAYS),
        mean_size: 2900 << 20,
        gather: None,
    }
}

fn run_caches(trace: &RequestTrace, capacity: u64) -> Result<Vec<CacheFigures>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("requests.oracleGeneral");
    write_trace(trace, &path)?;
    let counted_from = trace.start.after(std::time::Duration::from_secs(86_400) * DAYS);
    let warm_up = trace.requests.partition_point(|request| request.at < counted_from);
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/yard/peers/caches.py");
    let output = Command::new(&python)
        .arg(script)
        .arg(&path)
        .args([(capacity / TRACE_UNIT).to_string(), warm_up.to_string()])
        .output()
        .with_context(|| python.clone())?;
    ensure!(
        output.status.success(),
        "{python} with libcachesim ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = String::from_utf8(output.stdout)?;
    lines.lines().map(|line| serde_json::from_str(line).context("the figures of a cache")).collect()
}

/// Writes the format oracleGeneral: for each request its second, file, size, and the number of the next
/// request for the same file, or -1.
fn write_trace(trace: &RequestTrace, path: &Path) -> Result<()> {
    let mut next_requests = vec![-1_i64; trace.requests.len()];
    let mut later: HashMap<u32, i64> = HashMap::new();
    for (number, request) in trace.requests.iter().enumerate().rev() {
        if let Some(next) = later.insert(request.file.0, number as i64) {
            next_requests[number] = next;
        }
    }
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    for (request, next) in trace.requests.iter().zip(next_requests) {
        let second = u32::try_from(request.at.since(trace.start).as_secs())?;
        let size = u32::try_from((trace.sizes[request.file.0 as usize] / TRACE_UNIT).max(1))?;
        file.write_all(&second.to_le_bytes())?;
        file.write_all(&u64::from(request.file.0).to_le_bytes())?;
        file.write_all(&size.to_le_bytes())?;
        file.write_all(&next.to_le_bytes())?;
    }
    file.flush()?;
    Ok(())
}
