//! The hosts of the yard. A host is identified by the `ip:port` of its worker, as in cfm.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The address of a worker and thereby its identity: `ip:port`, written canonically.
/// Two workers on one IP are two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, utoipa::ToSchema)]
#[schema(value_type = String, example = "10.0.0.21:8888")]
pub struct HostAddr(SocketAddr);

/// A text that is not `ip:port`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a host address: expected ip:port such as 10.0.0.7:8888")]
pub struct BadHostAddr {
    /// The text that is no address.
    pub text: String,
}

impl HostAddr {
    /// The IP alone, as hitcount.history and the old task JSON name hosts.
    pub fn ip(&self) -> IpAddr {
        self.0.ip()
    }

    /// The socket address to connect to.
    pub fn socket(&self) -> SocketAddr {
        self.0
    }
}

impl From<SocketAddr> for HostAddr {
    fn from(addr: SocketAddr) -> Self {
        HostAddr(addr)
    }
}

impl FromStr for HostAddr {
    type Err = BadHostAddr;

    fn from_str(text: &str) -> Result<Self, BadHostAddr> {
        match text.parse::<SocketAddr>() {
            Ok(addr) if addr.port() != 0 => Ok(HostAddr(addr)),
            _ => Err(BadHostAddr { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for HostAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The form of a host in every format, also in compact ones. So its bytes on disk do not depend on the
/// layout of an address in the standard library.
#[derive(Deserialize)]
#[serde(rename = "HostAddr")]
struct HostAddrText(String);

impl Serialize for HostAddr {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct("HostAddr", &format_args!("{self}"))
    }
}

impl<'de> Deserialize<'de> for HostAddr {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let HostAddrText(text) = HostAddrText::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The role of a host in the yard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HostRole {
    /// The host serves masters.
    Source,
    /// Fetches and serves copies.
    Destination,
    /// Both, but never from itself to itself.
    Both,
}

impl HostRole {
    /// Whether masters can be fetched from it.
    pub fn is_source(self) -> bool {
        matches!(self, HostRole::Source | HostRole::Both)
    }

    /// Whether copies can be placed on it.
    pub fn is_destination(self) -> bool {
        matches!(self, HostRole::Destination | HostRole::Both)
    }
}

/// The operator's setting for a host.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum HostMode {
    /// The host gives and takes copies.
    #[default]
    Active,
    /// It gets and serves no new copies. Its running copies finish, and its files are copied to other
    /// hosts.
    Draining,
    /// The node sends it nothing. Its silence is no failure.
    Maintenance,
}

/// A text that names no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a mode of a host: expected active, draining or maintenance")]
pub struct BadHostMode {
    /// The text that is no address.
    pub text: String,
}

impl FromStr for HostMode {
    type Err = BadHostMode;

    fn from_str(text: &str) -> Result<Self, BadHostMode> {
        match text {
            "active" => Ok(HostMode::Active),
            "draining" => Ok(HostMode::Draining),
            "maintenance" => Ok(HostMode::Maintenance),
            _ => Err(BadHostMode { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for HostMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            HostMode::Active => "active",
            HostMode::Draining => "draining",
            HostMode::Maintenance => "maintenance",
        })
    }
}

/// The program that answers at a host's address, if it is known.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum HostKind {
    /// It has not answered yet.
    #[default]
    Unknown,
    /// An old Go cfw: it polls `GET /tasks` and reports nothing between `working` and `done`.
    Cfw,
    /// A Reelyard worker.
    Reelyard {
        /// Where its data port listens.
        #[schema(value_type = String)]
        data_addr: SocketAddr,
        /// Whether it can also fetch from old cfws, which have none.
        #[serde(default)]
        fetches_from_old: bool,
        /// Whether its data port uses TLS.
        #[serde(default)]
        data_tls: bool,
    },
}

/// A rate in bits per second, the unit of cfm's `copy_speed`. Zero never means "unlimited": no limit is
/// `None` of an `Option`.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(transparent)]
pub struct BitsPerSecond(pub u64);

/// The rate of old programs without a setting. They have no word for "unlimited", and this is cfm's
/// default.
pub const OLD_COPY_SPEED: BitsPerSecond = BitsPerSecond(10_000_000);

impl BitsPerSecond {
    /// How long `bytes` take at this rate.
    pub fn time_for(self, bytes: u64) -> std::time::Duration {
        let millis = u128::from(bytes) * 8 * 1000 / u128::from(self.0.max(1));
        std::time::Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_an_ip_and_a_port() {
        assert_eq!("127.0.0.21:8888".parse::<HostAddr>().unwrap().to_string(), "127.0.0.21:8888");
        for bad in ["localhost:80", "127.0.0.1", "127.0.0.1:0", "", "127.0.0.1:99999"] {
            assert!(bad.parse::<HostAddr>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_mode_is_read_as_it_is_written() {
        for mode in [HostMode::Active, HostMode::Draining, HostMode::Maintenance] {
            assert_eq!(mode.to_string().parse(), Ok(mode));
            assert_eq!(serde_json::to_string(&mode).unwrap(), format!("\"{mode}\""));
        }
        assert!("Draining".parse::<HostMode>().is_err());
    }

    #[test]
    fn ten_megabit_carry_a_megabyte_in_eight_tenths_of_a_second() {
        let time = BitsPerSecond(10_000_000).time_for(1_000_000);
        assert_eq!(time, std::time::Duration::from_millis(800));
    }
}
