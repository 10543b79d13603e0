//! Settings of boxes: the pools that the configuration names, and how much is remembered.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use reelyard_actors::box_lease::{PoolName, PoolSpec};
use reelyard_actors::wire::api::WantedPool;
use toml::Value;

use super::declare::settings;
use super::value::{Read, SettingValue, Wrong, quoted, wrong};

settings! {
    /// Numbered boxes, each in one holder's hands at a time.
    pub struct BoxSettings {
        /// Pools of boxes by name: { judges = { size = 8 } }, or a table of its own for
        /// each, [box.pools.judges]. A pool has, and only its size must be given:
        /// size, first_id (0): how many boxes there are, and the number of the first one.
        /// slots (none), as in { first = 1000, count = 500, rest = "10m" }: a larger range from which the
        /// ids are drawn that holders see, so that a late one hits nobody; none of them is drawn again
        /// before its rest is over.
        /// host, hooks (none): the worker that makes boxes ready and cleans them, and the name under which
        /// its own configuration says how, if that is not the pool's. Without a host nothing is run.
        /// labels ({}), as in { site = "a" }: for people and scripts.
        /// ttl_default ("1m"), ttl_max ("1day"): how long a lease lasts, and may at most without a renewal.
        /// max_hold (any time): how long it may be held in all.
        /// grace ("5s"): how long the box of a lease that expired or was revoked is left alone.
        /// queue_limit (1000), quota (0 for any number): how many may wait for boxes, and how many boxes
        /// one holder may have or wait for.
        /// priority_ages ("1m"): how long one has to wait to be as urgent as one of the next priority.
        /// clean_attempts (5), clean_again_after ("1s"), clean_again_at_most ("1m"): how often a cleanup is
        /// tried before a box is taken out of use, and after what times.
        /// Pools are created and changed when this node begins to lead, and whenever the configuration is
        /// read again: what was changed by the API is put back then. One that is taken out of here stays
        /// until it is removed: reelyard box pools remove.
        pools: Pools = Default "{}",
        /// How long it is remembered how a lease ended, so that whoever comes late is told, and a
        /// repeated request what came of it, and
        keep_ended: Duration = Default "7d",
        /// of how many leases at most.
        keep_ended_most: NonZeroU64 = Default "100000",
        /// How long it is remembered what was run for boxes and said, and who took them out of use,
        /// and
        keep_care: Duration = Default "30d",
        /// how many lines of that at most.
        keep_care_most: NonZeroU64 = Default "20000",
    }
}

/// Pools by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pools(pub BTreeMap<PoolName, PoolSpec>);

impl SettingValue for Pools {
    fn from_toml(value: &Value) -> Read<Self> {
        let Value::Table(table) = value else {
            let shown = quoted(value);
            return wrong(format!(
                "a table is wanted, as in {{ judges = {{ size = 8 }} }}, not {shown}"
            ));
        };
        let (mut pools, mut wrongs) = (BTreeMap::new(), Vec::new());
        for (name, told) in table {
            let named = PoolName::new(name).or_else(|bad| wrong(bad.to_string()));
            let about = |wrong: Wrong| Wrong { what: format!("{name}: {}", wrong.what), ..wrong };
            match named.and_then(|name| Ok((name, pool(told)?))) {
                Ok((name, pool)) => drop(pools.insert(name, pool)),
                Err(bad) => wrongs.extend(bad.into_iter().map(about)),
            }
        }
        if wrongs.is_empty() { Ok(Pools(pools)) } else { Err(wrongs) }
    }

    fn to_toml(&self) -> Option<Value> {
        let shown = |(name, spec): (&PoolName, &PoolSpec)| {
            // What a pool has is plain data: it can always be written.
            let pool = Value::try_from(WantedPool::from(spec)).ok()?;
            Some((name.to_string(), pool))
        };
        Some(Value::Table(self.0.iter().filter_map(shown).collect()))
    }
}

fn pool(value: &Value) -> Read<PoolSpec> {
    let Value::Table(_) = value else {
        return wrong(format!("a table is wanted, as in {{ size = 8 }}, not {}", quoted(value)));
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

    fn read(text: &str) -> Result<Pools, String> {
        let told = |wrongs: Vec<Wrong>| {
            wrongs.into_iter().map(|wrong| wrong.what).collect::<Vec<_>>().join("; ")
        };
        Pools::from_text(text).map_err(told)
    }

    #[test]
    fn a_pool_is_what_the_api_takes() {
        let pools = read(
            "{ judges = { size = 8, host = \"10.0.0.1:8888\", hooks = \"isolate\", max_hold = \"2h\", \
             slots = { first = 100, count = 16, rest = \"1m\" }, labels = { site = \"a\" } }, b = { size = 1 } }",
        );
        let pools = pools.unwrap();
        assert_eq!(pools.0.len(), 2);
        let b = pools.0.iter().find(|(name, _)| name.as_str() == "b").map(|(_, pool)| pool);
        assert_eq!(b, Some(&PoolSpec::of(0, 1)));
        let shown = pools.to_toml().unwrap();
        assert_eq!(Pools::from_toml(&shown), Ok(pools), "{shown}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_pool() {
        for (bad, why) in [
            ("{ judges = { } }", "judges: missing field `size`"),
            ("{ judges = { size = 8, sise = 9 } }", "judges: unknown field `sise`"),
            ("{ judges = { size = -1 } }", "judges: "),
            ("{ judges = { size = 70000 } }", "judges: a pool has at most 65536 boxes"),
            ("{ judges = { size = 1, ttl_default = \"soon\" } }", "\"soon\" is no duration"),
            ("{ judges = { size = 1, hooks = \"x\" } }", "hooks are run by a host"),
            ("{ \"a b\" = { size = 1 } }", "a b: the name of a pool is"),
            ("{ judges = 8 }", "judges: a table is wanted"),
            ("8", "a table is wanted"),
        ] {
            let told = read(bad).unwrap_err();
            assert!(told.contains(why) && !told.contains('\n'), "{bad}: {told}");
        }
        assert_eq!(read("{ a = 1, b = { size = 1, x = 1 } }").unwrap_err().split("; ").count(), 2);
    }
}
