//! Waiting for boxes: a future that reports when its caller drops it.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix::dev::SendError;
use reelyard_core::supervision::Route;
use tokio::sync::{oneshot, watch};

use crate::box_lease::messages::{
    Acquire, AcquireProgress, AcquireTicket, BoxError, BoxLeaseRequest, CancelAcquire, Grant,
};

/// The pause before a full mailbox is tried again.
const BUSY: Duration = Duration::from_secs(1);

static TICKETS: AtomicU64 = AtomicU64::new(0);

/// The routes to the actor that an acquisition needs. Cheap to clone.
#[derive(Clone)]
pub struct AcquireRoutes {
    /// The route for requests.
    pub acquire: Route<Acquire>,
    /// The route for callers that dropped their request.
    pub leave: Route<CancelAcquire>,
}

/// A running request for boxes. It ends with the grant, or with the reason why there is none.
///
/// If it is dropped before that, it leaves the queue at once. A grant in the meantime is taken
/// back.
#[must_use = "dropped, it leaves the queue"]
pub struct Acquisition {
    ticket: AcquireTicket,
    answer: oneshot::Receiver<Result<Grant, BoxError>>,
    progress: watch::Receiver<AcquireProgress>,
    leave: Route<CancelAcquire>,
    is_over: bool,
}

impl Acquisition {
    /// Sends a request for boxes. Refused at once when the actor's mailbox is full.
    pub fn begin(routes: &AcquireRoutes, ask: BoxLeaseRequest) -> Result<Self, BoxError> {
        let ticket = AcquireTicket(TICKETS.fetch_add(1, Ordering::Relaxed));
        let (reply, answer) = oneshot::channel();
        let (sender, progress) = watch::channel(AcquireProgress::default());
        let acquire = Acquire { ask, ticket, reply, progress: sender };
        routes.acquire.recipient().try_send(acquire).map_err(|error| match error {
            SendError::Full(_) => BoxError::Busy { retry_after: BUSY },
            SendError::Closed(_) => BoxError::Lost,
        })?;
        let leave = routes.leave.clone();
        Ok(Acquisition { ticket, answer, progress, leave, is_over: false })
    }

    /// The progress of the wait, as a channel to watch.
    pub fn progress(&self) -> watch::Receiver<AcquireProgress> {
        self.progress.clone()
    }
}

impl Future for Acquisition {
    type Output = Result<Grant, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.answer).poll(cx));
        self.is_over = true;
        Poll::Ready(answer.unwrap_or(Err(BoxError::Lost)))
    }
}

impl Drop for Acquisition {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.answer.close();
        let unread = self.answer.try_recv().ok().and_then(Result::ok);
        self.leave.recipient().do_send(CancelAcquire { ticket: self.ticket, unread });
    }
}
