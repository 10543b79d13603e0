//! A million files in grade.info and hitcount.history, from the files to one ranking.

use std::net::IpAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::catalog::catalog_input::{
    HitcountHistoryRow, grade_info, hitcount_history, media_name,
};
use reelyard_integration_tests::rigs::catalog::catalog_yard::CatalogYard;

use crate::figure::{BenchFigure, FigureTarget};
use crate::usage::{MOST_MEMORY_MIB, mib, peak_memory_of};

/// The number of files.
pub const FILES: usize = 1_000_000;

/// Writes both inputs into `dir`: every file graded, and on one of two destinations.
pub fn write_inputs(dir: &Path) -> Result<()> {
    let names: Vec<String> = (0..FILES).map(media_name).collect();
    std::fs::write(dir.join("grade.info"), grade_info(&names))?;
    let holders: [IpAddr; 2] = ["10.0.0.21".parse()?, "10.0.0.22".parse()?];
    let rows = names.iter().enumerate().map(|(index, name)| HitcountHistoryRow {
        name,
        size: 1_000_000_000 + index as u64,
        holders: vec![holders[index % 2]],
    });
    std::fs::write(dir.join("hitcount.history"), hitcount_history(rows))?;
    Ok(())
}

/// Measures the parser and the join of both files, and the memory of that process.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let dir = tempfile::tempdir()?;
    write_inputs_apart(dir.path())?;
    let (took, peak) = actix_rt::System::new().block_on(look(dir.path()))?;
    let joined = joined_by_awk(dir.path())?;
    Ok(vec![
        BenchFigure::new(
            format!("{FILES} files: grade.info and hitcount.history parsed and joined"),
            took.as_secs_f64(),
            "s",
            FigureTarget::AtMost(1.0),
        )
        .beside("mawk, the same join of two columns", joined.as_secs_f64()),
        BenchFigure::new(
            "… peak memory of that process",
            mib(peak),
            "MiB",
            FigureTarget::AtMost(MOST_MEMORY_MIB),
        ),
    ])
}

/// Writes the inputs in a separate process, so that its memory does not count.
pub fn write_inputs_apart(dir: &Path) -> Result<()> {
    let status = Command::new(std::env::current_exe()?).arg("--write-catalog").arg(dir).status()?;
    ensure!(status.success(), "the inputs could not be written");
    Ok(())
}

async fn look(inputs: &Path) -> Result<(Duration, u64)> {
    let (mut best, mut peak) = (Duration::MAX, None);
    for _ in 0..3 {
        let yard = CatalogYard::start(|_, settings| {
            settings.event_log = None;
            settings.grade_info_file = Some(inputs.join("grade.info"));
            settings.hitcount_history_file = Some(inputs.join("hitcount.history"));
        });
        let began = Instant::now();
        let answer = yard.look().await?;
        best = best.min(began.elapsed());
        let ranking = answer.rankings.first().context("no ranking was published")?;
        ensure!(ranking.len() == FILES, "{} files were ranked", ranking.len());
        if peak.is_none() {
            peak = Some(peak_memory_of(std::process::id())?);
        }
    }
    Ok((best, peak.context("nothing was read")?))
}

fn joined_by_awk(dir: &Path) -> Result<Duration> {
    let program = r#"FNR == 1 { next } NR == FNR { rank[$1] = FNR; next }
        ($1 in rank) { size[$1] = $4; n++ } END { print n }"#;
    let began = Instant::now();
    let output = Command::new("mawk")
        .args([program, "FS=\t"])
        .arg(dir.join("grade.info"))
        .arg("FS=,")
        .arg(dir.join("hitcount.history"))
        .output()
        .context("mawk")?;
    let took = began.elapsed();
    let rows = String::from_utf8(output.stdout)?;
    ensure!(rows.trim() == FILES.to_string(), "mawk joined {rows:?} rows");
    Ok(took)
}
