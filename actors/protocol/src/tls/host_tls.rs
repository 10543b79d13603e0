//! The hosts that the node calls over TLS.

use std::error::Error;

use reelyard_core::address_range::AddressRange;
use reelyard_core::host::HostAddr;
use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{Read, SettingValue, quoted, text, wrong};
use reqwest::ClientBuilder;

use super::authorities::TrustedAuthorities;
use super::trouble::TlsTrouble;
use crate::http_client;

/// One worker, or all workers with addresses in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsHosts {
    /// The worker at this address and port.
    One(HostAddr),
    /// The workers at these addresses, on all ports.
    Range(AddressRange),
}

impl TlsHosts {
    fn contains(self, host: HostAddr) -> bool {
        match self {
            TlsHosts::One(one) => one == host,
            TlsHosts::Range(range) => range.contains(host.ip()),
        }
    }
}

impl SettingValue for TlsHosts {
    fn from_toml(value: &Value) -> Read<Self> {
        let text = text(value, "an address or a network")?;
        match (text.parse(), text.parse()) {
            (Ok(host), _) => Ok(TlsHosts::One(host)),
            (_, Ok(range)) => Ok(TlsHosts::Range(range)),
            _ => wrong(format!(
                "expected a network such as \"10.0.0.0/8\", an address, or ip:port, not {}",
                quoted(value)
            )),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(match self {
            TlsHosts::One(host) => host.to_string(),
            TlsHosts::Range(range) => range.to_string(),
        }))
    }
}

/// The hosts that the node calls over TLS, and the authorities of their certificates. The setting decides alone: a call
/// never changes to the other protocol, so nobody can downgrade it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTls {
    /// The hosts with TLS.
    pub hosts: Vec<TlsHosts>,
    /// The authorities of their certificates.
    pub authorities: TrustedAuthorities,
}

impl HostTls {
    /// Whether this host is called over TLS.
    pub fn is_on(&self, host: HostAddr) -> bool {
        self.hosts.iter().any(|hosts| hosts.contains(host))
    }

    /// The URL of `path` on a host.
    pub fn url(&self, host: HostAddr, path: &str) -> String {
        let scheme = if self.is_on(host) { "https" } else { "http" };
        format!("{scheme}://{host}{path}")
    }

    /// An HTTP client for all hosts.
    pub fn http_client(&self) -> ClientBuilder {
        match self.hosts.is_empty() {
            true => http_client::without_tls(),
            false => http_client::trusting(&self.authorities),
        }
    }

    /// Why a call to a host failed, if TLS is the reason, and what to do.
    pub fn explain(&self, host: HostAddr, error: &(dyn Error + 'static)) -> Option<String> {
        let trouble = TlsTrouble::of(error)?;
        Some(match &trouble {
            TlsTrouble::NoTls => format!(
                "{trouble}, and calls.tls names it: set tls.certificate of the worker, or remove {host} from calls.tls"
            ),
            TlsTrouble::UnknownAuthority => format!(
                "{trouble}: set calls.ca_file to the certificate of the authority that signed it"
            ),
            TlsTrouble::Other(_) => {
                format!("{trouble}. Check tls.certificate of the worker and calls.ca_file")
            }
            TlsTrouble::Expired | TlsTrouble::NotYetValid | TlsTrouble::OtherName => {
                format!("{trouble}: {}", trouble.remedy_at_server().unwrap_or_default())
            }
        })
    }

    /// Why a host refused a call without TLS, and what to do.
    pub fn explain_missing(host: HostAddr) -> String {
        format!(
            "it accepts calls over TLS only: add {host} to calls.tls, and set calls.ca_file if its authority is private"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(texts: &[&str]) -> HostTls {
        let hosts = texts.iter().map(|text| TlsHosts::from_text(text).unwrap()).collect();
        HostTls { hosts, ..HostTls::default() }
    }

    #[test]
    fn only_named_hosts_are_called_over_tls() {
        let tls = hosts(&["10.0.0.0/8", "192.0.2.7:8888", "2001:db8::/32"]);
        for (host, url) in [
            ("10.1.2.3:1", "https://10.1.2.3:1/hb"),
            ("192.0.2.7:8888", "https://192.0.2.7:8888/hb"),
            ("192.0.2.7:8889", "http://192.0.2.7:8889/hb"),
            ("[2001:db8::1]:8888", "https://[2001:db8::1]:8888/hb"),
            ("127.0.0.1:8888", "http://127.0.0.1:8888/hb"),
        ] {
            assert_eq!(tls.url(host.parse().unwrap(), "/hb"), url);
        }
    }

    #[test]
    fn an_entry_is_written_as_it_is_read() {
        for text in ["10.0.0.0/8", "10.0.0.7", "10.0.0.7:8888", "[::1]:8888", "::1"] {
            let hosts = TlsHosts::from_text(text).unwrap();
            assert_eq!(hosts.to_toml(), Some(Value::String(text.to_owned())));
        }
        for bad in ["", "yard.example", "10.0.0.1/8", "10.0.0.7:0"] {
            assert!(TlsHosts::from_text(bad).is_err(), "{bad}");
        }
    }
}
