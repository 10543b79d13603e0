//! Links between the nodes that are cut, cut in one direction, cut by turns, or slow with loss.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use fastrand::Rng;

use crate::chaos::chaos_cluster::{ChaosCluster, NodePlace};
use crate::chaos::slow_links::LinkDelay;

/// How long flapping links are cut, and how long they are open.
const TURN: Duration = Duration::from_millis(100);

/// A fault of the links of one node, or of all links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// No byte from and to the node.
    CutOff,
    /// No byte from the node to others. It still gets theirs.
    Mute,
    /// No byte to the node from others. They still get its bytes.
    Deaf,
    /// The links of the node are cut and open by turns.
    Flapping,
    /// All links are slow, and lose connections.
    Slow(LinkDelay),
}

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkFault::CutOff => f.write_str("is cut off"),
            LinkFault::Mute => f.write_str("reaches nobody"),
            LinkFault::Deaf => f.write_str("is reached by nobody"),
            LinkFault::Flapping => f.write_str("has flapping links"),
            LinkFault::Slow(LinkDelay { shortest, longest, lost_per_mille, .. }) => write!(
                f,
                "and the others have a delay of {shortest:?} to {longest:?} and a loss of {lost_per_mille} ‰"
            ),
        }
    }
}

impl LinkFault {
    /// One of the faults.
    pub fn draw(rng: &mut Rng) -> Self {
        match rng.u8(..5) {
            0 => LinkFault::CutOff,
            1 => LinkFault::Mute,
            2 => LinkFault::Deaf,
            3 => LinkFault::Flapping,
            _ => LinkFault::Slow(LinkDelay {
                shortest: Duration::from_millis(rng.u64(10..=50)),
                longest: Duration::from_millis(rng.u64(60..=200)),
                lost_per_mille: rng.u32(0..=20),
                bytes_per_second: None,
            }),
        }
    }

    /// Causes the fault for `time`.
    pub fn happen(self, cluster: &ChaosCluster, place: NodePlace, time: Duration) {
        let node = cluster.number(place);
        let others = || place.others().map(|other| cluster.number(other));
        let from = others().map(|other| (node, other));
        let to = others().map(|other| (other, node));
        let hold = |pairs: &[(u64, u64)], time: Duration| {
            cluster.cut_links.set(pairs.iter().copied());
            sleep(time);
            cluster.cut_links.set([]);
        };
        match self {
            LinkFault::CutOff => hold(&[from, to].concat(), time),
            LinkFault::Mute => hold(&from, time),
            LinkFault::Deaf => hold(&to, time),
            LinkFault::Flapping => {
                let turns = time.as_millis() / (2 * TURN.as_millis()) + 1;
                for _ in 0..turns {
                    hold(&[from, to].concat(), TURN);
                    sleep(TURN);
                }
            }
            LinkFault::Slow(delay) => {
                cluster.slow_links.set(Some(delay));
                sleep(time);
                cluster.slow_links.set(None);
            }
        }
    }
}
