//! Lists of events cut so that each part fits one journal entry. Pure.

use super::event::TaskEvent;

/// The most events in one commit; the journal takes 256.
const EVENTS: usize = 200;

/// The most bytes in one commit; the journal takes 32 KiB, its own words included.
const BYTES: usize = 28 * 1024;

/// What the journal writes beside each event, at most.
const PER_EVENT: usize = 8;

/// Cuts `events` into commits, in order. An event is never cut: what must happen together stands
/// in one event.
pub fn split(events: Vec<TaskEvent>) -> Vec<Vec<TaskEvent>> {
    let mut commits: Vec<Vec<TaskEvent>> = Vec::new();
    let mut bytes = BYTES;
    for event in events {
        let size = encoded_size(&event);
        match commits.last_mut() {
            Some(commit) if commit.len() < EVENTS && bytes + size <= BYTES => {
                bytes += size;
                commit.push(event);
            }
            _ => {
                bytes = size;
                commits.push(vec![event]);
            }
        }
    }
    commits
}

/// The size of an event in its commit.
fn encoded_size(event: &TaskEvent) -> usize {
    postcard::experimental::serialized_size(event).unwrap_or(BYTES) + PER_EVENT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_manager::samples::new_task;

    #[test]
    fn parts_keep_the_order_and_the_limits() {
        let events: Vec<TaskEvent> =
            (0..1000).map(|i| TaskEvent::Created(new_task(i, &format!("{i:0>200}")))).collect();
        let commits = split(events.clone());
        assert!(commits.len() > 5);
        for commit in &commits {
            let bytes: usize = commit.iter().map(encoded_size).sum();
            assert!(commit.len() <= EVENTS && bytes <= BYTES);
        }
        assert_eq!(commits.concat(), events);
        assert!(split(Vec::new()).is_empty());
    }
}
