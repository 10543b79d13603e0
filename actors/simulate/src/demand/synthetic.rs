//! An invented demand. Popularity falls with the rank and drifts, nights are quiet and evenings
//! busy. New titles appear every day, and some cold files get sudden demand.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;

use super::catalogue::normal;
use super::ranks::Ranks;
use crate::demand::file_request::FileRequest;
use crate::options::{DESTINATIONS_PER_RISE, REQUESTS_PER_FILE, SyntheticOptions};

/// Length of a simulated day.
pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Length of a simulated hour.
pub const HOUR: Duration = Duration::from_secs(60 * 60);

/// Hour with the highest demand, in hours after midnight.
const BUSIEST_HOUR: f64 = 21.0;

/// Relative increase of the demand at that hour, and decrease twelve hours later.
const SWING: f64 = 0.8;

/// New titles start in this top part of the files.
const NEW_TITLES_WITHIN: f64 = 0.02;

/// A sudden demand has this part of the daily requests of one destination.
const RISE_SHARE: f64 = 0.1;

/// Smallest number of requests of a sudden demand, so that it is noticeable.
const LEAST_RISE: f64 = 30.0;

/// Time after which a sudden demand has lost most of its strength.
const RISE_LASTS: Duration = Duration::from_secs(40 * 60);

/// An invented demand.
#[derive(Debug)]
pub struct Synthetic {
    rng: fastrand::Rng,
    /// Request frequency by place in `order`.
    ranks: Ranks,
    /// The released files, most popular first.
    order: Vec<u32>,
    /// Number of the next title to be released.
    next_title: u32,
    per_day: f64,
    zipf: f64,
    drift: f64,
    new_titles: u32,
    rises: u32,
    rise_requests: u32,
    /// Time of the next ordinary request, in milliseconds.
    next: f64,
    /// The requests of today's sudden demands.
    rising: BinaryHeap<Reverse<(Millis, u32)>>,
}

impl Synthetic {
    /// A demand on `destinations` that starts at `start`, a midnight. Files are numbered by their
    /// initial popularity. The last ones are released over `days`; later titles have further numbers.
    pub fn new(
        options: &SyntheticOptions,
        destinations: u32,
        days: u32,
        start: Millis,
        rng: fastrand::Rng,
    ) -> Self {
        let default = REQUESTS_PER_FILE * f64::from(options.files);
        let per_day = options.requests_per_day.map_or(default, |requests| requests as f64);
        let released = options.files_at_start(days).max(1);
        let rises = options.rises_per_day.unwrap_or(destinations.div_ceil(DESTINATIONS_PER_RISE));
        let rise = RISE_SHARE * per_day / f64::from(destinations.max(1));
        let least_rise = LEAST_RISE.min(per_day);
        let mut demand = Synthetic {
            rng,
            ranks: Ranks::falling_by(options.zipf, options.files),
            order: (0..released).collect(),
            next_title: released,
            per_day,
            zipf: options.zipf,
            drift: options.drift,
            new_titles: options.new_titles(),
            rises,
            rise_requests: rise.max(least_rise) as u32,
            next: start.0 as f64,
            rising: BinaryHeap::new(),
        };
        demand.step();
        demand.begin_rises(start);
        demand
    }

    /// The files that exist at the start, most popular first, each with its requests per day.
    pub fn in_the_beginning(&self) -> Vec<(FileId, f64)> {
        let files = self.order.iter().map(|file| FileId(*file));
        files.zip(self.requests_by_place()).collect()
    }

    /// The released files, most popular first.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The requests a day by place in the order, without sudden demands.
    pub fn requests_by_place(&self) -> Vec<f64> {
        let weights = (1..=self.order.len()).map(|place| (place as f64).powf(-self.zipf));
        let mut requests: Vec<f64> = weights.collect();
        let all: f64 = requests.iter().sum();
        requests.iter_mut().for_each(|weight| *weight *= self.per_day / all);
        requests
    }

