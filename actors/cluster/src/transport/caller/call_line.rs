//! The connection to one peer for one purpose: made on demand, kept, and made again after it failed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reelyard_protocol::cluster::{CallAnswerHead, CallHead, ConnectionUse, FrameTooLarge};
use reelyard_replication::CallTarget;
use tokio::io::{BufReader, ReadHalf, WriteHalf, split};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::connecting::connect_member;
use crate::transport::framing::{
    FrameError, largest_frame, read_length, read_with_head, write_frame,
};
use crate::transport::local_node::LocalNode;
use crate::transport::peers::PeerRecord;
use crate::transport::stream::NodeStream;

/// After a failed attempt to connect, calls fail with its reason for this long.
const RETRY_GAP: Duration = Duration::from_millis(50);
/// Unit of the bytes that wait.
const UNIT: usize = 1 << 10;
/// Beyond this number of open calls, those whose callers gave up are forgotten.
const OPEN_CALLS: usize = 256;

/// A call that waits for its connection.
struct WaitingCall {
    request: Vec<u8>,
    answer: oneshot::Sender<Result<Vec<u8>, String>>,
    /// Returned once the request is written.
    waiting_bytes: OwnedSemaphorePermit,
}

/// A call that was sent.
struct OpenCall {
    answer: oneshot::Sender<Result<Vec<u8>, String>>,
    sent: Instant,
}

/// Calls to one peer for one purpose. The task of the line ends with its last handle.
pub(super) struct CallLine {
    target: CallTarget,
    limit: usize,
    calls: mpsc::UnboundedSender<WaitingCall>,
    /// The bytes of requests that may wait.
    room: Arc<Semaphore>,
}

impl CallLine {
    /// Starts the task of the line on `runtime`.
    pub(super) fn start(
        runtime: &Handle,
        local: &Arc<LocalNode>,
        target: &CallTarget,
        purpose: ConnectionUse,
    ) -> Arc<Self> {
        let (calls, waiting) = mpsc::unbounded_channel();
        let limit = largest_frame(purpose);
        let worker =
            LineWorker { local: Arc::clone(local), target: target.clone(), purpose, waiting };
        runtime.spawn(worker.run());
        let room = Arc::new(Semaphore::new(units(limit)));
        Arc::new(CallLine { target: target.clone(), limit, calls, room })
    }

    /// Whether the line leads to this address and store.
    pub(super) fn leads_to(&self, target: &CallTarget) -> bool {
        self.target == *target
    }

    /// Sends a request and waits for the answer. The caller gives up by dropping the future: then a late answer
    /// is skipped.
    pub(super) async fn call(&self, request: Vec<u8>) -> Result<Vec<u8>, String> {
        let length = request.len() + CallHead::BYTES;
        if length > self.limit {
            return Err(FrameTooLarge { length: length as u64, limit: self.limit }.to_string());
        }
        let ended = |_| "the network of this node has stopped".to_owned();
        // Fits into 32 bits, because it is below the limit.
        let bytes = u32::try_from(units(length)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(bytes).await;
        let waiting_bytes = room.map_err(|_| "the network of this node has stopped".to_owned())?;
        let (answer, answered) = oneshot::channel();
        self.calls
            .send(WaitingCall { request, answer, waiting_bytes })
            .map_err(|_| "the network of this node has stopped".to_owned())?;
        answered.await.map_err(ended)?
    }
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT)
}

/// The task of a line.
struct LineWorker {
    local: Arc<LocalNode>,
    target: CallTarget,
    purpose: ConnectionUse,
    waiting: mpsc::UnboundedReceiver<WaitingCall>,
}

impl LineWorker {
    async fn run(mut self) {
        let mut failed: Option<(Instant, String)> = None;
        while let Some(call) = self.waiting.recv().await {
            // The caller may have given up.
            if call.answer.is_closed() {
                continue;
            }
            if let Some((at, why)) = &failed
                && at.elapsed() < RETRY_GAP
            {
                let _ = call.answer.send(Err(why.clone()));
                continue;
            }
            match connect_member(&self.local, &self.target, self.purpose).await {
                Ok((stream, peer)) => {
                    failed = None;
                    if self.serve(stream, &peer, call).await.is_none() {
                        return;
                    }
                }
                Err(why) => {
                    let _ = call.answer.send(Err(why.clone()));
                    self.fail_waiting(&why);
                    failed = Some((Instant::now(), why));
                }
            }
        }
    }

