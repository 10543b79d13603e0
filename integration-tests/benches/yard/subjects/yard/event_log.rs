//! The load balancer's log: read after a cold start, and then only the added rows.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::catalog::catalog_input::{
    MIDNIGHT_IN_SEOUL, append, grade_info, media_name, selection,
};
use reelyard_integration_tests::rigs::catalog::catalog_yard::{CatalogYard, WATCHED};

use crate::figure::{BenchFigure, FigureTarget};
use crate::usage::bytes_read;

const ROWS: usize = 2_000_000;
const ADDED: usize = 1_000;

/// The number of selected files. All have a grade, because only a limited number of names without one counts.
const FILES: usize = 5_000;

/// Measures rows per second of a whole day's log, and the bytes that a later read needs.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let dir = tempfile::tempdir()?;
    let log = dir.path().join("EventLog[20180603].log");
    std::fs::write(dir.path().join("grade.info"), grade_info((0..FILES).map(media_name)))?;
    write_log(&log)?;
    // The next look reads a file again that has just been written.
    std::thread::sleep(Duration::from_secs(3));
    let (cold, read, added) = actix_rt::System::new().block_on(look(dir.path(), &log))?;
    let grep = searched_by_grep(&log)?;
    let rate = |took: Duration| ROWS as f64 / took.as_secs_f64() / 1e6;
    Ok(vec![
        BenchFigure::new(
            format!("event log of {ROWS} rows, cold"),
            rate(cold),
            "million rows/s",
            FigureTarget::AtLeast(1.0),
        )
        .beside("grep -c of the watched address", rate(grep)),
        BenchFigure::new(
            format!("… bytes read for {ADDED} more rows"),
            read as f64 / 1024.0,
            "KiB",
            // A later look reads a small part again to detect a replaced file.
            FigureTarget::AtMostTimesPeer(1.1),
        )
        .beside("the rows themselves", added as f64 / 1024.0),
    ])
}

/// Half of the rows count, spread over the last minutes of one hour.
fn write_log(path: &Path) -> Result<()> {
    let (watched, other) = (WATCHED.parse()?, "10.0.0.21".parse()?);
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    for row in 0..ROWS {
        let seconds = MIDNIGHT_IN_SEOUL + (row * 500 / ROWS) as i64;
        let server = if row % 2 == 0 { watched } else { other };
        file.write_all(&selection(media_name(row % FILES), seconds, server))?;
    }
    file.flush()?;
    Ok(())
}

async fn look(dir: &Path, log: &Path) -> Result<(Duration, u64, usize)> {
    let yard = CatalogYard::start(|_, settings| {
        settings.grade_info_file = Some(dir.join("grade.info"));
        settings.hitcount_history_file = None;
        if let Some(event_log) = &mut settings.event_log {
            event_log.dir = dir.to_owned();
        }
    });
    yard.clock.advance(Duration::from_secs(510));
    let began = Instant::now();
    let answer = yard.look().await?;
    let cold = began.elapsed();
    let hot = answer.rising.last().context("no hot files were published")?;
    ensure!(hot.hot().len() == FILES / 2, "{} files are hot", hot.hot().len());

    let rows: Vec<u8> = (0..ADDED)
        .flat_map(|row| {
            selection(
                media_name(row),
                MIDNIGHT_IN_SEOUL + 505,
                WATCHED.parse().unwrap_or([0, 0, 0, 0].into()),
            )
        })
        .collect();
    append(log, &rows)?;
    let before = bytes_read()?;
    yard.look().await?;
    Ok((cold, bytes_read()? - before, rows.len()))
}

fn searched_by_grep(log: &Path) -> Result<Duration> {
    let began = Instant::now();
    let output = Command::new("grep").args(["-cF", WATCHED]).arg(log).output().context("grep")?;
    let took = began.elapsed();
    ensure!(output.status.success(), "grep ended with {}", output.status);
    Ok(took)
}
