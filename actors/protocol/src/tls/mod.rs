//! TLS of the calls within a yard: trusted authorities, the hosts with TLS, and failures in words.

mod authorities;
mod host_tls;
mod trouble;

pub use authorities::{AuthorityFile, BadAuthorities, ClientTls, TrustedAuthorities};
pub use host_tls::{HostTls, TlsHosts};
pub use trouble::{NEEDS_TLS, TlsTrouble};
