//! The table `[bandwidth]`, and rates as settings.

use reelyard_core::host::HostAddr;
use reelyard_core::settings;
use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{Read, SettingValue, Wrong, is_bare_number, quoted, text, wrong};

use super::zone::Zone;
use crate::bandwidth::{BadTimetable, HostLimits, Timetable};

settings! {
    /// Rate limits of each host for all its copies together, by direction. A limit is a rate or
    /// a timetable, as in task.copy_speed. The copies of a host share its limit evenly. Workers
    /// get a changed limit at once, also during a copy. Old cfws, and copies from them, get
    /// their rate when the copy is planned.
    pub struct BandwidthConfig {
        /// Limits of sources by address; "default" applies to all others. Example: { default =
        /// "1Gbit/s", "10.0.0.11:8888" = "08:00,200Mbit/s 23:00,off" }.
        sources: HostLimits = Default "{}",
        /// Limits of destinations, in the same form.
        destinations: HostLimits = Default "{}",
        /// Time zone of all timetables: "system" or an IANA name such as "Asia/Seoul".
        time_zone: Zone = Default "system",
    }
}

/// The format of rates, for faults.
const RATES: &str = "as in \"80Mbit/s\", \"10MiB/s\" or, as in rclone, \"10M\" (MiB/s)";

impl SettingValue for Timetable {
    /// A single rate, or a timetable.
    fn from_toml(value: &Value) -> Read<Self> {
        if is_bare_number(value) {
            return wrong(format!("a rate needs a unit, {RATES}: {} has none", quoted(value)));
        }
        let wanted = "a rate or a timetable such as \"80Mbit/s\" or \"08:00,10M 23:00,off\"";
        text(value, wanted)?.parse().or_else(|error: BadTimetable| wrong(error.to_string()))
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
    }
}

/// The key for all hosts without an entry.
const EVERY_HOST: &str = "default";

impl SettingValue for HostLimits {
    fn from_toml(value: &Value) -> Read<Self> {
        let Value::Table(table) = value else {
            return wrong(format!(
                "expected a table such as {{ {EVERY_HOST} = \"1Gbit/s\", \"10.0.0.11:8888\" = \"08:00,10M 23:00,off\" }}, not {}",
                quoted(value)
            ));
        };
        let (mut limits, mut wrongs) = (HostLimits::default(), Vec::new());
        for (host, limit) in table {
            let read = Timetable::from_toml(limit).and_then(|limit| {
                if host == EVERY_HOST {
                    limits.default = limit;
                } else {
                    let host = HostAddr::from_toml(&Value::String(host.clone()))?;
                    limits.by_host.insert(host, limit);
                }
                Ok(())
            });
            let about =
                |wrong: Wrong| Wrong { what: format!("\"{host}\": {}", wrong.what), ..wrong };
            wrongs.extend(read.err().into_iter().flatten().map(about));
        }
        if wrongs.is_empty() { Ok(limits) } else { Err(wrongs) }
    }

    fn to_toml(&self) -> Option<Value> {
        let default = Some(&self.default).filter(|limit| **limit != Timetable::default());
        let default = default.map(|limit| (EVERY_HOST.to_owned(), limit));
        let hosts = self.by_host.iter().map(|(host, limit)| (host.to_string(), limit));
        let all = default.into_iter().chain(hosts);
        Some(Value::Table(all.filter_map(|(host, limit)| Some((host, limit.to_toml()?))).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized<T: SettingValue>(text: &str) -> Option<String> {
        T::from_text(text).ok().and_then(|value| value.to_toml()).map(|value| value.to_string())
    }

    #[test]
    fn a_rate_is_a_number_with_a_unit_or_a_timetable() {
        for (text, same) in [
            ("10Mbit/s", "10Mbit/s"),
            ("10 Mbit/s", "10Mbit/s"),
            ("10M", "10MiB/s"),
            ("off", "off"),
            ("08:00,512k Sat-12:00,off", "08:00,512KiB/s Sat-12:00,off"),
        ] {
            assert_eq!(normalized::<Timetable>(text).unwrap(), format!("\"{same}\""), "{text}");
        }
        for bad in ["0", "80000000", "-1", "fast", "10 MB/s", "08:00,512", "1.5", "0bit/s", ""] {
            assert!(Timetable::from_text(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn limits_of_hosts_are_a_table_and_each_fault_names_its_host() {
        let text =
            r#"{ default = "1Gbit/s", "10.0.0.1:8888" = "8kbit/s", "10.0.0.2:8888" = "off" }"#;
        let limits = HostLimits::from_text(text).unwrap();
        assert_eq!(limits.by_host.len(), 2);
        assert_eq!(HostLimits::from_text(&normalized::<HostLimits>(text).unwrap()), Ok(limits));
        let bad = r#"{ default = "fast", "das1" = "1M", "10.0.0.1:8888" = "08:00,5" }"#;
        let faults: Vec<String> =
            HostLimits::from_text(bad).unwrap_err().into_iter().map(|wrong| wrong.what).collect();
        for (host, why) in
            [("default", "not a rate"), ("das1", "ip:port"), ("10.0.0.1:8888", "unit")]
        {
            let of_host = faults.iter().find(|what| what.starts_with(&format!("\"{host}\": ")));
            assert!(of_host.is_some_and(|what| what.contains(why)), "{host}: {faults:?}");
        }
        assert!(HostLimits::from_text("80Mbit/s").unwrap_err()[0].what.contains("a table"));
    }
}
