//! A demand from load-balancer logs.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reelyard_core::bounded_read::{self, InputSource};
use reelyard_core::clock::Millis;
use reelyard_core::names::{FileId, NameTable};
use reelyard_yard::catalog::CatalogSettings;
use reelyard_yard::catalog::files::ranking_inputs::RankingInputs;
use reelyard_yard::catalog::load_balancer::event_row::{EventRow, read_event_row};
use reelyard_yard::catalog::load_balancer::log_days::{day_of_log, demand_times};
use reelyard_yard::catalog::ranking::Ranking;
use reelyard_yard::catalog::single_flight::InputReader;

use super::synthetic::DAY;
use crate::demand::file_request::FileRequest;
use crate::options::RecordedOptions;

/// A log whose length differs from whole days by at most this much has whole days.
pub const DAY_TOLERANCE: Duration = Duration::from_secs(2 * 60 * 60);

/// Requests with a smaller part of all requests, and a day or more from the others, have wrong times.
const LEAST_PART: usize = 100;

/// The requests of some logs, repeated.
#[derive(Debug)]
pub struct Recorded {
    /// Sorted by time.
    requests: Vec<FileRequest>,
    /// Length of one repetition in whole days.
    period: Duration,
    next: usize,
    /// Number of completed repetitions.
    repeated: u32,
}

impl Recorded {
    /// Reads the logs. Every selection is a request. The chosen server is ignored, because the
    /// simulated yard decides which host serves it.
    pub fn read(options: &RecordedOptions, names: &NameTable) -> Result<Self> {
        let mut requests = Vec::new();
        for log in &options.event_logs {
            read_log(log, names, &mut requests)
                .with_context(|| format!("cannot read {}", log.display()))?;
        }
        let logs: Vec<String> =
            options.event_logs.iter().map(|log| log.display().to_string()).collect();
        ensure!(
            !requests.is_empty(),
            "{}: the log contains no request for a file. If its name has a day, only rows near that day count",
            logs.join(", ")
        );
        // Stable: requests of the same second keep the order of the log.
        requests.sort_by_key(|request| request.at);
        let mut requests = without_wrong_times(requests);
        let (first, last) = (requests[0].at, requests[requests.len() - 1].at);
        let lasts = last.since(first).saturating_sub(DAY_TOLERANCE);
        let days = lasts.as_millis().div_ceil(DAY.as_millis()).max(1);
        let period = DAY.saturating_mul(u32::try_from(days)?);
        // They are those of the next repetition.
        requests.retain(|request| request.at < first.after(period));
        Ok(Recorded { requests, period, next: 0, repeated: 0 })
    }

    /// All requests of the logs, sorted by time.
    pub fn requests(&self) -> &[FileRequest] {
        &self.requests
    }

    /// Time of the first request.
    pub fn start(&self) -> Millis {
        self.requests.first().map_or(Millis(0), |request| request.at)
    }

    /// End of the last request.
    pub fn end(&self) -> Millis {
        self.requests.last().map_or(Millis(0), |request| request.at.after(Duration::from_secs(1)))
    }

    /// Number of requests per day for each of `files` files.
    pub fn a_day(&self, files: usize) -> Vec<f64> {
        let days = self.period.as_secs_f64() / DAY.as_secs_f64();
        let mut counts = vec![0.0; files];
        self.requests.iter().for_each(|request| counts[request.file.0 as usize] += 1.0 / days);
        counts
    }

    /// The next request, if it comes before `until`.
    pub fn next_before(&mut self, until: Millis) -> Option<FileRequest> {
        if self.next == self.requests.len() {
            self.next = 0;
            self.repeated += 1;
        }
        let request = *self.requests.get(self.next)?;
        let at = request.at.after(self.period.saturating_mul(self.repeated));
        (at < until).then(|| {
            self.next += 1;
            FileRequest { at, ..request }
        })
    }
}

/// Leaves out requests whose times are errors. One of them would add empty days, or make the simulation endless.
/// `requests` are sorted by time, and some remain.
fn without_wrong_times(requests: Vec<FileRequest>) -> Vec<FileRequest> {
    let parts = || requests.chunk_by(|a, b| b.at.since(a.at) < DAY);
    let largest = parts().map(<[FileRequest]>::len).max().unwrap_or(0);
    let kept = parts().filter(|part| part.len() * LEAST_PART >= largest);
    kept.flatten().copied().collect()
}

fn read_log(log: &Path, names: &NameTable, requests: &mut Vec<FileRequest>) -> Result<()> {
    let mut lines =
        BufReader::with_capacity(1 << 20, bounded_read::open(log, InputSource::FileOrPipe)?);
    let mut interning = names.interner();
    // A node does not count other times either.
    let times = log.file_name().and_then(day_of_log).map(demand_times);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        // An invalid row is skipped, as in a node.
        if let Ok(EventRow::Selection(selection)) = read_event_row(line.trim_ascii_end())
            && times.as_ref().is_none_or(|times| times.contains(&selection.at))
        {
            let file = interning.intern(selection.name)?;
            requests.push(FileRequest { at: selection.at, file });
        }
        line.clear();
    }
    Ok(())
}

