//! Streams to the leader that wait for their next request. A new one costs one round trip, and more with TLS. Each thread
//! has streams of its own.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::client::conn::http1::SendRequest;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::followed_leader::FollowedLeader;
use super::forwarded_request::ForwardedBody;

/// A stream to the leader, for one request after the other.
pub struct LeaderStream {
    /// The side of this node.
    pub sender: SendRequest<ForwardedBody>,
    /// Whether the node at the other end takes more than one request.
    pub takes_more: bool,
}

/// Idle streams of all threads. They take places at the leader, which limits the streams of a node.
pub const MOST_IDLE: usize = 64;

/// An idle stream is closed after this time. The leader closes it after 5 s.
const IDLE_TIME: Duration = Duration::from_secs(3);

/// It is empty once the stream is closed.
type IdleSlot = Rc<RefCell<Option<LeaderStream>>>;

/// The idle streams of this process.
static IDLE_STREAMS: IdlePlaces = IdlePlaces(AtomicUsize::new(0));

/// The number of taken places.
struct IdlePlaces(AtomicUsize);

/// The place of an idle stream, until it is dropped.
struct IdlePlace<'p>(&'p IdlePlaces);

impl IdlePlaces {
    /// None if all are taken.
    fn take(&self) -> Option<IdlePlace<'_>> {
        let next = |taken| (taken < MOST_IDLE).then_some(taken + 1);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        taken.is_ok().then(|| IdlePlace(self))
    }
}

impl Drop for IdlePlace<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct IdleStream {
    node: u64,
    slot: IdleSlot,
    _place: IdlePlace<'static>,
    /// Ends the task that would close it.
    _taken: oneshot::Sender<()>,
}

thread_local! {
    static IDLE: RefCell<Vec<IdleStream>> = const { RefCell::new(Vec::new()) };
}

/// An idle stream to this node.
pub fn take(node: u64) -> Option<LeaderStream> {
    IDLE.with_borrow_mut(|idle| {
        while let Some(at) = idle.iter().rposition(|stream| stream.node == node) {
            let stream = idle.swap_remove(at).slot.take();
            if let Some(stream) = stream.filter(|stream| !stream.sender.is_closed()) {
                return Some(stream);
            }
        }
        None
    })
}

/// Keeps a stream for the next request: from the end of its present answer on, while the node leads. It is closed if it
/// takes no more, or if there are too many.
pub fn keep(mut stream: LeaderStream, leader: FollowedLeader) {
    if !stream.takes_more {
        return;
    }
    actix_web::rt::spawn(async move {
        if stream.sender.ready().await.is_err() {
            return;
        }
        let Some(_place) = IDLE_STREAMS.take() else { return };
        let slot: IdleSlot = Rc::new(RefCell::new(Some(stream)));
        let (_taken, taken) = oneshot::channel();
        let kept = IdleStream { node: leader.node, slot: Rc::clone(&slot), _place, _taken };
        IDLE.with_borrow_mut(|idle| idle.push(kept));
        tokio::select! {
            _ = taken => return,
            () = sleep(IDLE_TIME) => {}
            () = leader.deposed() => {}
        }
        IDLE.with_borrow_mut(|idle| idle.retain(|stream| !Rc::ptr_eq(&stream.slot, &slot)));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_together_keep_a_limited_number_of_idle_streams() {
        static PLACES: IdlePlaces = IdlePlaces(AtomicUsize::new(0));
        let thread =
            || std::thread::spawn(|| (0..MOST_IDLE).map_while(|_| PLACES.take()).collect());
        let threads = [(); 4].map(|()| thread());
        let taken: [Vec<IdlePlace<'_>>; 4] = threads.map(|thread| thread.join().unwrap());
        assert_eq!(taken.iter().map(Vec::len).sum::<usize>(), MOST_IDLE);
        drop(taken);
        assert!(PLACES.take().is_some());
    }
}
