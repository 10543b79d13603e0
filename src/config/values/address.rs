//! The address of a node.

use std::fmt;
use std::net::SocketAddr;

use reelyard_core::settings::{Read, SettingValue, quoted, text, wrong};
use toml::Value;

/// Address of a node or an old cfm, as a worker uses it: `host:port`, where host is an IP or a
/// name. A node with TLS begins with `https://`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeAddr(String);

impl fmt::Display for NodeAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<SocketAddr> for NodeAddr {
    fn from(addr: SocketAddr) -> Self {
        NodeAddr(addr.to_string())
    }
}

impl SettingValue for NodeAddr {
    fn from_toml(value: &Value) -> Read<Self> {
        let written = text(value, "host:port")?;
        let bare = ["https://", "http://"].iter().find_map(|scheme| written.strip_prefix(scheme));
        if is_node_addr(bare.unwrap_or(written)) {
            return Ok(NodeAddr(written.to_owned()));
        }
        wrong(format!(
            "expected host:port such as 10.0.0.1:8080, or https://10.0.0.1:8080 for a node with TLS, not {}",
            quoted(value)
        ))
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.0.clone()))
    }
}

fn is_node_addr(text: &str) -> bool {
    if let Ok(addr) = text.parse::<SocketAddr>() {
        return addr.port() != 0;
    }
    let Some((name, port)) = text.rsplit_once(':') else { return false };
    let good_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    // A name that ends in a number would be an IP, and a valid IP was parsed above.
    let numeric = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    let named = name.split('.').all(good_label) && !name.rsplit('.').next().is_none_or(numeric);
    named && port.parse::<u16>().is_ok_and(|port| port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_found_by_ip_or_name_and_port() {
        for good in [
            "10.0.0.1:8080",
            "[::1]:8080",
            "cfm:7888",
            "cfm-1.example.net:8080",
            "http://x:80",
            "https://yard.example:8080",
        ] {
            assert!(NodeAddr::from_text(good).is_ok(), "{good}");
        }
        for bad in [
            "10.0.0.1",
            "cfm",
            "cfm:0",
            "cfm:x",
            ":80",
            "a b:80",
            "10.0.0.300:80",
            "ftp://x:80",
            "https://x:80/",
        ] {
            assert!(NodeAddr::from_text(bad).is_err(), "{bad}");
        }
    }
}
