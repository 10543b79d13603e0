//! Files and directories of shares at the other members, for a node that does not see their root.
//!
//! The members are asked whether they see it; the last one that did is asked first. Two requests follow each other on
//! one stream: for the state of the file, and for its bytes.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt;
use futures::future::{BoxFuture, FutureExt, join_all};
use futures::stream::FuturesUnordered;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use reelyard_journal::Journal;
use reelyard_links::{OtherNodes, PassedBytes, PassedFile, Passing};
use reelyard_protocol::cluster::shared_files::{
    ArchiveAsked, BytesAsked, CountAsked, CountRefused, CountedThere, NO_CLIENT, NotPassed,
    SharedContents, SharedFileCall, SharedFileFacts, client_line,
};
use reelyard_replication::{CallTarget, CommitError, Leadership, Member};
use reelyard_shares::share_expiry::{
    RootName, ShareEnding, ShareError, ShareId, ShareRefusal, TakeDownload,
};
use reelyard_shares::share_files::FilesElsewhere;
use serde::de::DeserializeOwned;
use tokio::io::AsyncWriteExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use super::cluster::ClusterLink;

/// Downloads that are passed through at a time. Each holds a stream for its whole time.
const AT_ONCE: usize = 128;

/// Time limit for the answer of one member.
const ANSWER_TIME: Duration = Duration::from_secs(1);

/// Time limit for a member to list a directory and to look at its files.
const LIST_TIME: Duration = Duration::from_secs(5);

/// How long no member is asked again for a root that none of them sees.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The longest answer without bytes of a file. A list has at most 500 entries.
const LONGEST_ANSWER: usize = 1 << 20;

/// Time limit for the begin of an archive whose files are all opened first.
const CHECK_TIME: Duration = Duration::from_secs(60);

/// Time limit for the leader to count a download.
const COUNT_TIME: Duration = Duration::from_secs(3);

/// The most bytes of one read. The member ends a stream of which nothing is read for a minute, so a slow visitor should
/// take one piece in less time.
const LONGEST_READ: usize = 64 << 10;

/// Pieces that wait for the visitor.
const AHEAD: usize = 2;

/// The files of the other members.
pub(crate) struct MemberFiles {
    cluster: Arc<ClusterLink>,
    journal: Journal,
    roots: Mutex<BTreeMap<RootName, RootSight>>,
    slots: Arc<Semaphore>,
}

/// The member that sees a root, if one does.
#[derive(Clone, Copy, Debug)]
enum RootSight {
    /// This member saw it.
    At(u64),
    /// No member saw it at this time.
    Nowhere(Instant),
}

/// The question to one member, and its answer.
type MemberAnswer<'m, T> = BoxFuture<'m, io::Result<Result<T, NotPassed>>>;

/// A stream to a member for requests.
type MemberStream = SendRequest<Empty<Bytes>>;

/// A file at a member, and the stream to it.
struct FileAtMember {
    facts: SharedFileFacts,
    id: ShareId,
    sender: MemberStream,
    slot: Option<OwnedSemaphorePermit>,
}

impl MemberFiles {
    pub(crate) fn new(cluster: Arc<ClusterLink>, journal: Journal) -> Self {
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        MemberFiles { cluster, journal, roots: Mutex::default(), slots }
    }

    fn other_members(&self) -> Vec<Member> {
        let own = self.journal.identity().number;
        let mut members = self.journal.members();
        members.retain(|member| member.number != own);
        members
    }

    /// The other members, and the one among them that saw this root.
    fn others(&self, root: &RootName) -> (Vec<Member>, Option<u64>) {
        let members = self.other_members();
        let roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        match roots.get(root) {
            Some(RootSight::At(number)) => (members, Some(*number)),
            Some(RootSight::Nowhere(at)) if at.elapsed() < ASK_AGAIN => (Vec::new(), None),
            _ => (members, None),
        }
    }

