//! Checks one kind of input with one blocking job at a time, so that a slow kind never delays another.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reelyard_core::clock::Millis;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::catalog::watch::ChangeNotifier;

/// The state that a job needs and keeps between checks. The actor has it while no job runs.
pub trait InputReader: Send + 'static {
    /// The result of a check.
    type Found: Send + 'static;

    /// From the next look on, `notifier` is called when the input seems to have changed.
    fn watch(&mut self, notifier: ChangeNotifier);

    /// Checks the input. May block.
    fn look(&mut self, now: Millis) -> Self::Found;

    /// The counter of steps that a look makes.
    fn progress(&self) -> LookProgress;
}

/// Counts the steps of looks, so that a long look differs from one that hangs. Clones share the counter.
#[derive(Clone, Debug, Default)]
pub struct LookProgress(Arc<AtomicU64>);

impl LookProgress {
    /// Another part of the input was read.
    pub fn advance(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn steps(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The shortest time between looks because of changes. Changes in between are read together.
const GAP: Duration = Duration::from_millis(100);

/// A look that makes no step for longer than this is reported as a problem, because a mount may hang.
const LONGEST_STEP: Duration = Duration::from_secs(60);

/// A reader, its running job, and the callers that wait for a look.
pub struct SingleFlightReader<B> {
    /// Name of the input, for people.
    what: &'static str,
    /// None while a job uses it.
    reader: Option<B>,
    /// Counts the readers that replaced another one.
    generation: u64,
    progress: LookProgress,
    /// The steps at the last check of the progress, and when they changed or the look began.
    last_step: (u64, Millis),
    /// When the last look began, by the timers of the runtime.
    begun_at: Option<Instant>,
    /// Whether something changed and the check of it has not started.
    notified: bool,
    /// Callers that asked before the current job began: its end answers them.
    waiting: Vec<oneshot::Sender<()>>,
    /// Callers that asked after it began: they need another look.
    next: Vec<oneshot::Sender<()>>,
}

impl<B: InputReader> SingleFlightReader<B> {
    /// An idle reader for checks of `what`.
    pub fn new(what: &'static str, reader: B) -> Self {
        SingleFlightReader {
            what,
            progress: reader.progress(),
            reader: Some(reader),
            generation: 0,
            last_step: (0, Millis::default()),
            begun_at: None,
            notified: false,
            waiting: Vec::new(),
            next: Vec::new(),
        }
    }

    /// The end of the next look that begins from now on.
    pub fn ask(&mut self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.next.push(sender);
        receiver
    }

    /// Takes the reader for a look, unless one is running.
    pub fn begin(&mut self, now: Millis, timer: Instant) -> Option<B> {
        let reader = self.reader.take()?;
        self.last_step = (self.progress.steps(), now);
        self.begun_at = Some(timer);
        self.notified = false;
        self.waiting.append(&mut self.next);
        Some(reader)
    }

    /// Something changed at `now`. Answers the delay until a look must begin. None if a look is
    /// already planned, or will be planned at the end of the current look.
    pub fn notify_changed(&mut self, now: Instant) -> Option<Duration> {
        let is_news = !std::mem::replace(&mut self.notified, true);
        (is_news && self.reader.is_some()).then(|| self.debounce_delay(now))
    }

    /// How long the next look waits for further changes.
    pub fn debounce_delay(&self, now: Instant) -> Duration {
        let since = self.begun_at.map(|begun| now.saturating_duration_since(begun));
        since.map_or(Duration::ZERO, |since| GAP.saturating_sub(since))
    }

    /// Whether a look has begun since the start.
    pub fn has_begun(&self) -> bool {
        self.begun_at.is_some()
    }

    /// Whether callers wait for a look that has not begun.
    pub fn is_asked(&self) -> bool {
        !self.next.is_empty()
    }

    /// Whether something changed that no look was begun for.
    pub fn is_notified(&self) -> bool {
        self.notified
    }

    /// The number of the worker thread. Results of an earlier thread are ignored.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// A look ended. False if the reader was replaced meanwhile.
    pub fn end(&mut self, reader: B, generation: u64) -> bool {
        let is_present = generation == self.generation;
        if is_present {
            self.reader = Some(reader);
        }
        is_present
    }

    /// Replaces the current reader by another one, even while a job has the current one. Callers that
    /// wait for a look then wait for a look of the new reader.
    pub fn replace(&mut self, reader: B) {
        self.progress = reader.progress();
        self.reader = Some(reader);
        self.generation += 1;
        self.notified = false;
        self.next.append(&mut self.waiting);
    }

    /// Answers the callers that waited, once the results were reported. True if other callers have
    /// asked meanwhile.
    pub fn answer(&mut self) -> bool {
        for waiter in self.waiting.drain(..) {
            // A caller that no longer waits needs no answer.
            let _ = waiter.send(());
        }
        !self.next.is_empty()
    }

    /// The problem to show if the current look makes no progress. The look continues, because a job
    /// cannot be ended.
    pub fn problem(&mut self, now: Millis) -> Option<String> {
        let steps = self.progress.steps();
        if steps != self.last_step.0 {
            self.last_step = (steps, now);
        }
        let is_stuck = self.reader.is_none() && now.since(self.last_step.1) > LONGEST_STEP;
        is_stuck.then(|| {
            let longest = humantime::format_duration(LONGEST_STEP);
            format!("the check of {} has read nothing for {longest}: a mount may hang", self.what)
        })
    }

    /// The reader, while no look is running.
    pub fn idle(&mut self) -> Option<&mut B> {
        self.reader.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Millis = Millis(1_527_951_600_000);

    impl InputReader for &'static str {
        type Found = ();

        fn watch(&mut self, _: ChangeNotifier) {}

        fn look(&mut self, _: Millis) {}

        fn progress(&self) -> LookProgress {
            LookProgress::default()
        }
    }

    #[test]
    fn a_request_during_a_look_waits_for_the_next_one() {
        let mut single_flight = SingleFlightReader::new("a file", "reader");
        let mut early = single_flight.ask();
        let reader = single_flight.begin(NOON, Instant::now()).unwrap();
        assert!(
            single_flight.begin(NOON, Instant::now()).is_none() && single_flight.idle().is_none()
        );
        let mut late = single_flight.ask();
        assert!(single_flight.end(reader, 0));
        assert!(single_flight.answer());
        assert_eq!((early.try_recv().is_ok(), late.try_recv().is_ok()), (true, false));
        let reader = single_flight.begin(NOON, Instant::now()).unwrap();
        assert!(single_flight.end(reader, 0));
        assert!(!single_flight.answer());
        assert!(late.try_recv().is_ok());
    }

    #[test]
    fn a_storm_is_one_look_at_a_time_and_a_gap_between() {
        let mut single_flight = SingleFlightReader::new("a file", "reader");
        let noon = Instant::now();
        assert_eq!(single_flight.notify_changed(noon), Some(Duration::ZERO));
        assert_eq!(single_flight.notify_changed(noon), None, "a look is about to begin");
        let reader = single_flight.begin(NOON, Instant::now()).unwrap();
        let begun = single_flight.begun_at.unwrap();
        assert_eq!(single_flight.notify_changed(begun), None, "the end of the look reports it");
        assert!(single_flight.end(reader, 0));
        assert!(single_flight.is_notified());
        assert_eq!(single_flight.debounce_delay(begun + GAP / 4), GAP * 3 / 4);
        assert_eq!(single_flight.debounce_delay(begun + GAP), Duration::ZERO);
        single_flight.begin(NOON, Instant::now()).unwrap();
        assert!(!single_flight.is_notified());
    }

    #[test]
    fn a_look_of_a_replaced_reader_counts_for_nothing() {
        let mut single_flight = SingleFlightReader::new("a file", "old");
        let mut asked = single_flight.ask();
        let (old, generation) =
            (single_flight.begin(NOON, Instant::now()).unwrap(), single_flight.generation());
        single_flight.replace("new");
        assert!(!single_flight.end(old, generation));
        assert!(asked.try_recv().is_err());
        let (new, generation) =
            (single_flight.begin(NOON, Instant::now()).unwrap(), single_flight.generation());
        assert_eq!(new, "new");
        assert!(single_flight.end(new, generation) && !single_flight.answer());
        assert!(asked.try_recv().is_ok());
    }

    #[test]
    fn a_stuck_look_is_reported() {
        let mut single_flight = SingleFlightReader::new("a mount", "reader");
        let late = NOON.after(2 * LONGEST_STEP);
        assert_eq!(single_flight.problem(late), None);
        let reader = single_flight.begin(NOON, Instant::now()).unwrap();
        assert_eq!(single_flight.problem(NOON), None);
        let problem = single_flight.problem(late).unwrap();
        assert!(problem.starts_with("the check of a mount has read nothing"), "{problem}");
        assert!(single_flight.end(reader, 0));
        assert_eq!(single_flight.problem(late), None);
    }

    #[test]
    fn a_long_look_that_makes_progress_is_not_stuck() {
        let mut single_flight = SingleFlightReader::new("a log", "reader");
        let progress = single_flight.progress.clone();
        single_flight.begin(NOON, Instant::now()).unwrap();
        let mut now = NOON;
        for _ in 0..10 {
            now = now.after(LONGEST_STEP);
            progress.advance();
            assert_eq!(single_flight.problem(now), None);
        }
        assert!(single_flight.problem(now.after(2 * LONGEST_STEP)).is_some());
        progress.advance();
        assert_eq!(single_flight.problem(now.after(2 * LONGEST_STEP)), None);
    }
}
