//! The pages of public links in a real Chromium.

use std::num::NonZeroU32;
use std::time::Duration;

use reelyard_integration_tests::probes::browser::Browser;
use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_integration_tests::rigs::share_links::ManualLinks;
use reelyard_links::hash_password;
use reelyard_shares::share_expiry::Deadline;

/// Waits until an element shows a text that `fits` accepts.
async fn shows(browser: &Browser, selector: &str, fits: impl Fn(&str) -> bool) -> String {
    eventually_some(&format!("{selector} shows it"), || async {
        browser.text(selector).await.unwrap().filter(|text| fits(text))
    })
    .await
}

/// Waits until the browser has saved this file.
async fn saved(browser: &Browser, name: &str, bytes: &[u8]) {
    let file = browser.downloads().join(name);
    eventually_some("it is saved", || async {
        (std::fs::read(&file).ok()? == bytes).then_some(())
    })
    .await;
}

/// The end of a link is in the zone of the device, with the offset at that time: it ends in summer time.
async fn times_are_local(links: &ManualLinks, browser: &Browser) {
    let half_a_year = Duration::from_secs(180 * 86_400);
    let id = links.share("film.mp4", |new| {
        new.deadline = Deadline::at(links.clock.now().after(half_a_year));
    });
    browser.open(&links.url(id, "")).await.unwrap();
    browser.pretend_zone("America/New_York").await.unwrap();
    for (language, end) in [("en", "Wed 14 Jul 2027 04:00"), ("ko", "2027년 7월 14일(수) 04:00")]
    {
        browser.keep_cookie("reelyard_language", language).await.unwrap();
        browser.open(&links.url(id, "")).await.unwrap();
        shows(browser, "time", |text| text == end).await;
        shows(browser, "[data-zone]", |text| text.contains("America/New_York, UTC-04:00")).await;
        let title = browser.evaluate("document.querySelector('time').title").await.unwrap();
        assert_eq!(title, "2027-07-14 04:00:00 -04:00");
    }
    browser.keep_cookie("reelyard_language", "en").await.unwrap();
}

#[actix::test]
async fn the_time_left_counts_down_until_the_page_says_expired() {
    let links = ManualLinks::start(|_| {});
    links.write("film.mp4", &[7; 3 << 20]);
    let browser = Browser::start(true).await.unwrap();
    times_are_local(&links, &browser).await;
    let lasts = Duration::from_secs(8);
    let id = links.share("film.mp4", |new| {
        new.deadline = Deadline::at(links.clock.now().after(lasts));
    });
    browser.open(&links.url(id, "")).await.unwrap();
    assert_eq!(shows(&browser, "h1", |_| true).await, "film.mp4");
    let first = shows(&browser, ".countdown", |left| left.starts_with("0:0")).await;
    let later = shows(&browser, ".countdown", |left| left != first).await;
    let seconds = |text: &str| text.trim_start_matches("0:0").parse::<u64>().unwrap();
    assert!(seconds(&later) < seconds(&first) && seconds(&first) <= 8, "{first}, {later}");
    // The manual clock of the links reaches the deadline before the browser does.
    links.clock.advance(lasts);
    let text = shows(&browser, "main", |text| text.contains("expired")).await;
    assert!(text.contains("This link ended on "), "{text}");
    assert!(browser.text(".btn").await.unwrap().is_none());
    let console_errors = browser.console_errors().await.unwrap();
    let is_refusal = |line: &&String| line.contains("410 (Gone)");
    let others: Vec<_> = console_errors.iter().filter(|line| !is_refusal(line)).collect();
    assert!(others.is_empty(), "{others:?}");
    links.stop().await;
}

/// Opens a link with a password, from its form to the file.
async fn open_by_password(runs_scripts: bool) {
    let links = ManualLinks::start(|_| {});
    let name = "Grüße & \"mehr\".mpg";
    links.write(name, b"0123456789");
    let hash = hash_password("open sesame").unwrap();
    let id = links.share(name, |new| {
        new.terms.password = Some(hash);
        new.terms.max_downloads = NonZeroU32::new(1);
    });
    let browser = Browser::start(runs_scripts).await.unwrap();
    browser.open(&links.url(id, "")).await.unwrap();
    let text = shows(&browser, "main", |_| true).await;
    assert!(text.contains("needs a password") && !text.contains("mpg"), "{text}");
    browser.write("#password", "wrong").await.unwrap();
    browser.click("main button").await.unwrap();
    shows(&browser, "main", |text| text.contains("Wrong password. Try again.")).await;
    browser.write("#password", "open sesame").await.unwrap();
    browser.click("main button").await.unwrap();
    assert_eq!(shows(&browser, "h1", |text| text.contains("mpg")).await, name);
    let text = shows(&browser, "main", |text| text.contains("downloads left")).await;
    assert!(text.contains("10 B") && text.contains("1 of 1"), "{text}");
    let left = shows(&browser, ".countdown", |_| true).await;
    let expected = if runs_scripts { ["1 day 00:00:00", "23:59:"] } else { ["1 day", "1 day"] };
    assert!(expected.iter().any(|begin| left.starts_with(begin)), "{left}");
    browser.click("a.btn").await.unwrap();
    // The browser replaces characters that some file systems refuse.
    saved(&browser, "Grüße & _mehr_.mpg", b"0123456789").await;
    browser.open(&links.url(id, "")).await.unwrap();
    let text = shows(&browser, "main", |text| text.contains("0 of 1")).await;
    assert!(text.contains("You can resume it"), "{text}");
    links.stop().await;
}

#[actix::test]
async fn a_password_opens_a_link_and_the_button_saves_the_file() {
    open_by_password(true).await;
}

#[actix::test]
async fn all_of_it_works_without_scripts() {
    open_by_password(false).await;
}

#[actix::test]
async fn language_and_theme_change_without_scripts() {
    let links = ManualLinks::start(|_| {});
    links.write("a", b"x");
    let id = links.share("a", |_| {});
    let browser = Browser::start(false).await.unwrap();
    browser.open(&links.url(id, "")).await.unwrap();
    browser.click("button[name=language]").await.unwrap();
    shows(&browser, "main", |text| text.contains("다운로드")).await;
    browser.click("details.menu summary").await.unwrap();
    browser.click("button[value=contrast]").await.unwrap();
    shows(&browser, "html[lang=ko][data-theme=contrast] h1", |name| name == "a").await;
    links.stop().await;
}

#[actix::test]
async fn without_scripts_the_time_left_is_shown_and_does_not_change() {
    let links = ManualLinks::start(|_| {});
    links.write("dir/a", b"x");
    let id = links.share("dir", |new| {
        new.deadline = Deadline::at(links.clock.now().after(Duration::from_secs(1)));
    });
    let browser = Browser::start(false).await.unwrap();
    let by_script = "<p>off</p><script>document.querySelector('p').textContent = 'on'</script>";
    browser.open(&format!("data:text/html,{by_script}")).await.unwrap();
    assert_eq!(shows(&browser, "p", |_| true).await, "off", "this browser runs none");
    browser.open(&links.url(id, "")).await.unwrap();
    assert_eq!(shows(&browser, ".countdown", |_| true).await, "1 second");
    assert_eq!(shows(&browser, "a.btn", |_| true).await, "Download all (.zip)");
    browser.click(".terminal summary").await.unwrap();
    shows(&browser, ".terminal", |text| text.contains(&id.to_string())).await;
    links.clock.advance(Duration::from_secs(1));
    browser.open(&links.url(id, "")).await.unwrap();
    shows(&browser, "main", |text| text.contains("It has expired")).await;
    links.stop().await;
}
