//! The servers whose rows of the event log count, as a setting.

use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{Read, SettingValue, quoted, wrong};

use crate::catalog::load_balancer::watched_servers::{AddressPattern, WatchedServers};

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
        let text = |address: &std::net::IpAddr| Value::String(address.to_string());
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
