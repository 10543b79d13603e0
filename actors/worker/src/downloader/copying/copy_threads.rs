//! The threads for batches of copies. They are reused, because starting and ending a thread costs as
//! much as a small file.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

/// A batch of copies until their bytes have arrived, or the end of copies that were handed over. If no
/// other thread publishes at that moment, it publishes all ended copies. It does not panic.
pub type CopyJob = Box<dyn FnOnce() + Send>;

/// Threads that start when they are needed. When this is dropped, idle threads end at once, and the
/// others after their work.
#[derive(Default)]
pub struct CopyThreads(Arc<Idle>);

/// The threads without work.
#[derive(Default)]
struct Idle(Mutex<Vec<Sender<CopyJob>>>);

impl CopyThreads {
    /// Begins `job` at once, on an idle thread or on a new one.
    ///
    /// # Errors
    /// There is no idle thread, and none can be started.
    pub fn begin(&self, job: CopyJob) -> io::Result<()> {
        let idle = self.0.threads().pop();
        let Some(thread) = idle else { return self.begin_on_a_new_one(job) };
        // A thread is idle only while it waits for its next job.
        thread.send(job).map_err(|_| io::Error::other("the copy thread has ended"))
    }

    fn begin_on_a_new_one(&self, first: CopyJob) -> io::Result<()> {
        let idle = Arc::downgrade(&self.0);
        let work = move || work_until_unused(first, &idle);
        thread::Builder::new().name("copy".to_owned()).spawn(work)?;
        Ok(())
    }
}

impl Idle {
    fn threads(&self) -> MutexGuard<'_, Vec<Sender<CopyJob>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn work_until_unused(first: CopyJob, idle: &Weak<Idle>) {
    let mut next = Some(first);
    while let Some(job) = next {
        job();
        let Some(idle) = idle.upgrade() else { return };
        let (sender, receiver) = channel();
        idle.threads().push(sender);
        drop(idle);
        next = receiver.recv().ok();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn an_idle_thread_is_reused_and_busy_threads_are_left_alone() {
        let threads = CopyThreads::default();
        let (sender, receiver) = mpsc::channel();
        let begin = |wait_for: Option<mpsc::Receiver<()>>| {
            let sender = sender.clone();
            let job = move || {
                let _ = wait_for.map(|until| until.recv());
                sender.send(thread::current().id()).unwrap();
            };
            threads.begin(Box::new(job)).unwrap();
        };
        let (end_it, until) = mpsc::channel();
        begin(Some(until));
        begin(None);
        let second = receiver.recv().unwrap();
        while threads.0.threads().is_empty() {
            thread::yield_now();
        }
        begin(None);
        assert_eq!(receiver.recv().unwrap(), second);
        end_it.send(()).unwrap();
        assert_ne!(receiver.recv().unwrap(), second);
    }
}
