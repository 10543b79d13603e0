//! Short rounds of `reelyard-chaos`.

use std::time::Duration;

use anyhow::Result;
use reelyard_integration_tests::chaos::{ChaosOptions, run};

fn round(time: Duration) -> ChaosOptions {
    ChaosOptions { time, seed: 3, lose_on_purpose: false, only: None, logs: None }
}

#[test]
fn nothing_is_lost_in_a_cluster_under_faults() -> Result<()> {
    let found = run(&round(Duration::from_secs(20)))?;
    assert_eq!(found, None);
    Ok(())
}

#[test]
fn a_share_that_is_lost_on_purpose_is_found() -> Result<()> {
    let options = ChaosOptions { lose_on_purpose: true, ..round(Duration::from_secs(1)) };
    let found = run(&options)?;
    assert!(found.is_some_and(|why| why.contains("was acknowledged and is lost")));
    Ok(())
}
