//! The servers whose selections count as hits, as a setting.

use std::collections::BTreeSet;
use std::net::{AddrParseError, IpAddr};
use std::str::FromStr;

use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{Read, SettingValue, quoted, wrong};
use regex::Regex;

/// The servers of the centre. The load balancer sends them the requests that no destination can serve.
#[derive(Clone, Debug)]
pub enum WatchedServers {
    /// The servers with one of these addresses.
    Addresses(BTreeSet<IpAddr>),
    /// Those whose addresses match.
    Matching(AddressPattern),
}

/// A regular expression that must match in the text of an address between borders of numbers. So `40.3` is
/// found in `125.159.40.3`, and not in `125.159.40.35`.
#[derive(Clone, Debug)]
pub struct AddressPattern {
    written: String,
    bordered: Regex,
}

impl AddressPattern {
    /// Reads the expression.
    ///
    /// # Errors
    /// When it is none.
    pub fn new(written: &str) -> Result<Self, regex::Error> {
        // Compiled alone first, so that an error shows the text of the setting.
        Regex::new(written)?;
        let bordered = Regex::new(&format!(r"(?:^|\b)(?:{written})(?:\b|$)"))?;
        Ok(AddressPattern { written: written.to_owned(), bordered })
    }

    /// The expression as it was written.
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

impl WatchedServers {
    /// Whether a selection of this server is a hit.
    pub fn has(&self, server: IpAddr) -> bool {
        match self {
            WatchedServers::Addresses(addresses) => addresses.contains(&server),
            WatchedServers::Matching(pattern) => pattern.bordered.is_match(&server.to_string()),
        }
    }
}

impl PartialEq for WatchedServers {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (WatchedServers::Addresses(one), WatchedServers::Addresses(other)) => one == other,
            (WatchedServers::Matching(one), WatchedServers::Matching(other)) => {
                one.written == other.written
            }
            _ => false,
        }
    }
}

impl Eq for WatchedServers {}

impl FromStr for WatchedServers {
    type Err = AddrParseError;

    /// Reads one address, or several between commas.
    fn from_str(text: &str) -> Result<Self, AddrParseError> {
        let addresses = text.split(',').map(|address| address.trim().parse());
        addresses.collect::<Result<_, _>>().map(WatchedServers::Addresses)
    }
}

/// The format of the servers of the centre.
const SERVERS: &str = "expected an IP, a list of them, or { pattern = '125\\.159\\.40\\.(3|4)' }";

impl SettingValue for WatchedServers {
    fn from_toml(value: &Value) -> Read<Self> {
        let not_so = || wrong(format!("{SERVERS}, not {}", quoted(value)));
        match value {
            Value::String(text) => text.parse().or_else(|_| not_so()),
            Value::Array(addresses) => {
                let text: Option<Vec<&str>> = addresses.iter().map(Value::as_str).collect();
                match text.map(|text| text.join(",").parse()) {
                    Some(Ok(servers)) => Ok(servers),
                    _ => not_so(),
                }
            }
            Value::Table(table) => match (table.get("pattern"), table.len()) {
                (Some(Value::String(pattern)), 1) if !pattern.is_empty() => {
                    let read = AddressPattern::new(pattern).map(WatchedServers::Matching);
                    read.or_else(|_| {
                        wrong(format!("expected a regular expression, not {}", quoted(value)))
                    })
                }
                _ => not_so(),
            },
            _ => not_so(),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        let text = |address: &IpAddr| Value::String(address.to_string());
        Some(match self {
            WatchedServers::Addresses(addresses) => match addresses.first() {
                Some(address) if addresses.len() == 1 => text(address),
                _ => Value::Array(addresses.iter().map(text).collect()),
            },
            WatchedServers::Matching(pattern) => {
                let pattern = Value::String(pattern.as_str().to_owned());
                Value::Table([("pattern".to_owned(), pattern)].into_iter().collect())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(watched: &WatchedServers, servers: &[&str]) -> Vec<bool> {
        servers.iter().map(|server| watched.has(server.parse().unwrap())).collect()
    }

    #[test]
    fn several_addresses_or_a_pattern_of_whole_numbers_count() {
        let servers = ["125.159.40.3", "125.159.40.4", "125.159.40.35", "25.159.40.3", "::1"];
        let two: WatchedServers = "125.159.40.3, ::1".parse().unwrap();
        assert_eq!(among(&two, &servers), [true, false, false, false, true]);
        for (pattern, wanted) in [
            (r"125.159.40.(3|4)", [true, true, false, false, false]),
            (r"^125\.159\.40\.(3|4)$", [true, true, false, false, false]),
            (r"125\.159\.40\.", [true, true, true, false, false]),
            (r"40\.3$", [true, false, false, true, false]),
            (r"125\.159\.40\.3|::1", [true, false, false, false, true]),
        ] {
            let watched = WatchedServers::Matching(AddressPattern::new(pattern).unwrap());
            assert_eq!(among(&watched, &servers), wanted, "{pattern}");
        }
        assert!(AddressPattern::new("125.(").is_err());
        assert!("125.159.40".parse::<WatchedServers>().is_err());
    }

    #[test]
    fn one_server_several_or_a_pattern_are_watched() {
        for (text, same) in [
            ("125.159.40.3", r#""125.159.40.3""#),
            ("10.0.0.2,10.0.0.1", r#"["10.0.0.1", "10.0.0.2"]"#),
            (r#"["::1", "10.0.0.1"]"#, r#"["10.0.0.1", "::1"]"#),
            ("{ pattern = '40\\.(3|4)' }", r"{ pattern = '40\.(3|4)' }"),
        ] {
            let written = WatchedServers::from_text(text).unwrap().to_toml().unwrap();
            assert_eq!(written.to_string(), same, "{text}");
        }
        for bad in ["", "125.159.40", "[1]", "{}", "{ pattern = '(' }", "{ patern = '1' }", "3"] {
            assert!(WatchedServers::from_text(bad).is_err(), "{bad}");
        }
    }
}
