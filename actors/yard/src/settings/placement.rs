//! The table `[placement]`, and how a destination is chosen.

use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{Percent, Read, SettingValue, quoted, wrong};
use reelyard_core::{setting_words, settings};

settings! {
    /// Choice of hosts by room and network load. Workers measure the load of their link
    /// (`[network]` of their configuration); for other hosts hosts.node_exporters is used. Copies of this
    /// yard do not count as load. A host without a known load or link speed counts like the
    /// average host, and no limit applies to it.
    pub struct PlacementConfig {
        /// With task.placement = "room": the weight of free room and the weight of the free part of
        /// the link. Example: { room = 2, traffic = 1 }.
        weights: Weights = Default "{ room = 1, traffic = 0 }",
        /// A source whose link sends more than this percentage starts no new copies until the load
        /// falls. Without the setting there is no limit.
        source_traffic_mark_percent: Option<Percent> = Optional "80",
        /// A destination whose link carries more than this percentage in its busier direction gets
        /// no new copies until the load falls. Without the setting there is no limit.
        destination_traffic_mark_percent: Option<Percent> = Optional "80",
    }
}

/// How copies are distributed over the destinations that can take them. In both modes an idle
/// destination comes before a busy one, and no destination gets a file that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementPolicy {
    /// To the one with the most room.
    Room,
    /// In turns, as in cfm.
    Ring,
}

setting_words!(PlacementPolicy: "room" => Room, "ring" => Ring);

/// The weights of room and link load in the choice of the destination (with [`PlacementPolicy::Room`]).
/// At least one is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Its room in relation to that of the roomiest destination.
    pub room: u32,
    /// The weight of its free link, as a share of the speed of the link.
    pub traffic: u32,
}

impl Default for Weights {
    fn default() -> Self {
        PlacementConfig::default().weights
    }
}

/// Largest weight: only the ratio of the two weights counts.
const LARGEST_WEIGHT: u32 = 1000;

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

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized<T: SettingValue>(text: &str) -> Result<String, String> {
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
            assert_eq!(normalized::<Weights>(text).as_deref(), Ok(same));
        }
        for bad in ["{}", "{ room = 0 }", "{ room = -1 }", "{ room = 1001 }", "{ rum = 1 }", "1"] {
            assert!(normalized::<Weights>(bad).is_err(), "{bad}");
        }
    }
}
