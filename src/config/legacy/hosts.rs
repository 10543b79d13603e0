//! Converts the hosts of a cfm.yml. Names are resolved once, here.

use std::net::{SocketAddr, ToSocketAddrs};

use reelyard_core::host::HostAddr;
use toml::Value;

use super::config_import::ConfigImport;
use super::note::ImportNoteKind;
use super::yaml::YamlEntry;
use reelyard_core::settings::SettingValue;

/// Sets `ours` to the hosts of `entry`, without duplicates. Entries that cfm ignored are left out.
pub fn keep(entry: &YamlEntry, ours: &'static str, import: &mut ConfigImport) {
    let mut kept: Vec<HostAddr> = Vec::new();
    for (text, line) in &entry.values {
        let host = match HostAddr::from_toml(&Value::String(text.clone())) {
            Ok(host) => host,
            Err(_) if names_a_host(text) => match resolved(text) {
                Ok((host, what)) => {
                    import.add_note_at(entry, *line, ImportNoteKind::Translated, what);
                    host
                }
                Err(why) => {
                    import.add_note_at(entry, *line, ImportNoteKind::Bad, why);
                    continue;
                }
            },
            Err(wrongs) => {
                for wrong in wrongs {
                    import.add_note_at(entry, *line, ImportNoteKind::LeftOut, wrong.what);
                }
                continue;
            }
        };
        if kept.contains(&host) {
            let what = format!("\"{text}\" is listed twice");
            import.add_note_at(entry, *line, ImportNoteKind::LeftOut, what);
        } else {
            kept.push(host);
        }
    }
    let hosts = kept.iter().filter_map(SettingValue::to_toml).collect();
    import.values.insert(ours, Value::Array(hosts));
}

/// Whether a text is a name and a port, and not an address.
fn names_a_host(text: &str) -> bool {
    let Some((name, port)) = text.rsplit_once(':') else { return false };
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter))
            && name.chars().any(|letter| letter.is_ascii_alphabetic())
    };
    is_name(name) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// Resolves a name with a port, and returns the address with a note. Like cfm it takes the first
/// address, IPv4 before IPv6.
fn resolved(text: &str) -> Result<(HostAddr, String), String> {
    let found = match text.to_socket_addrs() {
        Ok(found) => found.collect::<Vec<SocketAddr>>(),
        Err(error) => {
            return Err(format!(
                "\"{text}\" cannot be resolved ({error}): replace the name by its ip:port"
            ));
        }
    };
    let first = found.iter().find(|addr| addr.is_ipv4()).or(found.first());
    let host = first.and_then(|addr| addr.to_string().parse::<HostAddr>().ok());
    let host = host.ok_or_else(|| format!("\"{text}\" has no address"))?;
    let mut others: Vec<String> = found.iter().map(SocketAddr::to_string).collect();
    others.sort();
    others.dedup();
    others.retain(|other| *other != host.to_string());
    let others = match others.as_slice() {
        [] => String::new(),
        others => format!("; it also has {}", others.join(", ")),
    };
    Ok((host, format!("\"{text}\" is kept as {host}, its current address{others}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ports_are_looked_up_and_nothing_else() {
        for name in ["das1:8888", "das-1.example.net:1", "localhost:80"] {
            assert!(names_a_host(name), "{name}");
        }
        for other in ["das1", "das1:0", ":80", "10.0.0.1:80", "10.0.0.300:80", "a b:80", "::1"] {
            assert!(!names_a_host(other), "{other}");
        }
        let (host, what) = resolved("localhost:8888").unwrap();
        assert_eq!(host.to_string(), "127.0.0.1:8888");
        assert!(what.starts_with("\"localhost:8888\" is kept as 127.0.0.1:8888"), "{what}");
        assert!(resolved("nowhere.invalid:1").unwrap_err().contains("cannot be resolved"));
    }
}
