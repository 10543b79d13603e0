//! The network: loses, delays, reorders and cuts. Letters of one pair may overtake each other.

use std::collections::{BTreeMap, BTreeSet};

use super::parties::Party;

/// Which links are cut or slow, and how often a letter is lost anywhere.
#[derive(Debug, Default)]
pub struct SimulatedNetwork {
    /// How many letters of a thousand are lost.
    pub lost_of_1000: u32,
    /// Links that carry nothing in that direction, each as often as it was cut.
    cut: BTreeMap<(Party, Party), u32>,
    /// Links on which every letter takes longer, by up to so many milliseconds.
    slow: BTreeMap<(Party, Party), u64>,
    /// Parties whose process is not there.
    gone: BTreeSet<Party>,
}

/// What becomes of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageFate {
    /// It is lost.
    Lost,
    /// It arrives after so many milliseconds.
    Arrives(u64),
}

impl SimulatedNetwork {
    /// Draws what becomes of a letter.
    pub fn fate(&self, from: Party, to: Party, rng: &mut fastrand::Rng) -> MessageFate {
        if self.is_cut(from, to) || rng.u32(0..1000) < self.lost_of_1000 {
            return MessageFate::Lost;
        }
        let mut delay = rng.u64(1..12);
        if rng.u32(0..100) < 3 {
            delay += rng.u64(20..800);
        }
        if let Some(&most) = self.slow.get(&(from, to)) {
            delay += rng.u64(0..=most);
        }
        MessageFate::Arrives(delay)
    }

    /// Whether nothing goes from one to the other.
    pub fn is_cut(&self, from: Party, to: Party) -> bool {
        self.gone.contains(&to) || self.cut.contains_key(&(from, to))
    }

    /// Cuts one direction of a link, once more.
    pub fn cut(&mut self, from: Party, to: Party) {
        *self.cut.entry((from, to)).or_default() += 1;
    }

    /// Takes one cut back.
    pub fn join(&mut self, from: Party, to: Party) {
        if let Some(times) = self.cut.get_mut(&(from, to)) {
            *times -= 1;
            if *times == 0 {
                self.cut.remove(&(from, to));
            }
        }
    }

    /// Makes one direction of a link slow; zero makes it quick again.
    pub fn slow(&mut self, from: Party, to: Party, most: u64) {
        if most == 0 {
            self.slow.remove(&(from, to));
        } else {
            self.slow.insert((from, to), most);
        }
    }

    /// A process ends or is there again.
    pub fn set_gone(&mut self, party: Party, gone: bool) {
        if gone {
            self.gone.insert(party);
        } else {
            self.gone.remove(&party);
        }
    }

    /// Everything works from now on.
    pub fn heal(&mut self) {
        *self = SimulatedNetwork {
            gone: std::mem::take(&mut self.gone),
            ..SimulatedNetwork::default()
        };
    }
}
