//! A session that ends while a person types.

use anyhow::Result;
use reelyard_integration_tests::probes::browser::Browser;

use super::super::console_yard::{ConsoleYard, Visit};
use super::visits::{signed_in_as, until, until_shown};

async fn sign_out(yard: &ConsoleYard, visit: &Visit) -> Result<()> {
    let csrf = format!("csrf_token={}", visit.csrf);
    let out = yard.curl(&["-H", &visit.cookie, "-d", &csrf, "/logout"])?;
    assert_eq!(out.status, 303, "{}", out.body);
    Ok(())
}

async fn sign_in(browser: &Browser, visit: &Visit) -> Result<()> {
    let secret = visit.cookie.trim_start_matches("Cookie: reelyard_session=");
    browser.keep_cookie("reelyard_session", secret).await
}

#[tokio::test]
async fn typed_text_stays_when_the_session_ends() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let host = yard.ground.destination(0).to_string();
    let (first, second) = (yard.visit("one", "operator")?, yard.visit("two", "operator")?);
    let browser = signed_in_as(&yard, &first).await?;

    // In a dialog.
    browser.open(&format!("{}/console/hosts?ask=maintenance&pick={host}", yard.url())).await?;
    browser.write("[data-dialog] input[name=reason]", "new fans").await?;
    sign_out(&yard, &first).await?;
    browser.click("[data-dialog] button.go").await?;
    until_shown(&browser, "[data-dialog] #session-over", "Your session has ended").await;
    let typed = "document.querySelector('[data-dialog] input[name=reason]').value === 'new fans'";
    assert_eq!(browser.evaluate(typed).await?, true);
    // After a sign-in on another tab the same form is sent, by the person who signed in.
    sign_in(&browser, &second).await?;
    browser.click("[data-dialog] button.go").await?;
    until_shown(&browser, "[data-toast]", "In maintenance: 1").await;

    // A button of a page, which stays as it is.
    browser.open(&format!("{}/console/hosts/{host}", yard.url())).await?;
    sign_out(&yard, &second).await?;
    browser.click("#host-acts button[formaction$='/active']").await?;
    until_shown(&browser, "main #session-over", "Nothing was done").await;

    // A page that follows changes says it by itself.
    let third = yard.visit("three", "operator")?;
    sign_in(&browser, &third).await?;
    browser.open(&format!("{}/console/hosts", yard.url())).await?;
    until(&browser, "!document.documentElement.classList.contains('is-stale')").await;
    sign_out(&yard, &third).await?;
    until_shown(&browser, "main #session-over", "Your session has ended").await;

    // A filter leads to the sign-in, which leads back to the filtered page.
    browser.write("#filters input[name=q]", "127").await?;
    until(&browser, "location.pathname === '/login'").await;
    until(&browser, "document.querySelector('[name=next]').value.includes('q=127')").await;
    Ok(())
}

#[tokio::test]
async fn typed_text_stays_while_the_node_is_away() -> Result<()> {
    let mut yard = ConsoleYard::start()?;
    let visit = yard.visit("one", "operator")?;
    let browser = signed_in_as(&yard, &visit).await?;
    let host = yard.ground.destination(0).to_string();
    browser.open(&format!("{}/console/hosts?ask=drain&pick={host}", yard.url())).await?;
    browser.write("[data-dialog] input[name=reason]", "noisy disk").await?;
    yard.node.kill();
    browser.click("[data-dialog] button.go").await?;
    until_shown(&browser, "[data-dialog] #no-answer", "The node does not answer").await;
    yard.node.start_again()?;
    until(&browser, "fetch('/console/session').then((answer) => answer.ok, () => false)").await;
    browser.click("[data-dialog] button.go").await?;
    until_shown(&browser, "[data-toast]", "Being drained: 1").await;
    Ok(())
}
