//! `GET|HEAD /s/{id}/zip`: a shared directory as an archive, made while it is sent: no temporary
//! file, and no more memory than the names take.
//!
//! It is of what was there when it was begun, or breaks off: where a file changes while it is read, and
//! where something is gone, under that name, when its turn comes. What is added meanwhile is not in it.

mod listed;
mod survey;
mod tree;
mod turns;
mod write;

use std::sync::Arc;
use std::time::Duration;

use reelyard_actors::share_expiry::{Share, ShareKind};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::answer::{Head, Length, disposition};
use super::connection::Asked;
use super::refusal::Refusal;
use super::socket::{Broken, Sending};
use super::watch::{LOOK_EVERY, Watch};
use super::{DisplayName, Shared};
use survey::survey;
pub(super) use turns::Turns;
use write::Piece;

/// Pieces that wait for the client.
const AHEAD: usize = 4;

/// Answers one request for an archive; answers what watches over the bytes of it that were sent.
pub(super) async fn answer(asked: &Asked<'_>, shared: &Shared) -> Result<Option<Watch>, Broken> {
    match begin(asked, shared).await {
        Ok(begun) => send(asked, shared, begun).await,
        Err(refusal) => asked.refuse(&refusal, shared).await.map(|()| None),
    }
}

/// An archive about to be sent.
struct Begun {
    share: Arc<Share>,
    /// None for HEAD.
    pieces: Option<mpsc::Receiver<Piece>>,
}

async fn begin(asked: &Asked<'_>, shared: &Shared) -> Result<Begun, Refusal> {
    let client = shared.client(asked.place.peer().ip(), asked.head.all("x-forwarded-for"));
    let share = shared.find(asked.id, client)?;
    shared.let_in(&share, asked.head, client).await?;
    shared.is_left(&share, client)?;
    let opened = shared.open(&share, ShareKind::Directory)?;
    if asked.is_head() {
        return Ok(Begun { share, pieces: None });
    }
    let turn = shared.archives.take(client)?;
    let (sender, pieces) = mpsc::channel(AHEAD);
    let (surveyed, found) = oneshot::channel();
    let (may_begin, begins) = oneshot::channel::<()>();
    let (name, is_limited) = (share.display_name().to_owned(), share.downloads().is_some());
    // A thread of its own: it waits for disks, and for the client.
    let began = std::thread::Builder::new().name("share-zip".into()).spawn(move || {
        let _turn = turn;
        // A large tree takes a while: it is looked at before only where a download would be lost.
        let waits = || !surveyed.is_closed();
        let found = if is_limited { survey(&opened.file, &name, waits) } else { Ok(()) };
        let is_good = found.is_ok();
        if surveyed.send(found).is_ok() && is_good && begins.blocking_recv().is_ok() {
            write::archive(opened.file, &name, sender);
        }
    });
    if let Err(error) = began {
        tracing::warn!(%error, "an archive cannot be begun");
        return Err(Refusal::Failed);
    }
    match found.await {
        Ok(Ok(())) => {}
        Ok(Err(why)) => {
            shared.complaints.tell(share.id(), &why);
            return Err(Refusal::NoArchive(why.in_words()));
        }
        Err(_) => return Err(Refusal::Failed),
    }
    shared.take(&share, client, false).await?;
    may_begin.send(()).map_err(|()| Refusal::Failed)?;
    shared.counts.archives.one();
    Ok(Begun { share, pieces: Some(pieces) })
}

async fn send(asked: &Asked<'_>, shared: &Shared, begun: Begun) -> Result<Option<Watch>, Broken> {
    let Begun { share, pieces } = begun;
    let chunked = asked.head.is_1_1;
    let mut head = Head::new((200, "OK"), asked.keep_alive, shared.clock.now());
    head.line("Content-Type", "application/zip");
    head.line("Content-Disposition", disposition(&format!("{}.zip", share.display_name())));
    head.line("Accept-Ranges", "none");
    head.line("Cache-Control", "private, no-store");
    let watch = pieces.is_some().then(|| shared.watch(&share));
    let mut sending = Sending::new(asked.line, shared.patience(), watch);
    let length = if chunked { Length::Chunked } else { Length::UntilClosed };
    if !chunked && pieces.is_some() {
        // Its end is the end of the connection: until it has come, any other is a reset, also where
        // this process dies.
        asked.line.take_back();
    }
    sending.bytes(&head.finish(length), pieces.is_some()).await?;
    let Some(mut pieces) = pieces else { return Ok(None) };
    loop {
        match next(&mut sending, &mut pieces).await? {
            Some(Piece::Bytes(bytes)) => {
                if chunked {
                    sending.bytes(format!("{:x}\r\n", bytes.len()).as_bytes(), true).await?;
                }
                sending.bytes(&bytes, false).await?;
                shared.counts.bytes.add(bytes.len() as u64);
                if chunked {
                    sending.bytes(b"\r\n", true).await?;
                }
            }
            Some(Piece::End) => {
                if chunked {
                    sending.bytes(b"0\r\n\r\n", false).await?;
                } else {
                    asked.line.let_stand();
                }
                return Ok(sending.finish());
            }
            // The archive lacks its directory and the answer its end: nobody takes it for whole.
            Some(Piece::Failed(error)) => return Err(Broken::Unreadable(error)),
            None => {
                let error = std::io::Error::other("the archive ended before its end");
                return Err(Broken::Unreadable(error));
            }
        }
    }
}

/// The next piece. While the disk is slow, the download can still be cut.
async fn next(
    sending: &mut Sending<'_>,
    pieces: &mut mpsc::Receiver<Piece>,
) -> Result<Option<Piece>, Broken> {
    const EVERY: Duration = LOOK_EVERY;
    loop {
        match timeout(EVERY, pieces.recv()).await {
            Ok(piece) => {
                sending.waited_for_us();
                return Ok(piece);
            }
            Err(_) => sending.check()?,
        }
    }
}
