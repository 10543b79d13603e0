//! The addresses of nodes.

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

/// The nodes of a worker: one address, or a list with all nodes of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAddrs(Vec<NodeAddr>);

impl NodeAddrs {
    /// The addresses, in the order in which the worker tries them.
    pub fn iter(&self) -> impl Iterator<Item = &NodeAddr> {
        self.0.iter()
    }
}

impl From<SocketAddr> for NodeAddrs {
    fn from(addr: SocketAddr) -> Self {
        NodeAddrs(vec![addr.into()])
    }
}

impl SettingValue for NodeAddrs {
    fn from_toml(value: &Value) -> Read<Self> {
        match value {
            Value::Array(list) if list.is_empty() => {
                wrong("expected at least one address of a node, not []".to_owned())
            }
            Value::Array(_) => Vec::from_toml(value).map(NodeAddrs),
            one => NodeAddr::from_toml(one).map(|one| NodeAddrs(vec![one])),
        }
    }

    /// Parses one address, or several separated by commas.
    fn from_text(text: &str) -> Read<Self> {
        match text.contains(['[', ',']) && text.parse::<SocketAddr>().is_err() {
            true => Self::from_toml(&Value::Array(
                Vec::<NodeAddr>::from_text(text)?.iter().filter_map(NodeAddr::to_toml).collect(),
            )),
            false => NodeAddr::from_text(text).map(|one| NodeAddrs(vec![one])),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        match self.0.as_slice() {
            [one] => one.to_toml(),
            several => Some(Value::Array(several.iter().filter_map(NodeAddr::to_toml).collect())),
        }
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
    fn a_worker_has_one_node_or_a_list() {
        let read = |text: &str| {
            NodeAddrs::from_text(text).map(|nodes| nodes.to_toml().unwrap().to_string())
        };
        assert_eq!(read("cfm:7888"), Ok("\"cfm:7888\"".to_owned()));
        assert_eq!(read("[::1]:8080"), Ok("\"[::1]:8080\"".to_owned()));
        let both = Ok("[\"a:1\", \"https://b:2\"]".to_owned());
        assert_eq!(read("[\"a:1\", \"https://b:2\"]"), both);
        assert_eq!(read("a:1, https://b:2"), both);
        for bad in ["[]", "a:1,b", "[\"a\"]", ""] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

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
