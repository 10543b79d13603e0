//! The console by keys only: where the focus is, and which changes a screen reader announces.

use anyhow::Result;
use reelyard_integration_tests::probes::browser::Browser;

use super::super::console_yard::ConsoleYard;
use super::looking::{signed_in, until, without_errors};

/// Keys of the WebDriver protocol.
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
const TAB: &str = "\u{e004}";
const SHIFT: &str = "\u{e008}";
const CONTROL: &str = "\u{e009}";
const DOWN: &str = "\u{e015}";
const RELEASE: &str = "\u{e000}";

async fn open(yard: &ConsoleYard, browser: &Browser, page: &str) -> Result<()> {
    browser.open(&format!("{}/console{page}", yard.url())).await?;
    // The page before may be on its way still, if a key has asked for it.
    let path = page.split('?').next().unwrap_or_default();
    let is_there =
        format!("location.pathname === '/console{path}' && document.readyState === 'complete'");
    until(browser, &is_there).await;
    Ok(())
}

/// The parts share a yard and a browser, because these take most of the time.
#[tokio::test]
async fn the_console_is_used_by_keys_only() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let browser = signed_in(&yard).await?;
    a_panel_takes_the_focus_and_gives_it_back(&yard, &browser).await?;
    a_dialog_keeps_the_focus_and_leaves_by_escape(&yard, &browser).await?;
    a_filter_keeps_the_focus_and_announces_its_count(&yard, &browser).await?;
    letters_lead_to_pages_and_menus_close_by_escape(&yard, &browser).await?;
    rows_are_picked_and_an_action_is_confirmed(&yard, &browser).await?;
    the_palette_finds_and_acts(&yard, &browser).await?;
    nothing_moves_for_a_person_who_prefers_that(&yard, &browser).await?;
    without_errors(&browser, "keys").await
}

async fn a_panel_takes_the_focus_and_gives_it_back(
    yard: &ConsoleYard,
    browser: &Browser,
) -> Result<()> {
    open(yard, browser, "/files").await?;
    browser.press("j").await?;
    until(browser, "!!document.activeElement.closest('[data-rows] tbody tr')").await;
    let row = browser.evaluate("document.activeElement.closest('tr').textContent").await?;
    browser.press("w").await?;
    until(browser, "document.activeElement.id === 'why-title'").await;
    browser.press(ESCAPE).await?;
    until(browser, "!location.search && !!document.activeElement.closest('tbody tr')").await;
    let back = browser.evaluate("document.activeElement.closest('tr').textContent").await?;
    assert_eq!(back, row);
    Ok(())
}

async fn a_dialog_keeps_the_focus_and_leaves_by_escape(
    yard: &ConsoleYard,
    browser: &Browser,
) -> Result<()> {
    let host = yard.ground.destination(0).to_string();
    open(yard, browser, &format!("/hosts?ask=drain&pick={host}")).await?;
    let within = "document.activeElement.closest('[data-dialog]') !== null";
    until(browser, within).await;
    for _ in 0..12 {
        browser.press(TAB).await?;
        assert_eq!(browser.evaluate(within).await?, true, "the focus left the dialog");
    }
    // A dialog that begins with a list.
    open(yard, browser, "/access?ask=role&name=alice").await?;
    until(browser, "document.activeElement.matches('[data-dialog] select')").await;
    for keys in [format!("{SHIFT}{TAB}{RELEASE}"), TAB.to_owned()] {
        browser.press(&keys).await?;
        assert_eq!(browser.evaluate(within).await?, true, "the focus left the list");
    }
    assert_eq!(browser.evaluate("document.activeElement.tagName").await?, "SELECT");
    open(yard, browser, &format!("/hosts?ask=drain&pick={host}")).await?;
    until(browser, within).await;
    browser.press(ESCAPE).await?;
    // The page without the dialog is loaded as a whole.
    let is_closed = "document.readyState === 'complete' && !location.search.includes('ask=') && \
                     !document.querySelector('[data-dialog]')";
    until(browser, is_closed).await;
    // Nothing was done.
    let mode = yard.curl(&["-H", &yard.ground.bearer(), "/api/v1/hosts"])?.body;
    assert!(!mode.contains("draining"), "{mode}");
    Ok(())
}

async fn a_filter_keeps_the_focus_and_announces_its_count(
    yard: &ConsoleYard,
    browser: &Browser,
) -> Result<()> {
    open(yard, browser, "/files").await?;
    browser.evaluate("window.status0 = document.querySelector('#filter-status')").await?;
    let before = browser.text("#filter-status").await?;
    browser.press("/").await?;
    until(browser, "document.activeElement.matches('[data-filter]')").await;
    browser.press("gamma").await?;
    until(browser, "!document.querySelector('#rows').textContent.includes('alpha')").await;
    until(browser, "document.activeElement.matches('[data-filter]')").await;
    // A screen reader announces a change only within an element that stays.
    let stays = "window.status0 === document.querySelector('#filter-status') && \
                 window.status0.getAttribute('role') === 'status'";
    let facts = "location.href + ' ' + !!window.status0 + ' ' + \
                 document.querySelector('#filter-status')?.outerHTML";
    let facts = browser.evaluate(facts).await?;
    assert_eq!(browser.evaluate(stays).await?, true, "{facts}");
    assert_ne!(browser.text("#filter-status").await?, before);
    Ok(())
}

