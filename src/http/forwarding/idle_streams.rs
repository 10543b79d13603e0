//! Streams to the leader that wait for their next request. A new one costs one round trip, and more with TLS. Each thread
//! has streams of its own.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use hyper::client::conn::http1::SendRequest;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::followed_leader::FollowedLeader;
use super::forwarded_request::ForwardedBody;

/// A stream to the leader, for one request after the other.
pub type LeaderStream = SendRequest<ForwardedBody>;

/// Idle streams of one thread. The leader limits the streams of a node.
const MOST: usize = 16;

/// An idle stream is closed after this time. The leader closes it after 5 s.
const IDLE_TIME: Duration = Duration::from_secs(3);

/// It is empty once the stream is closed.
type IdleSlot = Rc<RefCell<Option<LeaderStream>>>;

struct IdleStream {
    node: u64,
    slot: IdleSlot,
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
            if let Some(stream) = stream.filter(|stream| !stream.is_closed()) {
                return Some(stream);
            }
        }
        None
    })
}

/// Keeps a stream for the next request: from the end of its present answer on, while the node leads.
pub fn keep(mut stream: LeaderStream, leader: FollowedLeader) {
    actix_web::rt::spawn(async move {
        if stream.ready().await.is_err() {
            return;
        }
        let slot: IdleSlot = Rc::new(RefCell::new(Some(stream)));
        let (_taken, taken) = oneshot::channel();
        let kept = IdleStream { node: leader.node, slot: Rc::clone(&slot), _taken };
        IDLE.with_borrow_mut(|idle| {
            if idle.len() < MOST {
                idle.push(kept);
            }
        });
        tokio::select! {
            _ = taken => return,
            () = sleep(IDLE_TIME) => {}
            () = leader.deposed() => {}
        }
        IDLE.with_borrow_mut(|idle| idle.retain(|stream| !Rc::ptr_eq(&stream.slot, &slot)));
    });
}
