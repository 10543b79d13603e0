//! `wrk`: an HTTP load generator.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// Writes a script and returns its path.
pub fn script(dir: &Path, text: &str) -> Result<String> {
    let path = dir.join("wrk.lua");
    std::fs::write(&path, text)?;
    Ok(path.display().to_string())
}

/// A script whose requests have this value of the header `Authorization`.
pub fn authorized(authorization: &str, script: &str) -> String {
    format!("wrk.headers['Authorization'] = '{authorization}'\n{script}")
}

/// The figures of one run.
#[derive(Clone, Copy, Debug)]
pub struct WrkResult {
    /// Answers per second.
    pub per_second: f64,
    /// The median time of an answer, in milliseconds.
    pub median_ms: f64,
}

impl WrkResult {
    /// The better figures of two runs.
    pub fn better(self, other: WrkResult) -> WrkResult {
        WrkResult {
            per_second: self.per_second.max(other.per_second),
            median_ms: self.median_ms.min(other.median_ms),
        }
    }
}

/// The answers per second for this number of clients. Every answer must be a success.
pub fn answers_per_second(url: &str, script: &str, clients: usize, span: Duration) -> Result<f64> {
    Ok(run(url, script, clients, span)?.per_second)
}

/// Runs a script with this number of clients. Every answer must be a success.
pub fn run(url: &str, script: &str, clients: usize, span: Duration) -> Result<WrkResult> {
    let (threads, span) = (clients.min(2).to_string(), format!("{}s", span.as_secs()));
    let output = Command::new("wrk")
        .args(["--latency", "-t", &threads, "-c", &clients.to_string(), "-d", &span])
        .args(["-s", script, url])
        .output()
        .context("wrk")?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(output.status.success() && !text.contains("Non-2xx"), "wrk says: {text}");
    let after = |label: &str| text.lines().find_map(|line| line.trim().strip_prefix(label));
    let per_second = after("Requests/sec:").and_then(|rate| rate.trim().parse().ok());
    let median_ms = after("50%").and_then(|time| milliseconds(time.trim()));
    let results = per_second.zip(median_ms).with_context(|| format!("wrk says: {text}"))?;
    Ok(WrkResult { per_second: results.0, median_ms: results.1 })
}

/// A duration of `wrk`, such as `870.00us`.
fn milliseconds(text: &str) -> Option<f64> {
    let (number, factor) = if let Some(number) = text.strip_suffix("us") {
        (number, 1e-3)
    } else if let Some(number) = text.strip_suffix("ms") {
        (number, 1.0)
    } else {
        (text.strip_suffix('s')?, 1e3)
    };
    Some(number.parse::<f64>().ok()? * factor)
}
