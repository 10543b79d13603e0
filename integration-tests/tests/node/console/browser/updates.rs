//! Updates touch nothing but what changed, even 50 changes a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use reelyard_integration_tests::probes::browser::Browser;
use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_protocol::http_client::without_tls;

use super::super::console_yard::ConsoleYard;
use super::looking::{signed_in_as, until, without_errors};

/// Pause between two changes.
const PAUSE: Duration = Duration::from_millis(20);

/// Changes that the page must see.
const CHANGES: u64 = 120;

/// Changes the mode of a host on and on, and counts the changes.
async fn change(url: String, token: String, changes: Arc<AtomicU64>) {
    let Ok(http) = without_tls().build() else { return };
    for mode in ["maintenance", "active"].into_iter().cycle() {
        let body = format!("{{\"mode\":\"{mode}\"}}");
        let put = http.put(&url).header("authorization", &token);
        let put = put.header("content-type", "application/json").body(body);
        if put.send().await.is_ok_and(|answer| answer.status().is_success()) {
            changes.fetch_add(1, Ordering::Relaxed);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test]
async fn fifty_changes_a_second_leave_focus_scroll_picks_menus_and_typed_text() -> Result<()> {
    let mut yard = ConsoleYard::start()?;
    let visit = yard.visit("one", "operator")?;
    let browser = signed_in_as(&yard, &visit).await?;
    browser.resize(1000, 340).await?;
    browser.open(&format!("{}/console/hosts", yard.url())).await?;
    until(&browser, "document.querySelectorAll('#rows tbody tr').length === 2").await;
    // A picked row, an open menu, a typed text that was not sent yet, the focus, and a scrolled page.
    browser.click("#rows tbody input[name=pick]").await?;
    let prepare = "(() => {
        document.querySelector('#filter-menus details').open = true;
        const field = document.querySelector('#filters input[name=q]');
        field.value = 'not sent';
        field.focus({ preventScroll: true });
        field.setSelectionRange(2, 5);
        window.scrollTo(0, 60);
        window.seen = 0;
        const count = () => { window.seen += 1; };
        new MutationObserver(count).observe(document.querySelector('#rows'), { subtree: true, childList: true, characterData: true });
    })()";
    browser.evaluate(prepare).await?;
    let scrolled = browser.evaluate("window.scrollY").await?;
    assert_eq!(scrolled, 60, "the page does not scroll");
    let changes = Arc::new(AtomicU64::new(0));
    let url = format!("{}/api/v1/hosts/{}/mode", yard.url(), yard.ground.source(0));
    let token = yard.ground.bearer().replace("Authorization: ", "");
    let changing = tokio::spawn(change(url, token, changes.clone()));
    until(&browser, "document.querySelector('#rows').textContent.includes('maintenance')").await;
    until(&browser, "!document.querySelector('#rows').textContent.includes('maintenance')").await;
    while changes.load(Ordering::Relaxed) < CHANGES {
        until(&browser, "(window.before = window.seen, true)").await;
        until(&browser, "window.seen > window.before").await;
    }
    let kept = "(() => {
        const field = document.querySelector('#filters input[name=q]');
        return {
            focus: document.activeElement === field,
            text: field.value === 'not sent',
            selection: field.selectionStart === 2 && field.selectionEnd === 5,
            menu: document.querySelector('#filter-menus details').open,
            pick: document.querySelector('#rows tbody input[name=pick]').checked,
            bar: document.querySelector('.bulk').dataset.picked === '1',
            live: !document.documentElement.classList.contains('is-stale'),
        };
    })()";
    let kept = browser.evaluate(kept).await?;
    let lost: Vec<_> =
        kept.as_object().into_iter().flatten().filter(|(_, kept)| **kept != true).collect();
    assert!(lost.is_empty() && kept.is_object(), "lost: {lost:?} of {kept}");
    assert_eq!(browser.evaluate("window.scrollY").await?, scrolled);
    a_hidden_tab_pauses(&browser, &changes).await?;
    let hosts = format!("{}/console/hosts", yard.url());
    a_tab_in_the_background_pauses(&browser, &changes, &hosts).await?;
    changing.abort();
    another_order_waits_while_the_table_is_read(&browser, &mut yard).await?;
    without_errors(&browser, "updates").await
}

