//! Why boxes of a pool cannot be granted, in words. Pure.

use reelyard_core::counted::counted;
use reelyard_protocol::boxes::BoxNumber;

use crate::box_lease::state::leases::lease::LeaseEnd;
use crate::box_lease::state::pools::pool::{BoxPhase, BoxState, Pool};

impl Pool {
    /// Why some of its boxes cannot be granted: they are quarantined, or cannot be cleaned or made ready.
    /// None if that blocks no grant.
    pub fn grant_obstacle(&self) -> Option<String> {
        let counts = self.counts();
        if counts.of(BoxPhase::Quarantined) + counts.of(BoxPhase::Draining) == 0 {
            return None;
        }
        let mut quarantined: Option<String> = None;
        let mut failing: Option<String> = None;
        for (number, record) in self.boxes_from(BoxNumber(0)) {
            match &record.state {
                BoxState::Quarantined { output, .. } if quarantined.is_none() => {
                    let (count, all) = (counts.of(BoxPhase::Quarantined), counts.all());
                    let output = output.as_str();
                    quarantined = Some(format!(
                        "{count} of {all} boxes are quarantined; the reason for box {number} is: {output}"
                    ));
                }
                BoxState::Draining(draining) if failing.is_none() => {
                    let output = draining.output.as_ref().map(|output| output.as_str());
                    failing = match (draining.failures, draining.after, output) {
                        (0, Some(LeaseEnd::InitFailed), Some(output)) => {
                            Some(format!("box {number} could not be made ready: {output}"))
                        }
                        (0, ..) => None,
                        (failures, _, output) => {
                            let output = output.unwrap_or("no reason was given");
                            let times = counted(failures, "time", "times");
                            Some(format!(
                                "the cleanup of box {number} has failed {times}: {output}"
                            ))
                        }
                    };
                }
                _ => {}
            }
            if quarantined.is_some() && failing.is_some() {
                break;
            }
        }
        let parts: Vec<String> = failing.into_iter().chain(quarantined).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}
