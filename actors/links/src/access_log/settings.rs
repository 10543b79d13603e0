//! Settings of the access log.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use reelyard_core::setting_words;
use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{Read, SettingValue, text, wrong};

/// Where downloads are logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessLogPlace {
    /// Downloads are not logged.
    Off,
    /// In the data directory of the node, for this long.
    Kept(Duration),
    /// In a file that another program rotates.
    File(PathBuf),
}

impl SettingValue for AccessLogPlace {
    fn from_toml(value: &Value) -> Read<Self> {
        let expected = "\"off\", a duration such as \"30d\", or an absolute path";
        match text(value, expected)? {
            "off" => Ok(AccessLogPlace::Off),
            path if path.starts_with('/') => Ok(AccessLogPlace::File(PathBuf::from(path))),
            other => match Duration::from_toml(value) {
                Ok(kept) => Ok(AccessLogPlace::Kept(kept)),
                Err(_) => wrong(format!("expected {expected}, not \"{other}\"")),
            },
        }
    }

    fn to_toml(&self) -> Option<Value> {
        match self {
            AccessLogPlace::Off => Some(Value::String("off".to_owned())),
            AccessLogPlace::Kept(kept) => kept.to_toml(),
            AccessLogPlace::File(path) => path.to_toml(),
        }
    }
}

/// The logged part of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedAddress {
    /// The whole address.
    Full,
    /// The network: 24 bits of an IPv4 address, 48 bits of an IPv6 address.
    Network,
}

setting_words!(LoggedAddress: "full" => Full, "network" => Network);

impl LoggedAddress {
    /// The logged part of this address.
    pub(crate) fn of(self, address: IpAddr) -> IpAddr {
        match (self, address) {
            (LoggedAddress::Full, address) => address,
            (LoggedAddress::Network, IpAddr::V4(v4)) => {
                Ipv4Addr::from(u32::from(v4) & (u32::MAX << 8)).into()
            }
            (LoggedAddress::Network, IpAddr::V6(v6)) => {
                Ipv6Addr::from(u128::from(v6) & (u128::MAX << 80)).into()
            }
        }
    }
}

/// Where downloads are logged, and how much of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLogSettings {
    /// The place of the log.
    pub place: AccessLogPlace,
    /// The logged part of addresses.
    pub address: LoggedAddress,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_off_a_duration_or_a_file() {
        let read = |text: &str| AccessLogPlace::from_text(text).ok();
        assert_eq!(read("off"), Some(AccessLogPlace::Off));
        let month = Duration::from_secs(30 * 24 * 3600);
        assert_eq!(read("30d"), Some(AccessLogPlace::Kept(month)));
        assert_eq!(read("/var/log/l"), Some(AccessLogPlace::File(PathBuf::from("/var/log/l"))));
        for bad in ["", "on", "log/l", "30"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_address_is_cut_to_its_network() {
        let cut = |text: &str| LoggedAddress::Network.of(text.parse().unwrap()).to_string();
        assert_eq!(cut("192.0.2.77"), "192.0.2.0");
        assert_eq!(cut("2001:db8:1:2:3::4"), "2001:db8:1::");
        let full = LoggedAddress::Full.of("192.0.2.77".parse().unwrap());
        assert_eq!(full.to_string(), "192.0.2.77");
    }
}
