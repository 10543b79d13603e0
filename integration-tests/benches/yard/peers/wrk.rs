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

/// The answers per second for this number of clients. Every answer must be a success.
pub fn answers_per_second(url: &str, script: &str, clients: usize, span: Duration) -> Result<f64> {
    let (threads, span) = (clients.min(2).to_string(), format!("{}s", span.as_secs()));
    let output = Command::new("wrk")
        .args(["-t", &threads, "-c", &clients.to_string(), "-d", &span, "-s", script, url])
        .output()
        .context("wrk")?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(output.status.success() && !text.contains("Non-2xx"), "wrk says: {text}");
    let rate = text.lines().find_map(|line| line.strip_prefix("Requests/sec:"));
    rate.with_context(|| format!("wrk says: {text}"))?.trim().parse().context("its rate")
}
