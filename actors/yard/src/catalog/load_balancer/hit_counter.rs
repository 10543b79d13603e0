//! Counts hits by file.

use std::collections::VecDeque;

use reelyard_core::clock::Millis;
use reelyard_core::names::{FileId, NameTable};

use crate::catalog::load_balancer::rising::{HitTaken, HitWindow};
use crate::catalog::load_balancer::unknown_hits::UnknownHits;
use crate::catalog::settings::EventLogSettings;

/// How many names without a file number may become hot within one window. Each of them gets a number.
pub(crate) const MOST_UNKNOWN_HOT: usize = 1000;

/// The hits in the window.
#[derive(Debug)]
pub struct HitCounter {
    /// Hits of names that the process knows.
    pub(crate) window: HitWindow,
    /// Hits of all other names.
    pub(crate) unknown: UnknownHits,
    pub(crate) base: u32,
    /// Times within the window at which names without a file number became hot.
    pub(crate) became_hot: VecDeque<i64>,
}

impl HitCounter {
    pub(crate) fn new(settings: &EventLogSettings) -> Self {
        HitCounter {
            window: HitWindow::new(settings.window, settings.hit_base),
            unknown: UnknownHits::default(),
            base: settings.hit_base.max(1),
            became_hot: VecDeque::new(),
        }
    }

    /// Takes a hit with the time `at` on `name`. `file` is its number if the process knows it.
    pub fn record(
        &mut self,
        file: Option<FileId>,
        name: &[u8],
        at: Millis,
        now: Millis,
    ) -> HitTaken {
        if let Some(file) = file {
            return self.window.hit(file, at, now);
        }
        let taken = self.window.judge(at, now);
        if taken == HitTaken::Counted {
            self.unknown.hit(name, at.min(now).unix_seconds());
        }
        taken
    }

    /// Drops the hits that have left the window. Unknown names that are now known or hot are then
    /// counted like all others.
    pub(crate) fn expire(&mut self, names: &NameTable, now: Millis) {
        let start = self.window.start(now).unix_seconds();
        self.unknown.expire(start);
        while self.became_hot.front().is_some_and(|at| *at < start) {
            self.became_hot.pop_front();
        }
        let room = MOST_UNKNOWN_HOT.saturating_sub(self.became_hot.len());
        let hot = self.unknown.hottest(self.base, room);
        self.became_hot.extend(hot.iter().map(|_| now.unix_seconds()));
        names.intern_all(hot.iter().map(|name| &**name));
        for (file, seconds) in self.unknown.take_known(names) {
            for hits in seconds {
                let at = Millis::from_unix_seconds(hits.second);
                for _ in 0..hits.count {
                    // It is still in the window, because hits outside of it were dropped above.
                    let _ = self.window.hit(file, at, now);
                }
            }
        }
        self.window.expire(now);
    }

    /// Hits in the window.
    pub(crate) fn count(&self) -> usize {
        self.window.hits() + self.unknown.hits()
    }
}