    fn remember(&self, root: RootName, sight: RootSight) {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner).insert(root, sight);
    }

    /// Asks the members until one has what is asked for: first the one that saw the root last.
    async fn search<'m, T>(
        &'m self,
        root: RootName,
        limit: Duration,
        question: impl Fn(Member) -> MemberAnswer<'m, T>,
    ) -> Result<(Member, T), NotPassed> {
        let (mut members, known) = self.others(&root);
        if members.is_empty() {
            return Err(NotPassed::Away);
        }
        let ask = |member: Member| {
            let asking = question(member.clone());
            async move { (member.clone(), within_time(&member, limit, asking).await) }
        };
        let mut refusals = Vec::new();
        let first = members.iter().position(|member| Some(member.number) == known);
        if let Some(first) = first {
            match ask(members.swap_remove(first)).await {
                (member, Ok(found)) => return Ok((member, found)),
                // A mirror may be late there.
                (_, Err(why)) => refusals.push(why),
            }
        }
        let mut asking: FuturesUnordered<_> = members.into_iter().map(ask).collect();
        while let Some((member, answer)) = asking.next().await {
            match answer {
                Ok(found) => {
                    self.remember(root, RootSight::At(member.number));
                    return Ok((member, found));
                }
                Err(why) => refusals.push(why),
            }
        }
        let why = of_all(&refusals);
        if why == NotPassed::Away {
            self.remember(root, RootSight::Nowhere(Instant::now()));
        }
        Err(why)
    }

    /// Asks a member on a new stream, which remains open.
    async fn look_up<T: DeserializeOwned>(
        &self,
        member: Member,
        target: &str,
    ) -> io::Result<Result<(T, MemberStream), NotPassed>> {
        let mut sender = self.open(member).await?;
        let body = answer(&mut sender, target).await?;
        let found: Result<T, NotPassed> = serde_json::from_slice(&body)?;
        Ok(found.map(|found| (found, sender)))
    }

    /// Begins to fetch an archive from a member.
    async fn begin_archive(
        &self,
        member: Member,
        (id, is_checked): (ShareId, bool),
        slot: OwnedSemaphorePermit,
    ) -> io::Result<Result<PassedBytes, NotPassed>> {
        let mut sender = self.open(member).await?;
        let call = SharedFileCall::Archive(ArchiveAsked { checked: is_checked });
        let target = call.target(&id.to_string());
        let limit = if is_checked { CHECK_TIME } else { ANSWER_TIME };
        let answer = timeout(limit, sender.send_request(request(&target, None)?)).await?;
        let answer = answer.map_err(io::Error::other)?;
        if answer.status() == hyper::StatusCode::CONFLICT {
            let body = Limited::new(answer.into_body(), LONGEST_ANSWER);
            let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
            return Ok(Err(serde_json::from_slice(&body)?));
        }
        Ok(Ok(passed_bytes(answer, Some(slot))?))
    }

    async fn find_contents(
        &self,
        id: ShareId,
        root: RootName,
    ) -> Result<(Member, SharedContents), NotPassed> {
        let target = SharedFileCall::Contents.target(&id.to_string());
        let found = self.search(root, LIST_TIME, |member| {
            let target = target.clone();
            Box::pin(async move { self.look_up::<SharedContents>(member, &target).await })
        });
        let (member, (contents, _)) = found.await?;
        Ok((member, contents))
    }

    fn slot(&self) -> Option<OwnedSemaphorePermit> {
        let slot = Arc::clone(&self.slots).try_acquire_owned().ok();
        if slot.is_none() {
            tracing::debug!(AT_ONCE, "too many downloads are passed through at a time");
        }
        slot
    }

    /// Opens a stream to a member.
    async fn open(&self, member: Member) -> io::Result<MemberStream> {
        let target = CallTarget { node: member.number, record: member.record };
        let stream = self.cluster.transport().open_forward(&target).await;
        let mut stream = stream.map_err(io::Error::other)?;
        // The node asks for itself, and not for a client.
        stream.write_all(client_line(&NO_CLIENT.to_string()).as_bytes()).await?;
        let shaken = in_short_reads().handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(io::Error::other)?;
        tokio::spawn(async move {
            // The answer reports the same failure.
            let _ = connection.await;
        });
        Ok(sender)
    }

    /// Lets the leader count a download.
    async fn count(&self, leader: Member, asked: &TakeDownload) -> io::Result<CountedThere> {
        let TakeDownload { id, client, ranged, request } = asked;
        let mut sender = self.open(leader).await?;
        let (client, ranged, request) = (client.0, *ranged, request.0.to_string());
        let call = SharedFileCall::Count(CountAsked { client, ranged, request });
        let answer = answer(&mut sender, &call.target(&id.to_string())).await?;
        Ok(serde_json::from_slice(&answer)?)
    }
}

/// The answer of a member within a time limit.
async fn within_time<T>(
    member: &Member,
    limit: Duration,
    asking: MemberAnswer<'_, T>,
) -> Result<T, NotPassed> {
    match timeout(limit, asking).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => {
            let node = member.number;
            tracing::debug!(node, %error, "a member was not asked for a shared file");
            Err(NotPassed::Unknown)
        }
        Err(_) => Err(NotPassed::Unknown),
    }
}

