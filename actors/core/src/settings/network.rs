//! Network interfaces and speeds of links as settings.

use std::fmt;

use toml::Value;

use super::value::{Read, SettingValue, quoted, text, wrong};
use crate::host::BitsPerSecond;

/// Longest name of a network interface on Linux.
const LONGEST_NAME: usize = 15;

/// The name of a network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceName(String);

impl InterfaceName {
    /// Name as in /sys/class/net.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SettingValue for InterfaceName {
    fn from_toml(value: &Value) -> Read<Self> {
        let name = text(value, "the name of a network interface such as \"eth0\"")?;
        // The name becomes part of a path.
        let fits = !name.is_empty() && name.len() <= LONGEST_NAME && name != "." && name != "..";
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'/';
        if fits && name.bytes().all(is_plain) {
            return Ok(InterfaceName(name.to_owned()));
        }
        wrong(format!(
            "expected the name of a network interface such as \"eth0\", not {}",
            quoted(value)
        ))
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.0.clone()))
    }
}

/// Longest name in the domain name system.
const LONGEST_HOST_NAME: usize = 253;

/// The name of a host in lower case, such as `yard.example`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    /// The name without a final dot.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SettingValue for HostName {
    fn from_toml(value: &Value) -> Read<Self> {
        let name = text(value, "the name of a host such as \"yard.example\"")?;
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let is_plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        let fits = !name.is_empty() && name.len() <= LONGEST_HOST_NAME;
        if fits && name.bytes().all(is_plain) {
            return Ok(HostName(name));
        }
        wrong(format!(
            "expected the name of a host such as \"yard.example\", without a scheme and a port, not {}",
            quoted(value)
        ))
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.0.clone()))
    }
}

/// The host and the port of a server, such as `10.0.0.1:8082` or `node-a:8082`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAndPort(String);

impl fmt::Display for HostAndPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl SettingValue for HostAndPort {
    fn from_toml(value: &Value) -> Read<Self> {
        let given = text(value, "a host and a port such as \"10.0.0.1:8082\"")?;
        let parts = given.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        match parts.map(|(_, port)| port.parse::<u16>()) {
            Some(Ok(port)) if port > 0 => Ok(HostAndPort(given.to_owned())),
            _ => wrong(format!(
                "expected a host and a port such as \"10.0.0.1:8082\", not {}",
                quoted(value)
            )),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.0.clone()))
    }
}

impl SettingValue for BitsPerSecond {
    fn from_toml(value: &Value) -> Read<Self> {
        let rate = text(value, "a rate such as \"10Gbit/s\"")?;
        rate.trim().parse().or_else(|bad| wrong(format!("{bad}")))
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_no_path() {
        assert_eq!(InterfaceName::from_text("bond0.7").unwrap().as_str(), "bond0.7");
        assert_eq!(HostName::from_text("Yard.Example.").unwrap().as_str(), "yard.example");
        for bad in ["", "http://yard.example", "yard.example:8080", "a b", "*.example"] {
            let read = HostName::from_toml(&Value::String(bad.to_owned()));
            assert!(read.is_err(), "{bad}");
        }
        for bad in ["", "..", "../eth0", "a b", "sixteen-letters!"] {
            let read = InterfaceName::from_toml(&Value::String(bad.to_owned()));
            assert!(read.is_err(), "{bad}");
        }
    }
}
