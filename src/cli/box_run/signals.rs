//! The signals that come to `box run`.

use std::io;

use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// What ends a process that does not care for it.
const THAT_END: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// Signals that come here instead of doing to this process what they usually do.
pub struct Signals {
    sender: mpsc::Sender<Signal>,
    receiver: mpsc::Receiver<Signal>,
}

impl Signals {
    /// Those that end a process.
    pub fn that_end() -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel(16);
        let mut signals = Signals { sender, receiver };
        THAT_END.into_iter().try_for_each(|one| signals.catch(one))?;
        Ok(signals)
    }

    /// From now on this one, too.
    pub fn catch(&mut self, caught: Signal) -> io::Result<()> {
        let mut coming = signal(SignalKind::from_raw(caught.as_raw()))?;
        let sender = self.sender.clone();
        tokio::spawn(async move {
            while coming.recv().await.is_some() {
                // Sixteen that nobody has looked at yet are enough.
                let _ = sender.try_send(caught);
            }
        });
        Ok(())
    }

    /// The next that comes.
    pub async fn next(&mut self) -> Signal {
        match self.receiver.recv().await {
            Some(signal) => signal,
            // There is a sender here for as long as there is a receiver.
            None => std::future::pending().await,
        }
    }
}

/// Stops this process until it is continued.
pub async fn stop_this_process() -> io::Result<()> {
    // Signals reach a process of several threads a little later: it may run on until then.
    let mut continued = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
    kill_process(getpid(), Signal::STOP)?;
    continued.recv().await;
    Ok(())
}
