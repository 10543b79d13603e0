//! Addresses of callers, and ranges of them. Pure.

use std::fmt;
use std::net::{AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use toml::Value;

use crate::settings::{Read, SettingValue, quoted, wrong};
use crate::text_form;

/// Longest text of a range, in bytes. A longer text is not repeated in the error.
const LONGEST_TEXT: usize = 64;

/// The address of a caller. An IPv4 address within IPv6 counts as IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallerAddress(IpAddr);

impl CallerAddress {
    /// The address in its plain form.
    pub fn ip(self) -> IpAddr {
        self.0
    }
}

/// The key of limits per caller: an IPv4 address, or an IPv6 network of 64 bits, because one caller has all of it.
pub fn caller_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        v4 @ IpAddr::V4(_) => v4,
        IpAddr::V6(v6) => Ipv6Addr::from(u128::from(v6) & !u128::from(u64::MAX)).into(),
    }
}

impl From<IpAddr> for CallerAddress {
    fn from(address: IpAddr) -> Self {
        CallerAddress(address.to_canonical())
    }
}

impl fmt::Display for CallerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for CallerAddress {
    type Err = AddrParseError;

    fn from_str(text: &str) -> Result<Self, AddrParseError> {
        text.parse::<IpAddr>().map(CallerAddress::from)
    }
}

text_form!(CallerAddress, "CallerAddress");

/// One address, or a network such as `10.0.0.0/8`. IPv4 and IPv6 are apart: `::/0` has no IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressRange {
    /// The first address of the network.
    network: IpAddr,
    /// Number of leading bits that all its addresses share.
    prefix: u8,
}

/// A text that is no range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddressRange {
    /// Neither an address nor a network.
    #[error(
        "\"{text}\" is no range of addresses: expected one such as 10.0.0.7, 10.0.0.0/8 or 2001:db8::/32"
    )]
    Form {
        /// The refused text, or its beginning.
        text: String,
    },
    /// The address has bits behind the prefix, so it names no network.
    #[error("\"{text}\" has bits behind its prefix: the network is {network}")]
    Bits {
        /// The refused text.
        text: String,
        /// The network that has this address.
        network: AddressRange,
    },
}

impl AddressRange {
    /// Whether `address` is in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        masked(address.to_canonical(), self.prefix) == Some(self.network)
    }
}

/// The address with only its first bits; none if it has fewer.
fn masked(address: IpAddr, prefix: u8) -> Option<IpAddr> {
    match address {
        IpAddr::V4(v4) => {
            let kept = u32::MAX.checked_shl(32_u32.checked_sub(prefix.into())?).unwrap_or(0);
            Some(Ipv4Addr::from(u32::from(v4) & kept).into())
        }
        IpAddr::V6(v6) => {
            let kept = u128::MAX.checked_shl(128_u32.checked_sub(prefix.into())?).unwrap_or(0);
            Some(Ipv6Addr::from(u128::from(v6) & kept).into())
        }
    }
}

/// Number of bits of an address.
fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl SettingValue for AddressRange {
    fn from_toml(value: &Value) -> Read<Self> {
        match value {
            Value::String(text) => {
                text.parse().or_else(|bad: BadAddressRange| wrong(bad.to_string()))
            }
            other => wrong(format!(
                "expected an address or a network such as \"10.0.0.0/8\", not {}",
                quoted(other)
            )),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
    }
}

impl FromStr for AddressRange {
    type Err = BadAddressRange;

    fn from_str(text: &str) -> Result<Self, BadAddressRange> {
        let bad = || BadAddressRange::Form { text: text.chars().take(LONGEST_TEXT).collect() };
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let given: IpAddr = address.parse().map_err(|_| bad())?;
        let prefix = match prefix {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().map_err(|_| bad())?
            }
            Some(_) => return Err(bad()),
            None => bits(given),
        };
        if prefix > bits(given) {
            return Err(bad());
        }
        // 96 bits mark an IPv4 address within IPv6. A shorter prefix covers more than IPv4.
        let (address, prefix) = match given.to_canonical() {
            v4 @ IpAddr::V4(_) if given.is_ipv6() && prefix >= 96 => (v4, prefix - 96),
            _ => (given, prefix),
        };
        let network = masked(address, prefix).ok_or_else(bad)?;
        let range = AddressRange { network, prefix };
        if network == address {
            Ok(range)
        } else {
            Err(BadAddressRange::Bits { text: text.to_owned(), network: range })
        }
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AddressRange { network, prefix } = self;
        if *prefix == bits(*network) {
            return network.fmt(f);
        }
        write!(f, "{network}/{prefix}")
    }
}

