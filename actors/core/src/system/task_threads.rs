//! Threads of their own for asynchronous tasks.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime whose tasks run beside those of the caller, and do not wake its threads.
#[derive(Debug)]
pub struct TaskThreads {
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    handle: Handle,
}

impl TaskThreads {
    /// Starts `count` threads of this name.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn start(name: &str, count: usize) -> io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(count).thread_name(name).enable_all().build()?;
        let handle = runtime.handle().clone();
        Ok(TaskThreads { runtime: Some(runtime), handle })
    }

    /// Starts tasks on these threads.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for TaskThreads {
    /// Does not wait: the owner may be in an asynchronous task.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