async fn letters_lead_to_pages_and_menus_close_by_escape(
    yard: &ConsoleYard,
    browser: &Browser,
) -> Result<()> {
    open(yard, browser, "").await?;
    browser.press("g").await?;
    browser.press("t").await?;
    until(browser, "location.pathname === '/console/tasks'").await;
    browser.press("?").await?;
    until(browser, "document.querySelector('#keys').open").await;
    browser.press(ESCAPE).await?;
    until(browser, "!document.querySelector('#keys').open").await;
    // The sheet also leads to the chapter about the page.
    browser.press("?").await?;
    until(browser, "document.querySelector('#keys').open").await;
    browser.click("#keys a.btn").await?;
    until(browser, "location.pathname === '/console/guide/copies'").await;
    until(browser, "!!document.querySelector('article h1')").await;
    let menu = "document.querySelectorAll('.top details.menu')[1]";
    browser.evaluate(&format!("{menu}.querySelector('summary').focus()")).await?;
    browser.press(ENTER).await?;
    until(browser, &format!("{menu}.open")).await;
    browser.press(ESCAPE).await?;
    until(browser, &format!("!{menu}.open && document.activeElement.tagName === 'SUMMARY'")).await;
    let live = "document.querySelector('#live').getAttribute('role') === 'status'";
    assert_eq!(browser.evaluate(live).await?, true);
    Ok(())
}

/// Keys only: a row is picked, its action asked for, confirmed and taken back.
async fn rows_are_picked_and_an_action_is_confirmed(
    yard: &ConsoleYard,
    browser: &Browser,
) -> Result<()> {
    let host = yard.ground.destination(0).to_string();
    open(yard, browser, "/hosts?role=destination").await?;
    browser.press("j").await?;
    until(browser, "!!document.activeElement.closest('[data-rows] tbody tr')").await;
    browser.press("x").await?;
    until(browser, "document.querySelector('.bulk').dataset.picked === '1'").await;
    until(browser, "document.querySelector('[data-picked-sum]').textContent.includes('3 files')")
        .await;
    browser.evaluate("document.querySelector('.bulk button[value=maintenance]').focus()").await?;
    browser.press(ENTER).await?;
    until(browser, "!!document.activeElement.closest('[data-dialog]')").await;
    browser.press(ENTER).await?;
    until(
        browser,
        "!document.querySelector('[data-dialog]') && !!document.querySelector('[data-toast]')",
    )
    .await;
    until(browser, "document.querySelector('#rows').textContent.includes('maintenance')").await;
    let path = format!("/api/v1/hosts/{host}");
    let mode = || Ok::<_, anyhow::Error>(yard.curl(&["-H", &yard.ground.bearer(), &path])?.body);
    assert!(mode()?.contains("maintenance"));
    let visit = yard.visit("keys", "operator")?;
    assert_eq!(yard.post(&visit, &format!("/console/hosts/{host}/active"), &[])?.status, 303);
    Ok(())
}

/// Ctrl K opens the palette over any page. Arrows lead through its list, and Enter in the field opens the first hit.
async fn the_palette_finds_and_acts(yard: &ConsoleYard, browser: &Browser) -> Result<()> {
    let host = yard.ground.destination(0).to_string();
    let ctrl_k = format!("{CONTROL}k{RELEASE}");
    open(yard, browser, "/plan").await?;
    browser.press(&ctrl_k).await?;
    until(browser, "document.activeElement.matches('#palette[open] input[type=search]')").await;
    browser.press("gamma").await?;
    until(browser, "document.querySelector('#found').textContent.includes('beta gamma.mpg')").await;
    browser.press(DOWN).await?;
    until(browser, "document.activeElement.matches('#found a')").await;
    browser.press(ESCAPE).await?;
    until(
        browser,
        "!document.querySelector('#palette').open && location.pathname === '/console/plan'",
    )
    .await;
    browser.press(&ctrl_k).await?;
    until(browser, "document.activeElement.matches('#palette[open] input[type=search]')").await;
    browser.press(&format!("drain {host}")).await?;
    until(browser, &format!("document.querySelector('#found').dataset.q === 'drain {host}'")).await;
    browser.press(ENTER).await?;
    until(browser, "location.search === '?ask=drain' && !!document.querySelector('[data-dialog]')")
        .await;
    browser.press(ESCAPE).await?;
    let is_back = "document.readyState === 'complete' && location.search === ''";
    until(browser, is_back).await;
    // The page of a host offers its actions before anything is typed, with what was opened last above them.
    browser.press(&ctrl_k).await?;
    until(browser, "document.querySelector('#found').textContent.includes('Drain')").await;
    until(
        browser,
        &format!("document.querySelector('#recent').textContent.includes('Drain {host}')"),
    )
    .await;
    browser.press(ESCAPE).await?;
    Ok(())
}

async fn nothing_moves_for_a_person_who_prefers_that(
    yard: &ConsoleYard,
    browser: &Browser,
) -> Result<()> {
    open(yard, browser, "/hosts").await?;
    let moving = "[...document.querySelectorAll('*')].filter((element) => { \
        const style = getComputedStyle(element); \
        return style.animationName !== 'none' || style.transitionDuration !== '0s'; }).length";
    browser.prefer(&[("prefers-reduced-motion", "reduce")]).await?;
    assert_eq!(browser.evaluate(moving).await?, 0);
    browser.prefer(&[("prefers-reduced-motion", "no-preference")]).await?;
    assert_ne!(browser.evaluate(moving).await?, 0, "the check finds transitions");
    Ok(())
}
