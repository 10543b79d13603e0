//! Settings about the network load of links.

use reelyard_core::host::{BitsPerSecond, HostAddr};
use reelyard_yard::cfw_worker::{Agent, AgentUrl, Agents, BadAgentUrl};
use reelyard_yard::task_manager::Weights;
use toml::{Table, Value};

use crate::config::values::value::{Read, SettingValue, Wrong, quoted, text, wrong};

/// Longest name of a network interface on Linux.
const LONGEST_NAME: usize = 15;

/// Largest weight: only the ratio of the two weights counts.
const LARGEST_WEIGHT: u32 = 1000;

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

impl SettingValue for BitsPerSecond {
    fn from_toml(value: &Value) -> Read<Self> {
        let rate = text(value, "a rate such as \"10Gbit/s\"")?;
        rate.trim().parse().or_else(|bad| wrong(format!("{bad}")))
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
    }
}

impl SettingValue for Weights {
    fn from_toml(value: &Value) -> Read<Self> {
        let wanted = || {
            wrong(format!(
                "expected weights such as {{ room = 1, traffic = 1 }}, each a whole number up to \
                 {LARGEST_WEIGHT} and not both 0, not {}",
                quoted(value)
            ))
        };
        let Value::Table(table) = value else { return wanted() };
        if table.keys().any(|key| key != "room" && key != "traffic") {
            return wanted();
        }
        let weight = |key: &str| match table.get(key) {
            None => Some(0),
            Some(value) => {
                let weight = u32::try_from(value.as_integer()?).ok()?;
                Some(weight).filter(|weight| *weight <= LARGEST_WEIGHT)
            }
        };
        match (weight("room"), weight("traffic")) {
            (Some(room), Some(traffic)) if room + traffic > 0 => Ok(Weights { room, traffic }),
            _ => wanted(),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        let weights = [("room", self.room), ("traffic", self.traffic)];
        let entry = |(key, weight): (&str, u32)| (key.to_owned(), Value::Integer(weight.into()));
        Some(Value::Table(weights.map(entry).into_iter().collect()))
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
        for (host, entry) in table {
            let read = HostAddr::from_toml(&Value::String(host.clone()))
                .and_then(|host| Ok(agents.insert(host, agent(entry)?)));
            let about =
                |wrong: Wrong| Wrong { what: format!("\"{host}\": {}", wrong.what), ..wrong };
            wrongs.extend(read.err().into_iter().flatten().map(about));
        }
        if wrongs.is_empty() { Ok(agents) } else { Err(wrongs) }
    }

    fn to_toml(&self) -> Option<Value> {
        let shown = |agent: &Agent| {
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
        let agents = self.iter().map(|(host, agent)| (host.to_string(), shown(agent)));
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
    let Some(entry) = table.get("url") else {
        return wrong(format!("url is missing: {BadAgentUrl}"));
    };
    let device: Option<InterfaceName> = optional(table, "device")?;
    let device = device.map(|InterfaceName(name)| name);
    Ok(Agent { url: url(entry)?, device, link_speed: optional(table, "link_speed")? })
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

    fn shown<T: SettingValue>(text: &str) -> Result<String, String> {
        let read = T::from_text(text);
        let read = read.map(|value| value.to_toml().map(|value| value.to_string()).unwrap());
        read.map_err(|wrongs| wrongs.into_iter().map(|wrong| wrong.what).collect())
    }

    #[test]
    fn weights_are_whole_numbers_of_which_one_counts() {
        for (text, same) in [
            ("{ room = 1, traffic = 3 }", "{ room = 1, traffic = 3 }"),
            ("{ traffic = 3 }", "{ room = 0, traffic = 3 }"),
        ] {
            assert_eq!(shown::<Weights>(text).as_deref(), Ok(same));
        }
        for bad in ["{}", "{ room = 0 }", "{ room = -1 }", "{ room = 1001 }", "{ rum = 1 }", "1"] {
            assert!(shown::<Weights>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_agent_is_a_url_or_a_table() {
        let plain = "{ \"10.0.0.21:8888\" = \"http://10.0.0.21:9100/metrics\" }";
        assert_eq!(shown::<Agents>(plain).as_deref(), Ok(plain));
        let more = "{ \"10.0.0.21:8888\" = { url = \"http://a:1/m\", device = \"eth0\", link_speed = \"10Gbit/s\" } }";
        let agents = Agents::from_text(more).unwrap();
        let agent = agents.values().next().unwrap();
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
            let error = shown::<Agents>(bad).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn an_interface_is_no_path() {
        assert_eq!(shown::<InterfaceName>("bond0.7").as_deref(), Ok("\"bond0.7\""));
        for bad in ["", "..", "../eth0", "a b", "sixteen-letters!"] {
            let read = InterfaceName::from_toml(&Value::String(bad.to_owned()));
            assert!(read.is_err(), "{bad}");
        }
    }
}
