//! The events of a run, one line each. People read the last lines; a hash of all lines compares two runs.

use std::collections::VecDeque;
use std::fmt::{Arguments, Write};

/// The number of lines in memory.
const KEPT: usize = 250;

/// The trace of one run.
#[derive(Debug)]
pub struct Trace {
    lines: VecDeque<String>,
    hash: u64,
    count: u64,
}

impl Default for Trace {
    fn default() -> Self {
        // FNV-1a's first value.
        Trace { lines: VecDeque::with_capacity(KEPT), hash: 0xcbf2_9ce4_8422_2325, count: 0 }
    }
}

impl Trace {
    /// Adds a line with the time `now`.
    pub fn record(&mut self, now: u64, line: Arguments<'_>) {
        let mut text = match self.lines.len() {
            KEPT => self.lines.pop_front().unwrap_or_default(),
            _ => String::with_capacity(96),
        };
        text.clear();
        // Writing to a string cannot fail.
        let _ = write!(text, "{:>5}.{:03} {line}", now / 1000, now % 1000);
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
        self.count += 1;
        self.lines.push_back(text);
    }

    /// Mixes a value into the hash without a line.
    pub fn mix(&mut self, word: u64) {
        self.hash = (self.hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    }

    /// The hash of all events so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The number of lines so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The last lines of the trace.
    pub fn tail(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }
}
