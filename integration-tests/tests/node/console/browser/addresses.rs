//! Each state of a list is an address: Back, and a link that is pasted elsewhere, show the same rows.

use anyhow::{Result, ensure};
use reelyard_integration_tests::probes::browser::Browser;
use serde_json::{Value, json};

use super::super::console_yard::ConsoleYard;
use super::looking::{signed_in_as, until, until_shown, without_errors};

/// The names of the rows, which are the same however old they are.
const ROWS: &str = "[...document.querySelectorAll('#rows tbody tr')].map((row) => row.id + \
    [...row.querySelectorAll('a, .mono.b, td.file')].map((name) => name.textContent).join())";

/// The lists, each with a part of a name that some of its rows have.
const LISTS: [(&str, &str); 7] = [
    ("/hosts", "127."),
    ("/files", "a.mpg"),
    ("/tasks", "gamma"),
    ("/shares", "gamma"),
    ("/history", "gamma"),
    ("/audit", "console.createShare"),
    ("/settings", "limit"),
];

/// The rows and the address of a page at rest.
async fn state(browser: &Browser) -> Result<(Value, Value)> {
    Ok((
        browser.evaluate(ROWS).await?,
        browser.evaluate("location.pathname + location.search").await?,
    ))
}

/// Waits until the page has this address and these rows.
async fn until_state(browser: &Browser, (rows, address): &(Value, Value)) {
    let expression = format!(
        "location.pathname + location.search === {address} && JSON.stringify({ROWS}) === JSON.stringify({rows})"
    );
    until(browser, &expression).await;
}

#[tokio::test]
async fn back_and_a_pasted_address_show_the_same_rows() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let visit = yard.visit("boss", "admin")?;
    for name in ["alpha.mpg", "beta gamma.mpg"] {
        let made =
            yard.post(&visit, "/console/shares/new", &[&format!("path=movies/{name}"), "ttl=1h"])?;
        ensure!(made.status == 200, "{}", made.body);
    }
    let browser = signed_in_as(&yard, &visit).await?;
    let other = signed_in_as(&yard, &visit).await?;
    for (list, part) in LISTS {
        browser.open(&format!("{}/console{list}", yard.url())).await?;
        until_shown(&browser, "#rows", "").await;
        let whole = state(&browser).await?;
        ensure!(whole.0 != json!([]), "{list} has no rows");
        let field = match list {
            "/audit" => "input[name=action]",
            _ => "#filters input[name=q]",
        };
        // As pasted: each pause of a person who types is a state of its own.
        let paste = format!(
            "(() => {{ const field = document.querySelector({}); field.value = {}; \
             field.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()",
            json!(field),
            json!(part)
        );
        browser.evaluate(&paste).await?;
        until(&browser, "location.search !== '' && !document.querySelector('.htmx-request')").await;
        until(&browser, &format!("JSON.stringify({ROWS}) !== '[]'")).await;
        let filtered = state(&browser).await?;
        let sorts = "!!document.querySelector('#rows thead th a')";
        if browser.evaluate(sorts).await? == true {
            browser.click("#rows thead th a").await?;
            until(&browser, "location.search.includes('sort=')").await;
            until(&browser, "document.readyState === 'complete'").await;
            let sorted = state(&browser).await?;
            browser.evaluate("history.back()").await?;
            until_state(&browser, &filtered).await;
            browser.evaluate("history.forward()").await?;
            until_state(&browser, &sorted).await;
            browser.evaluate("history.back()").await?;
            until_state(&browser, &filtered).await;
        }
        let address = filtered.1.as_str().unwrap_or_default();
        other.open(&format!("{}{address}", yard.url())).await?;
        until_state(&other, &filtered).await;
        let shown =
            other.evaluate(&format!("document.querySelector({}).value", json!(field))).await?;
        assert_eq!(shown, part, "{list}");
        browser.evaluate("history.back()").await?;
        until_state(&browser, &whole).await;
    }
    without_errors(&other, "pasted addresses").await?;
    without_errors(&browser, "addresses").await
}
