//! One kind of input, looked at by one blocking job at a time, so that a slow kind never holds up
//! another.

use tokio::sync::oneshot;

use crate::clock::Millis;

/// What a job needs and keeps between looks. It lies with the actor while no job is at work.
pub trait Bench: Send + 'static {
    /// What a look found.
    type Found: Send + 'static;

    /// Looks at the input. May block.
    fn look(&mut self, now: Millis) -> Self::Found;
}

/// A bench and who waits for a look.
pub struct Lane<B> {
    /// None while a job has it.
    bench: Option<B>,
    /// Those who asked before the present job began: its end answers them.
    waiting: Vec<oneshot::Sender<()>>,
    /// Those who asked after it began: they want another look.
    next: Vec<oneshot::Sender<()>>,
}

impl<B> Lane<B> {
    /// An idle lane.
    pub fn new(bench: B) -> Self {
        Lane { bench: Some(bench), waiting: Vec::new(), next: Vec::new() }
    }

    /// The end of the next look that begins from now on.
    pub fn ask(&mut self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.next.push(sender);
        receiver
    }

    /// Takes the bench for a look, unless one is under way.
    pub fn begin(&mut self) -> Option<B> {
        let bench = self.bench.take()?;
        self.waiting.append(&mut self.next);
        Some(bench)
    }

    /// A look ended: answers those who waited. True if others have asked meanwhile.
    pub fn end(&mut self, bench: B) -> bool {
        self.bench = Some(bench);
        for waiter in self.waiting.drain(..) {
            // One who no longer waits has nothing to learn.
            let _ = waiter.send(());
        }
        !self.next.is_empty()
    }

    /// The bench, while no look is under way.
    pub fn idle(&mut self) -> Option<&mut B> {
        self.bench.as_mut()
    }
}
