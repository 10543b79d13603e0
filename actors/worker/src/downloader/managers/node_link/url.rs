//! The address of a node.

use std::str::FromStr;

use reelyard_protocol::node_address::{BadNodeAddress, node_address};
use serde::{Deserialize, Serialize};

/// The address of a node (or an old cfm): `http://host:port` or `https://host:port`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeUrl(String);

impl NodeUrl {
    /// Whether the node is called over TLS.
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// The address, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NodeUrl {
    type Err = BadNodeAddress;

    fn from_str(text: &str) -> Result<Self, BadNodeAddress> {
        let url = node_address(text)?;
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(BadNodeAddress::NotHttp(text.to_owned()));
        }
        let with_scheme =
            if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        Ok(NodeUrl(with_scheme.trim_end_matches('/').to_owned()))
    }
}

impl TryFrom<String> for NodeUrl {
    type Error = BadNodeAddress;

    fn try_from(text: String) -> Result<Self, BadNodeAddress> {
        text.parse()
    }
}

impl From<NodeUrl> for String {
    fn from(url: NodeUrl) -> String {
        url.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_named_with_or_without_its_scheme() {
        for text in ["127.0.0.1:8080", "http://127.0.0.1:8080", "http://127.0.0.1:8080/"] {
            assert_eq!(text.parse::<NodeUrl>(), Ok(NodeUrl("http://127.0.0.1:8080".into())));
        }
        assert!("https://yard:1".parse::<NodeUrl>().is_ok_and(|url| url.is_https()));
        for bad in
            ["", "ftp://x:1", "http://x/path", "http://u@x:1", "http://x?y", "http://x/#y", "a b:1"]
        {
            assert!(bad.parse::<NodeUrl>().is_err(), "{bad}");
        }
    }
}