/// The ranking of the first day, as a node reads it; none if no file is given.
pub fn read_ranking(options: &RecordedOptions, names: &NameTable) -> Result<Option<Arc<Ranking>>> {
    let Some(grade_info) = &options.grade_info else { return Ok(None) };
    for path in [Some(grade_info), options.hitcount_history.as_ref()].into_iter().flatten() {
        bounded_read::open(path, InputSource::File)
            .with_context(|| format!("cannot read {}", path.display()))?;
    }
    let settings = CatalogSettings {
        grade_info_file: Some(grade_info.clone()),
        hitcount_history_file: options.hitcount_history.clone(),
        settle: Duration::ZERO,
        settle_limit: Duration::ZERO,
        ..CatalogSettings::default()
    };
    let look = RankingInputs::new(&settings, names.clone()).look(Millis(0));
    let ranking = look.changed.with_context(|| format!("cannot read {}", grade_info.display()))?;
    ensure!(!ranking.is_empty(), "{}: it ranks no file", grade_info.display());
    Ok(Some(ranking))
}

/// Sorts the files of ranking and log: ranked files in their order, then others by their requests.
pub fn best_first(ranking: Option<&Ranking>, a_day: &[f64]) -> Vec<FileId> {
    let ranked = ranking.map_or(&[][..], Ranking::files);
    let is_ranked = |file: &FileId| ranking.is_some_and(|ranking| ranking.rank(*file).is_some());
    let others = (0..a_day.len() as u32).map(FileId).filter(|file| !is_ranked(file));
    let mut others: Vec<FileId> = others.collect();
    others.sort_by(|a, b| a_day[b.0 as usize].total_cmp(&a_day[a.0 as usize]));
    ranked.iter().copied().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(second: i64, name: &str) -> String {
        format!("0x40ffff,1,{second},Server 10.0.0.9 Selected for x's file({name}) Request\n")
    }

    fn read(text: &str) -> Result<(Recorded, NameTable)> {
        read_named("log", text)
    }

    fn read_named(log: &str, text: &str) -> Result<(Recorded, NameTable)> {
        let dir = tempfile::tempdir()?;
        let log = dir.path().join(log);
        std::fs::write(&log, text)?;
        let (grade_info, hitcount_history) = (None, None);
        let options = RecordedOptions { event_logs: vec![log], grade_info, hitcount_history };
        let names = NameTable::new();
        Ok((Recorded::read(&options, &names)?, names))
    }

    #[test]
    fn a_log_comes_again_after_whole_days() {
        let text = [row(200, "b"), "no row\n".to_owned(), row(100, "a"), row(200, "a")].concat();
        let (mut recorded, names) = read(&text).unwrap();
        assert_eq!((recorded.start(), recorded.end()), (Millis(100_000), Millis(201_000)));
        let until = Millis(100_000).after(DAY * 2);
        let all: Vec<FileRequest> = std::iter::from_fn(|| recorded.next_before(until)).collect();
        let day = 86_400_000;
        let times: Vec<i64> = all.iter().map(|request| request.at.0).collect();
        assert_eq!(times, [100_000, 200_000, 200_000, day + 100_000, day + 200_000, day + 200_000]);
        let requested: Vec<String> = all.iter().map(|it| names.name(it.file).to_string()).collect();
        assert_eq!(requested[..3], ["a", "b", "a"]);
        assert_eq!(recorded.a_day(2), [1.0, 2.0]);
    }

    #[test]
    fn rows_with_wrong_times_are_left_out() {
        let now = 1_780_000_000;
        let day = (0..1000).map(|number| now + number * 86);
        let month = now + 31 * 86_400 - 3_600 * 12;
        let far = [0, now - 367 * 86_400, month, now * 1000, i64::MAX / 1000];
        let text: Vec<String> = day.chain(far).map(|second| row(second, "a")).collect();
        let (recorded, _) = read(&text.concat()).unwrap();
        assert_eq!(recorded.a_day(1), [1000.0]);
        // The day in the name of a log decides, however many rows there are.
        let text = row(month, "a").repeat(500) + &text.concat();
        let (recorded, _) = read_named("EventLog[20260528].log", &text).unwrap();
        assert_eq!(recorded.a_day(1), [1000.0]);
        let (both, _) = read(&text).unwrap();
        assert_eq!(both.requests().len(), 1501);
    }

    #[test]
    fn a_day_that_is_a_second_too_long_is_one_day() {
        let text: Vec<String> = (0..=24).map(|hour| row(hour * 3600 + hour / 24, "a")).collect();
        let (mut recorded, _) = read(&text.concat()).unwrap();
        let all: Vec<FileRequest> =
            std::iter::from_fn(|| recorded.next_before(Millis(0).after(DAY * 2))).collect();
        assert!(all.is_sorted_by_key(|request| request.at));
        assert_eq!(all.len(), 48, "the second day is full");
        let longer = row(0, "a") + &row(26 * 3600 + 1, "a");
        assert_eq!(read(&longer).unwrap().0.a_day(1), [1.0]);
    }

    #[test]
    fn a_log_without_requests_is_refused() {
        let why = read("nothing\n").unwrap_err().to_string();
        assert!(why.contains("no request for a file"), "{why}");
    }

    #[test]
    fn ranked_files_come_before_requested_ones() {
        let ranking = Ranking::from_files_wanting([(FileId(2), 1), (FileId(0), 1)]);
        let order = best_first(Some(&ranking), &[9.0, 1.0, 0.0, 5.0]);
        assert_eq!(order, [2, 0, 3, 1].map(FileId));
    }
}
