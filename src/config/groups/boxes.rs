//! Settings of boxes: configured pools, and what is remembered.

use std::collections::BTreeMap;

use reelyard_api::WantedPool;
use reelyard_boxes::box_lease::{BoxLeaseSettings, PoolSpec};
use reelyard_core::settings;
use reelyard_core::settings::{Read, SettingValue, Wrong, quoted, wrong};
use reelyard_protocol::boxes::PoolName;
use toml::Value;

settings! {
    /// Numbered boxes. Each box has one holder at a time.
    pub struct BoxConfig {
        /// Pools of boxes by name: { judges = { size = 8 } }, or a table [box.pools.judges] for each.
        /// Only `size` is required. Defaults stand in parentheses.
        ///   size, first_id (0)    number of boxes, and the number of the first box
        ///   slots (none)          a larger range of ids that holders see, for example
        ///                         { first = 1000, count = 500, rest = "10m" }. An id is reused only
        ///                         after its rest, so a late holder affects no other
        ///   host (none)           worker that prepares and cleans the boxes. Without it no hook runs
        ///   hooks (pool's name)   name of the hooks in the configuration of that worker
        ///   labels ({})           for people and scripts: { site = "a" }
        ///   ttl_default ("1m")    lifetime of a lease
        ///   ttl_max ("1day")      longest lifetime without a renewal
        ///   max_hold (no limit)   longest time for which renewals can extend a lease
        ///   grace ("5s")          pause before the box of an expired or revoked lease is cleaned
        ///   queue_limit (1000)    largest number of waiting requests
        ///   quota (0: no limit)   largest number of boxes that one holder has or waits for
        ///   priority_ages ("1m")  after this wait a request counts like one of the next priority
        ///   clean_attempts (5)    failed cleanups after which a box is quarantined
        ///   clean_again_after ("1s"), clean_again_at_most ("1m")   first and longest pause between
        ///                         two cleanups
        /// The node creates and changes these pools when it starts to lead and at each reload. It then
        /// overwrites changes that were made by the API. In a cluster each new version of the settings
        /// does so once, and a change of the leader never. A pool that you remove here stays until you
        /// run: reelyard box pools remove.
        pools: PoolTable = Default "{}",
    }
    parts {
        /// The memory of leases and boxes.
        memory: BoxLeaseSettings,
    }
}

/// The configured pools, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolTable(pub BTreeMap<PoolName, PoolSpec>);

impl SettingValue for PoolTable {
    fn from_toml(value: &Value) -> Read<Self> {
        let Value::Table(table) = value else {
            let shown = quoted(value);
            return wrong(format!(
                "expected a table such as {{ judges = {{ size = 8 }} }}, not {shown}"
            ));
        };
        let (mut pools, mut wrongs) = (BTreeMap::new(), Vec::new());
        for (name, entry) in table {
            let named = PoolName::new(name).or_else(|bad| wrong(bad.to_string()));
            let about = |wrong: Wrong| Wrong { what: format!("{name}: {}", wrong.what), ..wrong };
            match named.and_then(|name| Ok((name, pool(entry)?))) {
                Ok((name, pool)) => drop(pools.insert(name, pool)),
                Err(bad) => wrongs.extend(bad.into_iter().map(about)),
            }
        }
        if wrongs.is_empty() { Ok(PoolTable(pools)) } else { Err(wrongs) }
    }

    fn to_toml(&self) -> Option<Value> {
        let shown = |(name, spec): (&PoolName, &PoolSpec)| {
            // A pool is plain data and always serializes.
            let pool = Value::try_from(WantedPool::from(spec)).ok()?;
            Some((name.to_string(), pool))
        };
        Some(Value::Table(self.0.iter().filter_map(shown).collect()))
    }
}

fn pool(value: &Value) -> Read<PoolSpec> {
    let Value::Table(_) = value else {
        return wrong(format!("expected a table such as {{ size = 8 }}, not {}", quoted(value)));
    };
    let read: Result<WantedPool, _> = value.clone().try_into();
    let spec = match read {
        Ok(wanted) => PoolSpec::from(wanted),
        Err(bad) => return wrong(bad.to_string().trim().replace('\n', " ")),
    };
    match spec.check() {
        Ok(()) => Ok(spec),
        Err(bad) => wrong(bad.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<PoolTable, String> {
        let message_of = |wrongs: Vec<Wrong>| {
            wrongs.into_iter().map(|wrong| wrong.what).collect::<Vec<_>>().join("; ")
        };
        PoolTable::from_text(text).map_err(message_of)
    }

    #[test]
    fn a_configured_pool_has_the_form_of_the_api() {
        let pools = read(
            "{ judges = { size = 8, host = \"10.0.0.1:8888\", hooks = \"isolate\", max_hold = \"2h\", \
             slots = { first = 100, count = 16, rest = \"1m\" }, labels = { site = \"a\" } }, b = { size = 1 } }",
        );
        let pools = pools.unwrap();
        assert_eq!(pools.0.len(), 2);
        let b = pools.0.iter().find(|(name, _)| name.as_str() == "b").map(|(_, pool)| pool);
        assert_eq!(b, Some(&PoolSpec::of(0, 1)));
        let shown = pools.to_toml().unwrap();
        assert_eq!(PoolTable::from_toml(&shown), Ok(pools), "{shown}");
    }

    #[test]
    fn the_documented_defaults_are_those_of_a_pool() {
        let (_, text) =
            include_str!("boxes.rs").split_once("Defaults stand in parentheses").unwrap();
        let (text, _) = text.split_once("The node creates").unwrap();
        let mut documented = vec!["size = 8".to_owned()];
        for (name, value) in text.split(" (").zip(text.split(" (").skip(1)) {
            let name = name.rsplit(char::is_whitespace).next().unwrap();
            let (value, _) = value.split_once(')').unwrap();
            let value = value.split(':').next().unwrap();
            if value.starts_with(|first: char| first.is_ascii_digit() || first == '"') {
                documented.push(format!("{name} = {value}"));
            }
        }
        assert_eq!(documented.len(), 11, "{documented:?}");
        let pools = read(&format!("{{ p = {{ {} }} }}", documented.join(", "))).unwrap();
        assert_eq!(pools.0.values().next(), Some(&PoolSpec::of(0, 8)));
    }

    #[test]
    fn faults_of_a_pool_name_the_pool() {
        for (bad, why) in [
            ("{ judges = { } }", "judges: missing field `size`"),
            ("{ judges = { size = 8, sise = 9 } }", "judges: unknown field `sise`"),
            ("{ judges = { size = -1 } }", "judges: "),
            ("{ judges = { size = 70000 } }", "judges: a pool has at most 65536 boxes"),
            ("{ judges = { size = 1, ttl_default = \"soon\" } }", "\"soon\" is not a duration"),
            ("{ judges = { size = 1, hooks = \"x\" } }", "a pool without a host"),
            ("{ \"a b\" = { size = 1 } }", "a b: the name of a pool is"),
            ("{ judges = 8 }", "judges: expected a table"),
            ("8", "expected a table"),
        ] {
            let error = read(bad).unwrap_err();
            assert!(error.contains(why) && !error.contains('\n'), "{bad}: {error}");
        }
        assert_eq!(read("{ a = 1, b = { size = 1, x = 1 } }").unwrap_err().split("; ").count(), 2);
    }
}
