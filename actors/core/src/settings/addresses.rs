//! Addresses and the shared token as settings.

use std::net::{IpAddr, SocketAddr};

use toml::Value;

use super::value::{Read, SettingValue, quoted, text, wrong};
use crate::host::HostAddr;
use crate::token::SharedToken;

impl SettingValue for SocketAddr {
    fn from_toml(value: &Value) -> Read<Self> {
        let not_addr = |_| {
            let wanted = "expected ip:port such as 127.0.0.1:8080";
            wrong(format!("{wanted}, not {}", quoted(value)))
        };
        text(value, "ip:port")?.parse().or_else(not_addr)
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
    }
}

impl SettingValue for HostAddr {
    /// An address that other hosts can connect to.
    fn from_toml(value: &Value) -> Read<Self> {
        let host: HostAddr = match text(value, "ip:port")?.parse() {
            Ok(host) => host,
            Err(error) => return wrong(format!("{error}")),
        };
        let ip = host.ip();
        if ip.is_unspecified() || ip.is_multicast() {
            let what = "is not the address of one host: expected the address that other hosts use";
            return wrong(format!("{host} {what}"));
        }
        Ok(host)
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
    }
}

impl SettingValue for IpAddr {
    fn from_toml(value: &Value) -> Read<Self> {
        let not_ip =
            |_| wrong(format!("expected an IP such as 125.159.40.3, not {}", quoted(value)));
        text(value, "an IP")?.parse().or_else(not_ip)
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
    }
}

/// The token is read and stored, but never printed.
impl SettingValue for SharedToken {
    const SECRET: bool = true;

    fn from_toml(value: &Value) -> Read<Self> {
        match value {
            Value::String(text) => SharedToken::new(text).or_else(|bad| wrong(bad.to_string())),
            _ => wrong("expected a token, in quotes"),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.reveal().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identity_of_a_host_is_one_that_others_can_reach() {
        assert!(HostAddr::from_text("10.0.0.1:8888").is_ok());
        for bad in ["0.0.0.0:8888", "[::]:8888", "224.0.0.1:8888", "10.0.0.1:0"] {
            assert!(HostAddr::from_text(bad).is_err(), "{bad}");
        }
    }
}
