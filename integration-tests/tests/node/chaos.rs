//! Short rounds of `reelyard-chaos`.

use std::time::Duration;

use anyhow::Result;
use reelyard_integration_tests::chaos::{ChaosOptions, run};

#[test]
fn nothing_is_lost_in_a_cluster_under_faults() -> Result<()> {
    let time = Duration::from_secs(20);
    let found = run(&ChaosOptions { time, seed: 3, lose_on_purpose: false, logs: None })?;
    assert_eq!(found, None);
    Ok(())
}

#[test]
fn a_share_that_is_lost_on_purpose_is_found() -> Result<()> {
    let time = Duration::from_secs(1);
    let found = run(&ChaosOptions { time, seed: 3, lose_on_purpose: true, logs: None })?;
    assert!(found.is_some_and(|why| why.contains("was acknowledged and is lost")));
    Ok(())
}
