//! Faults against a cluster of real processes: `reelyard-chaos --seconds N --seed S`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use reelyard_integration_tests::chaos::{ChaosOptions, run};

/// Causes faults in a cluster of three real nodes under load, and checks that nothing is lost.
#[derive(Parser)]
struct ChaosArguments {
    /// How long faults happen.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The same seed gives the same faults. A random one by default.
    #[arg(long)]
    seed: Option<u64>,
    /// Loses a share on purpose, to show that the check finds it.
    #[arg(long)]
    lose_on_purpose: bool,
    /// Causes only faults whose line of output contains this text, such as "stopped".
    #[arg(long)]
    only: Option<String>,
    /// Copies the logs of all processes to this directory at the end.
    #[arg(long)]
    logs: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let ChaosArguments { seconds, seed, lose_on_purpose, only, logs } = ChaosArguments::parse();
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
    let time = Duration::from_secs(seconds);
    Ok(match run(&ChaosOptions { time, seed, lose_on_purpose, only, logs })? {
        None => {
            println!("nothing was lost");
            ExitCode::SUCCESS
        }
        Some(violation) => {
            println!("violation with seed {seed}: {violation}");
            ExitCode::FAILURE
        }
    })
}
