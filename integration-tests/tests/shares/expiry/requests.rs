//! Requests of unusual clients to public links, and the texts of refusals.

use std::num::NonZeroU32;
use std::time::Duration;

use reelyard_integration_tests::probes::waiting::{PATIENCE, eventually, eventually_some};
use reelyard_integration_tests::rigs::share_links::{A_DAY, ManualLinks, curl};
use reelyard_links::hash_password;
use reelyard_shares::share_expiry::ShareId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Everything that arrives on a connection until its end.
async fn ask(links: &ManualLinks, text: &str) -> String {
    let mut stream = TcpStream::connect(links.addr()).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let ended = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
    assert!(ended.is_ok(), "the connection stays open: {answer}");
    answer
}

#[actix::test]
async fn a_target_may_be_a_whole_url() {
    let links = ManualLinks::start(|_| {});
    links.write("a", b"film");
    let id = links.share("a", |_| {});
    for host in ["http://share.example.net", "HTTPS://[::1]:8081"] {
        let asked =
            format!("GET {host}/s/{id}/file?x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        let answer = ask(&links, &asked).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("film"), "{answer}");
    }
    links.stop().await;
}

#[actix::test]
async fn a_connection_ends_where_one_of_its_headers_says_so() {
    let links = ManualLinks::start(|settings| settings.request_timeout = PATIENCE * 10);
    links.write("a", b"film");
    let id = links.share("a", |_| {});
    let asked = format!(
        "GET /s/{id}/file HTTP/1.1\r\nHost: h\r\nConnection: foo\r\nConnection: close\r\n\r\n"
    );
    let answer = ask(&links, &asked).await;
    assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
    links.stop().await;
}

#[actix::test]
async fn a_link_with_a_final_slash_redirects_to_the_one_without() {
    let links = ManualLinks::start(|_| {});
    links.write("a", b"film");
    let id = links.share("a", |_| {});
    for id in [id, ShareId::random().unwrap()] {
        let answer = links.get(id, "/", &[]).await;
        assert_eq!((answer.status, answer.header("location")), (308, Some(&*format!("/s/{id}"))));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
    let page = links.get(id, "/", &["-L", "-o", "/dev/null", "-w", "%{http_code}"]).await;
    assert!(page.head.ends_with("200"), "{}", page.head);
    for other in ["/s/", "/s//", "/s/x/y/"] {
        assert_eq!(links.ask(other, &[]).await.status, 404, "{other}");
    }
    links.stop().await;
}

#[actix::test]
async fn an_invalid_form_is_refused_on_a_page_like_all_others() {
    let links = ManualLinks::start(|_| {});
    links.write("a", b"x");
    let hash = hash_password("right").unwrap();
    let id = links.share("a", |new| new.terms.password = Some(hash));
    let odd = links.ask("/s/%FF", &[]).await;
    assert_eq!((odd.status, odd.header("x-content-type-options")), (404, Some("nosniff")));
    let long = format!("password={}", "x".repeat(100_000));
    for (arguments, status) in [
        (&["-d", &long][..], 413),
        (&["-H", "Content-Type: application/json", "-d", "{}"], 415),
        (&["-d", "word=right"], 400),
    ] {
        let answer = links.get(id, "", arguments).await;
        assert_eq!(answer.status, status, "{}", answer.head);
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "private, no-store"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{status}: {name}");
        }
        assert!(answer.text().contains("<h1>"), "{}", answer.text());
    }
    links.stop().await;
}

#[actix::test]
async fn a_page_that_asks_to_wait_does_not_call_the_link_unknown() {
    let links = ManualLinks::start(|settings| {
        settings.guesses = NonZeroU32::MIN;
        settings.guess_every = Duration::from_secs(600);
    });
    let unknown = links.ask("/s/x", &[]).await;
    assert!(unknown.status == 404 && unknown.text().contains("<title>No such link</title>"));
    let throttled = links.ask("/s/x", &[]).await;
    assert_eq!(throttled.status, 429);
    let html = throttled.text();
    assert!(!html.contains("No such link") && !html.contains("There is no link"), "{html}");
    assert!(html.contains("<title>Wait</title>"), "{html}");
    links.stop().await;
}

#[actix::test]
async fn a_replaced_file_is_not_called_resumable() {
    let links = ManualLinks::start(|_| {});
    links.write("a", b"a film");
    let id = links.share("a", |new| new.terms.max_downloads = NonZeroU32::new(1));
    let begun = links.get(id, "/file", &["-r", "0-1"]).await;
    assert_eq!(begun.status, 206);
    let resume = format!("If-Range: {}", begun.header("etag").unwrap());
    assert_eq!(links.get(id, "/file", &["-r", "2-3", "-H", &resume]).await.status, 206);
    assert_eq!(links.get(id, "/file", &[]).await.status, 200, "the complete file after a part");
    let again = links.get(id, "/file", &[]).await;
    assert!(again.status == 410 && again.text().contains("You can resume it"), "{}", again.text());
    links.write("a", b"another film");
    let answer = links.get(id, "/file", &["-r", "2-", "-H", &resume]).await;
    assert_eq!(answer.status, 410);
    assert!(!answer.text().contains("You can resume it"), "{}", answer.text());
    assert!(answer.text().contains("replaced"), "{}", answer.text());
    links.stop().await;
}

#[actix::test]
async fn a_request_names_one_host() {
    let links = ManualLinks::start(|_| {});
    links.write("a", b"film");
    let id = links.share("a", |_| {});
    let close = "Connection: close\r\n\r\n";
    for path in [format!("/s/{id}/file"), format!("/s/{id}")] {
        let status = async |version: &str, hosts: &str| {
            let asked = format!("GET {path} HTTP/{version}\r\n{hosts}{close}");
            let answer = ask(&links, &asked).await;
            answer.split(' ').nth(1).unwrap_or_default().to_owned()
        };
        assert_eq!(status("1.1", "Host: h\r\n").await, "200");
        assert_eq!(status("1.1", "").await, "400", "{path}");
        assert_eq!(status("1.1", "Host: h\r\nhost: h\r\n").await, "400", "{path}");
        assert_eq!(status("1.0", "").await, "200");
        assert_eq!(status("1.0", "Host: h\r\nHost: i\r\n").await, "400");
    }
    links.stop().await;
}

#[actix::test]
async fn the_page_of_a_link_that_has_ended_is_titled_by_why() {
    let links = ManualLinks::start(|_| {});
    links.write("a", b"film");
    let id = links.share("a", |_| {});
    links.clock.advance(A_DAY);
    let html = links.get(id, "", &[]).await.text();
    assert!(html.contains("<title>Expired</title>"), "{html}");
    assert!(html.contains("<h1>This link ended on <time datetime="), "{html}");
    assert!(!html.contains("No such link") && !html.contains("There is no link"), "{html}");
    links.stop().await;
}

/// Starts a download of `mebibytes` MiB at 8 MiB/s. Its result is the exit code of curl.
async fn running(links: &ManualLinks, mebibytes: usize) -> tokio::task::JoinHandle<i32> {
    links.write("a", &vec![7; mebibytes << 20]);
    let url = links.url(links.share("a", |_| {}), "/file");
    let download = tokio::spawn(async move {
        let discard = ["--no-include", "--limit-rate", "8M", "-o", "/dev/null", &url];
        curl(&discard).await.exit
    });
    eventually("the download runs", || links.server.counters().downloads == 1).await;
    download
}

#[actix::test]
async fn a_draining_server_lets_downloads_finish_and_accepts_no_client() {
    let links = ManualLinks::start(|_| {});
    let running = running(&links, 12).await;
    let url = links.url(ShareId(1), "");
    let site = links.into_site();
    let draining = site.server.drain(std::future::pending());
    let late = async {
        let refused = || async { (curl(&[&url]).await.exit == 7).then_some(()) };
        eventually_some("new clients are refused", refused).await;
    };
    futures::join!(draining, late);
    assert_eq!(running.await.unwrap(), 0, "the running download has finished");
}

#[actix::test]
async fn a_draining_server_lets_other_nodes_finish_their_files() {
    let links = ManualLinks::start(|_| {});
    links.write("a", b"film");
    let id = links.share("a", |_| {});
    let (file, url) = (links.server.shared_files().open(id).unwrap(), links.url(id, ""));
    let site = links.into_site();
    let mut draining = std::pin::pin!(site.server.drain(std::future::pending()));
    let refused = eventually_some("new clients are refused", || async {
        (curl(&[&url]).await.exit == 7).then_some(())
    });
    tokio::select! {
        () = draining.as_mut() => panic!("the other node reads"),
        () = refused => {}
    }
    drop(file);
    draining.await;
}

#[actix::test]
async fn a_drain_without_time_aborts_running_downloads() {
    let links = ManualLinks::start(|_| {});
    // More than the buffers of two sockets hold, because buffered data reaches curl after the abort.
    let running = running(&links, 128).await;
    let site = links.into_site();
    site.server.drain(std::future::ready(())).await;
    let exit = running.await.unwrap();
    assert!(matches!(exit, 18 | 56), "curl got less than it was promised: {exit}");
}