text_form!(AddressRange, "AddressRange");

impl utoipa::PartialSchema for AddressRange {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        String::schema()
    }
}

impl utoipa::ToSchema for AddressRange {}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(range: &str, address: &str) -> bool {
        range.parse::<AddressRange>().unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn a_range_has_the_addresses_of_its_network() {
        for (range, inside, outside) in [
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.0"),
            ("10.1.2.3", "10.1.2.3", "10.1.2.4"),
            ("10.1.2.2/31", "10.1.2.3", "10.1.2.4"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("::1", "::1", "::2"),
            ("::/0", "2001:db8::1", "127.0.0.1"),
        ] {
            assert!(has(range, inside), "{range} has {inside}");
            assert!(!has(range, outside), "{range} has no {outside}");
        }
    }

    #[test]
    fn an_address_of_version_four_within_six_counts_as_four() {
        assert!(has("10.0.0.0/8", "::ffff:10.1.2.3"));
        assert!(has("::ffff:10.1.2.3", "10.1.2.3"));
        assert!(has("::ffff:10.0.0.0/104", "10.9.9.9"));
        assert!(!has("::ffff:10.0.0.0/104", "11.0.0.0"));
        assert!(!has("::/0", "::ffff:10.1.2.3"));
        let address = CallerAddress::from("::ffff:10.1.2.3".parse::<IpAddr>().unwrap());
        assert_eq!(address.to_string(), "10.1.2.3");
        assert_eq!("::ffff:10.1.2.3".parse(), Ok(address));
        assert_eq!(postcard::to_stdvec(&address).unwrap(), b"\x0810.1.2.3");
    }

    #[test]
    fn a_range_is_read_as_it_is_written() {
        for (given, shown) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.1.2.3/32", "10.1.2.3"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("2001:DB8:0::/32", "2001:db8::/32"),
            ("::1/128", "::1"),
        ] {
            let range: AddressRange = given.parse().unwrap();
            assert_eq!(range.to_string(), shown);
            assert_eq!(postcard::from_bytes(&postcard::to_stdvec(&range).unwrap()), Ok(range));
        }
    }

    #[test]
    fn a_text_that_is_no_range_is_refused_with_an_advice() {
        for bad in [
            "",
            "/",
            "10.0.0.0/",
            "/8",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0.0/8/8",
            "::/129",
            "10.0.0",
            "localhost",
            "10.0.0.0/-1",
            " 10.0.0.0/8",
            "10.0.0.0/ 8",
            "[::1]",
        ] {
            let error = bad.parse::<AddressRange>().unwrap_err();
            assert!(matches!(error, BadAddressRange::Form { .. }), "{bad}: {error}");
        }
        let error = "10.0.0.1/8".parse::<AddressRange>().unwrap_err().to_string();
        assert_eq!(error, "\"10.0.0.1/8\" has bits behind its prefix: the network is 10.0.0.0/8");
        let long = "x".repeat(10_000).parse::<AddressRange>().unwrap_err().to_string();
        assert!(long.len() < 200, "{long}");
    }

    #[test]
    fn one_network_is_one_caller() {
        let network = |text: &str| caller_network(text.parse().unwrap());
        assert_eq!(network("2001:db8:1:2:3::4"), network("2001:db8:1:2::9"));
        assert_ne!(network("2001:db8:1:2::9"), network("2001:db8:1:3::9"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
    }
}
