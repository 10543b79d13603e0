//! Checks the order of settings of a node that limit each other.

use reelyard_core::settings::SettingsReader;

use super::node::NodeConfig;

/// Largest percentage of a disk that may be freed for one file.
const MOST_FOR_ONE_FILE: u32 = 50;

impl NodeConfig {
    /// Records a fault for every setting that exceeds its limit by another setting.
    pub(super) fn check_order(&self, reader: &mut SettingsReader) {
        let share = self.yard.remover.make_room_percent.get();
        if share > MOST_FOR_ONE_FILE {
            let what = format!(
                "expected at most {MOST_FOR_ONE_FILE}, not {share}: the limit for one file"
            );
            reader.fault("remover.make_room_percent", what);
        }
        let (heartbeat, calls, task) = (&self.yard.heartbeat, &self.yard.calls, &self.yard.task);
        let catalog = &self.yard.catalog;
        if heartbeat.suspect_after > heartbeat.down_after {
            let (suspect, down) = (heartbeat.suspect_after, heartbeat.down_after);
            let what = format!("must not be above heartbeat.down_after: {suspect} > {down}");
            reader.fault("heartbeat.suspect_after", what);
        }
        let (limit, low) = (self.yard.storage.limit_percent, self.yard.storage.low_water_percent);
        if let Some(low) = low.filter(|low| *low > limit) {
            let (low, limit) = (low.get(), limit.get());
            let what = format!("must not be above storage.limit_percent: {low} > {limit}");
            reader.fault("storage.low_water_percent", what);
        }
        let election = &self.journal.election;
        let ordered = [
            ("catalog.settle", catalog.settle, "catalog.settle_limit", catalog.settle_limit),
            ("calls.connect_timeout", calls.connect_timeout, "calls.timeout", calls.timeout),
            ("calls.timeout", calls.timeout, "calls.list_timeout", calls.list_timeout),
            ("calls.breaker_base", calls.breaker_base, "calls.breaker_cap", calls.breaker_cap),
            (
                "calls.changes_interval",
                calls.changes_interval,
                "calls.full_inventory_interval",
                calls.full_inventory_interval,
            ),
            ("task.back_off_base", task.back_off_base, "task.back_off_cap", task.back_off_cap),
            (
                "journal.heartbeat",
                election.heartbeat,
                "journal.election_min",
                election.election_min,
            ),
            (
                "journal.election_min",
                election.election_min,
                "journal.election_max",
                election.election_max,
            ),
        ];
        for (key, value, above, limit) in ordered {
            // Raft needs a distance between these: with equal values all nodes would become
            // candidates at the same time.
            let strict = key.starts_with("journal.");
            if value > limit || strict && value == limit {
                let shown = humantime::format_duration;
                let relation = if strict { "must be below" } else { "must not be above" };
                let what = format!("{relation} {above}: {} against {}", shown(value), shown(limit));
                reader.fault(key, what);
            }
        }
    }
}
