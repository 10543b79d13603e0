//! Webhooks: each notification arrives at least once, in the order of its number, and none is skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::shares::create;
use crate::chaos::chaos_client::ChaosClient;
use crate::chaos::chaos_cluster::SHARED_PATH;
use crate::chaos::record::ChaosRecord;

/// Lifetime of the shares that end by time. Their notice is sent before.
const SHORT_LIFE: &str = "3s";

/// Pause between two of these shares.
const PAUSE: Duration = Duration::from_millis(300);

/// One notification without its number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ShareAndWord {
    share: String,
    /// `notice`, or the reason of the end.
    word: String,
}

/// The notifications that arrived, and those that must arrive.
#[derive(Debug, Default)]
pub struct NotificationHistory(Mutex<ReceivedNotifications>);

#[derive(Debug, Default)]
struct ReceivedNotifications {
    by_number: BTreeMap<u64, ShareAndWord>,
    expected: BTreeSet<ShareAndWord>,
    repeated: usize,
    violation: Option<String>,
}

impl NotificationHistory {
    /// A notification of this share with this word must arrive.
    pub fn expect(&self, share: &str, word: &str) {
        let (share, word) = (share.to_owned(), word.to_owned());
        self.lock().expected.insert(ShareAndWord { share, word });
    }

    /// A request of the webhook arrived.
    pub fn arrive(&self, body: &Value) {
        let mut now = self.lock();
        let word = if body["what"] == "ended" { &body["why"] } else { &body["what"] };
        let (share, word) = (body["share"]["id"].as_str(), word.as_str());
        let (Some(number), Some(share), Some(word)) = (body["number"].as_u64(), share, word) else {
            now.violation.get_or_insert(format!("a notification without its parts: {body}"));
            return;
        };
        let content = ShareAndWord { share: share.to_owned(), word: word.to_owned() };
        now.arrive(number, content);
    }

    /// A skipped notification, one out of order, or a number with two contents.
    pub fn violation(&self) -> Option<String> {
        self.lock().violation.clone()
    }

    /// An expected notification that has not arrived.
    pub fn missing(&self) -> Option<String> {
        let now = self.lock();
        let arrived: BTreeSet<&ShareAndWord> = now.by_number.values().collect();
        let mut missing = now.expected.iter().filter(|expected| !arrived.contains(expected));
        let first = missing.next()?;
        Some(format!(
            "the webhook got no notification \"{}\" of share {}, and misses {} more",
            first.word,
            first.share,
            missing.count()
        ))
    }

    /// The number of checked notifications.
    pub fn summary(&self) -> String {
        let now = self.lock();
        format!("{} notifications ({} repeated)", now.by_number.len(), now.repeated)
    }

    fn lock(&self) -> MutexGuard<'_, ReceivedNotifications> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReceivedNotifications {
    fn arrive(&mut self, number: u64, content: ShareAndWord) {
        let last = self.by_number.last_key_value().map(|(last, _)| *last);
        match self.by_number.get(&number) {
            Some(known) if *known != content => {
                let text = format!("notification {number} was {known:?} and is {content:?}");
                self.violation.get_or_insert(text);
            }
            Some(_) => self.repeated += 1,
            None => {
                if last.is_some_and(|last| number != last + 1) {
                    let last = last.unwrap_or_default();
                    let text = format!("notification {number} follows {last}");
                    self.violation.get_or_insert(text);
                }
                self.by_number.insert(number, content);
            }
        }
    }
}

/// Creates shares that end by time, until the load ends.
pub async fn use_short_shares(
    client: &ChaosClient,
    history: &NotificationHistory,
    record: &ChaosRecord,
) {
    for round in 0.. {
        let request = format!("short-{round}");
        let body = json!({ "path": SHARED_PATH, "ttl": SHORT_LIFE, "request_id": request });
        let Some(id) = create(client, record, round, &body).await else { return };
        history.expect(&id, "expired");
        record.acknowledge();
        sleep(PAUSE).await;
        if !client.goes_on() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(number: u64, share: &str) -> Value {
        json!({ "number": number, "what": "ended", "why": "expired", "share": { "id": share } })
    }

    #[test]
    fn a_repetition_is_good_and_a_gap_or_another_content_is_not() {
        let history = NotificationHistory::default();
        for (number, share) in [(7, "a"), (8, "b"), (7, "a"), (9, "c")] {
            history.arrive(&notification(number, share));
        }
        assert_eq!((history.violation(), history.missing()), (None, None));
        history.arrive(&notification(11, "d"));
        assert!(history.violation().is_some_and(|text| text.contains("11 follows 9")));
        let other = NotificationHistory::default();
        other.arrive(&notification(7, "a"));
        other.arrive(&notification(7, "b"));
        assert!(other.violation().is_some_and(|text| text.contains("notification 7 was")));
    }

    #[test]
    fn an_expected_notification_is_missing_until_it_arrives() {
        let history = NotificationHistory::default();
        history.expect("a", "expired");
        assert!(history.missing().is_some_and(|text| text.contains("\"expired\" of share a")));
        history.arrive(&notification(1, "a"));
        assert_eq!(history.missing(), None);
    }
}
