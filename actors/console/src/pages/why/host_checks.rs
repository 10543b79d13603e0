//! The things that could keep copies away from a host, and do not.

use super::reasons::HostObstacle;
use crate::text::{Text, why};

/// The checks of a destination in the order in which the planner makes them, each with the words for its success.
const CHECKS: [(&[HostObstacle], Text); 5] = [
    (&[HostObstacle::Draining, HostObstacle::Maintenance], why::OK_MODE),
    (&[HostObstacle::Lost, HostObstacle::NotUp], why::OK_ANSWERS),
    (
        &[HostObstacle::KindUnknown, HostObstacle::InventoryUnknown, HostObstacle::DiskUnknown],
        why::OK_KNOWN,
    ),
    (&[HostObstacle::BacksOff, HostObstacle::CallsFail, HostObstacle::OnTrial], why::OK_CALLS),
    (&[HostObstacle::BusyLink], why::OK_LINK),
];

/// The checks that the host has passed. Those behind its obstacle were not made.
pub fn not_in_the_way(obstacle: Option<HostObstacle>) -> Vec<Text> {
    let passed =
        CHECKS.iter().take_while(|(found, _)| !obstacle.is_some_and(|why| found.contains(&why)));
    passed.map(|(_, words)| *words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Language;

    #[test]
    fn only_checks_before_the_obstacle_are_passed() {
        let words = |obstacle| -> Vec<&str> {
            not_in_the_way(obstacle).into_iter().map(|words| words.of(Language::English)).collect()
        };
        assert_eq!(words(None).len(), CHECKS.len());
        assert!(words(Some(HostObstacle::Draining)).is_empty());
        let passed = words(Some(HostObstacle::BacksOff));
        assert_eq!(
            passed,
            [why::OK_MODE, why::OK_ANSWERS, why::OK_KNOWN].map(|w| w.of(Language::English))
        );
    }
}
