//! Prometheus' node_exporter on a host as the source of its network load. Operators usually run it
//! anyway. On hosts without a Reelyard worker it is the only source.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use reelyard_core::host::{BitsPerSecond, HostAddr};
use reqwest::Url;

/// The node_exporters of a yard, by host.
pub type Agents = BTreeMap<HostAddr, Agent>;

/// A node_exporter that reports the network load of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The page with the metrics.
    pub url: AgentUrl,
    /// The network interface that counts. None for the one that carries the most, the loopback
    /// interface left out.
    pub device: Option<String>,
    /// The capacity of that interface. None for the speed that node_exporter reports.
    pub link_speed: Option<BitsPerSecond>,
}

/// The URL of an agent's page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentUrl(pub(super) Url);

/// A text that is no URL of an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the URL of a node_exporter such as http://10.0.0.21:9100/metrics")]
pub struct BadAgentUrl;

impl FromStr for AgentUrl {
    type Err = BadAgentUrl;

    fn from_str(text: &str) -> Result<Self, BadAgentUrl> {
        let url: Url = text.parse().map_err(|_| BadAgentUrl)?;
        let is_plain = url.scheme() == "http" && url.username().is_empty();
        let is_plain = is_plain && url.password().is_none() && url.fragment().is_none();
        if is_plain { Ok(AgentUrl(url)) } else { Err(BadAgentUrl) }
    }
}

impl fmt::Display for AgentUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_asked_in_plain_http() {
        let page = "http://10.0.0.21:9100/metrics?collect[]=netdev&collect[]=netclass";
        assert_eq!(page.parse::<AgentUrl>().unwrap().to_string(), page);
        for bad in ["10.0.0.21:9100", "https://a/metrics", "http://me:secret@a/", "ftp://a/", ""] {
            assert_eq!(bad.parse::<AgentUrl>(), Err(BadAgentUrl), "{bad}");
        }
    }
}
