//! Public links to files with a real curl: the served bytes, the allowed clients, and the end.

use std::num::NonZeroU32;
use std::os::unix::fs::symlink;
use std::time::Duration;

use actix::{Actor, Context, Handler};
use reelyard_core::clock::Clock;
use reelyard_core::event::RequestId;
use reelyard_core::supervision::Route;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::share_links::{
    A_DAY, LinkSite, ManualLinks, START, curl, path, root,
};
use reelyard_replication::{CommitError, Piece};
use reelyard_shares::share_expiry::{
    Deadline, DownloadAdmission, MoveEnd, NewMove, NewShare, ShareEnding, ShareError, ShareEvent,
    ShareId, ShareKind, ShareLimits, ShareLocation, ShareRefusal, ShareTable, ShareTerms,
    ShareViewHandle, SharedFileIdentity, TakeDownload,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Bytes without repeated sections.
fn film(length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    std::iter::repeat_with(|| random.u8(..)).take(length).collect()
}

fn revoke(links: &ManualLinks, id: ShareId, cut: bool) {
    let (ids, why, by) = (vec![id], ShareEnding::Revoked, "test".to_owned());
    links.apply(&ShareEvent::Ended { ids, why, cut, by });
}

#[actix::test]
async fn a_file_is_served_whole_and_by_range() {
    let links = ManualLinks::start(|_| {});
    let film = film(3_000_000);
    links.write("new/a.mp4", &film);
    let id = links.share("new/a.mp4", |_| {});
    let get = async |arguments: &[&str]| links.get(id, "/file", arguments).await;

    let whole = get(&[]).await;
    assert_eq!((whole.exit, whole.status), (0, 200), "{}", whole.head);
    assert_eq!(whole.body, film);
    let etag = whole.header("etag").unwrap().to_owned();
    for (name, value) in [
        ("Content-Type", "video/mp4"),
        ("Content-Length", "3000000"),
        ("Accept-Ranges", "bytes"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", "private, no-cache"),
        ("Content-Disposition", "attachment; filename=\"a.mp4\"; filename*=UTF-8''a.mp4"),
    ] {
        assert_eq!(whole.header(name), Some(value), "{name}");
    }

    let part = get(&["-r", "1000000-1999999"]).await;
    assert_eq!(part.status, 206);
    assert_eq!(part.header("content-range"), Some("bytes 1000000-1999999/3000000"));
    assert_eq!(part.body, film[1_000_000..2_000_000]);
    assert_eq!(get(&["-r", "-5"]).await.body, film[2_999_995..]);
    assert_eq!(get(&["-r", "2999990-"]).await.body, film[2_999_990..]);
    let beyond = get(&["-r", "3000000-"]).await;
    assert_eq!(beyond.status, 416);
    assert_eq!(beyond.header("content-range"), Some("bytes */3000000"));
    let several = get(&["-r", "0-1,5-6"]).await;
    assert_eq!((several.status, several.body.len()), (200, film.len()), "all of it");

    let same = format!("If-Range: {etag}");
    assert_eq!(get(&["-r", "0-9", "-H", &same]).await.status, 206);
    assert_eq!(get(&["-r", "0-9", "-H", "If-Range: \"old\""]).await.status, 200);
    let known = get(&["-H", &format!("If-None-Match: {etag}")]).await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    assert_eq!(known.header("etag"), Some(&*etag));
    let modified = whole.header("last-modified").unwrap();
    assert_eq!(get(&["-H", &format!("If-Modified-Since: {modified}")]).await.status, 304);
    assert_eq!(get(&["-H", "If-Match: \"old\""]).await.status, 412);

    let head = get(&["-I"]).await;
    assert_eq!((head.status, head.header("content-length")), (200, Some("3000000")));
    assert_eq!(head.header("etag"), Some(&*etag));

    links.write("new/a.mp4", b"another film");
    let other = get(&["-r", "0-9", "-H", &same]).await;
    assert_eq!((other.status, other.body), (200, b"another film".to_vec()));
    links.stop().await;
}

#[actix::test]
async fn a_broken_download_is_resumed_and_one_connection_serves_many_requests() {
    let links = ManualLinks::start(|_| {});
    let film = film(2_000_000);
    links.write("a.mp4", &film);
    links.write("empty", b"");
    let (id, empty) = (links.share("a.mp4", |_| {}), links.share("empty", |_| {}));
    let saved = links.outside().join("saved");
    std::fs::write(&saved, &film[..700_000]).unwrap();
    let resumed =
        curl(&["--no-include", "-C", "-", "-o", saved.to_str().unwrap(), &links.url(id, "/file")])
            .await;
    assert_eq!(resumed.exit, 0);
    assert!(std::fs::read(&saved).unwrap() == film);

    let (nothing, file) = (links.url(empty, "/file"), links.url(id, "/file"));
    let discard = ["--no-include", "-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n"];
    let twice = curl(&[&discard[..], &["-o", "/dev/null", &nothing, &file]].concat()).await;
    assert_eq!(twice.head, "200 1\n200 0\n", "the second on the same connection");
    links.stop().await;
}

#[actix::test]
async fn names_arrive_as_they_are() {
    let links = ManualLinks::start(|_| {});
    links.write("Grüße \"1\".txt", b"x");
    let id = links.share("Grüße \"1\".txt", |_| {});
    let answer = links.get(id, "/file", &[]).await;
    assert_eq!(
        answer.header("content-disposition"),
        Some(
            "attachment; filename=\"Gr__e _1_.txt\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%221%22.txt"
        )
    );
    links.stop().await;
}

#[actix::test]
async fn a_link_is_live_until_its_deadline_and_not_at_it() {
    let links = ManualLinks::start(|_| {});
    links.write("a", b"x");
    let id = links.share("a", |_| {});
    links.clock.advance(A_DAY - Duration::from_millis(1));
    assert_eq!(links.get(id, "/file", &[]).await.status, 200);
    links.clock.advance(Duration::from_millis(1));
    for part in ["", "/file", "/zip"] {
        let late = links.get(id, part, &[]).await;
        assert_eq!(late.status, 410, "{part}");
        assert!(late.text().contains("expired"), "{}", late.text());
        let ended = START.after(A_DAY).to_string();
        assert!(late.text().contains(&ended), "{}", late.text());
    }
    assert_eq!(links.views.refusals_by_time(), 3);
    links.apply(&ShareEvent::Reclaimed { ids: vec![id] });
    assert_eq!(links.get(id, "/file", &[]).await.status, 410);

    let never = links.share("a", |new| new.deadline = Deadline::NEVER);
    links.clock.advance(100 * 365 * A_DAY);
    assert_eq!(links.get(never, "/file", &[]).await.status, 200);
    revoke(&links, never, false);
    let gone = links.get(never, "/file", &[]).await;
    assert_eq!(gone.status, 410);
    assert!(gone.text().contains("was revoked"), "{}", gone.text());
    assert_eq!(links.server.counters().ended, 5);
    links.stop().await;
}

#[actix::test]
async fn an_unknown_link_reveals_nothing() {
    let links = ManualLinks::start(|_| {});
    let unknown = links.get(ShareId::random().unwrap(), "/file", &[]).await;
    let malformed = links.ask("/s/x/file", &[]).await;
    assert_eq!((unknown.status, malformed.status), (404, 404));
    assert_eq!(unknown.head, malformed.head);
    assert_eq!(unknown.body, malformed.body);
    let page = links.get(ShareId::random().unwrap(), "", &[]).await;
    let bad_page = links.ask("/s/x", &[]).await;
    assert_eq!((page.status, bad_page.status), (404, 404));
    assert_eq!(page.body, bad_page.body);
    for path in ["/", "/metrics", "/api/v1/shares", "/s/", "/s/x/other", "/healthz"] {
        assert_eq!(links.ask(path, &[]).await.status, 404, "{path}");
    }
    let raw = links.ask("/s/x/file", &["-X", "PUT", "-d", "x"]).await;
    assert_eq!((raw.status, raw.header("allow")), (405, Some("GET, HEAD")));
    links.stop().await;
}

#[actix::test]
async fn only_paths_below_the_root_are_served() {
    let links = ManualLinks::start(|_| {});
    std::fs::write(links.outside().join("secret"), b"secret").unwrap();
    symlink("../secret", links.below("out")).unwrap();
    links.write("dir/a", b"inside");
    symlink("dir/a", links.below("in")).unwrap();
    let status = async |path: &str| {
        let id = links.share(path, |new| new.kind = reelyard_shares::share_expiry::ShareKind::File);
        links.get(id, "/file", &[]).await.status
    };
    assert_eq!(status("in").await, 200);
    assert_eq!(status("out").await, 404);
    assert_eq!(status("absent").await, 404);
    let directory = links.share("dir", |_| {});
    let answer = links.get(directory, "/file", &[]).await;
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains("/zip"), "{}", answer.text());
    links.stop().await;
}

#[actix::test]
async fn a_link_survives_a_move_and_ends_with_its_file() {
    let links = ManualLinks::start(|_| {});
    links.write("old/a.mp4", b"film");
    links.write("new/a.mp4", b"another film");
    let (id, other) = (links.share("old/a.mp4", |_| {}), links.share("new/a.mp4", |_| {}));
    let read = async |id| {
        let answer = links.get(id, "/file", &[]).await;
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    let film = (200, "film".to_owned());
    let file = std::fs::File::open(links.below("old/a.mp4")).unwrap();
    let place = |at| ShareLocation { root: root(), path: path(at) };
    links.apply(&ShareEvent::MoveBegun(Box::new(NewMove {
        from: place("old/a.mp4"),
        to: place("new/a.mp4"),
        file: SharedFileIdentity::of(&file).unwrap(),
        by: "test".to_owned(),
        request: RequestId(1),
    })));
    assert_eq!(read(id).await, film);
    assert_eq!(read(other).await, (200, "another film".to_owned()));
    let begun = links.get(id, "/file", &["-r", "0-1"]).await;
    let resume = format!("If-Range: {}", begun.header("etag").unwrap());
    std::fs::rename(links.below("old/a.mp4"), links.below("new/a.mp4")).unwrap();
    // The old path may contain something else before the move of the file is on record.
    links.write("old/a.mp4", b"not shared");
    assert_eq!(read(id).await, film);
    assert_eq!(read(other).await.0, 404, "its file was overwritten");
    let rest = links.get(id, "/file", &["-r", "2-", "-H", &resume]).await;
    assert_eq!((rest.status, rest.text().as_str()), (206, "lm"), "a download continues");
    assert_eq!(links.get(id, "", &[]).await.status, 200);
    links.apply(&ShareEvent::MoveSettled { number: 0, end: MoveEnd::Moved, most: 1 });
    assert_eq!((read(id).await, read(other).await.0), (film.clone(), 410));
    links.apply(&ShareEvent::MoveFollowed { number: 0, part: 1, most: 9 });
    assert_eq!(read(id).await, film);
    assert_eq!(links.found(id).path(), &path("new/a.mp4"));
    assert!(links.views.take_missing().is_empty());
    std::fs::remove_file(links.below("new/a.mp4")).unwrap();
    assert_eq!(read(id).await.0, 404);
    assert_eq!(links.views.take_missing(), [id], "the path is reported as missing");
    let (ids, why, by) = (vec![id], ShareEnding::Removed, "test".to_owned());
    links.apply(&ShareEvent::Ended { ids, why, cut: false, by });
    let removed = links.get(id, "/file", &[]).await;
    assert_eq!(removed.status, 410);
    assert!(removed.text().contains("removed"), "{}", removed.text());
    links.stop().await;
}

#[actix::test]
async fn only_downloads_are_counted_and_no_more_than_allowed() {
    let links = ManualLinks::start(|settings| {
        settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    });
    links.write("a", &film(100_000));
    let limited = |most| links.share("a", |new| new.terms.max_downloads = NonZeroU32::new(most));
    let id = limited(2);
    let status = async |arguments: &[&str]| links.get(id, "/file", arguments).await.status;
    let taken = || links.found(id).downloads().unwrap().taken();
    assert_eq!(status(&["-I"]).await, 200);
    assert_eq!(status(&["-H", "If-None-Match: *"]).await, 304);
    assert_eq!(status(&["-r", "100000-"]).await, 416);
    assert_eq!(links.get(id, "", &[]).await.status, 200, "the page");
    assert_eq!(taken(), 0);
    assert_eq!(status(&["-r", "0-9"]).await, 206);
    assert_eq!(taken(), 1, "a range of a new client");
    assert_eq!(status(&["-r", "10-19"]).await, 206);
    assert_eq!(taken(), 1, "it continues");
    assert_eq!(status(&[]).await, 200);
    assert_eq!(taken(), 1, "a download that began with a part may begin completely, once");
    assert_eq!(status(&[]).await, 200);
    assert_eq!(taken(), 2);
    assert_eq!(status(&[]).await, 410, "all are taken");
    assert_eq!(status(&["-r", "20-29"]).await, 206, "a counted client may resume");
    assert_eq!(status(&["-r", "0-"]).await, 410, "the whole file as a range is a new download");
    let newcomer = ["-H", "X-Forwarded-For: 192.0.2.1"];
    for more in [&["-I"][..], &["-r", "20-29"], &["-H", "If-None-Match: *"]] {
        assert_eq!(status(&[&newcomer, more].concat()).await, 410, "{more:?} of a new client");
    }
    assert!(links.get(id, "", &[]).await.text().contains("All downloads of this link are used"));

    let id = limited(5);
    let all = futures::future::join_all((0..20).map(|_| links.get(id, "/file", &[]))).await;
    assert_eq!(all.iter().filter(|answer| answer.status == 200).count(), 5);
    assert_eq!(all.iter().filter(|answer| answer.status == 410).count(), 15);
    links.stop().await;
}

/// Starts a slow download that still runs at a later event of its share.
async fn running(links: &ManualLinks, id: ShareId) -> tokio::task::JoinHandle<i32> {
    let (url, before) = (links.url(id, "/file"), links.server.counters().downloads);
    let download = tokio::spawn(async move {
        let discard = ["--no-include", "--limit-rate", "8M", "-o", "/dev/null", &url];
        curl(&discard).await.exit
    });
    eventually("the download runs", || links.server.counters().downloads > before).await;
    download
}

#[actix::test]
async fn a_hard_revoke_aborts_running_downloads_and_a_deadline_does_not() {
    let links = ManualLinks::start(|_| {});
    links.write("a", &vec![7; 24 << 20]);
    let (soft, due) = (links.share("a", |_| {}), links.share("a", |_| {}));
    let (of_soft, of_due) = (running(&links, soft).await, running(&links, due).await);
    revoke(&links, soft, false);
    links.clock.advance(A_DAY);
    links.apply(&ShareEvent::Reclaimed { ids: vec![due] });
    assert_eq!(of_soft.await.unwrap(), 0);
    assert_eq!(of_due.await.unwrap(), 0);
    assert_eq!(links.server.counters().cut, 0);

    let hard = links.share("a", |_| {});
    let of_hard = running(&links, hard).await;
    revoke(&links, hard, true);
    let exit = of_hard.await.unwrap();
    assert!(matches!(exit, 18 | 56), "curl got less than it was promised: {exit}");
    assert_eq!(links.server.counters().cut, 1);
    links.stop().await;
}

#[actix::test]
async fn a_deadline_aborts_downloads_if_configured() {
    let links = ManualLinks::start(|settings| settings.cut_at_deadline = true);
    links.write("a", &vec![7; 24 << 20]);
    let id = links.share("a", |_| {});
    let download = running(&links, id).await;
    links.clock.advance(A_DAY);
    let exit = download.await.unwrap();
    assert!(matches!(exit, 18 | 56), "curl got less than it was promised: {exit}");
    links.stop().await;
}

#[actix::test]
async fn a_guessing_client_is_rate_limited_and_others_are_not() {
    let links = ManualLinks::start(|settings| {
        settings.guesses = NonZeroU32::new(3).unwrap();
        settings.guess_every = Duration::from_secs(600);
        settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    });
    links.write("a", b"x");
    let id = links.share("a", |_| {});
    let guess = async |from: &str, path: &str| {
        links.ask(path, &["-H", &format!("X-Forwarded-For: {from}")]).await
    };
    for _ in 0..2 {
        assert_eq!(guess("192.0.2.1", "/s/x/file").await.status, 404);
    }
    assert_eq!(guess("192.0.2.1", &format!("/s/{id}/file")).await.status, 200, "no guess");
    assert_eq!(guess("192.0.2.1", "/s/x/file").await.status, 404);
    let slower = guess("192.0.2.1", "/s/x/file").await;
    assert_eq!(slower.status, 429);
    let wait: u64 = slower.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=600).contains(&wait), "{wait}");
    assert_eq!(guess("192.0.2.1", "/s/x").await.status, 429, "at the page, too");
    let hit = guess("192.0.2.1", &format!("/s/{id}/file")).await.status;
    assert_eq!(hit, 429, "a hit now looks like a miss, otherwise guessing would continue");
    assert_eq!(guess("192.0.2.2", "/s/x/file").await.status, 404);
    assert_eq!(guess("192.0.2.2", &format!("/s/{id}/file")).await.status, 200);
    assert_eq!(links.server.counters().throttled, 3);
    links.stop().await;
}

