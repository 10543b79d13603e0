//! The requests of logs, counted by file in days of 24 hours from the first request on. Pure.

use std::collections::HashMap;

use reelyard_core::clock::Millis;

use crate::demand::file_request::FileRequest;
use crate::demand::recorded::DAY_TOLERANCE;
use crate::demand::synthetic::{DAY, HOUR};

/// A file with at least this many requests in a day, of which [`SUDDEN_SHARE`] are in one hour, had a
/// sudden demand on that day.
const SUDDEN_REQUESTS: u32 = 30;

/// An ordinary day has less than a tenth of its requests in one hour.
const SUDDEN_SHARE: f64 = 0.4;

/// The requests of one day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DayCounts {
    /// The number of requests for each requested file, without sudden demand.
    pub files: HashMap<u32, u32>,
    /// Files with a sudden demand.
    pub sudden: Vec<u32>,
}

impl DayCounts {
    /// The number of requests, without sudden demand.
    pub fn requests(&self) -> f64 {
        self.files.values().map(|count| f64::from(*count)).sum()
    }

    /// Whether the day has no request.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.sudden.is_empty()
    }

    /// The number of requests for a file. None if it had a sudden demand.
    pub fn of(&self, file: u32) -> Option<u32> {
        (!self.sudden.contains(&file)).then(|| self.files.get(&file).copied().unwrap_or(0))
    }
}

/// Counts requests that are sorted by time. The last day may be incomplete. If more than [`DAY_TOLERANCE`] is missing,
/// it is left out, unless it is the only one.
pub fn count(requests: &[FileRequest]) -> Vec<DayCounts> {
    let (Some(first), Some(last)) = (requests.first(), requests.last()) else { return Vec::new() };
    let day_of = |at: Millis| at.since(first.at).as_secs() / DAY.as_secs();
    let complete = (last.at.since(first.at) + DAY_TOLERANCE).as_secs() / DAY.as_secs();
    let by_day = requests.chunk_by(|a, b| day_of(a.at) == day_of(b.at));
    let mut days: Vec<DayCounts> = Vec::new();
    for requests in by_day {
        let day = requests.first().map_or(0, |request| day_of(request.at));
        if day > 0 && day >= complete {
            break;
        }
        // A day without any request has no chunk.
        days.resize_with(day as usize, DayCounts::default);
        days.push(count_day(requests, first.at));
    }
    let all = days.len().max(complete as usize);
    days.resize_with(all, DayCounts::default);
    days
}

fn count_day(requests: &[FileRequest], start: Millis) -> DayCounts {
    let hour_of = |at: Millis| at.since(start).as_secs() / HOUR.as_secs();
    let mut day = DayCounts::default();
    let mut most_in_hour: HashMap<u32, u32> = HashMap::new();
    for hour in requests.chunk_by(|a, b| hour_of(a.at) == hour_of(b.at)) {
        let mut in_hour: HashMap<u32, u32> = HashMap::new();
        for request in hour {
            *in_hour.entry(request.file.0).or_default() += 1;
        }
        for (file, count) in in_hour {
            *day.files.entry(file).or_default() += count;
            let most = most_in_hour.entry(file).or_default();
            *most = (*most).max(count);
        }
    }
    let hours = requests.first().zip(requests.last());
    let spans_hours = hours.is_some_and(|(a, b)| b.at.since(a.at) > HOUR * 12);
    if spans_hours {
        for (file, most) in most_in_hour {
            let all = day.files.get(&file).copied().unwrap_or(0);
            if all >= SUDDEN_REQUESTS && f64::from(most) >= SUDDEN_SHARE * f64::from(all) {
                day.files.remove(&file);
                day.sudden.push(file);
            }
        }
        day.sudden.sort_unstable();
    }
    day
}

#[cfg(test)]
mod tests {
    use reelyard_core::names::FileId;

    use super::*;

    fn request(hours: f64, file: u32) -> FileRequest {
        FileRequest { at: Millis(5_000).after(HOUR.mul_f64(hours)), file: FileId(file) }
    }

    #[test]
    fn days_begin_with_the_first_request_and_only_complete_ones_count() {
        let requests =
            [0.0, 1.0, 23.0, 25.0, 73.0].map(|hours| request(hours, u32::from(hours < 2.0)));
        let days = count(&requests);
        let files: Vec<usize> = days.iter().map(|day| day.files.len()).collect();
        assert_eq!(files, [2, 1, 0]);
        assert_eq!((days[0].of(1), days[0].of(0), days[1].of(1)), (Some(2), Some(1), Some(0)));
        assert_eq!(days[0].requests(), 3.0);
        assert_eq!(count(&requests[..2]).len(), 1, "an incomplete day is better than none");
        let two_days = [0.0, 47.9].map(|hours| request(hours, 1));
        assert_eq!(count(&two_days).len(), 2, "a night may end a little early");
        assert!(count(&[]).is_empty());
    }

    #[test]
    fn a_sudden_demand_is_no_part_of_the_distribution() {
        let mut requests: Vec<FileRequest> =
            (0..48).map(|half| request(f64::from(half) / 2.0, 1)).collect();
        requests.extend((0..40).map(|step| request(10.0 + f64::from(step) / 41.0, 2)));
        requests.sort_by_key(|request| request.at);
        let days = count(&requests);
        assert_eq!(days[0].sudden, [2]);
        assert_eq!((days[0].of(1), days[0].of(2)), (Some(48), None));
    }
}
