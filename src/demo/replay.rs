//! Replays a load-balancer log: writes its rows to the event log of the yard with current times, at
//! a higher speed.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use reelyard_core::names::FileName;

use super::cancellable::CancellationToken;

/// A log to replay: rows with the pause before each.
pub struct Recording {
    rows: Vec<(Duration, RecordedRow)>,
}

/// A row without its time: the parts before and after it.
struct RecordedRow {
    before: Vec<u8>,
    behind: Vec<u8>,
}

impl Recording {
    /// Reads a real log and scales its times to `length`. Rows without a time are replayed with the
    /// row before them, because a yard must accept them too.
    pub fn read(path: &Path, length: Duration, wanted: &CancellationToken) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut stamped = Vec::new();
        let mut last = None;
        for line in BufReader::new(file).split(b'\n') {
            wanted.check()?;
            let line = line.with_context(|| format!("cannot read {}", path.display()))?;
            let (time, row) = split_time(&line);
            last = time.or(last);
            stamped.push((last.unwrap_or_default(), row));
        }
        let (first, end) = match (stamped.first(), stamped.last()) {
            (Some((first, _)), Some((end, _))) => (*first, *end),
            _ => anyhow::bail!("{} is empty", path.display()),
        };
        let span = (end - first).max(1) as f64;
        let rows = stamped
            .into_iter()
            .map(|(time, row)| {
                (length.mul_f64(((time - first).max(0) as f64 / span).min(1.0)), row)
            })
            .collect();
        Ok(Recording { rows })
    }

    /// An invented burst: `hits` selections of the watched server for each name, spread over
    /// `length`.
    pub fn burst(names: &[FileName], watched: IpAddr, hits: u32, length: Duration) -> Self {
        let total = names.len() * hits as usize;
        let rows = (0..total)
            .map(|i| {
                let after = length.mul_f64(i as f64 / total.max(1) as f64);
                (after, selection(&names[i % names.len()], watched, i))
            })
            .collect();
        Recording { rows }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Writes the rows at their times into the file of the day (UTC) in `dir`.
    pub async fn play(&self, dir: &Path) -> Result<()> {
        let start = tokio::time::Instant::now();
        let mut rows = self.rows.iter().peekable();
        while let Some((due, _)) = rows.peek() {
            tokio::time::sleep_until(start + *due).await;
            let now = Timestamp::now();
            let mut bytes = Vec::new();
            while let Some((_, row)) = rows.next_if(|(due, _)| *due <= start.elapsed()) {
                row.write(now.as_second(), &mut bytes);
            }
            File::options()
                .create(true)
                .append(true)
                .open(log_file(dir, now))?
                .write_all(&bytes)?;
        }
        Ok(())
    }
}

impl RecordedRow {
    fn write(&self, unix_seconds: i64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before);
        out.extend_from_slice(unix_seconds.to_string().as_bytes());
        out.extend_from_slice(&self.behind);
        out.push(b'\n');
    }
}

/// Removes the third field, the time, from a row.
fn split_time(line: &[u8]) -> (Option<i64>, RecordedRow) {
    let mut commas = line.iter().enumerate().filter(|(_, byte)| **byte == b',').map(|(i, _)| i);
    let cut = commas.nth(1).zip(commas.next());
    if let Some((second, third)) = cut {
        let field = std::str::from_utf8(&line[second + 1..third]).ok();
        if let Some(time) = field.and_then(|field| field.parse().ok()) {
            let row =
                RecordedRow { before: line[..=second].to_vec(), behind: line[third..].to_vec() };
            return (Some(time), row);
        }
    }
    // The replay adds a time in front of it, so it stays a bad row.
    (None, RecordedRow { before: [line, b" "].concat(), behind: Vec::new() })
}

fn selection(name: &FileName, watched: IpAddr, number: usize) -> RecordedRow {
    let mut behind = format!(
        ",Server {watched} Selected for Client StreamID : {number:08x}-e89e-4ec9-ad51-ac2f1038b31e, \
         ClientID : 0, GLB IP : 127.0.0.4's file("
    )
    .into_bytes();
    behind.extend_from_slice(name.as_bytes());
    behind.extend_from_slice(b") Request");
    RecordedRow { before: b"0x40ffff,1,".to_vec(), behind }
}

/// Creates the log of the day, as a load balancer does before the first row.
pub fn begin_log(dir: &Path) -> Result<()> {
    File::create(log_file(dir, Timestamp::now()))?;
    Ok(())
}

fn log_file(dir: &Path, now: Timestamp) -> PathBuf {
    let day = now.to_zoned(TimeZone::UTC).strftime("%Y%m%d").to_string();
    dir.join(format!("EventLog[{day}].log"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_everything_but_its_time() {
        let (time, row) = split_time(b"0x40ffff,1,1527951601,Server 1.2.3.4 Selected, x");
        assert_eq!(time, Some(1_527_951_601));
        let mut out = Vec::new();
        row.write(7, &mut out);
        assert_eq!(out, b"0x40ffff,1,7,Server 1.2.3.4 Selected, x\n");
    }

    #[test]
    fn a_torn_row_is_still_a_row() {
        assert_eq!(split_time(b"0x40ffff,1").0, None);
        assert_eq!(split_time(b",,,,").0, None);
    }

    #[test]
    fn a_recording_is_squeezed_into_its_length() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "0x40ffff,1,100,a\n0x40ffff,1,150,b\n0x40ffff,1,200,c\n").unwrap();
        let recording =
            Recording::read(&path, Duration::from_secs(10), &CancellationToken::default()).unwrap();
        let times: Vec<u64> = recording.rows.iter().map(|(after, _)| after.as_secs()).collect();
        assert_eq!(times, [0, 5, 10]);
    }
}
