//! The network: it loses, delays, reorders and cuts. It may reorder the messages of one pair.

use std::collections::{BTreeMap, BTreeSet};

use super::parties::Party;

/// The cut and slow links, and the loss rate of all links.
#[derive(Debug, Default)]
pub struct SimulatedNetwork {
    /// The number of lost messages per thousand.
    pub lost_of_1000: u32,
    /// Cut links in one direction, with the number of cuts.
    cut: BTreeMap<(Party, Party), u32>,
    /// Slow links, with the largest additional delay in milliseconds.
    slow: BTreeMap<(Party, Party), u64>,
    /// Parties without a running process.
    gone: BTreeSet<Party>,
}

/// The result of sending a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageDelivery {
    /// The network loses the message.
    Lost,
    /// The message arrives after this number of milliseconds.
    Arrives(u64),
}

impl SimulatedNetwork {
    /// Draws the result for a message.
    pub fn delivery(&self, from: Party, to: Party, rng: &mut fastrand::Rng) -> MessageDelivery {
        if self.is_cut(from, to) || rng.u32(0..1000) < self.lost_of_1000 {
            return MessageDelivery::Lost;
        }
        let mut delay = rng.u64(1..12);
        if rng.u32(0..100) < 3 {
            delay += rng.u64(20..800);
        }
        if let Some(&most) = self.slow.get(&(from, to)) {
            delay += rng.u64(0..=most);
        }
        MessageDelivery::Arrives(delay)
    }

    /// Whether this direction of a link is cut.
    pub fn is_cut(&self, from: Party, to: Party) -> bool {
        self.gone.contains(&to) || self.cut.contains_key(&(from, to))
    }

    /// Adds a cut of one direction of a link.
    pub fn cut(&mut self, from: Party, to: Party) {
        *self.cut.entry((from, to)).or_default() += 1;
    }

    /// Removes one cut.
    pub fn join(&mut self, from: Party, to: Party) {
        if let Some(times) = self.cut.get_mut(&(from, to)) {
            *times -= 1;
            if *times == 0 {
                self.cut.remove(&(from, to));
            }
        }
    }

    /// Sets the largest additional delay of one direction of a link, in milliseconds; zero removes the delay.
    pub fn slow(&mut self, from: Party, to: Party, most: u64) {
        if most == 0 {
            self.slow.remove(&(from, to));
        } else {
            self.slow.insert((from, to), most);
        }
    }

    /// Sets whether the process of a party is missing.
    pub fn set_gone(&mut self, party: Party, gone: bool) {
        if gone {
            self.gone.insert(party);
        } else {
            self.gone.remove(&party);
        }
    }

    /// Removes all faults.
    pub fn heal(&mut self) {
        *self = SimulatedNetwork {
            gone: std::mem::take(&mut self.gone),
            ..SimulatedNetwork::default()
        };
    }
}
