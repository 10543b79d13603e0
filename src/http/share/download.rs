//! `GET|HEAD /s/{id}/file`: the bytes of a shared file.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use reelyard_actors::downloader::file_identity::FileIdentity;
use reelyard_actors::share_expiry::{Share, ShareKind};

use super::answer::{Head, Length, disposition, media_type};
use super::conditions::{Answer, Validators, answer as judge, http_date};
use super::connection::Asked;
use super::refusal::Refusal;
use super::socket::{Broken, Sending};
use super::{DisplayName, Shared};

/// Answers one request for a file.
pub(super) async fn answer(asked: &Asked<'_>, shared: &Shared) -> Result<(), Broken> {
    match answer_bytes(asked, shared).await? {
        Ok(()) => Ok(()),
        Err(refusal) => asked.refuse(&refusal, shared).await,
    }
}

/// The inner result is of what may be answered, the outer one of sending it.
async fn answer_bytes(
    asked: &Asked<'_>,
    shared: &Shared,
) -> Result<Result<(), Refusal>, Broken> {
    let client = shared.client(asked.place.peer().ip(), asked.head.all("x-forwarded-for"));
    let share = match shared.find(asked.id, client) {
        Ok(share) => share,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if let Err(refusal) = shared.let_in(&share, asked.head, client).await {
        return Ok(Err(refusal));
    }
    let opened = match shared.open(&share, ShareKind::File) {
        Ok(opened) => opened,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let (is, size) = (validators(&opened.metadata), opened.metadata.size());
    let answer = judge(asked.head, &is, size);
    let (status, range) = match &answer {
        Answer::Whole => ((200, "OK"), Some(0..size)),
        Answer::Part(range) => ((206, "Partial Content"), Some(range.clone())),
        Answer::NotModified => ((304, "Not Modified"), None),
        Answer::Failed => ((412, "Precondition Failed"), None),
        Answer::Unsatisfiable => ((416, "Range Not Satisfiable"), None),
    };
    let is_head = asked.head.method == "HEAD";
    if range.is_some() && !is_head {
        let ranged = matches!(answer, Answer::Part(_));
        if let Err(refusal) = shared.take(&share, client, ranged).await {
            return Ok(Err(refusal));
        }
        shared.counts.downloads.one();
    }
    let mut head = Head::new(status, asked.keep_alive, shared.clock.now());
    describe(&mut head, &share, &is, &answer, size);
    let length = match (&answer, &range) {
        (Answer::NotModified, _) => Length::NoBody,
        (_, Some(range)) => Length::Bytes(range.end - range.start),
        (_, None) => Length::Bytes(0),
    };
    let range = range.filter(|range| !is_head && !range.is_empty());
    let watch = range.is_some().then(|| shared.watch(share.id()));
    let mut sending = Sending::new(asked.stream, shared.patience(), watch);
    sending.bytes(&head.finish(length), range.is_some()).await?;
    let Some(range) = range else { return Ok(Ok(())) };
    let of_head = sending.sent();
    let sent = sending.file(&opened.file, range).await;
    shared.counts.bytes.add(sending.sent() - of_head);
    sent.map(Ok)
}

fn describe(head: &mut Head, share: &Share, is: &Validators, answer: &Answer, size: u64) {
    head.line("ETag", &is.etag);
    head.line("Last-Modified", http_date(is.modified));
    head.line("Accept-Ranges", "bytes");
    // It may be kept, but asking again must find out that the link has ended.
    head.line("Cache-Control", "private, no-cache");
    match answer {
        Answer::Part(range) => {
            head.line("Content-Range", format_args!("bytes {}-{}/{size}", range.start, range.end - 1));
        }
        Answer::Unsatisfiable => head.line("Content-Range", format_args!("bytes */{size}")),
        Answer::NotModified | Answer::Failed => return,
        Answer::Whole => {}
    }
    let name = share.display_name();
    head.line("Content-Type", media_type(name));
    head.line("Content-Disposition", disposition(name));
    // Should a browser show it all the same, then as a document that can do nothing.
    head.line("Content-Security-Policy", "sandbox; default-src 'none'");
}

/// The identity of a file as an entity tag. Hashed: device and inode are nobody's business.
fn validators(metadata: &Metadata) -> Validators {
    let identity = FileIdentity::from(metadata).to_string();
    let hash = blake3::hash(identity.as_bytes()).to_hex();
    let modified = u64::try_from(metadata.mtime()).unwrap_or(0);
    Validators { etag: format!("\"{}\"", &hash[..24]), modified }
}