    /// The next request, if it comes before `until`.
    pub fn next_before(&mut self, until: Millis) -> Option<FileRequest> {
        let base = Millis(self.next as i64);
        let rising = self.rising.peek().map(|Reverse((at, _))| *at);
        if rising.is_some_and(|at| at < base && at < until) {
            let Reverse((at, file)) = self.rising.pop()?;
            return Some(FileRequest { at, file: FileId(file) });
        }
        if base >= until {
            return None;
        }
        let file = self.draw();
        self.step();
        Some(FileRequest { at: base, file: FileId(file) })
    }

    /// Starts a day: releases titles, and chooses today's sudden demands.
    pub fn begin_day(&mut self, now: Millis) -> Vec<FileId> {
        self.begin_rises(now);
        self.release().into_iter().map(FileId).collect()
    }

    /// Called after each hour: some files swap their places.
    pub fn drift(&mut self) {
        let files = self.order.len();
        let swaps = self.drift * files as f64 / 24.0 / 2.0;
        for _ in 0..whole(swaps, &mut self.rng) {
            let here = log_uniform(files as f64, &mut self.rng);
            let there = here * normal(&mut self.rng).exp();
            let there = (there as usize).min(files.saturating_sub(1));
            self.order.swap(here as usize, there);
        }
    }

    fn draw(&mut self) -> u32 {
        // Places after the last one belong to unreleased files.
        loop {
            let place = self.ranks.draw(&mut self.rng) as usize;
            if let Some(file) = self.order.get(place) {
                return *file;
            }
        }
    }

    /// Draws the time of the next request by the frequency of the hour.
    fn step(&mut self) {
        let day = DAY.as_millis() as f64;
        let hour = self.next.rem_euclid(day) / HOUR.as_millis() as f64;
        let swing = (std::f64::consts::TAU * (hour - BUSIEST_HOUR) / 24.0).cos();
        let per_millisecond = self.per_day * (1.0 + SWING * swing) / day;
        self.next += -(1.0 - self.rng.f64()).ln() / per_millisecond.max(f64::MIN_POSITIVE);
    }

    fn begin_rises(&mut self, now: Millis) {
        let cold_from = self.order.len() / 2;
        for _ in 0..self.rises {
            let file = self.order[self.rng.usize(cold_from..self.order.len())];
            let begins = now.after(DAY.mul_f64(self.rng.f64()));
            for _ in 0..self.rise_requests {
                let after = RISE_LASTS.mul_f64(-(1.0 - self.rng.f64()).ln());
                self.rising.push(Reverse((begins.after(after), file)));
            }
        }
    }

    /// Gives the next titles places near the top.
    fn release(&mut self) -> Vec<u32> {
        let after = self.next_title.saturating_add(self.new_titles);
        let titles: Vec<u32> = (self.next_title..after).rev().collect();
        self.next_title = after;
        let front = (self.order.len() as f64 * NEW_TITLES_WITHIN).max(1.0);
        let place = |_: &u32| log_uniform(front, &mut self.rng) as usize;
        let mut places: Vec<usize> = titles.iter().map(place).collect();
        places.sort_unstable();
        let mut before = std::mem::take(&mut self.order).into_iter();
        self.order.reserve(before.len() + titles.len());
        for (place, title) in places.into_iter().zip(&titles) {
            let missing = place.saturating_sub(self.order.len());
            self.order.extend(before.by_ref().take(missing));
            self.order.push(*title);
        }
        self.order.extend(before);
        titles
    }
}

/// A number from 0 to `most` with a log-uniform distribution: numbers from 1 to 10 are as frequent
/// as numbers from 10 to 100.
fn log_uniform(most: f64, rng: &mut fastrand::Rng) -> f64 {
    (most.max(1.0).ln() * rng.f64()).exp() - 1.0
}

