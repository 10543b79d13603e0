//! Shared parts of Reelyard's tests: input generators, probes, stand-ins for other programs, and groups of
//! real processes.

pub mod chaos;
pub mod fakes;
pub mod probes;
pub mod rigs;
pub mod simulation;
