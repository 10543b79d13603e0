//! What the integration tests share: probes, and ways to run actors and journals in a test.

pub mod journal_probe;
pub mod memory_hub;
pub mod running;
