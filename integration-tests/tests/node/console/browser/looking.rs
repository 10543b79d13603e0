//! Looking at a page in a real browser: sessions, waiting for what is shown, and the messages of the browser.

use anyhow::{Result, ensure};
use reelyard_integration_tests::probes::browser::Browser;
use reelyard_integration_tests::probes::waiting::eventually_some;

use super::super::console_yard::{ConsoleYard, Visit};

/// Waits until an element shows these words.
pub(super) async fn until_shown(browser: &Browser, selector: &str, words: &str) {
    eventually_some(&format!("{selector} shows {words}"), || async {
        browser.text(selector).await.ok()?.filter(|text| text.contains(words))
    })
    .await;
}

/// A browser with the session of an administrator.
pub(super) async fn signed_in(yard: &ConsoleYard) -> Result<Browser> {
    signed_in_as(yard, &yard.visit("boss", "admin")?).await
}

/// A browser with this session.
pub(super) async fn signed_in_as(yard: &ConsoleYard, visit: &Visit) -> Result<Browser> {
    let browser = Browser::start(true).await?;
    browser.open(&format!("{}/login", yard.url())).await?;
    let secret = visit.cookie.trim_start_matches("Cookie: reelyard_session=");
    browser.keep_cookie("reelyard_session", secret).await?;
    // Without a zone the first page loads itself again at some moment.
    browser.keep_cookie("reelyard_zone", "UTC").await?;
    Ok(browser)
}

/// Waits until an expression of the page is true.
pub(super) async fn until(browser: &Browser, expression: &str) {
    eventually_some(expression, || async {
        let value = browser.evaluate(expression).await.ok()?;
        (value.as_bool() == Some(true)).then_some(())
    })
    .await;
}

/// Fails with the messages of the browser besides those about refusals and cut streams, which some tests
/// provoke.
pub(super) async fn without_script_errors(browser: &Browser) -> Result<()> {
    let mut errors = browser.console_errors().await?;
    let provoked = ["Failed to load resource", "htmx:sse:error"];
    errors.retain(|error| !provoked.iter().any(|words| error.contains(words)));
    ensure!(errors.is_empty(), "{errors:?}");
    Ok(())
}

/// Fails with the messages of the browser: script errors, and reports of the content policy.
pub(super) async fn without_errors(browser: &Browser, place: &str) -> Result<()> {
    let errors = browser.console_errors().await?;
    ensure!(errors.is_empty(), "{place}: {errors:?}");
    Ok(())
}
