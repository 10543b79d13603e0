//! Answers of public links in difficult cases: after a swap on the disk, behind a proxy, and for repeated
//! requests.

use std::num::NonZeroU32;
use std::os::unix::fs::symlink;
use std::time::Duration;

use reelyard_integration_tests::probes::waiting::PATIENCE;
use reelyard_integration_tests::rigs::share_links::{CurlResponse, ManualLinks};
use reelyard_links::hash_password;
use reelyard_shares::share_expiry::{NewShare, ShareId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn locked(password: &str) -> impl FnOnce(&mut NewShare) {
    let hash = hash_password(password).unwrap();
    move |new| new.terms.password = Some(hash)
}

/// Sends the form of a link's page from an address.
async fn enter(links: &ManualLinks, id: ShareId, password: &str, from: &str) -> CurlResponse {
    let (field, from) = (format!("password={password}"), format!("X-Forwarded-For: {from}"));
    links.get(id, "", &["-H", &from, "--data-urlencode", &field]).await
}

/// The complete answer on a connection after `text` was sent in one packet.
async fn ask(links: &ManualLinks, text: &str) -> String {
    let mut stream = TcpStream::connect(links.addr()).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let ended = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
    assert!(ended.is_ok_and(|read| read.is_ok()), "the connection ends well: {answer}");
    answer
}

#[actix::test]
async fn a_file_that_became_a_directory_is_not_served_nor_the_reverse() {
    let links = ManualLinks::start(|_| {});
    links.write("a", b"film");
    links.write("dir/a", b"film");
    let (file, dir) = (links.share("a", |_| {}), links.share("dir", |_| {}));
    std::fs::remove_file(links.below("a")).unwrap();
    links.write("a/secret", b"not shared");
    std::fs::remove_dir_all(links.below("dir")).unwrap();
    links.write("dir", b"not shared");
    for id in [file, dir] {
        for part in ["", "/file", "/zip"] {
            let answer = links.get(id, part, &[]).await;
            assert_eq!(answer.status, 404, "{part}: {}", answer.text());
            assert!(answer.text().contains("does not exist now"), "{part}: {}", answer.text());
        }
    }
    links.stop().await;
}

#[actix::test]
async fn right_passwords_use_up_no_tries_and_wrong_ones_do() {
    let links = ManualLinks::start(|settings| {
        settings.password_tries = NonZeroU32::new(3).unwrap();
        settings.password_every = Duration::from_secs(600);
        settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    });
    links.write("a", b"x");
    let id = links.share("a", locked("right"));
    for host in 1..6 {
        let answer = enter(&links, id, "right", &format!("192.0.2.{host}")).await;
        assert_eq!(answer.status, 303, "many come by the same link");
    }
    for _ in 0..5 {
        let another = links.share("a", locked("right"));
        let answer = enter(&links, another, "right", "192.0.2.1").await;
        assert_eq!(answer.status, 303, "one comes by many links");
    }
    for _ in 0..2 {
        assert_eq!(enter(&links, id, "wrong", "192.0.2.7").await.status, 403);
    }
    assert_eq!(enter(&links, id, "right", "192.0.2.8").await.status, 303);
    assert_eq!(enter(&links, id, "wrong", "192.0.2.7").await.status, 403, "the last of three");
    assert_eq!(enter(&links, id, "right", "192.0.2.9").await.status, 429, "a hit as a miss");
    assert_eq!(enter(&links, id, "wrong", "192.0.2.9").await.status, 429);
    let another = links.share("a", locked("right"));
    assert_eq!(enter(&links, another, "right", "192.0.2.7").await.status, 429, "by this address");
    links.stop().await;
}

#[actix::test]
async fn behind_a_path_of_a_proxy_every_link_has_that_path() {
    let links = ManualLinks::start(|settings| {
        settings.public_url = Some("https://share.example.net/dl/here".into());
    });
    links.write("a", b"film");
    let (open, closed) = (links.share("a", |_| {}), links.share("a", locked("right")));
    let page = links.get(open, "", &[]).await.text();
    assert!(page.contains(&format!("href=\"/dl/here/s/{open}/file\"")), "{page}");
    assert!(page.contains(&format!("https://share.example.net/dl/here/s/{open}")), "{page}");
    let here = format!("/dl/here/s/{closed}");
    for answer in [
        links.get(closed, "", &[]).await,
        links.get(closed, "", &["--data-urlencode", "password=wrong"]).await,
    ] {
        assert!(answer.text().contains(&format!("action=\"{here}\"")), "{}", answer.text());
    }
    let right = links.get(closed, "", &["--data-urlencode", "password=right"]).await;
    assert_eq!((right.status, right.header("location")), (303, Some(&*here)));
    let set = right.header("set-cookie").unwrap();
    assert!(set.contains(&format!("; Path={here};")), "{set}");
    let answer = links.get(closed, "/", &[]).await;
    assert_eq!((answer.status, answer.header("location")), (308, Some(&*here)));
    links.stop().await;
}

#[actix::test]
async fn the_last_answer_is_followed_by_no_other() {
    let links = ManualLinks::start(|_| {});
    links.write("a", b"film");
    let (open, closed) = (links.share("a", |_| {}), links.share("a", locked("right")));
    let more = format!(
        "GET /s/{open}/file HTTP/1.1\r\nHost: h\r\n\r\nGET /s/{open} HTTP/1.1\r\nHost: h\r\n\r\n"
    );
    let form = "password=right";
    for first in [
        format!("GET /s/{open} HTTP/1.1\r\nHost: h\r\n\r\n"),
        format!("HEAD /s/{open} HTTP/1.1\r\nHost: h\r\n\r\n"),
        format!("GET /s/{open}/file HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
        format!(
            "POST /s/{closed} HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{form}",
            form.len()
        ),
    ] {
        let answer = ask(&links, &format!("{first}{more}")).await;
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{first}: {answer}");
        assert!(answer.to_lowercase().contains("\r\nconnection: close\r\n"), "{answer}");
    }
    let two = format!(
        "GET /s/{open}/file HTTP/1.1\r\nHost: h\r\n\r\nGET /s/{open} HTTP/1.1\r\nHost: h\r\n\r\n"
    );
    let answer = ask(&links, &two).await;
    assert_eq!(answer.matches("HTTP/1.1 200 ").count(), 2, "{answer}");
    links.stop().await;
}

#[actix::test]
async fn the_page_of_a_directory_counts_the_entries_of_its_archive() {
    let links = ManualLinks::start(|_| {});
    links.write("other/secret", b"secret");
    links.write("dir/a", &[7; 2048]);
    links.write("dir/sub/b", b"film");
    for (to, from) in [
        ("a", "dir/to-a"),
        ("sub/b", "dir/to-b"),
        ("sub", "dir/to-sub"),
        ("absent", "dir/to-nothing"),
        ("../other/secret", "dir/out"),
    ] {
        symlink(to, links.below(from)).unwrap();
    }
    let id = links.share("dir", |_| {});
    let html = links.get(id, "", &[]).await.text();
    assert!(html.contains("4 entries"), "{html}");
    for shown in ["sub/", "<span>a</span>", "<span>to-a</span>", "<span>to-b</span>"] {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    assert_eq!(html.matches("2.0 KiB").count(), 2, "{html}");
    for left_out in ["to-sub", "to-nothing", "out"] {
        assert!(!html.contains(&format!("<span>{left_out}")), "{left_out}: {html}");
    }
    links.stop().await;
}
