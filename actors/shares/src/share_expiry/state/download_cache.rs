//! Recently counted download requests. A client that got no answer and repeats its request finds its
//! download. Pure.

use std::collections::{HashMap, VecDeque};

use reelyard_core::clock::Millis;
use reelyard_core::elapsed_time::ElapsedTime;
use reelyard_core::event::RequestId;

use super::constants::DOWNLOAD_REMEMBERED_FOR;

/// A download that was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::share_expiry) struct CountedDownload {
    pub(in crate::share_expiry) at: Millis,
    pub(in crate::share_expiry) request: RequestId,
    /// How many downloads were left.
    pub(in crate::share_expiry) left: u32,
}

/// The downloads of the last minute.
#[derive(Clone, Debug, Default)]
pub(in crate::share_expiry) struct DownloadIdempotencyCache {
    oldest_first: VecDeque<(ElapsedTime, CountedDownload)>,
    left: HashMap<RequestId, u32>,
}

impl DownloadIdempotencyCache {
    /// How many downloads were left when this one was counted.
    pub(in crate::share_expiry) fn left(&self, request: RequestId) -> Option<u32> {
        self.left.get(&request).copied()
    }

    /// Records a counted download.
    pub(in crate::share_expiry) fn insert(&mut self, download: CountedDownload) {
        let last = self.oldest_first.back().map(|(elapsed, _)| *elapsed);
        let now = last.map_or(ElapsedTime::from(download.at), |last| last.advance_to(download.at));
        let is_old = |(then, _): &&(ElapsedTime, CountedDownload)| {
            now.since(*then) >= DOWNLOAD_REMEMBERED_FOR
        };
        while let Some((_, first)) = self.oldest_first.front().filter(is_old) {
            self.left.remove(&first.request);
            self.oldest_first.pop_front();
        }
        if self.left.insert(download.request, download.left).is_none() {
            self.oldest_first.push_back((now, download));
        }
    }

    /// All of them, the oldest first.
    pub(in crate::share_expiry) fn all(&self) -> Vec<CountedDownload> {
        self.oldest_first.iter().map(|(_, download)| *download).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counted_download_is_remembered_for_a_minute() {
        let mut takes = DownloadIdempotencyCache::default();
        let mut insert = |at, request, left| {
            takes.insert(CountedDownload { at: Millis(at), request: RequestId(request), left });
            (1..=3).map(|request| takes.left(RequestId(request))).collect::<Vec<_>>()
        };
        assert_eq!(insert(0, 1, 9), [Some(9), None, None]);
        assert_eq!(insert(59_999, 2, 8), [Some(9), Some(8), None]);
        assert_eq!(insert(60_000, 3, 7), [None, Some(8), Some(7)]);
        assert_eq!(takes.all().len(), 2);
    }

    #[test]
    fn downloads_counted_by_a_fast_clock_are_forgotten_after_a_minute() {
        let mut takes = DownloadIdempotencyCache::default();
        let year = 365 * 86_400_000;
        for second in 0..200_u32 {
            let ahead = if second < 10 { year } else { 0 };
            let at = Millis(ahead + i64::from(second) * 1000);
            takes.insert(CountedDownload { at, request: RequestId(second.into()), left: 0 });
        }
        let kept: Vec<u128> = takes.all().into_iter().map(|download| download.request.0).collect();
        assert_eq!(kept, (140..200).collect::<Vec<_>>());
    }
}
