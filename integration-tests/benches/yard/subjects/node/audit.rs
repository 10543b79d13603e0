//! The audit beside leases: rows are written on the same disk as the journal.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures::future::try_join_all;
use reelyard_access::audit::{
    AuditActor, AuditActorKind, AuditRecord, AuditRecorder, AuditSettings,
};
use reelyard_boxes::box_lease::{BoxLeaseRequest, BoxLeaseSettings, PoolSpec};
use reelyard_core::clock::Clock;
use reelyard_integration_tests::rigs::boxes::box_yard::{BoxYard, ScriptedHosts, ask, one};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_protocol::boxes::PoolName;

use crate::figure::{BenchFigure, FigureTarget};
use crate::subjects::boxes::box_actor::CLIENTS;

/// The duration of each measurement.
const SPAN: Duration = Duration::from_secs(4);

/// The number of alternating runs. The best one counts, because noise only slows a run down.
const TIMES: usize = 5;

/// Rows per second beside the leases.
const RATE: u32 = 10_000;

/// Rows of the run at full speed.
const ROWS: u64 = 1_000_000;

/// Measures leases with and without rows, and the fastest writing.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let (alone, audited) = on_a_system(leases())?;
    let fastest = fastest()?;
    let what = format!("a box acquired and released while {RATE} rows a second are audited");
    Ok(vec![
        BenchFigure::new(what, audited, "/s", FigureTarget::TimesPeer(0.95))
            .beside("without rows", alone),
        BenchFigure::new("rows audited at most", fastest, "/s", FigureTarget::AtLeast(50_000.0)),
    ])
}

/// Cycles per second without and with rows.
async fn leases() -> Result<(f64, f64)> {
    let dir = tempfile::tempdir_in(std::env::current_dir()?)?;
    let (settings, hosts) = (BoxLeaseSettings::default(), ScriptedHosts::default());
    let of_node = dir.path().join("node");
    let yard = BoxYard::open_with(&of_node, &Clock::system(), settings, hosts).await;
    let pool = PoolName::new("p")?;
    yard.put_as(pool.clone(), PoolSpec::of(0, u32::try_from(CLIENTS)?)).await?;
    let (mut alone, mut audited): (f64, f64) = (0.0, 0.0);
    for time in 0..TIMES {
        alone = alone.max(cycles_per_second(&yard, &pool).await?);
        let rows = SteadyRows::start(&dir.path().join(format!("audit{time}")))?;
        audited = audited.max(cycles_per_second(&yard, &pool).await?);
        rows.stop()?;
    }
    yard.close().await;
    Ok((alone, audited))
}

async fn cycles_per_second(yard: &BoxYard, pool: &PoolName) -> Result<f64> {
    let began = Instant::now();
    let client = async |number: usize| {
        let mut cycles = 0;
        while began.elapsed() < SPAN {
            let ask = ask(&format!("client {number}"), 60);
            let lease = one(yard.acquire(BoxLeaseRequest { pool: pool.clone(), ..ask }).await);
            yard.release(&lease).await?;
            cycles += 1;
        }
        anyhow::Ok(cycles)
    };
    let cycles = try_join_all((0..CLIENTS).map(client)).await?;
    Ok(f64::from(cycles.iter().sum::<u32>()) / began.elapsed().as_secs_f64())
}

/// Records rows at a steady rate.
struct SteadyRows {
    recorder: AuditRecorder,
    stopping: Arc<AtomicBool>,
    thread: thread::JoinHandle<u64>,
    began: Instant,
}

impl SteadyRows {
    fn start(dir: &Path) -> Result<Self> {
        let recorder = AuditRecorder::start(dir, AuditSettings::default(), Clock::system())?;
        let (stopping, began) = (Arc::new(AtomicBool::new(false)), Instant::now());
        let (writer, stop) = (recorder.clone(), Arc::clone(&stopping));
        let thread = thread::spawn(move || {
            let mut sent = 0;
            while !stop.load(Ordering::Relaxed) {
                let due = began.elapsed().as_millis() as u64 * u64::from(RATE) / 1000;
                while sent < due {
                    sent += 1;
                    writer.record(row(sent));
                }
                thread::sleep(Duration::from_millis(1));
            }
            sent
        });
        Ok(SteadyRows { recorder, stopping, thread, began })
    }

    /// Checks that the rate was reached and no row was lost.
    fn stop(self) -> Result<()> {
        self.stopping.store(true, Ordering::Relaxed);
        let elapsed = self.began.elapsed().as_secs_f64();
        let sent = self.thread.join().map_err(|_| anyhow::anyhow!("the generator failed"))?;
        self.recorder.stop();
        let status = self.recorder.status();
        ensure!(status.lost == 0 && status.written == sent, "{status:?} of {sent}");
        ensure!(sent as f64 > 0.95 * elapsed * f64::from(RATE), "{sent} rows in {elapsed} s");
        Ok(())
    }
}

/// Rows per second at full speed.
fn fastest() -> Result<f64> {
    let dir = tempfile::tempdir_in(std::env::current_dir()?)?;
    let recorder = AuditRecorder::start(dir.path(), AuditSettings::default(), Clock::system())?;
    let began = Instant::now();
    let mut sent = 0;
    while sent < ROWS {
        // The queue has 65,536 places, and a row without one is lost.
        if sent - recorder.status().written.min(sent) < 32_768 {
            sent += 1;
            recorder.record(row(sent));
        } else {
            thread::sleep(Duration::from_millis(1));
        }
    }
    recorder.stop();
    let status = recorder.status();
    ensure!(status.lost == 0 && status.written == sent, "{status:?} of {sent}");
    Ok(sent as f64 / began.elapsed().as_secs_f64())
}

/// The row of a lease call.
fn row(number: u64) -> AuditRecord {
    AuditRecord {
        actor: AuditActor { kind: AuditActorKind::Token, name: "judge".to_owned() },
        from: Some([10, 0, 0, 7].into()),
        subject: Some("pool p".to_owned()),
        status: Some(201),
        request_id: Some(format!("0000000a-{number}")),
        ..AuditRecord::of_node(Clock::system().now(), "acquireLease")
    }
}
