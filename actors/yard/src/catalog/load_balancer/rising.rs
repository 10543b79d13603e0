//! Rising hits: requests of the watch window that no destination could serve. Pure. A hit outside of
//! the window no longer counts, even if the log does not change.

use std::collections::BTreeMap;
use std::time::Duration;

use hashbrown::HashMap;
use reelyard_core::clock::Millis;
use reelyard_core::names::{FileId, NameTable};

/// The hot files of one moment, most hits first, then by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RisingHits {
    hot: Vec<(FileId, u32)>,
}

impl RisingHits {
    /// The hot files with their hits, in any order.
    pub fn new(hot: impl IntoIterator<Item = (FileId, u32)>, names: &NameTable) -> Self {
        let mut hot: Vec<(FileId, u32)> = hot.into_iter().collect();
        let names = names.lookup();
        hot.sort_unstable_by(|(a, a_hits), (b, b_hits)| {
            b_hits.cmp(a_hits).then_with(|| names.bytes(*a).cmp(names.bytes(*b)))
        });
        RisingHits { hot }
    }

    /// The hot files with their hits, most first.
    pub fn hot(&self) -> &[(FileId, u32)] {
        &self.hot
    }
}

/// The parts of the window that a curve of hits counts apart.
pub const CURVE_PARTS: usize = 20;

/// The hits of each hot file in even parts of the window, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HitCurves(HashMap<FileId, [u32; CURVE_PARTS]>);

impl HitCurves {
    /// The curve of a file. None if it is not hot.
    pub fn of(&self, file: FileId) -> Option<&[u32; CURVE_PARTS]> {
        self.0.get(&file)
    }
}

/// How far the load balancer's clock may be ahead of ours: as far as a backward step of our own clock
/// may be held back.
pub const LARGEST_LEAD: Duration = reelyard_core::clock::LARGEST_HELD_STEP;

/// The effect of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitTaken {
    /// It counts until it leaves the window.
    Counted,
    /// It had left the window already.
    TooOld,
    /// It is further ahead than [`LARGEST_LEAD`]: a wrong stamp, which might stay permanently.
    AheadOfClock,
}

/// The hits of the window, by whole seconds: a hit of second `s` counts while `now - window < s + 1`,
/// which is cfm's rule. Four bytes a hit, and one count per file.
#[derive(Clone, Debug)]
pub struct HitWindow {
    /// Length of the window in seconds.
    window: i64,
    /// A file is hot when it has at least this many hits in the window.
    base: u32,
    /// The files hit in each second.
    seconds: BTreeMap<i64, Vec<FileId>>,
    /// Hits per file in the window. Never zero.
    hits: HashMap<FileId, u32>,
    /// How many files are hot.
    hot: usize,
}

impl HitWindow {
    /// An empty window. `window` is rounded up to whole seconds and is at least one. A file is hot from
    /// `base` hits on (at least one).
    pub fn new(window: Duration, base: u32) -> Self {
        let seconds = window.as_millis().div_ceil(1000).max(1);
        HitWindow {
            window: i64::try_from(seconds).unwrap_or(i64::MAX),
            base: base.max(1),
            seconds: BTreeMap::new(),
            hits: HashMap::new(),
            hot: 0,
        }
    }

    /// The first instant whose hits still count at `now`.
    pub fn start(&self, now: Millis) -> Millis {
        Millis::from_unix_seconds(now.unix_seconds().saturating_sub(self.window))
    }

    /// Whether a hit stamped `at` would count at `now`.
    pub fn judge(&self, at: Millis, now: Millis) -> HitTaken {
        if at < self.start(now) {
            HitTaken::TooOld
        } else if at > now.after(LARGEST_LEAD) {
            HitTaken::AheadOfClock
        } else {
            HitTaken::Counted
        }
    }

    /// Takes a hit on `file` stamped `at`. A stamp ahead of `now` counts as `now`, so that no hit
    /// remains longer than the window.
    pub fn hit(&mut self, file: FileId, at: Millis, now: Millis) -> HitTaken {
        let taken = self.judge(at, now);
        if taken == HitTaken::Counted {
            self.seconds.entry(at.min(now).unix_seconds()).or_default().push(file);
            let hits = self.hits.entry(file).or_insert(0);
            *hits = hits.saturating_add(1);
            self.hot += usize::from(*hits == self.base);
        }
        taken
    }

    /// Drops the hits that have left the window at `now`.
    pub fn expire(&mut self, now: Millis) {
        let start = self.start(now).unix_seconds();
        while let Some(oldest) = self.seconds.first_entry() {
            if *oldest.key() >= start {
                break;
            }
            for file in oldest.remove() {
                self.forget_hit(file);
            }
        }
    }

    fn forget_hit(&mut self, file: FileId) {
        if let hashbrown::hash_map::Entry::Occupied(mut hits) = self.hits.entry(file) {
            self.hot -= usize::from(*hits.get() == self.base);
            *hits.get_mut() -= 1;
            if *hits.get() == 0 {
                hits.remove();
            }
        }
    }

    /// The next instant at which [`HitWindow::rising`] may change without a new hit; none while no file
    /// is hot.
    pub fn next_change(&self) -> Option<Millis> {
        let (oldest, _) = self.seconds.first_key_value().filter(|_| self.hot > 0)?;
        Some(Millis::from_unix_seconds(oldest.saturating_add(self.window).saturating_add(1)))
    }

