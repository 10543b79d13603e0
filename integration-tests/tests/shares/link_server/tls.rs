//! Public links over TLS with a real curl: everything works as without TLS.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::share_links::{ManualLinks, curl};
use reelyard_integration_tests::rigs::tls::certificate::Pem;
use reelyard_links::hash_password;
use reelyard_shares::share_expiry::{ShareEnding, ShareEvent, ShareId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Bytes without repeated sections.
fn film(length: usize) -> Vec<u8> {
    let mut film = vec![0; length];
    fastrand::Rng::with_seed(7).fill(&mut film);
    film
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[actix::test]
async fn a_file_is_served_whole_by_range_and_resumed() {
    let links = ManualLinks::start(|_| {});
    let pem = links.speak_tls("links");
    let film = film(5_000_000);
    links.write("a.mp4", &film);
    let id = links.share("a.mp4", |_| {});
    for version in [&["--tls-max", "1.2"][..], &["--tlsv1.3"]] {
        let get = async |more: &[&str]| links.get(id, "/file", &[version, more].concat()).await;
        let whole = get(&[]).await;
        assert_eq!((whole.exit, whole.status), (0, 200), "{}", whole.head);
        assert!(whole.body == film);
        let etag = format!("If-None-Match: {}", whole.header("etag").unwrap());
        let part = get(&["-r", "1000000-2999999"]).await;
        assert_eq!(part.status, 206);
        assert!(part.body == film[1_000_000..3_000_000]);
        assert_eq!(get(&["-r", "-5"]).await.body, film[4_999_995..]);
        assert_eq!(get(&["-r", "5000000-"]).await.status, 416);
        let known = get(&["-H", &etag]).await;
        assert_eq!((known.exit, known.status, known.body.len()), (0, 304, 0));
        let head = get(&["-I"]).await;
        assert_eq!((head.status, head.header("content-length")), (200, Some("5000000")));
    }
    let saved = links.outside().join("saved");
    std::fs::write(&saved, &film[..700_001]).unwrap();
    let (ca, url) = (text(&pem.certificate), links.url(id, "/file"));
    let quiet = ["--no-include", "--cacert", ca];
    let into = ["-C", "-", "-o", text(&saved), &url];
    assert_eq!(curl(&[&quiet[..], &into].concat()).await.exit, 0);
    assert!(std::fs::read(&saved).unwrap() == film);

    let count = ["-o", "/dev/null", "-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n"];
    let twice = curl(&[&quiet[..], &count, &[&url, &url]].concat()).await;
    assert_eq!(twice.head, "200 1\n200 0\n", "the second on the same connection");
    let counters = links.server.counters();
    assert_eq!((counters.no_tls, counters.broken_off), (0, 0));
    links.stop().await;
}

#[actix::test]
async fn slow_and_early_readers_get_every_byte() {
    let links = ManualLinks::start(|_| {});
    let pem = links.speak_tls("links");
    let film = film(9_000_000);
    links.write("a", &film);
    let id = links.share("a", |_| {});
    let fetch = |number: usize, rate: &'static str| {
        let (saved, url) = (links.outside().join(format!("{number}")), links.url(id, "/file"));
        let ca = pem.certificate.clone();
        async move {
            let into = ["--no-include", "--cacert", text(&ca), "-o", text(&saved)];
            let ended = curl(&[&into[..], &["--limit-rate", rate, &url]].concat()).await;
            (ended.exit, std::fs::read(saved).unwrap())
        }
    };
    let rates = ["5M", "50M", "500M", "9M"].into_iter().enumerate();
    let all = futures::future::join_all(rates.map(|(number, rate)| fetch(number, rate))).await;
    assert!(all.iter().all(|(exit, bytes)| *exit == 0 && *bytes == film));
    links.stop().await;
}

#[actix::test]
async fn pages_are_served_and_cookies_go_under_tls_only() {
    let links = ManualLinks::start(|_| {});
    links.speak_tls("links");
    links.write("a.mp4", b"film");
    let hash = hash_password("open sesame").unwrap();
    let id = links.share("a.mp4", |new| new.terms.password = Some(hash));
    let asks = links.get(id, "", &[]).await;
    assert_eq!((asks.exit, asks.status), (0, 200));
    assert!(asks.text().contains("type=\"password\""), "{}", asks.text());
    let entered = links.get(id, "", &["--data-urlencode", "password=open sesame"]).await;
    assert_eq!((entered.exit, entered.status), (0, 303));
    let cookie = entered.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; Secure") && cookie.contains("; HttpOnly"), "{cookie}");
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    let page = links.get(id, "", &["-H", &cookie]).await;
    assert!(page.text().contains(&links.url(id, "")), "the link is of https: {}", page.text());
    let file = links.get(id, "/file", &["-H", &cookie]).await;
    assert_eq!((file.status, file.text()), (200, "film".to_owned()));
    assert_eq!(links.get(id, "/file", &["-u", "x:open sesame"]).await.status, 200);
    assert_eq!(links.get(id, "/file", &[]).await.status, 401);
    assert_eq!(links.ask("/", &[]).await.status, 404);
    links.stop().await;
}

#[actix::test]
async fn a_directory_arrives_as_an_archive() {
    let links = ManualLinks::start(|_| {});
    let pem = links.speak_tls("links");
    links.write("season/1.mp4", &film(3_000_000));
    links.write("season/empty", b"");
    let id = links.share("season", |_| {});
    let saved = links.outside().join("saved.zip");
    // For a client without chunked encoding, only the TLS close message proves a complete answer.
    for version in ["--http1.1", "--http1.0"] {
        let from = ["--no-include", "--cacert", text(&pem.certificate), version];
        let into = ["-o", text(&saved), &links.url(id, "/zip")];
        assert_eq!(curl(&[&from[..], &into].concat()).await.exit, 0, "{version}");
        assert!(Command::new("unzip").arg("-tqq").arg(&saved).status().unwrap().success());
    }
    links.stop().await;
}

/// Starts a slow download that still runs at a later event.
async fn running(links: &ManualLinks, pem: &Pem, id: ShareId) -> tokio::task::JoinHandle<i32> {
    let (url, before) = (links.url(id, "/file"), links.server.counters().downloads);
    let ca = pem.certificate.clone();
    let download = tokio::spawn(async move {
        let slow = ["--no-include", "--limit-rate", "8M", "-o", "/dev/null"];
        curl(&[&slow[..], &["--cacert", text(&ca), &url]].concat()).await.exit
    });
    eventually("the download runs", || links.server.counters().downloads > before).await;
    download
}

#[actix::test]
async fn a_hard_revoke_aborts_running_downloads_and_a_soft_one_does_not() {
    let links = ManualLinks::start(|_| {});
    let pem = links.speak_tls("links");
    links.write("a", &vec![7; 24 << 20]);
    let (soft, hard) = (links.share("a", |_| {}), links.share("a", |_| {}));
    let [of_soft, of_hard] = [running(&links, &pem, soft).await, running(&links, &pem, hard).await];
    for (id, cut) in [(soft, false), (hard, true)] {
        let (ids, why, by) = (vec![id], ShareEnding::Revoked, "test".to_owned());
        links.apply(&ShareEvent::Ended { ids, why, cut, by });
    }
    assert_ne!(of_hard.await.unwrap(), 0);
    assert_eq!(of_soft.await.unwrap(), 0);
    assert_eq!(links.server.counters().cut, 1);
    links.stop().await;
}

#[actix::test]
async fn a_new_certificate_applies_to_new_connections() {
    let links = ManualLinks::start(|_| {});
    let old = links.speak_tls("old");
    links.write("a", &vec![7; 24 << 20]);
    let id = links.share("a", |_| {});
    let download = running(&links, &old, id).await;
    let new = links.speak_tls("new");
    let by = async |pem: &Pem| {
        let url = links.url(id, "/file");
        curl(&["--cacert", text(&pem.certificate), "-r", "0-9", &url]).await.exit
    };
    assert_eq!((by(&new).await, by(&old).await), (0, 60), "it is another one");
    assert_eq!(download.await.unwrap(), 0, "the running download continued");
    links.stop().await;
}

#[actix::test]
async fn a_client_without_tls_gets_an_answer_or_a_closed_connection() {
    let links =
        ManualLinks::start(|settings| settings.request_timeout = Duration::from_millis(300));
    links.speak_tls("links");
    let clear = curl(&[&format!("http://{}/", links.addr())]).await;
    assert_eq!((clear.exit, clear.status), (0, 426), "{}", clear.head);
    assert!(clear.text().contains("https"), "{}", clear.text());
    let mut silent = TcpStream::connect(links.addr()).await.unwrap();
    assert_eq!(silent.read(&mut [0]).await.unwrap(), 0, "left after its time");
    let mut halfway = TcpStream::connect(links.addr()).await.unwrap();
    halfway.write_all(&[22, 3, 1, 2]).await.unwrap();
    assert_eq!(halfway.read(&mut [0]).await.unwrap(), 0, "left after its time");
    let mut garbage = TcpStream::connect(links.addr()).await.unwrap();
    garbage.write_all(&[0; 100]).await.unwrap();
    let mut reported = Vec::new();
    // Either an alert or a reset ends the connection.
    let _ = garbage.read_to_end(&mut reported).await;
    assert!(reported.is_empty() || reported[0] == 21, "{reported:?}");
    drop(TcpStream::connect(links.addr()).await.unwrap());
    eventually("they are gone", || links.server.counters().connections == 0).await;
    assert_eq!(links.server.counters().no_tls, 4, "one connection sent nothing and does not count");
    links.stop().await;
}

#[actix::test]
async fn a_silent_tls_connection_is_closed_for_a_new_one() {
    let links = ManualLinks::start(|settings| settings.connections_per_address = 1);
    links.speak_tls("links");
    links.write("a", b"x");
    let id = links.share("a", |_| {});
    let mut silent = TcpStream::connect(links.addr()).await.unwrap();
    eventually("it has its place", || links.server.counters().connections == 1).await;
    assert_eq!(links.get(id, "/file", &[]).await.status, 200);
    assert_eq!(silent.read(&mut [0]).await.unwrap(), 0);
    links.stop().await;
}

#[actix::test]
async fn a_client_that_takes_nothing_is_left() {
    let links = ManualLinks::start(|settings| settings.send_timeout = Duration::from_millis(600));
    let pem = links.speak_tls("links");
    links.write("a", &vec![7; 24 << 20]);
    let id = links.share("a", |_| {});
    let (url, ca) = (links.url(id, "/file"), text(&pem.certificate).to_owned());
    let deaf = tokio::spawn(async move {
        curl(&["--limit-rate", "1", "-m", "20", "--cacert", &ca, &url]).await.exit
    });
    eventually("it is left", || links.server.counters().too_slow == 1).await;
    deaf.abort();
    links.stop().await;
}
