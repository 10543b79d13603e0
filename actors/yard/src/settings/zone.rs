//! Time zones of the load balancer's log names, and of timetables.

use jiff::tz::TimeZone;
use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{Read, SettingValue, text, wrong};

/// A time zone, by IANA name or the zone of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

/// The word for the zone of the system.
const SYSTEM: &str = "system";

impl Zone {
    /// The zone for conversions.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Name as in the configuration.
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