/// While a row is picked, a host that goes down keeps its place and shows its state. After nothing is picked any more, it moves.
async fn another_order_waits_while_the_table_is_read(
    browser: &Browser,
    yard: &mut ConsoleYard,
) -> Result<()> {
    browser.open(&format!("{}/console/hosts?sort=health", yard.url())).await?;
    until(browser, "document.querySelectorAll('#rows tbody tr').length === 2").await;
    // The pointer leaves the table. The page begins as a hidden tab: see `HIDDEN`.
    browser.click("h1").await?;
    let prepare = "(() => {
        window.order = () => [...document.querySelectorAll('#rows tbody tr')].map((row) => row.id).join();
        window.pick = () => document.querySelector('#rows tbody input[name=pick]').click();
        window.before = window.order();
        window.pick();
        window.show(true);
    })()";
    browser.evaluate(prepare).await?;
    yard.stop_destination();
    until(browser, "document.querySelector('#rows').textContent.includes('Down')").await;
    assert_eq!(browser.evaluate("window.order() === window.before").await?, true);
    browser.evaluate("window.pick()").await?;
    until(browser, "window.order() !== window.before").await;
    Ok(())
}

/// Counts messages and connections of a page, and hides it. `window.show` shows it.
const HIDDEN: &str = "
    window.asked = [];
    const plain = window.fetch;
    window.fetch = (address, options) => {
        if (String(address).includes('/console/live/')) window.asked.push(options.headers['Last-Event-ID']);
        return plain(address, options);
    };
    window.isHidden = true;
    Object.defineProperty(document, 'hidden', { get: () => window.isHidden });
    window.show = (isShown) => {
        window.isHidden = !isShown;
        document.dispatchEvent(new Event('visibilitychange'));
    };
    window.messages = 0;
    document.addEventListener('htmx:sse:after:message', () => { window.messages += 1; });";

/// A hidden tab reads no updates while the yard changes on and on. When it is shown again, it gets what it missed.
async fn a_hidden_tab_pauses(browser: &Browser, changes: &AtomicU64) -> Result<()> {
    let hide = format!("(() => {{ {HIDDEN} window.show(false); return true; }})()");
    assert_eq!(browser.evaluate(&hide).await?, true);
    is_paused(browser, changes, 0).await
}

/// A tab that is opened in the background reads one message, and pauses until it is shown.
async fn a_tab_in_the_background_pauses(
    browser: &Browser,
    changes: &AtomicU64,
    url: &str,
) -> Result<()> {
    browser.run_in_each_page(&format!("(() => {{ {HIDDEN} }})()")).await?;
    browser.open(url).await?;
    until(browser, "window.messages > 0").await;
    is_paused(browser, changes, 1).await
}

/// The hidden page, which asked for its stream this many times, reads nothing until it is shown.
async fn is_paused(browser: &Browser, changes: &AtomicU64, asked: usize) -> Result<()> {
    let further = |count: u64| {
        let wanted = changes.load(Ordering::Relaxed) + count;
        eventually_some("the yard changes while the tab is hidden", move || async move {
            (changes.load(Ordering::Relaxed) > wanted).then_some(())
        })
    };
    // A message that had arrived before is still shown.
    further(10).await;
    let read = browser.evaluate("window.messages").await?;
    further(CHANGES / 2).await;
    assert_eq!(browser.evaluate("window.messages").await?, read, "a hidden tab reads updates");
    let connected = browser.evaluate("window.asked.length").await?;
    assert_eq!(connected, asked, "a hidden tab connects again");
    browser.evaluate("window.show(true)").await?;
    let again = format!("window.messages > {read} && window.asked.length === {}", asked + 1);
    until(browser, &again).await;
    until(browser, &format!("/^[0-9a-f]{{24,}}$/.test(window.asked[{asked}])")).await;
    until(browser, "!document.documentElement.classList.contains('is-stale')").await;
    Ok(())
}