#[actix::test]
async fn connections_are_bounded_and_idle_ones_are_closed_first() {
    let links = ManualLinks::start(|settings| settings.connections_per_address = 2);
    links.write("a", &vec![7; 24 << 20]);
    let id = links.share("a", |_| {});
    let mut idle = TcpStream::connect(links.addr()).await.unwrap();
    let download = running(&links, id).await;
    let second = running(&links, id).await;
    assert_eq!(idle.read(&mut [0]).await.unwrap(), 0, "its place was another's");
    let refused = links.get(id, "/file", &[]).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(links.server.counters().refused_busy, 1);
    assert_eq!(download.await.unwrap(), 0);
    assert_eq!(second.await.unwrap(), 0);
    eventually("their places are free", || links.server.counters().connections == 0).await;
    links.stop().await;
}

#[actix::test]
async fn a_client_that_takes_nothing_or_asks_nothing_is_left() {
    let links = ManualLinks::start(|settings| {
        settings.send_timeout = Duration::from_millis(600);
        settings.request_timeout = Duration::from_millis(300);
    });
    links.write("a", &vec![7; 24 << 20]);
    let id = links.share("a", |_| {});
    let mut deaf = TcpStream::connect(links.addr()).await.unwrap();
    deaf.write_all(format!("GET /s/{id}/file HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes())
        .await
        .unwrap();
    eventually("it is left", || links.server.counters().too_slow == 1).await;
    let mut dripping = TcpStream::connect(links.addr()).await.unwrap();
    dripping.write_all(b"GET /s/").await.unwrap();
    assert_eq!(dripping.read(&mut [0]).await.unwrap(), 0);
    links.stop().await;
}

#[actix::test]
async fn an_invalid_request_is_answered_and_its_connection_closed() {
    let links = ManualLinks::start(|_| {});
    links.write("a", b"x");
    let id = links.share("a", |_| {});
    let ask = async |text: String| {
        let mut stream = TcpStream::connect(links.addr()).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let garbage = ask("\x01\x02\r\n\r\n".into()).await;
    assert!(garbage.starts_with("HTTP/1.1 400 "), "{garbage}");
    let long = ask(format!("GET /s/{} HTTP/1.1\r\n\r\n", "x".repeat(100_000))).await;
    assert!(long.starts_with("HTTP/1.1 431 "), "{long}");
    let body = "x".repeat(100_000);
    let with_body =
        format!("GET /s/{id}/file HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n{body}");
    let answer = ask(with_body).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nx"), "{answer}");
    assert!(answer.contains("\r\nConnection: close\r\n"), "the body is no next request: {answer}");
    links.stop().await;
}

#[actix::test]
async fn stopping_aborts_running_downloads() {
    let links = ManualLinks::start(|_| {});
    links.write("a", &vec![7; 24 << 20]);
    let id = links.share("a", |_| {});
    let (url, download) = (links.url(id, "/file"), running(&links, id).await);
    links.stop().await;
    assert_eq!(download.await.unwrap(), 18);
    assert_eq!(curl(&[&url]).await.exit, 7, "the address is closed");
}

/// Answers every request for a download with the result of `answer`. Its argument is the number of earlier
/// attempts of that request.
struct ScriptedAdmissions<F>(F, std::collections::HashMap<RequestId, usize>);

impl<F: Unpin + 'static> Actor for ScriptedAdmissions<F> {
    type Context = Context<Self>;
}

impl<F> Handler<TakeDownload> for ScriptedAdmissions<F>
where
    F: Fn(&TakeDownload, usize) -> Result<DownloadAdmission, ShareError> + Unpin + 'static,
{
    type Result = Result<DownloadAdmission, ShareError>;

    fn handle(&mut self, asked: TakeDownload, _: &mut Context<Self>) -> Self::Result {
        let before = self.1.entry(asked.request).or_default();
        let answer = (self.0)(&asked, *before);
        *before += 1;
        answer
    }
}

/// The status and text of a link with limited downloads and these answers of the counter.
async fn counted_by(
    answer: impl Fn(&TakeDownload, usize) -> Result<DownloadAdmission, ShareError> + Unpin + 'static,
) -> (u16, String) {
    let (clock, views) = (Clock::manual(START), ShareViewHandle::default());
    let mut table = ShareTable::default();
    views.attach(&table);
    let id = ShareId::random().unwrap();
    let new = NewShare {
        id,
        root: root(),
        path: path("a"),
        kind: ShareKind::File,
        deadline: Deadline::at(START.after(A_DAY)),
        noticed: true,
        owner: None,
        terms: ShareTerms { max_downloads: NonZeroU32::new(9), ..ShareTerms::default() },
        room: ShareLimits::default(),
    };
    table.apply(START, &ShareEvent::Created(Box::new(new))).unwrap();
    let take = Route::fixed(ScriptedAdmissions(answer, Default::default()).start().recipient());
    let site = LinkSite::start(views, take, clock, |_| {});
    site.write("a", b"film");
    let answer = site.get(id, "/file", &[]).await;
    site.server.stop().await;
    (answer.status, answer.text())
}

#[actix::test]
async fn a_link_that_ends_while_a_download_is_counted_says_why() {
    for (refusal, status, words) in [
        (ShareRefusal::Ended { why: ShareEnding::Revoked }, 410, "was revoked"),
        (ShareRefusal::Ended { why: ShareEnding::Removed }, 410, "removed"),
        (ShareRefusal::Ended { why: ShareEnding::Expired }, 410, "expired"),
        (ShareRefusal::Exhausted, 410, "downloads of this link are used"),
        (ShareRefusal::Unknown, 404, "link does not exist"),
    ] {
        let answer = counted_by(move |_, _| Err(refusal.clone().into())).await;
        assert!(answer.0 == status && answer.1.contains(words), "{answer:?}");
    }
}

#[actix::test]
async fn faults_of_the_node_are_not_shown_to_visitors() {
    let full = || CommitError::DiskFull { why: "/data/journal has 17 bytes left".to_owned() };
    for error in [full(), CommitError::NotLeader { leader: Some(3) }, CommitError::Stopped] {
        let (status, text) = counted_by(move |_, _| Err(error.clone().into())).await;
        assert_eq!((status, &*text), (503, "Not now: try again in a moment.\n"));
    }
}

#[actix::test]
async fn a_download_with_an_unknown_outcome_is_repeated_under_its_id() {
    let answer = |asked: &TakeDownload, before| match before {
        0 => Err(CommitError::Unknown { request: asked.request }.into()),
        1 => Err(CommitError::Busy { retry_after: Duration::from_millis(1) }.into()),
        _ => Ok(DownloadAdmission::Counted { left: 8 }),
    };
    assert_eq!(counted_by(answer).await, (200, "film".to_owned()));
}

#[actix::test]
async fn an_exhausted_link_says_so_also_after_its_deadline() {
    let links = ManualLinks::start(|_| {});
    links.write("a", b"film");
    let deadline = Deadline::at(START.after(Duration::from_secs(60)));
    let id = links
        .share("a", |new| (new.deadline, new.terms.max_downloads) = (deadline, NonZeroU32::new(1)));
    assert_eq!(links.get(id, "/file", &[]).await.status, 200);
    links.clock.advance(Duration::from_secs(60));
    let answer = links.get(id, "/file", &[]).await;
    assert!(answer.status == 410 && answer.text().contains("are used"), "{}", answer.text());
    links.apply(&ShareEvent::Reclaimed { ids: vec![id] });
    let answer = links.get(id, "/file", &[]).await;
    assert!(answer.status == 410 && answer.text().contains("are used"), "{}", answer.text());
    links.stop().await;
}
