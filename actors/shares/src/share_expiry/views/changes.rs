//! The changes of an applied event, as the feed publishes them.

use reelyard_core::clock::Millis;
use reelyard_replication::AppliedEvent;

use crate::share_expiry::{
    NewMove, PendingMove, ShareChange, ShareEvent, ShareId, ShareOutcome, ShareSummary, ShareTable,
};

/// The changes of one applied event.
pub(in crate::share_expiry) fn changes_of(
    table: &ShareTable,
    applied: &AppliedEvent<ShareTable>,
) -> Vec<(Millis, ShareChange)> {
    let AppliedEvent { at, event, result, .. } = applied;
    let Ok(outcome) = result else { return Vec::new() };
    let of_share = |id: ShareId, change: fn(ShareSummary) -> ShareChange| {
        // It may have ended in the same entry; its end is a separate change.
        table.look(id, |share| change(ShareSummary::of(share))).into_iter().collect()
    };
    let changes: Vec<ShareChange> = match (event, outcome) {
        (ShareEvent::Created(new), _) => of_share(new.id, |share| ShareChange::Created { share }),
        (ShareEvent::Changed { id, .. }, _) => {
            of_share(*id, |share| ShareChange::Changed { share })
        }
        (ShareEvent::Paused { by }, ShareOutcome::Applied) => {
            vec![ShareChange::Reclaim { paused: true, asked_by: by.clone() }]
        }
        (ShareEvent::Resumed { by }, ShareOutcome::Applied) => {
            vec![ShareChange::Reclaim { paused: false, asked_by: by.clone() }]
        }
        (_, ShareOutcome::MoveWent { number, done, lost, refused, first, next, .. }) => {
            let mut answer = notifications(table, *first, *next);
            if *done && !lost && refused.is_none() {
                answer.extend(moved(table, *number));
            }
            answer
        }
        (_, ShareOutcome::Ended { first, next, .. } | ShareOutcome::Noticed { first, next }) => {
            notifications(table, *first, *next)
        }
        (_, ShareOutcome::Taken { exhausted: Some(number), .. }) => {
            notifications(table, *number, number + 1)
        }
        _ => Vec::new(),
    };
    changes.into_iter().map(|change| (*at, change)).collect()
}

fn moved(table: &ShareTable, number: u64) -> Option<ShareChange> {
    let moving = table.moves_ended.iter().find(|moving| moving.number == number)?;
    let PendingMove { new: NewMove { from, to, .. }, followed, .. } = &**moving;
    Some(ShareChange::Moved {
        root: from.root.clone(),
        from: from.path.clone(),
        to_root: (to.root != from.root).then(|| to.root.clone()),
        to: to.path.clone(),
        shares: *followed,
    })
}

fn notifications(table: &ShareTable, first: u64, next: u64) -> Vec<ShareChange> {
    let notifications = table.notifications_between(first, next);
    notifications
        .map(|(number, record)| ShareChange::from(record.to_notification(number)))
        .collect()
}
