//! Cancels a copy from outside, wherever its thread waits.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Ends one copy. Clones end the same one.
#[derive(Clone, Default)]
pub struct CopyCancellation(Arc<CopyCancellationShared>);

#[derive(Default)]
struct CopyCancellationShared {
    state: Mutex<CopyCancellationState>,
    woken: Condvar,
}

#[derive(Default)]
struct CopyCancellationState {
    cancelled: bool,
    /// The current connection, so that a blocked read ends too.
    stream: Option<Arc<TcpStream>>,
}

impl CopyCancellation {
    /// Ends the copy now.
    pub fn cancel(&self) {
        let mut state = self.state();
        state.cancelled = true;
        if let Some(stream) = state.stream.take() {
            // This fails only for a connection that is already closed.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.0.woken.notify_all();
    }

    /// Whether the copy was ended.
    pub fn is_cancelled(&self) -> bool {
        self.state().cancelled
    }

    /// Also ends `stream` when the copy is cancelled, instead of the connection that was
    /// watched before.
    pub fn watch(&self, stream: &Arc<TcpStream>) -> std::io::Result<()> {
        let mut state = self.state();
        if state.cancelled {
            return stream.shutdown(Shutdown::Both);
        }
        state.stream = Some(Arc::clone(stream));
        Ok(())
    }

    /// The connection that was watched last no longer belongs to this copy.
    pub fn release(&self) {
        self.state().stream = None;
    }

    /// Sleeps for `time`, or until the copy is cancelled. Answers whether it was.
    pub fn sleep(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = self.state();
        while !state.cancelled {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.0.woken.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.cancelled
    }

    fn state(&self) -> MutexGuard<'_, CopyCancellationState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_sleep_and_a_blocked_read_end_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = Arc::new(stream);
        let cancel = CopyCancellation::default();
        cancel.watch(&stream).unwrap();
        let sleeper = cancel.clone();
        let asleep = std::thread::spawn(move || sleeper.sleep(Duration::from_secs(600)));
        let reading = std::thread::spawn(move || (&*stream).read(&mut [0; 8]).unwrap_or(0));
        cancel.cancel();
        assert!(asleep.join().unwrap());
        assert_eq!(reading.join().unwrap(), 0);
        assert!(cancel.is_cancelled());
    }
}