/// The bytes of an answer, as they arrive.
fn passed_bytes(
    answer: hyper::Response<Incoming>,
    slot: Option<OwnedSemaphorePermit>,
) -> io::Result<PassedBytes> {
    if answer.status().as_u16() != 200 {
        let status = answer.status();
        return Err(io::Error::other(format!("the node with the file answered {status}")));
    }
    let (sender, bytes) = mpsc::channel(AHEAD);
    tokio::spawn(pump(answer.into_body(), sender, slot));
    Ok(bytes)
}

/// The refusal of a leader that counts no download. None if its ending is not known here.
fn refusal_of(refused: CountRefused) -> Option<ShareRefusal> {
    Some(match refused {
        CountRefused::Unknown => ShareRefusal::Unknown,
        CountRefused::Exhausted => ShareRefusal::Exhausted,
        CountRefused::Ended { why } => {
            let why = ShareEnding::ALL.into_iter().find(|ending| ending.word() == why)?;
            ShareRefusal::Ended { why }
        }
    })
}

/// Why no member has the file. The root is away only if it is away at each of them.
fn of_all(refusals: &[NotPassed]) -> NotPassed {
    if refusals.contains(&NotPassed::Absent) {
        return NotPassed::Absent;
    }
    match refusals.iter().all(|why| *why == NotPassed::Away) {
        true => NotPassed::Away,
        false => NotPassed::Unknown,
    }
}

/// A connection that reads at most [`LONGEST_READ`] bytes at once.
fn in_short_reads() -> http1::Builder {
    let mut builder = http1::Builder::new();
    // Its buffers grow up to twice this size, and each read fills all of one.
    builder.max_buf_size(LONGEST_READ / 2);
    builder
}

/// Sends a request, and reads its short answer.
async fn answer(sender: &mut MemberStream, target: &str) -> io::Result<Bytes> {
    let answer = sender.send_request(request(target, None)?).await.map_err(io::Error::other)?;
    let body = Limited::new(answer.into_body(), LONGEST_ANSWER).collect().await;
    Ok(body.map_err(io::Error::other)?.to_bytes())
}

fn request(target: &str, etag: Option<&str>) -> io::Result<hyper::Request<Empty<Bytes>>> {
    let mut request = hyper::Request::builder().uri(target).header("Host", "localhost");
    if let Some(etag) = etag {
        request = request.header("If-Match", etag);
    }
    request.body(Empty::new()).map_err(io::Error::other)
}

impl OtherNodes for MemberFiles {
    fn find(
        &self,
        id: ShareId,
        root: RootName,
    ) -> Passing<'_, Result<Box<dyn PassedFile>, NotPassed>> {
        Box::pin(async move {
            let slot = self.slot().ok_or(NotPassed::Unknown)?;
            let target = SharedFileCall::Facts.target(&id.to_string());
            let found = self.search(root, ANSWER_TIME, |member| {
                let target = target.clone();
                Box::pin(async move { self.look_up::<SharedFileFacts>(member, &target).await })
            });
            let (_, (facts, sender)) = found.await?;
            let file = FileAtMember { facts, id, sender, slot: Some(slot) };
            Ok(Box::new(file) as Box<dyn PassedFile>)
        })
    }

    fn contents(
        &self,
        id: ShareId,
        root: RootName,
    ) -> Passing<'_, Result<SharedContents, NotPassed>> {
        Box::pin(async move { Ok(self.find_contents(id, root).await?.1) })
    }

    fn archive(
        &self,
        id: ShareId,
        root: RootName,
        is_checked: bool,
    ) -> Passing<'_, Result<PassedBytes, NotPassed>> {
        Box::pin(async move {
            let slot = self.slot().ok_or(NotPassed::Unknown)?;
            let (member, _) = self.find_contents(id, root).await?;
            self.begin_archive(member, (id, is_checked), slot).await.unwrap_or_else(|error| {
                tracing::debug!(%error, "an archive of another node has not begun");
                Err(NotPassed::Unknown)
            })
        })
    }

    fn take(&self, asked: TakeDownload) -> Passing<'_, Result<(), ShareError>> {
        Box::pin(async move {
            let Leadership::Following { leader } = *self.journal.leadership().borrow() else {
                return Err(CommitError::NotLeader { leader: None }.into());
            };
            let members = self.journal.members();
            let Some(member) = members.into_iter().find(|member| member.number == leader) else {
                return Err(CommitError::NotLeader { leader: Some(leader) }.into());
            };
            let unknown = CommitError::Unknown { request: asked.request };
            match timeout(COUNT_TIME, self.count(member, &asked)).await {
                Ok(Ok(Ok(()))) => Ok(()),
                Ok(Ok(Err(why))) => {
                    Err(why.and_then(refusal_of).map_or(unknown.into(), Into::into))
                }
                Err(_) => Err(unknown.into()),
                Ok(Err(error)) => {
                    tracing::debug!(leader, %error, "the leader was not asked to count a download");
                    Err(unknown.into())
                }
            }
        })
    }
}

