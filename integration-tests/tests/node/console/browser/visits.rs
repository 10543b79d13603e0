//! A person at the console of a node.

use anyhow::{Context, Result};
use reelyard_integration_tests::probes::browser::Browser;
use reelyard_integration_tests::probes::waiting::eventually_some;

use super::super::console_yard::ConsoleYard;

/// Waits until an element shows these words.
async fn until_shown(browser: &Browser, selector: &str, words: &str) {
    eventually_some(&format!("{selector} shows {words}"), || async {
        browser.text(selector).await.ok()?.filter(|text| text.contains(words))
    })
    .await;
}

/// A browser with the session of an administrator.
pub(super) async fn signed_in(yard: &ConsoleYard) -> Result<Browser> {
    let visit = yard.visit("boss", "admin")?;
    let browser = Browser::start(true).await?;
    browser.open(&format!("{}/login", yard.url())).await?;
    let secret = visit.cookie.trim_start_matches("Cookie: reelyard_session=");
    browser.keep_cookie("reelyard_session", secret).await?;
    Ok(browser)
}

#[tokio::test]
async fn a_person_makes_a_link_and_a_visitor_opens_it() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let browser = signed_in(&yard).await?;
    let form = "/console/shares?new=true&path=movies/alpha.mpg";
    browser.open(&format!("{}{form}", yard.url())).await?;
    browser.write("#why input[name=max_downloads]", "3").await?;
    browser.click("#why button.go").await?;
    until_shown(&browser, "#why .preview", "movies/alpha.mpg").await;
    let link = browser.text("#why .cmd code").await?.context("no link")?;
    browser.open(&link).await?;
    until_shown(&browser, "h1", "alpha.mpg").await;
    until_shown(&browser, "main", "3 of 3 downloads left").await;
    browser.click("button[data-copy]").await?;
    until_shown(&browser, "button[data-copy]", "Copied").await;
    browser.click("button[name=language]").await?;
    until_shown(&browser, "main", "다운로드 3회 중 3회 남음").await;
    let errors = browser.console_errors().await?;
    assert!(errors.is_empty(), "{errors:?}");
    Ok(())
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

#[tokio::test]
async fn a_person_logs_in_and_reads_the_pages_without_an_error() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let log = yard.node.log_text();
    let link = log.split("/login?link=").nth(1).context("no link")?;
    let link: String =
        link.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
    let browser = Browser::start(true).await?;
    browser.open(&format!("{}/login?link={link}", yard.url())).await?;
    browser.click("main button").await?;
    for (path, word) in [
        ("/console", "Copies running"),
        ("/console/hosts", "troubled ones first"),
        ("/console/files", "alpha.mpg"),
        ("/console/tasks", "beta gamma.mpg"),
    ] {
        browser.open(&format!("{}{path}", yard.url())).await?;
        until_shown(&browser, "body", word).await;
    }
    browser.write("#filters input[name=q]", "gamma").await?;
    until_shown(&browser, "#rows", "beta gamma.mpg").await;
    let errors = browser.console_errors().await?;
    assert!(errors.is_empty(), "{errors:?}");
    Ok(())
}
