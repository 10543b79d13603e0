//! The use of resources by a process: processor time, memory, bytes read. The data comes from Linux's /proc.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};

/// The memory limit for a million files: 300 MB, in mebibytes.
pub const MOST_MEMORY_MIB: f64 = 300e6 / (1024.0 * 1024.0);

/// The processor time of a running process, without its ended children.
pub fn cpu_of(process: u32) -> Result<Duration> {
    // utime and stime are fields 14 and 15.
    cpu(&process.to_string(), 14)
}

/// The processor time of this process in nanoseconds, including its ended threads.
pub fn cpu_of_this_process() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or_default())
}

/// The processor time of all children of this process that have ended.
pub fn cpu_of_ended_children() -> Result<Duration> {
    // cutime and cstime are fields 16 and 17.
    cpu("self", 16)
}

/// The sum of a field of /proc/PID/stat and the next one, which are clock ticks.
fn cpu(process: &str, field: usize) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program is the second field, in parentheses, and may contain any character. After it
    // comes field 3.
    let (_, rest) = stat.rsplit_once(')').context("/proc/PID/stat")?;
    let ticks = rest.split_whitespace().skip(field - 3).take(2).map(str::parse::<u64>);
    let ticks = ticks.sum::<std::result::Result<u64, _>>()?;
    Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// The peak resident memory of a process, in bytes.
pub fn peak_memory_of(process: u32) -> Result<u64> {
    status(process, "VmHWM:")
}

/// The resident memory of a process, in bytes.
pub fn memory_of(process: u32) -> Result<u64> {
    status(process, "VmRSS:")
}

fn status(process: u32, key: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line =
        status.lines().find_map(|line| line.strip_prefix(key)).context("/proc/PID/status")?;
    let kilobytes = line.split_whitespace().next().context("/proc/PID/status")?;
    Ok(kilobytes.parse::<u64>()? * 1024)
}

/// The bytes that this process has read by system calls so far.
pub fn bytes_read() -> Result<u64> {
    let io = fs::read_to_string("/proc/self/io")?;
    let line = io.lines().find_map(|line| line.strip_prefix("rchar:")).context("/proc/self/io")?;
    Ok(line.trim().parse()?)
}

/// Bytes as mebibytes, the unit of the memory figures.
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
