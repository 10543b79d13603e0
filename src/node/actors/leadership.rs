//! Publishes changes of the leader, and which journal changes are new on a following node.

use reelyard_api::{Change, ChangeEvent, LeadershipChange};
use reelyard_core::change_feed::Feed;
use reelyard_core::clock::Clock;
use reelyard_core::event::PieceId;
use reelyard_journal::Journal;
use reelyard_replication::Leadership;

/// Publishes the leader on `feed`, until the journal has stopped.
pub async fn publish_leadership(journal: Journal, feed: Feed<ChangeEvent>, clock: Clock) {
    let mut leadership = journal.leadership();
    let mut published = None;
    loop {
        let now = *leadership.borrow_and_update();
        let change = LeadershipChange {
            leader: match now {
                Leadership::Leading { .. } => journal.leader(),
                Leadership::Following { leader } => Some(leader),
                Leadership::Nobody | Leadership::Stopped => None,
            },
            epoch: now.epoch(),
        };
        if published.as_ref() != Some(&change) {
            let event = Change::Leadership(change.clone());
            feed.publish(ChangeEvent { time: clock.now(), change: event });
            published = Some(change);
        }
        if now == Leadership::Stopped || leadership.changed().await.is_err() {
            return;
        }
    }
}

/// The pieces of the journal whose changes are published.
const PUBLISHED: [PieceId; 4] =
    [PieceId::Tasks, PieceId::Removals, PieceId::Shares, PieceId::Boxes];

/// Marks for each piece the end of the entries that were recorded before this node started. An
/// owner that decides knows that itself. A following owner applies entries of the leader, and
/// cannot distinguish them from old ones.
pub fn mark_pieces_current(journal: &Journal, feed: &Feed<ChangeEvent>) {
    for piece in PUBLISHED {
        let (journal, feed) = (journal.clone(), feed.clone());
        actix_rt::spawn(async move {
            if journal.caught_up(piece).await {
                feed.mark_current(piece);
            }
        });
    }
}