/// One of the two integers next to `number`, drawn so that the mean is `number`.
fn whole(number: f64, rng: &mut fastrand::Rng) -> u64 {
    number as u64 + u64::from(rng.f64() < number.fract())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::samples::synthetic;

    const MIDNIGHT: Millis = Millis(1_767_571_200_000);

    fn demand(options: &SyntheticOptions) -> Synthetic {
        Synthetic::new(options, 5, 3, MIDNIGHT, fastrand::Rng::with_seed(5))
    }

    fn all_before(demand: &mut Synthetic, until: Millis) -> Vec<FileRequest> {
        std::iter::from_fn(|| demand.next_before(until)).collect()
    }

    #[test]
    fn a_day_has_its_requests_in_order_and_most_in_the_evening() {
        let steady = SyntheticOptions { rises_per_day: Some(0), ..synthetic() };
        let requests = all_before(&mut demand(&steady), MIDNIGHT.after(DAY));
        assert!((9_500..10_500).contains(&requests.len()), "{}", requests.len());
        assert!(requests.is_sorted_by_key(|request| request.at));
        let within = |from: u32, to: u32| {
            let of = |request: &&FileRequest| {
                let hour = request.at.since(MIDNIGHT).as_secs() / 3600;
                (u64::from(from)..u64::from(to)).contains(&hour)
            };
            requests.iter().filter(of).count()
        };
        assert!(within(20, 22) > 4 * within(8, 10), "{} {}", within(20, 22), within(8, 10));
    }

    #[test]
    fn a_cold_file_rises_within_minutes() {
        let mut calm = demand(&SyntheticOptions { rises_per_day: Some(0), ..synthetic() });
        let mut stormy = demand(&SyntheticOptions { rises_per_day: Some(1), ..synthetic() });
        let until = MIDNIGHT.after(DAY * 2);
        let (calm, stormy) = (all_before(&mut calm, until), all_before(&mut stormy, until));
        assert!(stormy.len() > calm.len() + 100);
        let cold: Vec<&FileRequest> =
            stormy.iter().filter(|request| request.file.0 >= 495).collect();
        let mut times = std::collections::HashMap::<FileId, Vec<Millis>>::new();
        cold.iter().for_each(|request| times.entry(request.file).or_default().push(request.at));
        let most = times.values().max_by_key(|times| times.len()).unwrap();
        assert!(most.len() >= 190, "{}", most.len());
        assert!(most[20].since(most[2]) < Duration::from_secs(600));
    }

    #[test]
    fn new_titles_come_with_the_day_and_are_popular() {
        let mut demand = demand(&synthetic());
        assert_eq!(demand.in_the_beginning().len(), 990);
        let titles = demand.begin_day(MIDNIGHT.after(DAY));
        assert_eq!(titles.len(), 5);
        assert_eq!(demand.order.len(), 995);
        let places = titles.iter().map(|title| demand.order.iter().position(|at| *at == title.0));
        assert!(places.flatten().all(|place| place < 30));
        let mut all = demand.order.clone();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 995, "no file stands twice");
        let next = demand.begin_day(MIDNIGHT.after(DAY * 2));
        assert_eq!(next, (995..1000).rev().map(FileId).collect::<Vec<_>>());
        let behind_the_end = demand.begin_day(MIDNIGHT.after(DAY * 3));
        assert_eq!(behind_the_end, (1000..1005).rev().map(FileId).collect::<Vec<_>>());
    }

    #[test]
    fn most_titles_may_be_new_and_no_request_means_none() {
        let many = SyntheticOptions { new_titles_per_day: Some(450), ..synthetic() };
        assert_eq!(demand(&many).in_the_beginning().len(), 100);
        let silent = SyntheticOptions { requests_per_day: Some(0), ..synthetic() };
        assert!(all_before(&mut demand(&silent), MIDNIGHT.after(DAY)).is_empty());
    }

    #[test]
    fn tastes_change_only_where_they_drift() {
        let mut steady = demand(&SyntheticOptions { drift: 0.0, ..synthetic() });
        let mut moving = demand(&SyntheticOptions { drift: 0.5, ..synthetic() });
        let before = steady.order.clone();
        (0..24).for_each(|_| [&mut steady, &mut moving].into_iter().for_each(Synthetic::drift));
        assert_eq!(steady.order, before);
        let moved = moving.order.iter().zip(&before).filter(|(now, then)| now != then).count();
        assert!(moved > 50, "{moved}");
    }
}