    /// Answers all calls that waited for the failed connection.
    fn fail_waiting(&mut self, why: &str) {
        while let Ok(call) = self.waiting.try_recv() {
            let _ = call.answer.send(Err(why.to_owned()));
        }
    }

    /// Sends calls and receives answers until the connection fails. None if the line has no more callers.
    async fn serve(
        &mut self,
        stream: NodeStream,
        peer: &PeerRecord,
        first: WaitingCall,
    ) -> Option<()> {
        let (reader, writer) = split(stream);
        let open = OpenCalls::default();
        let limit = largest_frame(self.purpose);
        let ended = tokio::select! {
            ended = send_calls(writer, limit, &open, first, &mut self.waiting) => ended,
            failed = receive_answers(reader, limit, &open, peer, &self.local, self.purpose) => Some(failed),
        };
        let failed = ended?;
        open.fail(&format!("{}: {failed}", self.target.record.cluster_address));
        Some(())
    }
}

/// Writes calls as they come. Returns the failure of the connection, or none if there are no more callers.
async fn send_calls(
    mut writer: WriteHalf<NodeStream>,
    limit: usize,
    open: &OpenCalls,
    first: WaitingCall,
    waiting: &mut mpsc::UnboundedReceiver<WaitingCall>,
) -> Option<FrameError> {
    let mut next = Some(first);
    loop {
        let call = match next.take() {
            Some(call) => call,
            None => waiting.recv().await?,
        };
        if call.answer.is_closed() {
            continue;
        }
        let WaitingCall { request, answer, waiting_bytes } = call;
        let head = CallHead { id: open.add(answer) };
        if let Err(failed) = write_frame(&mut writer, limit, &head.encode(), &request).await {
            return Some(failed);
        }
        drop(waiting_bytes);
    }
}

/// Reads answers and hands them to their callers. Returns the failure of the connection.
async fn receive_answers(
    reader: ReadHalf<NodeStream>,
    limit: usize,
    open: &OpenCalls,
    peer: &PeerRecord,
    local: &LocalNode,
    purpose: ConnectionUse,
) -> FrameError {
    let mut reader = BufReader::new(reader);
    loop {
        let length = match read_length(&mut reader, limit).await {
            Ok(Some(length)) => length,
            Ok(None) => return closed(),
            Err(failed) => return failed,
        };
        let read = read_with_head::<{ CallAnswerHead::BYTES }>(&mut reader, length).await;
        let (head, answer) = match read {
            Ok(read) => read,
            Err(failed) => return failed,
        };
        let Some((head, _)) = CallAnswerHead::split(&head) else { return FrameError::NoHead };
        peer.contacted();
        let Some(call) = open.take(head.id) else { continue };
        // Large messages say nothing about the way.
        if purpose == ConnectionUse::Vote {
            let work = Duration::from_micros(u64::from(head.work_us));
            let on_the_way = call.sent.elapsed().saturating_sub(work);
            peer.measured(on_the_way, head.clock, local.clock().reading().wall);
        }
        let _ = call.answer.send(Ok(answer));
    }
}

fn closed() -> FrameError {
    FrameError::Io(std::io::Error::new(
        std::io::ErrorKind::ConnectionAborted,
        "the other node closed the connection",
    ))
}

/// The calls of a connection that have no answer yet.
#[derive(Default)]
struct OpenCalls(Mutex<CallsById>);

#[derive(Default)]
struct CallsById {
    last: u64,
    by_id: HashMap<u64, OpenCall>,
}

impl OpenCalls {
    /// Gives a call its id.
    fn add(&self, answer: oneshot::Sender<Result<Vec<u8>, String>>) -> u64 {
        let mut calls = self.calls();
        if calls.by_id.len() >= OPEN_CALLS {
            calls.by_id.retain(|_, call| !call.answer.is_closed());
        }
        calls.last += 1;
        let id = calls.last;
        calls.by_id.insert(id, OpenCall { answer, sent: Instant::now() });
        id
    }

    fn take(&self, id: u64) -> Option<OpenCall> {
        self.calls().by_id.remove(&id)
    }

    fn fail(&self, why: &str) {
        for (_, call) in self.calls().by_id.drain() {
            let _ = call.answer.send(Err(why.to_owned()));
        }
    }

    fn calls(&self) -> MutexGuard<'_, CallsById> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
