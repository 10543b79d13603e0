//! A session that begins with a password, and sessions that end while a person types.

use anyhow::{Context, Result};
use reelyard_integration_tests::probes::browser::Browser;
use serde_json::Value;

use super::super::console_yard::{ConsoleYard, Visit};
use super::looking::{signed_in_as, until, until_shown, without_script_errors};

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
    let token = yard.token("one", "operator")?;
    let (first, again) = (yard.visit_with(&token)?, yard.visit_with(&token)?);
    let second = yard.visit("two", "operator")?;
    let browser = signed_in_as(&yard, &first).await?;

    // In a dialog.
    browser.open(&format!("{}/console/hosts?ask=maintenance&pick={host}", yard.url())).await?;
    browser.write("[data-dialog] input[name=reason]", "new fans").await?;
    sign_out(&yard, &first).await?;
    browser.click("[data-dialog] button.go").await?;
    until_shown(&browser, "[data-dialog] #session-over", "Your session has ended").await;
    let typed = "document.querySelector('[data-dialog] input[name=reason]').value === 'new fans'";
    assert_eq!(browser.evaluate(typed).await?, true);
    // Another person who signs in on another tab does not send what the first one typed.
    sign_in(&browser, &second).await?;
    browser.click("[data-dialog] button.go").await?;
    until_shown(&browser, "[data-dialog] #other-account", "Another account is signed in").await;
    assert_eq!(browser.evaluate(typed).await?, true);
    // After a sign-in of the same person the same form is sent.
    sign_in(&browser, &again).await?;
    browser.click("[data-dialog] button.go").await?;
    until_shown(&browser, "[data-toast]", "In maintenance: 1").await;

    // A button of a page, which stays as it is.
    browser.open(&format!("{}/console/hosts/{host}", yard.url())).await?;
    sign_out(&yard, &again).await?;
    browser.click("#host-acts button[formaction*='/active']").await?;
    until_shown(&browser, "main #session-over", "Nothing was done").await;

    // A second press sends nothing, and an update that removes the button does not hold up the first one.
    let presser = yard.visit("presser", "operator")?;
    sign_in(&browser, &presser).await?;
    browser.open(&format!("{}/console/hosts/{host}", yard.url())).await?;
    until(&browser, "!!document.querySelector(\"#host-acts button[formaction*='/active']\")").await;
    let press = "(() => { const button = document.querySelector(\"#host-acts button[formaction*='/active']\"); \
                 button.click(); button.click(); button.remove(); return true; })()";
    assert_eq!(browser.evaluate(press).await?, true);
    until_shown(&browser, "[data-toast]", "In operation again: 1").await;
    let rows = yard.curl(&["-H", &yard.ground.bearer(), "/api/v1/audit"])?.body;
    let rows: Value = serde_json::from_str(&rows)?;
    let rows = rows["items"].as_array().context("no rows")?;
    let is_press = |row: &&Value| row["actor"]["name"] == "presser" && row["status"] == 303;
    assert_eq!(rows.iter().filter(is_press).count(), 1, "{rows:?}");

    // A page that follows changes says it by itself.
    let third = yard.visit("three", "operator")?;
    sign_in(&browser, &third).await?;
    browser.open(&format!("{}/console/hosts", yard.url())).await?;
    until(&browser, "!document.documentElement.classList.contains('is-stale')").await;
    sign_out(&yard, &third).await?;
    until_shown(&browser, "main #session-ended", "The page shows the state before that").await;
    until(&browser, "document.querySelector('#stale-bar').hidden").await;
    // After a sign-in on another tab the page goes on.
    let later = yard.visit("three", "operator")?;
    sign_in(&browser, &later).await?;
    until(&browser, "document.querySelector('#session-ended').hidden").await;
    until(&browser, "!document.documentElement.classList.contains('is-stale')").await;
    sign_out(&yard, &later).await?;

    // A filter leads to the sign-in, which leads back to the filtered page.
    browser.write("#filters input[name=q]", "127").await?;
    until(&browser, "location.pathname === '/login'").await;
    until(&browser, "document.querySelector('[name=next]').value.includes('q=127')").await;
    without_script_errors(&browser).await
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
    until(&browser, "document.querySelector('#no-answer').hidden").await;
    browser.click("[data-dialog] button.go").await?;
    until_shown(&browser, "[data-toast]", "Being drained: 1").await;
    without_script_errors(&browser).await
}

#[tokio::test]
async fn a_person_signs_in_with_a_password_in_korean() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let wanted = r#"{"name":"ops-1","role":"operator","password":"a long enough password"}"#;
    let bearer = yard.ground.bearer();
    let arguments = ["-H", &bearer, "-H", "content-type: application/json", "-d", wanted];
    let made = yard.curl(&[&arguments[..], &["/api/v1/users"]].concat())?;
    assert_eq!(made.status, 201, "{}", made.body);
    let browser = Browser::start(false).await?;
    browser.open(&format!("{}/console/hosts", yard.url())).await?;
    browser.click("button[name=language]").await?;
    until_shown(&browser, "h1", "로그인").await;
    browser.write("#name", "ops-1").await?;
    browser.write("#password", "wrong\u{e007}").await?;
    until_shown(&browser, "[role=alert]", "이름 또는 비밀번호가 올바르지 않습니다.").await;
    browser.write("#password", "a long enough password\u{e007}").await?;
    until_shown(&browser, "h1", "호스트").await;
    Ok(())
}
