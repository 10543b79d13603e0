//! Updates touch nothing but what changed, even 50 changes a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use reelyard_protocol::http_client::without_tls;

use super::super::console_yard::ConsoleYard;
use super::visits::{signed_in_as, until};

/// Pause between two changes.
const PAUSE: Duration = Duration::from_millis(20);

/// Changes that the page must see.
const CHANGES: u64 = 250;

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
    let yard = ConsoleYard::start()?;
    let visit = yard.visit("one", "operator")?;
    let browser = signed_in_as(&yard, &visit).await?;
    browser.resize(1000, 420).await?;
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
    changing.abort();
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
    Ok(())
}
