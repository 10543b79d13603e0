//! The owner of leases.

mod lease_crowd;
mod lease_full_disk;
mod lease_hosts;
mod lease_mailbox;
mod lease_properties;
mod lease_three_nodes;