impl FilesElsewhere for MemberFiles {
    fn all_lack(&self, id: ShareId) -> BoxFuture<'_, bool> {
        let asked = self.other_members().into_iter().map(move |member| async move {
            let target = SharedFileCall::Contents.target(&id.to_string());
            let asking = self.look_up::<SharedContents>(member.clone(), &target);
            within_time(&member, LIST_TIME, Box::pin(asking)).await.map(drop)
        });
        let answers = join_all(asked);
        let lacks = |answer| matches!(answer, Err(NotPassed::Absent | NotPassed::Away));
        async move { answers.await.into_iter().all(lacks) }.boxed()
    }
}

impl PassedFile for FileAtMember {
    fn facts(&self) -> &SharedFileFacts {
        &self.facts
    }

    fn fetch(&mut self, range: Range<u64>) -> Passing<'_, io::Result<PassedBytes>> {
        Box::pin(async move {
            let Range { start, end } = range;
            let call = SharedFileCall::Bytes(BytesAsked { from: start, to: end });
            let target = call.target(&self.id.to_string());
            let request = request(&target, Some(&self.facts.etag))?;
            let sending = async {
                self.sender.ready().await?;
                self.sender.send_request(request).await
            };
            let answer = match timeout(ANSWER_TIME, sending).await {
                Ok(answer) => answer.map_err(io::Error::other)?,
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            };
            passed_bytes(answer, self.slot.take())
        })
    }
}

/// Passes the bytes of an answer on until its end, or until nobody wants them.
async fn pump(
    mut body: Incoming,
    to: mpsc::Sender<io::Result<Bytes>>,
    _slot: Option<OwnedSemaphorePermit>,
) {
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            () = to.closed() => return,
        };
        let piece = match frame {
            None => return,
            Some(Ok(frame)) => match frame.into_data() {
                Ok(piece) => Ok(piece),
                // Trailers.
                Err(_) => continue,
            },
            Some(Err(error)) => Err(io::Error::other(error)),
        };
        if to.send(piece).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_cluster::ListenerLimits;
    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn a_root_is_away_only_if_each_member_says_so() {
        use NotPassed::{Absent, Away, Unknown};
        assert_eq!(of_all(&[Away, Away]), Away);
        assert_eq!(of_all(&[Away, Unknown]), Unknown, "one does not answer");
        assert_eq!(of_all(&[Unknown, Absent, Away]), Absent);
    }

    #[tokio::test]
    async fn bytes_arrive_in_pieces_that_a_slow_visitor_can_take() {
        const LENGTH: usize = 2 << 20;
        let (near, mut far) = tokio::io::duplex(2 * LENGTH);
        let shaken = in_short_reads().handshake(TokioIo::new(near)).await;
        let (mut sender, connection) = shaken.unwrap();
        tokio::spawn(connection);
        let answering = async {
            let mut asked = [0; 1];
            far.read_exact(&mut asked).await.unwrap();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LENGTH}\r\n\r\n");
            far.write_all(head.as_bytes()).await.unwrap();
            far.write_all(&vec![7; LENGTH]).await.unwrap();
        };
        let asking = sender.send_request(request("/", None).unwrap());
        let (answer, ()) = futures::join!(asking, answering);
        let (mut body, mut longest, mut length) = (answer.unwrap().into_body(), 0, 0);
        while let Some(frame) = body.frame().await {
            let piece = frame.unwrap().into_data().unwrap().len();
            (longest, length) = (longest.max(piece), length + piece);
        }
        assert_eq!(length, LENGTH);
        assert!(longest <= LONGEST_READ, "{longest}");
    }

    #[test]
    fn passed_downloads_and_waits_leave_streams_for_other_requests() {
        use crate::http::forwarding::{MOST_IDLE, PLACES};
        const OTHERS: usize = 64;
        let taken = AT_ONCE + PLACES + MOST_IDLE + OTHERS;
        assert!(taken <= ListenerLimits::default().forwards_per_member, "{taken}");
    }
}
