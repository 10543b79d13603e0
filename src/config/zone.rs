//! Time zones: in which the load balancer names its logs, and in which timetables are written.

use jiff::tz::TimeZone;
use toml::Value;

use super::value::{Read, SettingValue, text, wrong};

/// A time zone, by its IANA name or as the system has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

/// How the system's own zone is written.
const SYSTEM: &str = "system";

impl Zone {
    /// The zone itself.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Its name, as it is written in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl SettingValue for Zone {
    fn from_toml(value: &Value) -> Read<Self> {
        let name = text(value, "a time zone")?;
        let zone = if name == SYSTEM { Ok(TimeZone::system()) } else { TimeZone::get(name) };
        match zone {
            Ok(zone) => Ok(Zone { name: name.to_owned(), zone }),
            Err(_) => wrong(format!(
                "\"{name}\" is not a time zone: expected \"{SYSTEM}\" or an IANA name such as \"Asia/Seoul\""
            )),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.name.clone()))
    }
}
