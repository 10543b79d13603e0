//! Answers the calls on one connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use futures::{FutureExt, TryFutureExt};
use reelyard_core::clock::Clock;
use reelyard_protocol::cluster::{CallAnswerHead, CallHead, ConnectionUse};
use reelyard_replication::{CallKind, NodeIdentity};
use tokio::io::{BufReader, ReadHalf, WriteHalf, split};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::service::ClusterService;
use crate::transport::framing::{
    FrameError, largest_frame, read_length, read_with_head, write_frame,
};
use crate::transport::peers::PeerRecord;
use crate::transport::stream::NodeStream;

/// Calls of one connection that are answered at the same time.
const OPEN_CALLS: usize = 64;
/// Unit of the bytes of these calls.
const UNIT: usize = 1 << 10;

/// The calls of one member for one purpose.
pub(super) struct CallServer<'a> {
    pub(super) service: &'a dyn ClusterService,
    pub(super) clock: &'a Clock,
    pub(super) peer: &'a PeerRecord,
    pub(super) from: NodeIdentity,
    pub(super) purpose: ConnectionUse,
    pub(super) kind: CallKind,
}

/// A call under way.
struct RunningCall {
    answer: BoxFuture<'static, AnsweredCall>,
}

/// A call with its answer.
struct AnsweredCall {
    id: u64,
    answer: Vec<u8>,
    work: Duration,
    /// Returned once the answer is written.
    _bytes: OwnedSemaphorePermit,
}

impl CallServer<'_> {
    /// Serves until the member closes the connection.
    ///
    /// # Errors
    /// When the connection fails, or a frame is bad.
    pub(super) async fn run(&self, stream: NodeStream) -> Result<(), FrameError> {
        let (reader, writer) = split(stream);
        let (begun, running) = mpsc::channel(OPEN_CALLS);
        tokio::try_join!(
            self.read_calls(reader, begun).map_ok(drop),
            self.write_answers(writer, running)
        )
        .map(drop)
    }

    /// Reads calls, and hands each to the service. Waits while the calls under way have too many bytes.
    async fn read_calls(
        &self,
        reader: ReadHalf<NodeStream>,
        begun: mpsc::Sender<RunningCall>,
    ) -> Result<(), FrameError> {
        let limit = largest_frame(self.purpose);
        let room = Arc::new(Semaphore::new(limit.div_ceil(UNIT)));
        let mut reader = BufReader::new(reader);
        while let Some(length) = read_length(&mut reader, limit).await? {
            // Fits into 32 bits, as the length does.
            let units = u32::try_from(length.div_ceil(UNIT)).unwrap_or(u32::MAX);
            let Ok(bytes) = Arc::clone(&room).acquire_many_owned(units).await else { break };
            let (head, request) =
                read_with_head::<{ CallHead::BYTES }>(&mut reader, length).await?;
            let Some((CallHead { id }, _)) = CallHead::split(&head) else {
                return Err(FrameError::NoHead);
            };
            self.peer.contacted();
            let began = Instant::now();
            let answer = self.service.answer(self.kind, self.from, request);
            let answer = answer
                .map(move |answer| AnsweredCall {
                    id,
                    answer,
                    work: began.elapsed(),
                    _bytes: bytes,
                })
                .boxed();
            if begun.send(RunningCall { answer }).await.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Drives the calls, and writes each answer when it is ready.
    async fn write_answers(
        &self,
        mut writer: WriteHalf<NodeStream>,
        mut begun: mpsc::Receiver<RunningCall>,
    ) -> Result<(), FrameError> {
        let limit = largest_frame(self.purpose);
        let mut running = FuturesUnordered::new();
        let mut has_more = true;
        while has_more || !running.is_empty() {
            let answered = tokio::select! {
                call = begun.recv(), if has_more && running.len() < OPEN_CALLS => {
                    match call {
                        Some(call) => running.push(call.answer),
                        None => has_more = false,
                    }
                    continue;
                }
                Some(answered) = running.next() => answered,
            };
            let AnsweredCall { id, answer, work, _bytes } = answered;
            let work_us = u32::try_from(work.as_micros()).unwrap_or(u32::MAX);
            let head = CallAnswerHead { id, clock: self.clock.reading().wall, work_us };
            write_frame(&mut writer, limit, &head.encode(), &answer).await?;
        }
        Ok(())
    }
}
