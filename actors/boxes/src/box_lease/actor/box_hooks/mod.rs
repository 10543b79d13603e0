//! Hooks and checks that boxes wait for: preparation, cleanup and probes.

pub(in crate::box_lease) mod cleaning;
pub(in crate::box_lease) mod hooks;
pub(in crate::box_lease) mod prepare;
#[cfg(test)]
pub(in crate::box_lease) mod prepare_tests;
pub(in crate::box_lease) mod probes;
