//! Writes the table into the guide's chapter on benchmarks, between its two marks.

use std::path::Path;

use anyhow::{Context, Result};

const BEGIN: &str = "<!-- bench: begin -->\n";
const END: &str = "<!-- bench: end -->";

/// Replaces the table in the chapter of this workspace.
pub fn put(table: &str) -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/guide/benchmarks.md");
    let text = std::fs::read_to_string(&path)?;
    let (before, rest) =
        text.split_once(BEGIN).context("benchmarks.md has no mark for the table")?;
    let (_, after) = rest.split_once(END).context("benchmarks.md does not end the table")?;
    let machine = machine();
    std::fs::write(&path, format!("{before}{BEGIN}{machine}\n\n{table}\n{END}{after}"))?;
    Ok(())
}

fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("Measured by `integration-tests/bench --guide` on {cores} cores of {model}, ext4.")
}
