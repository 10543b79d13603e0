//! The pages of public links and their passwords, with a real curl.

use std::num::NonZeroU32;
use std::time::Duration;

use reelyard_integration_tests::rigs::share_links::{CurlResponse, ManualLinks};
use reelyard_links::hash_password;
use reelyard_shares::share_expiry::{
    Deadline, NewShare, ShareChanges, ShareEvent, ShareId, ShareTerm,
};

fn locked(password: &str) -> impl FnOnce(&mut NewShare) {
    let hash = hash_password(password).unwrap();
    move |new| new.terms.password = Some(hash)
}

/// Sends the form of a link's page.
async fn enter(links: &ManualLinks, id: ShareId, password: &str, more: &[&str]) -> CurlResponse {
    let field = format!("password={password}");
    links.get(id, "", &[&["--data-urlencode", &field], more].concat()).await
}

/// The cookie of an answer, as the browser returns it.
fn cookie(answer: &CurlResponse) -> String {
    let set = answer.header("set-cookie").unwrap();
    format!("Cookie: {}", set.split(';').next().unwrap())
}

#[actix::test]
async fn a_page_shows_the_share_and_runs_no_foreign_code() {
    let links = ManualLinks::start(|settings| {
        settings.public_url = Some("https://share.example.net/".into());
    });
    links.write("<b>&film.mp4", &[7; 3 << 20]);
    let id = links.share("<b>&film.mp4", |new| new.terms.max_downloads = NonZeroU32::new(3));
    let page = links.get(id, "", &[]).await;
    assert_eq!((page.exit, page.status), (0, 200));
    let html = page.text();
    for part in [
        "&lt;b&gt;&amp;film.mp4",
        "3.0 MiB (3,145,728 bytes) · video",
        "1 day",
        "3 of 3",
        "QR code",
        "data-left=\"86400000\"",
        "<bdi>share.example.net</bdi>",
        "name=\"robots\" content=\"noindex\"",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(html.contains(&format!("href=\"/s/{id}/file\"")), "{html}");
    assert!(html.contains(&format!("https://share.example.net/s/{id}")), "{html}");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    assert!(policy.contains("script-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("cache-control"), Some("private, no-store"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let head = links.get(id, "", &["-I"]).await;
    assert_eq!((head.status, head.header("content-type")), (200, page.header("content-type")));
    let put = links.get(id, "", &["-X", "PUT"]).await;
    assert_eq!((put.status, put.header("allow")), (405, Some("GET, HEAD, POST")));

    let never = links.share("<b>&film.mp4", |new| new.deadline = Deadline::NEVER);
    assert!(links.get(never, "", &[]).await.text().contains("has no end"));
    std::fs::remove_file(links.below("<b>&film.mp4")).unwrap();
    assert_eq!(links.get(never, "", &[]).await.status, 404);
    links.stop().await;
}

#[actix::test]
async fn a_page_is_in_the_language_and_theme_of_the_visitor() {
    let links = ManualLinks::start(|settings| {
        settings.public_url = Some("https://share.example.net/dl".into());
    });
    links.write("a.mp4", b"film");
    let id = links.share("a.mp4", |_| {});
    let korean = links.get(id, "", &["-H", "Accept-Language: ko-KR,en;q=0.5"]).await.text();
    assert!(korean.contains("<html lang=\"ko\" data-theme=\"auto\""), "{korean}");
    assert!(korean.contains("다운로드") && !korean.contains("Download"), "{korean}");
    let cookies = "Cookie: reelyard_language=en; reelyard_theme=contrast";
    let chosen = links.get(id, "", &["-H", "Accept-Language: ko", "-H", cookies]).await;
    assert!(chosen.text().contains("<html lang=\"en\" data-theme=\"contrast\""));
    let vary = chosen.header("vary").unwrap();
    assert!(vary.contains("accept-language") && vary.contains("cookie"), "{vary}");
    links.stop().await;
}

#[actix::test]
async fn a_choice_is_kept_alike_for_known_and_unknown_links() {
    let links = ManualLinks::start(|settings| {
        settings.public_url = Some("https://share.example.net/dl".into());
    });
    links.write("a.mp4", b"film");
    let known = links.share("a.mp4", locked("right"));
    let keep = async |id, field: &str| links.get(id, "", &["-d", field]).await;
    for (field, cookie) in
        [("theme=dark", "reelyard_theme=dark"), ("language=ko", "reelyard_language=ko")]
    {
        let kept = keep(known, field).await;
        assert_eq!((kept.status, kept.header("location")), (303, Some(&*format!("/dl/s/{known}"))));
        let set = kept.header("set-cookie").unwrap();
        for part in [cookie, "; HttpOnly", "; SameSite=Lax", "; Secure", "; Path=/dl/s", "Max-Age="]
        {
            assert!(set.contains(part), "{part}: {set}");
        }
        let unknown = keep(ShareId(1), field).await;
        assert_eq!((unknown.status, unknown.header("set-cookie")), (303, Some(set)));
    }
    let bad = keep(known, "theme=pink").await;
    assert_eq!((bad.status, bad.header("set-cookie")), (400, None));
    links.stop().await;
}

#[actix::test]
async fn a_directory_shows_its_entries() {
    let links = ManualLinks::start(|_| {});
    links.write("season/1.mp4", &[7; 2048]);
    links.write("season/extras/x.mp4", b"x");
    let id = links.share("season", |_| {});
    let html = links.get(id, "", &[]).await.text();
    for part in ["1.mp4", "2.0 KiB", "extras/", "2 entries", &format!("href=\"/s/{id}/zip\"")] {
        assert!(html.contains(part), "{part}: {html}");
    }
    links.stop().await;
}

#[actix::test]
async fn a_password_opens_this_link_and_no_other() {
    let links = ManualLinks::start(|_| {});
    links.write("a.mp4", b"film");
    let id = links.share("a.mp4", locked("pass wörd"));
    let asks = links.get(id, "", &[]).await;
    assert_eq!(asks.status, 200);
    assert!(asks.text().contains("type=\"password\"") && !asks.text().contains("a.mp4"));
    let closed = links.get(id, "/file", &[]).await;
    assert_eq!(closed.status, 401);
    assert!(closed.header("www-authenticate").unwrap().starts_with("Basic "));

    let wrong = enter(&links, id, "password", &[]).await;
    assert_eq!((wrong.status, wrong.header("set-cookie")), (403, None));
    assert!(wrong.text().contains("type=\"password\""));
    let right = enter(&links, id, "pass wörd", &[]).await;
    assert_eq!(right.status, 303);
    assert_eq!(right.header("location"), Some(&*format!("/s/{id}")));
    let set = right.header("set-cookie").unwrap();
    for part in [&format!("Path=/s/{id}"), "HttpOnly", "SameSite=Lax"] {
        assert!(set.contains(part), "{part}: {set}");
    }
    let cookie = cookie(&right);
    assert!(links.get(id, "", &["-H", &cookie]).await.text().contains("a.mp4"));
    let film = links.get(id, "/file", &["-H", &cookie]).await;
    assert_eq!((film.status, &*film.body), (200, &b"film"[..]));
    let both = format!("{cookie}; other=1");
    assert_eq!(links.get(id, "/file", &["-H", &both]).await.status, 200);

    let other = links.share("a.mp4", locked("pass wörd"));
    assert_eq!(links.get(other, "/file", &["-H", &cookie]).await.status, 401);
    let basic = links.get(other, "/file", &["-u", "anybody:pass wörd"]).await;
    assert_eq!(basic.status, 200);
    assert_eq!(links.get(other, "/file", &["-u", "anybody:wrong"]).await.status, 401);

    let password = ShareTerm::Password(Some(hash_password("another").unwrap()));
    let changes = Box::new(ShareChanges { terms: vec![password], ..ShareChanges::default() });
    links.apply(&ShareEvent::Changed { id, generation: 0, changes });
    assert_eq!(links.get(id, "/file", &["-H", &cookie]).await.status, 401);
    assert_eq!(links.server.counters().wrong_passwords, 2);
    links.stop().await;
}

#[actix::test]
async fn tries_are_limited_by_link_and_address_and_sessions_stay() {
    let links = ManualLinks::start(|settings| {
        settings.password_tries = NonZeroU32::new(3).unwrap();
        settings.password_every = Duration::from_secs(600);
        settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    });
    links.write("a", b"x");
    let (id, other) = (links.share("a", locked("right")), links.share("a", locked("right")));
    let attempt = async |from: &str, id, password: &str| {
        enter(&links, id, password, &["-H", &format!("X-Forwarded-For: {from}")]).await
    };
    let inside = attempt("192.0.2.9", id, "right").await;
    assert_eq!(inside.status, 303);
    for from in ["192.0.2.1", "192.0.2.1", "192.0.2.4"] {
        assert_eq!(attempt(from, id, "wrong").await.status, 403);
    }
    let slower = attempt("192.0.2.2", id, "wrong").await;
    assert_eq!(slower.status, 429, "three at this link");
    assert!(slower.header("retry-after").is_some());
    assert_eq!(attempt("192.0.2.1", other, "wrong").await.status, 403);
    assert_eq!(attempt("192.0.2.1", other, "wrong").await.status, 429, "three by this address");
    assert_eq!(attempt("192.0.2.3", other, "right").await.status, 303);
    let cookie = cookie(&inside);
    assert_eq!(links.get(id, "/file", &["-H", &cookie]).await.status, 200);
    assert_eq!(attempt("192.0.2.9", id, "right").await.status, 303, "known to be right");
    assert_eq!(attempt("192.0.2.2", id, "right").await.status, 429, "but not from elsewhere");
    links.stop().await;
}

#[actix::test]
async fn a_password_guesser_learns_nothing_from_successful_clients() {
    let links = ManualLinks::start(|settings| {
        settings.password_tries = NonZeroU32::new(2).unwrap();
        settings.password_every = Duration::from_secs(600);
        settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    });
    links.write("a", b"x");
    let (id, other) = (links.share("a", locked("right")), links.share("a", locked("other")));
    let get = async |from: &str, id, password: &str| {
        let (from, user) = (format!("X-Forwarded-For: {from}"), format!("any:{password}"));
        links.get(id, "/file", &["-H", &from, "-u", &user]).await.status
    };
    assert_eq!(get("2001:db8:1:1::1", id, "right").await, 200);
    for _ in 0..2 {
        assert_eq!(get("192.0.2.2", other, "wrong").await, 401);
    }
    assert_eq!(get("192.0.2.2", id, "wrong").await, 429);
    assert_eq!(get("192.0.2.2", id, "right").await, 429, "a hit looks like a miss");
    assert_eq!(get("2001:db8:1:1::2", id, "right").await, 200, "the same line as before");
    links.stop().await;
}

#[actix::test]
async fn behind_a_proxy_with_tls_links_and_cookies_are_of_that_kind() {
    let links = ManualLinks::start(|settings| {
        settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    });
    links.write("a", b"x");
    let id = links.share("a", locked("right"));
    let proxied = ["-H", "X-Forwarded-Proto: https", "-H", "Host: share.example.net"];
    let right = enter(&links, id, "right", &proxied).await;
    assert!(right.header("set-cookie").unwrap().ends_with("; Secure"), "{}", right.head);
    let cookie = cookie(&right);
    let page = links.get(id, "", &[&proxied[..], &["-H", &cookie]].concat()).await;
    assert_eq!(page.status, 200);
    let (wanted, page) = ("another device", page.text());
    assert!(!page.contains(wanted), "without public_url the address of the proxy is unknown");
    assert!(!page.contains("curl"), "{page}");
    assert!(!page.contains("share.example.net"), "a client claims this name through the proxy");
    let plain = enter(&links, id, "right", &[]).await;
    assert!(!plain.header("set-cookie").unwrap().contains("Secure"));
    links.stop().await;
}

#[actix::test]
async fn a_page_believes_no_host_that_a_client_names() {
    let links = ManualLinks::start(|_| ());
    links.write("a", b"x");
    let id = links.share("a", |_| {});
    let page = links.get(id, "", &["-H", "Host: evil.example"]).await.text();
    assert!(!page.contains("evil.example"), "{page}");
    assert!(page.contains(&format!("http://{}/s/{id}", links.addr())), "{page}");
    links.stop().await;
}

#[actix::test]
async fn an_invalid_form_is_refused_without_harm() {
    let links =
        ManualLinks::start(|settings| settings.request_timeout = Duration::from_millis(300));
    links.write("a", b"x");
    let id = links.share("a", locked("right"));
    let long = "x".repeat(100_000);
    let status = enter(&links, id, &long, &[]).await.status;
    assert!(matches!(status, 400 | 413), "{status}");
    let json = ["-H", "Content-Type: application/json", "-d", "{}"];
    assert!(matches!(links.get(id, "", &json).await.status, 400 | 415));
    assert_eq!(links.get(id, "", &[]).await.status, 200);
    links.stop().await;
}

#[actix::test]
async fn the_page_of_a_huge_directory_is_shortened_visibly() {
    let links = ManualLinks::start(|_| {});
    std::fs::create_dir(links.below("huge")).unwrap();
    for number in 0..10_001 {
        std::fs::File::create(links.below(&format!("huge/{number}"))).unwrap();
    }
    let id = links.share("huge", |_| {});
    let html = links.get(id, "", &[]).await.text();
    // The page is too long for a failure message.
    assert!(html.contains("more than 10,000 entries"));
    assert!(html.contains("and more than 9,500 more"));
    assert_eq!(html.matches("<td class=\"size\">").count(), 500);
    links.stop().await;
}

#[actix::test]
async fn a_late_client_gets_the_reason_and_a_counted_download_may_resume() {
    let links = ManualLinks::start(|settings| {
        settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    });
    links.write("a", b"0123456789");
    let id = links.share("a", |new| new.terms.max_downloads = NonZeroU32::new(1));
    let from = |address: &str| format!("X-Forwarded-For: {address}");
    let (taker, newcomer) = (from("192.0.2.1"), from("192.0.2.2"));
    let page = async |who: &str| links.get(id, "", &["-H", who]).await;
    let button = format!("href=\"/s/{id}/file\"");
    assert!(page(&newcomer).await.text().contains(&button));
    assert_eq!(links.get(id, "/file", &["-H", &taker]).await.status, 200);
    let late = page(&newcomer).await;
    assert_eq!(late.status, 410);
    let html = late.text();
    assert!(html.contains("All downloads of this link are used") && !html.contains(&button));
    let held = page(&taker).await;
    assert_eq!(held.status, 200);
    let html = held.text();
    // A button that starts a new download would only be refused.
    assert!(html.contains("0 of 1") && !html.contains(&button), "{html}");
    assert!(html.contains("You can resume it"), "{html}");
    let again = links.get(id, "/file", &["-H", &taker]).await;
    assert!(again.status == 410 && again.text().contains("You can resume it"), "{}", again.text());
    assert_eq!(links.get(id, "/file", &["-H", &taker, "-r", "4-"]).await.status, 206);
    let late = links.get(id, "/file", &["-H", &newcomer]).await;
    assert!(late.status == 410 && !late.text().contains("You can resume it"), "{}", late.text());
    links.stop().await;
}
