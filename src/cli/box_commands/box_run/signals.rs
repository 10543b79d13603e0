//! The signals that `box run` handles.

use std::io;

use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::guard::Guard;

/// Signals that end a process without a handler.
pub const THAT_END: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// Caught signals, instead of their default actions.
pub struct RunnerSignals {
    sender: mpsc::Sender<Signal>,
    receiver: mpsc::Receiver<Signal>,
    ignored: Ignored,
}

/// The signals that were ignored when the process started, as a bit set. `nohup` does this, and
/// shells do it for background jobs.
struct Ignored(u64);

impl RunnerSignals {
    /// Catches no signal yet.
    pub fn new() -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel(16);
        let status = std::fs::read_to_string("/proc/self/status")?;
        Ok(RunnerSignals { sender, receiver, ignored: Ignored::read(&status) })
    }

    /// Catches the signals that end a process, except ignored ones. Also receives SIGKILL when the
    /// guard has ended.
    pub fn of_runner(guard: Guard) -> io::Result<Self> {
        let mut signals = RunnerSignals::new()?;
        THAT_END.into_iter().try_for_each(|one| signals.catch(one))?;
        guard.watch(signals.sender.clone())?;
        Ok(signals)
    }

    /// Also catches this signal, unless it is ignored: then the command ignores it as well.
    pub fn catch(&mut self, caught: Signal) -> io::Result<()> {
        if self.ignored.has(caught) {
            return Ok(());
        }
        let mut coming = signal(SignalKind::from_raw(caught.as_raw()))?;
        let sender = self.sender.clone();
        tokio::spawn(async move {
            while coming.recv().await.is_some() {
                // Sixteen unread signals are enough.
                let _ = sender.try_send(caught);
            }
        });
        Ok(())
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> Signal {
        match self.receiver.recv().await {
            Some(signal) => signal,
            // `self` holds a sender, so the channel never closes.
            None => std::future::pending().await,
        }
    }
}

impl Ignored {
    /// Parses `/proc/PID/status` (see proc(5)).
    fn read(status: &str) -> Self {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        Ignored(mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0))
    }

    fn has(&self, signal: Signal) -> bool {
        // The lowest bit is signal 1.
        self.0 & (1 << (signal.as_raw() - 1)) != 0
    }
}

/// Stops this process until SIGCONT.
pub async fn stop_this_process() -> io::Result<()> {
    // The signal takes effect a little later in a process with several threads, which runs on until
    // then.
    let mut continued = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
    kill_process(getpid(), Signal::STOP)?;
    continued.recv().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_bit_by_bit() {
        let ignored = Ignored::read("SigBlk:\t0000000000000004\nSigIgn:\t0000000000001001\nx");
        assert!(ignored.has(Signal::HUP) && ignored.has(Signal::PIPE));
        assert!(!ignored.has(Signal::INT) && !ignored.has(Signal::QUIT));
        assert!(!Ignored::read("").has(Signal::HUP));
    }
}