    /// The hot files, as of the last [`HitWindow::expire`].
    pub fn rising(&self, names: &NameTable) -> RisingHits {
        let hot = self.hits.iter().filter(|(_, hits)| **hits >= self.base);
        RisingHits::new(hot.map(|(file, hits)| (*file, *hits)), names)
    }

    /// The curves of the hot files up to `now`.
    pub fn curves(&self, now: Millis) -> HitCurves {
        let hot = self.hits.iter().filter(|(_, hits)| **hits >= self.base);
        let mut curves: HashMap<_, _> = hot.map(|(file, _)| (*file, [0; CURVE_PARTS])).collect();
        if curves.is_empty() {
            return HitCurves::default();
        }
        let start = self.start(now).unix_seconds();
        for (second, files) in &self.seconds {
            let passed = second.saturating_sub(start).max(0);
            let part = usize::try_from(passed.saturating_mul(CURVE_PARTS as i64) / self.window);
            let part = part.unwrap_or(CURVE_PARTS).min(CURVE_PARTS - 1);
            for file in files {
                if let Some(curve) = curves.get_mut(file) {
                    curve[part] += 1;
                }
            }
        }
        HitCurves(curves)
    }

    /// Hits in the window.
    pub fn hits(&self) -> usize {
        self.seconds.values().map(Vec::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOON: Millis = Millis(1_527_951_600_000);

    fn window() -> (NameTable, HitWindow) {
        let names = NameTable::new();
        names.intern_all([&b"C"[..], b"B", b"A"]);
        (names, HitWindow::new(Duration::from_secs(600), 3))
    }

    fn second(offset: i64) -> Millis {
        Millis(NOON.0 + offset * 1000)
    }

    #[test]
    fn a_file_is_hot_from_the_base_on_until_its_hits_leave() {
        let (names, mut window) = window();
        let [c, b] = [FileId(0), FileId(1)];
        for offset in [0, 1, 2] {
            assert!(window.rising(&names).hot().is_empty());
            window.hit(c, second(offset), NOON);
            window.hit(b, second(0), NOON);
        }
        // Equal hits: by name, and "B" comes before "C".
        assert_eq!(window.rising(&names).hot(), [(b, 3), (c, 3)]);
        // All hits ahead of the clock count as of now.
        let gone = second(601);
        assert_eq!(window.next_change(), Some(gone));
        window.expire(Millis(gone.0 - 1));
        assert_eq!(window.rising(&names).hot().len(), 2);
        window.expire(gone);
        assert_eq!(window.rising(&names), RisingHits::default());
        assert_eq!((window.next_change(), window.hits()), (None, 0));
    }

    #[test]
    fn a_curve_has_the_hits_of_a_hot_file_by_their_time() {
        let (_, mut window) = window();
        let [c, b] = [FileId(0), FileId(1)];
        assert_eq!(window.curves(NOON), HitCurves::default());
        for offset in [-600, -1, -1, 0] {
            window.hit(c, second(offset), NOON);
        }
        window.hit(b, second(0), NOON);
        let curves = window.curves(NOON);
        let curve = curves.of(c).unwrap();
        assert_eq!((curve[0], curve[CURVE_PARTS - 1], curve.iter().sum::<u32>()), (1, 3, 4));
        assert_eq!(curves.of(b), None, "it is not hot");
    }

    #[test]
    fn hits_outside_the_window_or_far_ahead_do_not_count() {
        let (_, mut window) = window();
        assert_eq!(window.hit(FileId(0), second(-601), NOON), HitTaken::TooOld);
        assert_eq!(window.hit(FileId(0), second(-600), NOON), HitTaken::Counted);
        assert_eq!(window.hit(FileId(0), second(300), NOON), HitTaken::Counted);
        assert_eq!(window.hit(FileId(0), second(301), NOON), HitTaken::AheadOfClock);
        assert_eq!(window.hit(FileId(0), Millis(i64::MAX), NOON), HitTaken::AheadOfClock);
        assert_eq!(window.hit(FileId(0), Millis(i64::MIN), NOON), HitTaken::TooOld);
        assert_eq!(window.hits(), 2);
    }

    #[test]
    fn a_hot_file_cools_hit_by_hit() {
        let (names, mut window) = window();
        for offset in [-10, -9, -8, -7] {
            window.hit(FileId(2), second(offset), NOON);
        }
        assert_eq!(window.rising(&names).hot(), [(FileId(2), 4)]);
        window.expire(second(591));
        assert_eq!(window.rising(&names).hot(), [(FileId(2), 3)]);
        window.expire(second(592));
        assert_eq!(window.rising(&names).hot(), []);
        assert_eq!(window.hits(), 2);
    }

    proptest! {
        #[test]
        fn the_window_equals_a_count_over_all_hits(
            hits in proptest::collection::vec((0_u32..3, -700_i64..400), 0..200),
            later in 0_i64..900,
        ) {
            let (names, mut window) = window();
            for &(file, at) in &hits {
                window.hit(FileId(file), second(at), NOON);
            }
            window.expire(second(later));
            let counts = |file| hits.iter().filter(|&&(hit, at)| {
                hit == file && (-600..=300).contains(&at) && at.min(0) >= later - 600
            }).count() as u32;
            let hot = (0..3).map(|file| (FileId(file), counts(file))).filter(|hot| hot.1 >= 3);
            let hot = RisingHits::new(hot, &names);
            prop_assert_eq!(window.next_change().is_some(), !hot.hot().is_empty());
            prop_assert_eq!(window.rising(&names), hot);
        }
    }
}
