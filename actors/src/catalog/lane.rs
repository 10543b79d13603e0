//! One kind of input, looked at by one blocking job at a time, so that a slow kind never holds up
//! another.

use std::time::Duration;

use tokio::sync::oneshot;

use crate::clock::Millis;

/// What a job needs and keeps between looks. It lies with the actor while no job is at work.
pub trait Bench: Send + 'static {
    /// What a look found.
    type Found: Send + 'static;

    /// Looks at the input. May block.
    fn look(&mut self, now: Millis) -> Self::Found;
}

/// A look under way for longer than this is told as a problem: a mount may hang.
const LONGEST_LOOK: Duration = Duration::from_secs(60);

/// A bench and who waits for a look.
pub struct Lane<B> {
    /// What is looked at, for people.
    what: &'static str,
    /// None while a job has it.
    bench: Option<B>,
    /// When the last look began.
    begun: Millis,
    /// Those who asked before the present job began: its end answers them.
    waiting: Vec<oneshot::Sender<()>>,
    /// Those who asked after it began: they want another look.
    next: Vec<oneshot::Sender<()>>,
}

impl<B> Lane<B> {
    /// An idle lane for looks at `what`.
    pub fn new(what: &'static str, bench: B) -> Self {
        let bench = Some(bench);
        Lane { what, bench, begun: Millis::default(), waiting: Vec::new(), next: Vec::new() }
    }

    /// The end of the next look that begins from now on.
    pub fn ask(&mut self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.next.push(sender);
        receiver
    }

    /// Takes the bench for a look, unless one is under way.
    pub fn begin(&mut self, now: Millis) -> Option<B> {
        let bench = self.bench.take()?;
        self.begun = now;
        self.waiting.append(&mut self.next);
        Some(bench)
    }

    /// A look ended.
    pub fn end(&mut self, bench: B) {
        self.bench = Some(bench);
    }

    /// Answers those who waited, once what the look found was told. True if others have asked
    /// meanwhile.
    pub fn answer(&mut self) -> bool {
        for waiter in self.waiting.drain(..) {
            // One who no longer waits has nothing to learn.
            let _ = waiter.send(());
        }
        !self.next.is_empty()
    }

    /// What is wrong if the present look takes too long. It goes on: a job cannot be ended.
    pub fn problem(&self, now: Millis) -> Option<String> {
        let is_stuck = self.bench.is_none() && now.since(self.begun) > LONGEST_LOOK;
        is_stuck.then(|| format!("a look at {} does not end: a mount may hang", self.what))
    }

    /// The bench, while no look is under way.
    pub fn idle(&mut self) -> Option<&mut B> {
        self.bench.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Millis = Millis(1_527_951_600_000);

    #[test]
    fn who_asks_during_a_look_waits_for_the_next_one() {
        let mut lane = Lane::new("a bench", "bench");
        let mut early = lane.ask();
        let bench = lane.begin(NOON).unwrap();
        assert!(lane.begin(NOON).is_none() && lane.idle().is_none());
        let mut late = lane.ask();
        lane.end(bench);
        assert!(lane.answer());
        assert_eq!((early.try_recv().is_ok(), late.try_recv().is_ok()), (true, false));
        let bench = lane.begin(NOON).unwrap();
        lane.end(bench);
        assert!(!lane.answer());
        assert!(late.try_recv().is_ok());
    }

    #[test]
    fn a_look_that_does_not_end_is_told() {
        let mut lane = Lane::new("a mount", "bench");
        let late = NOON.after(2 * LONGEST_LOOK);
        assert_eq!(lane.problem(late), None);
        let bench = lane.begin(NOON).unwrap();
        assert_eq!(lane.problem(NOON), None);
        assert!(lane.problem(late).unwrap().starts_with("a look at a mount does not end"));
        lane.end(bench);
        assert_eq!(lane.problem(late), None);
    }
}
