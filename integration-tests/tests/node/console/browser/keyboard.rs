//! The console by keys only: where the focus is, and which changes a screen reader announces.

use anyhow::Result;
use reelyard_integration_tests::probes::browser::Browser;
use reelyard_integration_tests::probes::waiting::eventually_some;

use super::super::console_yard::ConsoleYard;
use super::visits::signed_in;

/// Keys of the WebDriver protocol.
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
const TAB: &str = "\u{e004}";

/// Waits until an expression of the page is true.
async fn until(browser: &Browser, expression: &str) {
    eventually_some(expression, || async {
        let value = browser.evaluate(expression).await.ok()?;
        (value.as_bool() == Some(true)).then_some(())
    })
    .await;
}

/// A browser with the session of an administrator, at this page.
async fn open(yard: &ConsoleYard, page: &str) -> Result<Browser> {
    let browser = signed_in(yard).await?;
    browser.open(&format!("{}/console{page}", yard.url())).await?;
    Ok(browser)
}

#[tokio::test]
async fn a_panel_takes_the_focus_and_gives_it_back() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let browser = open(&yard, "/files").await?;
    browser.press("j").await?;
    until(&browser, "!!document.activeElement.closest('[data-rows] tbody tr')").await;
    let row = browser.evaluate("document.activeElement.closest('tr').textContent").await?;
    browser.press("w").await?;
    until(&browser, "document.activeElement.id === 'why-title'").await;
    browser.press(ESCAPE).await?;
    until(&browser, "!location.search && !!document.activeElement.closest('tbody tr')").await;
    let back = browser.evaluate("document.activeElement.closest('tr').textContent").await?;
    assert_eq!(back, row);
    Ok(())
}

#[tokio::test]
async fn a_dialog_keeps_the_focus_and_leaves_by_escape() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let host = yard.ground.destination(0).to_string();
    let browser = open(&yard, &format!("/hosts?ask=drain&pick={host}")).await?;
    let within = "document.activeElement.closest('[data-dialog]') !== null";
    until(&browser, within).await;
    for _ in 0..12 {
        browser.press(TAB).await?;
        assert_eq!(browser.evaluate(within).await?, true, "the focus left the dialog");
    }
    browser.press(ESCAPE).await?;
    until(&browser, "!document.querySelector('[data-dialog]')").await;
    // Nothing was done.
    let mode = yard.curl(&["-H", &yard.ground.bearer(), "/api/v1/hosts"])?.body;
    assert!(!mode.contains("draining"), "{mode}");
    Ok(())
}

#[tokio::test]
async fn a_filter_keeps_the_focus_and_announces_its_count() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let browser = open(&yard, "/files").await?;
    browser.evaluate("window.status0 = document.querySelector('#filter-status')").await?;
    let before = browser.text("#filter-status").await?;
    browser.press("/").await?;
    until(&browser, "document.activeElement.matches('[data-filter]')").await;
    browser.press("gamma").await?;
    until(&browser, "!document.querySelector('#rows').textContent.includes('alpha')").await;
    until(&browser, "document.activeElement.matches('[data-filter]')").await;
    // A screen reader announces a change only within an element that stays.
    let stays = "window.status0 === document.querySelector('#filter-status') && \
                 window.status0.getAttribute('role') === 'status'";
    assert_eq!(browser.evaluate(stays).await?, true);
    assert_ne!(browser.text("#filter-status").await?, before);
    Ok(())
}

#[tokio::test]
async fn letters_lead_to_pages_and_menus_close_by_escape() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let browser = open(&yard, "").await?;
    browser.press("g").await?;
    browser.press("t").await?;
    until(&browser, "location.pathname === '/console/tasks'").await;
    browser.press("?").await?;
    until(&browser, "document.querySelector('#keys').open").await;
    browser.press(ESCAPE).await?;
    until(&browser, "!document.querySelector('#keys').open").await;
    let menu = "document.querySelectorAll('.top details.menu')[1]";
    browser.evaluate(&format!("{menu}.querySelector('summary').focus()")).await?;
    browser.press(ENTER).await?;
    until(&browser, &format!("{menu}.open")).await;
    browser.press(ESCAPE).await?;
    until(&browser, &format!("!{menu}.open && document.activeElement.tagName === 'SUMMARY'")).await;
    let live = "document.querySelector('#live').getAttribute('role') === 'status'";
    assert_eq!(browser.evaluate(live).await?, true);
    Ok(())
}

#[tokio::test]
async fn nothing_moves_for_a_person_who_prefers_that() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let browser = open(&yard, "/hosts").await?;
    let moving = "[...document.querySelectorAll('*')].filter((element) => { \
        const style = getComputedStyle(element); \
        return style.animationName !== 'none' || style.transitionDuration !== '0s'; }).length";
    browser.prefer(&[("prefers-reduced-motion", "reduce")]).await?;
    assert_eq!(browser.evaluate(moving).await?, 0);
    browser.prefer(&[("prefers-reduced-motion", "no-preference")]).await?;
    assert_ne!(browser.evaluate(moving).await?, 0, "the check finds transitions");
    Ok(())
}
