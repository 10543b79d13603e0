//! A server of files: accepts connections within limits, and passes their requests to its service.

mod accepting;
mod counts;
mod lifetime;
mod poll_keeper;
#[cfg(test)]
mod server_tests;
mod service;
mod serving;
mod settings;

pub use counts::{ConnectionCounts, Count, CountGuard};
pub use lifetime::{ServerGuard, ServerLifetime};
pub use service::{Answered, ConnectionHandover, FileService, ServedRequest};
pub use settings::{FileServerSettings, ServerThreads};

use accepting::Acceptor;
use poll_keeper::PollKeeper;
use serving::ServingShared;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// A running server. It has its own threads, so that no other task waits for a slow disk.
pub struct FileServer {
    addr: SocketAddr,
    lifetime: ServerLifetime,
    /// The accept task. It ends when a retiring server has no connection left.
    accepting: JoinHandle<()>,
    /// None once it is shut down.
    runtime: Option<Runtime>,
    _poll_keeper: Option<PollKeeper>,
}

impl FileServer {
    /// Serves the connections of `listener` until it is stopped. `counts` may be those of an earlier server.
    ///
    /// # Errors
    ///
    /// The listener cannot be used, or no thread can be started.
    pub fn start<S: FileService>(
        listener: TcpListener,
        settings: FileServerSettings,
        service: Arc<S>,
        counts: Arc<ConnectionCounts>,
        lifetime: ServerLifetime,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let threads = match settings.threads {
            ServerThreads::Shared(threads) => threads.max(1),
            // For the accept task.
            ServerThreads::PerConnection => 1,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .max_blocking_threads(settings.blocking_threads.max(1))
            .thread_name(settings.name)
            .enable_all()
            .build()?;
        let listener = {
            let _in_runtime = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let poll_keeper = match settings.threads {
            ServerThreads::Shared(_) => Some(PollKeeper::start(runtime.handle().clone())?),
            ServerThreads::PerConnection => None,
        };
        let shared = Arc::new(ServingShared { service, settings, counts });
        let acceptor = Acceptor::new(shared, lifetime.guard());
        let accepting = runtime.spawn(acceptor.run(listener));
        let runtime = Some(runtime);
        Ok(FileServer { addr, lifetime, accepting, runtime, _poll_keeper: poll_keeper })
    }

    /// The address of the listener.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops listening. Connections may finish their answers until `hurry` returns. The result is whether
    /// all did.
    pub async fn drain(&mut self, hurry: impl Future<Output = ()>) -> bool {
        self.lifetime.retire();
        tokio::select! {
            // An error means that the runtime has ended, with all connections.
            _ = &mut self.accepting => true,
            () = hurry => false,
        }
    }

    /// Stops listening, aborts every connection, and returns when all have ended.
    pub async fn stop(mut self) {
        self.lifetime.stop();
        self.lifetime.ended().await;
    }

    /// Like [`FileServer::stop`], but blocks this thread until all threads of the server have ended.
    pub fn stop_blocking(mut self) {
        self.lifetime.stop();
        // On its own thread, because a thread of another runtime must not wait for this one.
        let stopping =
            std::thread::Builder::new().name("file-server-end".into()).spawn(move || {
                if let Some(runtime) = self.runtime.take() {
                    runtime.block_on(self.lifetime.ended());
                }
            });
        match stopping.map(std::thread::JoinHandle::join) {
            Ok(Ok(())) => {}
            Ok(Err(_)) => tracing::error!("the end of a file server panicked"),
            Err(error) => tracing::warn!(%error, "cannot wait for the end of a file server"),
        }
    }
}

impl Drop for FileServer {
    fn drop(&mut self) {
        self.lifetime.stop();
        if let Some(runtime) = self.runtime.take() {
            // Blocking is not allowed on an async thread.
            runtime.shutdown_background();
        }
    }
}
