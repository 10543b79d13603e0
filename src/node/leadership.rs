//! Tells who leads, whenever that changes.

use reelyard_actors::change_feed::ChangeFeed;
use reelyard_actors::clock::Clock;
use reelyard_actors::journal::{Journal, Leadership};
use reelyard_actors::wire::api::{Change, LeadershipChange};

/// Tells on `feed`, until the journal has stopped.
pub async fn tell(journal: Journal, feed: ChangeFeed, clock: Clock) {
    let mut leadership = journal.leadership();
    let mut told = None;
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
        if told.as_ref() != Some(&change) {
            feed.publish(clock.now(), Change::Leadership(change.clone()));
            told = Some(change);
        }
        if now == Leadership::Stopped || leadership.changed().await.is_err() {
            return;
        }
    }
}
