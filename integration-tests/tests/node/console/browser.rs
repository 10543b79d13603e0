//! The console in a real browser.

use anyhow::{Context, Result};
use reelyard_integration_tests::probes::browser::Browser;
use reelyard_integration_tests::probes::waiting::eventually_some;

use super::console_yard::ConsoleYard;

/// Waits until an element shows these words.
async fn until_shown(browser: &Browser, selector: &str, words: &str) {
    eventually_some(&format!("{selector} shows {words}"), || async {
        browser.text(selector).await.ok()?.filter(|text| text.contains(words))
    })
    .await;
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
    browser.click("button").await?;
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
