//! The growing event log in a temporary directory, and processes that follow it.

mod demand;
mod hits;
mod restarts;

use std::fs;
use std::io::Write;
use std::path::Path;

use jiff::tz::TimeZone;

use reelyard_core::names::FileName;

use super::*;
use crate::catalog::ranking::Ranking;
use crate::catalog::views::EventLogFileView;

/// 2018-06-03, midnight in Seoul.
const MIDNIGHT: Millis = Millis(1_527_951_600_000);
const SOON: Millis = Millis(MIDNIGHT.0 + 60_000);
const WATCHED: &str = "10.0.0.3";

struct EventLogFixture {
    dir: tempfile::TempDir,
    log: EventLog,
}

impl EventLogFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = EventLogSettings {
            watch_address: WATCHED.parse().ok(),
            hit_base: 2,
            time_zone: TimeZone::get("Asia/Seoul").unwrap(),
            ..EventLogSettings::new(dir.path())
        };
        let log = EventLog::new(settings, NameTable::new(), RankingSlot::default(), None);
        EventLogFixture { log, dir }
    }

    fn path(&self, day: u32) -> std::path::PathBuf {
        self.dir.path().join(format!("EventLog[201806{day:02}].log"))
    }

    /// The files that a read finds hot.
    fn hot(&mut self, now: Millis) -> Vec<(String, u32)> {
        self.log.look(now);
        let names = self.log.names.clone();
        let hot = self.log.rising.hot().iter();
        hot.map(|&(file, hits)| (names.name(file).to_string(), hits)).collect()
    }

    /// The last day's view, without the path.
    fn view(&self) -> EventLogFileView {
        let mut view = self.log.days[1].view().clone();
        view.input.path.clear();
        view
    }

    fn hits(&mut self, now: Millis) -> usize {
        self.log.look(now);
        self.log.hits.count()
    }
}

fn row(name: &str, at: Millis) -> String {
    let seconds = at.unix_seconds();
    format!("0x40ffff,1,{seconds},Server {WATCHED} Selected for x's file({name}) Request\n")
}

fn append(path: &Path, text: &str) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn hot(name: &str, hits: u32) -> Vec<(String, u32)> {
    vec![(name.to_owned(), hits)]
}

/// A log whose ranking has these files.
fn ranked(names: &[&str]) -> EventLogFixture {
    let mut yard = EventLogFixture::new();
    let files = names.iter().map(|name| (yard.log.names.intern(&FileName::new(*name).unwrap()), 1));
    let slot = RankingSlot::default();
    slot.set(Arc::new(Ranking::from_files_wanting(files)));
    yard.log = EventLog::new(yard.log.settings.clone(), yard.log.names.clone(), slot, None);
    yard
}

fn requests(yard: &mut EventLogFixture, now: Millis) -> u64 {
    yard.log.look(now).view.requests_counted
}

/// A process that follows the logs of a directory. Each process numbers its files in another order.
struct DemandProcess {
    log: EventLog,
}

impl DemandProcess {
    fn start(yard: &EventLogFixture, files: &[&str]) -> Self {
        let names = NameTable::new();
        let ids: Vec<_> =
            files.iter().map(|name| (names.intern(&FileName::new(*name).unwrap()), 1)).collect();
        let slot = RankingSlot::default();
        slot.set(Arc::new(Ranking::from_files_wanting(ids)));
        let checkpoint = CheckpointFile::new(&yard.dir.path().join("demand-checkpoint"));
        let settings = yard.log.settings.clone();
        DemandProcess { log: EventLog::new(settings, names, slot, Some(checkpoint)) }
    }

    /// Reads the log. Answers how many requests this process has counted.
    fn look(&mut self, now: Millis) -> u64 {
        self.log.look(now).view.requests_counted
    }

    /// Reads the log and saves the demand, as at an orderly end.
    fn save(&mut self, now: Millis) -> u64 {
        self.log.checkpoint.as_ref().unwrap().request();
        self.look(now)
    }

    /// The requests for a file that are remembered, with the weight of `now`.
    fn remembered(&mut self, name: &str, now: Millis) -> f64 {
        let file = self.log.names.find(name.as_bytes()).unwrap();
        let memory = self.log.demand.as_mut().unwrap().memory_mut();
        let reference = Millis::from_unix_seconds(memory.summary().reference);
        let days = now.since(reference).as_secs_f64() / 86_400.0;
        let left = memory.half_lives().left_after(days);
        let longest = memory.half_lives().longest_choice();
        f64::from(memory.of_file(file).sums[longest]) * left[longest]
    }

    fn assert_remembers(&mut self, now: Millis, expected: &[(&str, f64)]) {
        for (name, requests) in expected {
            let remembered = self.remembered(name, now);
            assert!((remembered - requests).abs() < 0.01, "{name}: {remembered}");
        }
    }
}
