//! The table `[hosts]`, and the node_exporters of hosts.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use reelyard_core::host::{BitsPerSecond, HostAddr};
use reelyard_core::settings;
use reelyard_core::settings::toml::{Table, Value};
use reelyard_core::settings::{InterfaceName, Read, SettingValue, Wrong, quoted, wrong};
use reqwest::Url;

settings! {
    /// The hosts of the yard. Each host is named by the ip:port of its worker or old cfw; this
    /// address is its identity. A host in both lists is source and destination, but never
    /// copies from itself.
    pub struct HostConfig {
        /// Hosts that serve masters. Example: ["10.0.0.11:8888", "10.0.0.12:8888"].
        sources: Vec<HostAddr> = Default "[]",
        /// Hosts that take copies.
        destinations: Vec<HostAddr> = Default "[]",
        /// URL of node_exporter per host. The node reads the network load of hosts there that do
        /// not run a Reelyard worker; workers report their own load. Example: { "10.0.0.21:8888" =
        /// "http://10.0.0.21:9100/metrics" }. A table sets more: { url = "http://...", device =
        /// "eth0", link_speed = "10Gbit/s" }. Without `device` the busiest interface counts.
        /// Without `link_speed` the speed that node_exporter reports counts.
        node_exporters: Agents = Default "{}",
        /// A host that is silent for this long is presumed lost. Its copies no longer count, and
        /// the node makes new ones on other hosts. If the host comes back, its copies are
        /// duplicates. To switch this off, set some years.
        presumed_lost_after: Duration = Default "3d",
        /// Largest number of files in the list of one host, with names of 48 bytes on average.
        /// After the lists of one hour added this number of files, a list that adds more waits.
        /// Files that come back count too. A list beyond the limits is refused as a whole: the last
        /// good list stays, and the circuit breaker of the host opens.
        max_files: NonZeroU64 = Default "120000",
    }
}

/// The node_exporters of a yard, by host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agents(pub BTreeMap<HostAddr, Agent>);

/// A node_exporter that reports the network load of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The page with the metrics.
    pub url: AgentUrl,
    /// The network interface that counts. None for the one with the most traffic, except the
    /// loopback interface.
    pub device: Option<String>,
    /// The capacity of that interface. None for the speed that node_exporter reports.
    pub link_speed: Option<BitsPerSecond>,
}

/// The URL of an agent's page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentUrl(Url);

impl AgentUrl {
    /// The checked URL.
    pub fn url(&self) -> &Url {
        &self.0
    }
}

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

impl SettingValue for Agents {
    fn from_toml(value: &Value) -> Read<Self> {
        let Value::Table(table) = value else {
            return wrong(format!(
                "expected a table such as {{ \"10.0.0.21:8888\" = \"http://10.0.0.21:9100/metrics\" }}, not {}",
                quoted(value)
            ));
        };
        let (mut agents, mut wrongs) = (Agents::default(), Vec::new());
        for (host, setting) in table {
            let read = HostAddr::from_toml(&Value::String(host.clone()))
                .and_then(|host| Ok(agents.0.insert(host, agent(setting)?)));
            let about =
                |wrong: Wrong| Wrong { what: format!("\"{host}\": {}", wrong.what), ..wrong };
            wrongs.extend(read.err().into_iter().flatten().map(about));
        }
        if wrongs.is_empty() { Ok(agents) } else { Err(wrongs) }
    }

    fn to_toml(&self) -> Option<Value> {
        let agent_value = |agent: &Agent| {
            let url = Value::String(agent.url.to_string());
            if agent.device.is_none() && agent.link_speed.is_none() {
                return url;
            }
            let device = agent.device.clone().map(Value::String);
            let link_speed = agent.link_speed.and_then(|speed| speed.to_toml());
            let parts = [("url", Some(url)), ("device", device), ("link_speed", link_speed)];
            let given = parts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
            Value::Table(given.collect())
        };
        let agents = self.0.iter().map(|(host, agent)| (host.to_string(), agent_value(agent)));
        Some(Value::Table(agents.collect()))
    }
}

/// An agent: its URL, or a table with more settings.
fn agent(value: &Value) -> Read<Agent> {
    let Value::Table(table) = value else {
        return Ok(Agent { url: url(value)?, device: None, link_speed: None });
    };
    const KNOWN: [&str; 3] = ["url", "device", "link_speed"];
    if let Some(other) = table.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return wrong(format!("unknown key {other}: expected {}", KNOWN.join(", ")));
    }
    let Some(given_url) = table.get("url") else {
        return wrong(format!("url is missing: {BadAgentUrl}"));
    };
    let device: Option<InterfaceName> = optional(table, "device")?;
    let device = device.map(|name| name.as_str().to_owned());
    Ok(Agent { url: url(given_url)?, device, link_speed: optional(table, "link_speed")? })
}

fn optional<T: SettingValue>(table: &Table, key: &str) -> Read<Option<T>> {
    table.get(key).map(T::from_toml).transpose()
}

fn url(value: &Value) -> Read<AgentUrl> {
    match value {
        Value::String(text) => text.parse().or_else(|bad| wrong(format!("{bad}, not \"{text}\""))),
        other => wrong(format!("{BadAgentUrl}, not {}", quoted(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_a_url_or_a_table() {
        let plain = "{ \"10.0.0.21:8888\" = \"http://10.0.0.21:9100/metrics\" }";
        assert_eq!(Agents::from_text(plain).unwrap().to_toml().unwrap().to_string(), plain);
        let more = "{ \"10.0.0.21:8888\" = { url = \"http://a:1/m\", device = \"eth0\", link_speed = \"10Gbit/s\" } }";
        let agents = Agents::from_text(more).unwrap();
        let agent = agents.0.values().next().unwrap();
        assert_eq!(agent.device.as_deref(), Some("eth0"));
        assert_eq!(agent.link_speed, Some(BitsPerSecond(10_000_000_000)));
        assert_eq!(Agents::from_toml(&agents.to_toml().unwrap()), Ok(agents));
        for (bad, why) in [
            ("{ \"10.0.0.21\" = \"http://a/m\" }", "10.0.0.21"),
            ("{ \"10.0.0.21:1\" = \"a:9100\" }", "URL"),
            ("{ \"10.0.0.21:1\" = { device = \"eth0\" } }", "url is missing"),
            ("{ \"10.0.0.21:1\" = { url = \"http://a/m\", dev = \"eth0\" } }", "unknown key dev"),
            ("{ \"10.0.0.21:1\" = { url = \"http://a/m\", device = \"a/b\" } }", "interface"),
            ("\"http://a/m\"", "a table"),
        ] {
            let refused = Agents::from_text(bad).unwrap_err().remove(0).what;
            assert!(refused.contains(why), "{bad}: {refused}");
        }
    }

    #[test]
    fn an_agent_is_asked_in_plain_http() {
        let page = "http://10.0.0.21:9100/metrics?collect[]=netdev&collect[]=netclass";
        assert_eq!(page.parse::<AgentUrl>().unwrap().to_string(), page);
        for bad in ["10.0.0.21:9100", "https://a/metrics", "http://me:secret@a/", "ftp://a/", ""] {
            assert_eq!(bad.parse::<AgentUrl>(), Err(BadAgentUrl), "{bad}");
        }
    }
}
