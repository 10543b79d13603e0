//! The table `[calls]`.

use std::num::NonZeroU32;
use std::time::Duration;

use reelyard_core::settings;
use reelyard_core::settings::SettingsReader;
use reelyard_protocol::tls::{AuthorityFile, HostTls, TlsHosts};

settings! {
    /// Calls to hosts, except probes.
    pub struct CallConfig {
        /// Workers that are called over TLS: addresses, networks, or single workers as ip:port. They must
        /// have `tls.certificate`. All others are called without TLS.
        tls: Vec<TlsHosts> = Default "[]",
        /// Certificates (PEM) of the authority that signed the certificates of the workers. Without the
        /// setting, the node trusts the authorities of the system. A reload reads the file again.
        ca_file: Option<AuthorityFile> = Optional "/etc/reelyard/ca.crt" [node],
        /// Time limit for a connection.
        connect_timeout: Duration = Default "2s",
        /// Time limit for a call.
        timeout: Duration = Default "5s",
        /// Time limit for the list of a host's files.
        list_timeout: Duration = Default "30s",
        /// Interval between two file lists of a host that cannot report changes, such as an old
        /// cfw.
        inventory_interval: Duration = Default "1m",
        /// Interval between two requests for the changes on a worker. A worker answers from memory.
        changes_interval: Duration = Default "10s",
        /// Interval between two full file lists of a worker. The node also asks for a full list
        /// after the worker restarted or was out of reach.
        full_inventory_interval: Duration = Default "30m",
        /// Interval between two looks at a host's disk.
        disk_interval: Duration = Default "30s",
        /// Interval between two requests for the network load of a host. A value older than four
        /// intervals is ignored.
        traffic_interval: Duration = Default "10s",
        /// The circuit breaker of a host opens after this number of failures in a row of one kind
        /// of call: information, files, disk or deletion. While it is open, the host gets only
        /// probes and no new copies.
        breaker_after: NonZeroU32 = Default "3",
        /// The circuit breaker stays open for this long. Then the host is on probation with one
        /// call and one copy at a time. A failure opens the breaker again for twice the time;
        /// successes end the probation step by step.
        breaker_base: Duration = Default "10s",
        /// Longest time that the circuit breaker stays open.
        breaker_cap: Duration = Default "5m",
    }
}

impl CallConfig {
    /// Reads the certificates of the authority.
    pub fn resolve(&mut self, reader: &mut SettingsReader) {
        AuthorityFile::resolve(&mut self.ca_file, "calls.ca_file", reader);
    }

    /// The hosts that are called over TLS.
    pub fn host_tls(&self) -> HostTls {
        let authorities = AuthorityFile::authorities(self.ca_file.as_ref());
        HostTls { hosts: self.tls.clone(), authorities }
    }
}

/// Figures of a link are dropped when they are this many intervals old: the load is unknown then.
const TRAFFIC_KEPT_FOR_INTERVALS: u32 = 4;

/// The age at which the figures of a link become unknown.
pub fn traffic_fresh_for(traffic_interval: Duration) -> Duration {
    traffic_interval * TRAFFIC_KEPT_FOR_INTERVALS
}
