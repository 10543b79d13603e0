//! Counted downloads: never more than the limit, and none refused below it except with an error that can be repeated.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::join_all;
use serde_json::json;
use tokio::time::sleep;

use super::notifications::NotificationHistory;
use super::shares::create;
use crate::chaos::chaos_client::{ChaosClient, PACE};
use crate::chaos::chaos_cluster::SHARED_PATH;
use crate::chaos::record::ChaosRecord;

/// Downloads that each share has.
const LIMIT: usize = 3;

/// Downloads that are begun at the same time.
const VISITORS: usize = 5;

/// The outcomes of all downloads of one share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisitorOutcomes {
    /// The link.
    pub share: String,
    /// Visitors that got the whole file.
    pub complete: usize,
    /// Attempts without a clear answer. Each may count.
    pub open: usize,
    /// Attempts that are under way now. Each may count.
    pub running: usize,
    /// A refusal for good while fewer downloads than the limit can have been counted.
    pub refused_early: Option<String>,
}

impl VisitorOutcomes {
    /// A visitor was refused, because no download is left.
    fn refuse(&mut self) {
        // The refused attempt itself does not count.
        let most = self.complete + self.open + self.running.saturating_sub(1);
        if most < LIMIT {
            self.refused_early = Some(format!(
                "a download of {} was refused after at most {most} of {LIMIT}",
                self.share
            ));
        }
    }

    fn violation(&self) -> Option<String> {
        if self.complete > LIMIT {
            let VisitorOutcomes { share, complete, .. } = self;
            return Some(format!("{complete} downloads of {share}, which has {LIMIT}"));
        }
        self.refused_early.clone()
    }
}

/// The downloads of all shares.
#[derive(Debug, Default)]
pub struct DownloadHistory(Mutex<Vec<VisitorOutcomes>>);

impl DownloadHistory {
    /// The first violation.
    pub fn violation(&self) -> Option<String> {
        self.lock().iter().find_map(VisitorOutcomes::violation)
    }

    /// The number of checked downloads.
    pub fn summary(&self) -> String {
        let complete: usize = self.lock().iter().map(|share| share.complete).sum();
        format!("{complete} counted downloads")
    }

    fn lock(&self) -> MutexGuard<'_, Vec<VisitorOutcomes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates shares with a few downloads, and lets more visitors come, until the load ends.
pub async fn use_downloads(
    client: &ChaosClient,
    history: &DownloadHistory,
    notifications: &NotificationHistory,
    record: &ChaosRecord,
) {
    for round in 0.. {
        let body = json!({
            "path": SHARED_PATH, "max_downloads": LIMIT, "request_id": format!("counted-{round}")
        });
        let Some(id) = create(client, record, round, &body).await else { return };
        let at = {
            let mut all = history.lock();
            all.push(VisitorOutcomes { share: id.clone(), ..VisitorOutcomes::default() });
            all.len() - 1
        };
        let visitors = (0..VISITORS).map(|visitor| visit(client, history, at, &id, visitor));
        join_all(visitors).await;
        // With more visitors than downloads all are used, unless the load has ended.
        if client.goes_on() {
            notifications.expect(&id, "exhausted");
        }
        sleep(PACE * 5).await;
        if !client.goes_on() {
            return;
        }
    }
}

/// One visitor repeats a download at one node after the other, until it is complete or refused.
async fn visit(client: &ChaosClient, history: &DownloadHistory, at: usize, id: &str, first: usize) {
    for node in first.. {
        history.lock()[at].running += 1;
        let answer = client.download(node, id).await;
        let is_decided = {
            let counts = &mut history.lock()[at];
            let is_decided = match answer {
                Some(200) => {
                    counts.complete += 1;
                    true
                }
                Some(410) => {
                    counts.refuse();
                    true
                }
                // The node does not know the link yet.
                Some(404) => false,
                _ => {
                    counts.open += 1;
                    false
                }
            };
            counts.running -= 1;
            is_decided
        };
        if is_decided || !client.goes_on() {
            return;
        }
        sleep(PACE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_downloads_than_the_limit_are_a_violation() {
        let counts = |complete| VisitorOutcomes { complete, ..VisitorOutcomes::default() };
        assert_eq!(counts(LIMIT).violation(), None);
        assert!(counts(LIMIT + 1).violation().is_some_and(|text| text.contains("which has 3")));
    }

    #[test]
    fn a_refusal_is_early_if_too_few_downloads_can_have_been_counted() {
        let mut good = VisitorOutcomes { complete: 1, open: 1, running: 2, ..Default::default() };
        good.refuse();
        assert_eq!(good.violation(), None);
        let mut early = VisitorOutcomes { complete: 1, running: 2, ..Default::default() };
        early.refuse();
        assert!(early.violation().is_some_and(|text| text.contains("at most 2 of 3")));
    }
}
