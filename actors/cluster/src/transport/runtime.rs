//! The threads of the network between nodes.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// Threads of their own, so that neither the API nor the disk of the journal delays a heartbeat.
#[derive(Debug)]
pub struct ClusterRuntime {
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    handle: Handle,
}

/// One thread may be busy with the encryption of a snapshot.
const THREADS: usize = 2;

impl ClusterRuntime {
    /// Starts the threads.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn start() -> io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        let runtime =
            builder.worker_threads(THREADS).thread_name("cluster").enable_all().build()?;
        let handle = runtime.handle().clone();
        Ok(ClusterRuntime { runtime: Some(runtime), handle })
    }

    /// Starts tasks on these threads.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for ClusterRuntime {
    /// Does not wait: the owner may be in an asynchronous task.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
