//! Takes the pictures of the guide: `console_pictures DIRECTORY`. The pages are the samples of the console, because
//! their figures stay the same from one run to the next. `integration-tests/pictures` calls it.

use std::path::PathBuf;

use anyhow::{Context, Result};
use reelyard_integration_tests::probes::browser::Browser;
use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_integration_tests::rigs::pages::console_samples::ConsoleSamples;

/// Name of each picture, its sample page, and the height of its window. The width is [`WIDTH`].
const PICTURES: [(&str, &str, u32); 4] = [
    ("yard", "yard", 940),
    ("files", "files-why", 760),
    ("shares", "shares", 680),
    ("link", "link-file", 440),
];

/// The width of the window in pixels.
const WIDTH: u32 = 1440;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.context("usage: console_pictures DIRECTORY")?;
    std::fs::create_dir_all(&folder)?;
    let samples = ConsoleSamples::start()?;
    let browser = Browser::start(true).await?;
    browser.prefer(&[("prefers-reduced-motion", "reduce")]).await?;
    browser.hide_scroll_bars().await?;
    for language in ["en", "ko"] {
        for (name, page, height) in PICTURES {
            browser.resize(WIDTH, height).await?;
            browser.open(&samples.url(&format!("/{language}/{page}"))).await?;
            until_drawn(&browser).await;
            let file = folder.join(format!("{name}.{language}.png"));
            std::fs::write(&file, browser.picture(None).await?)?;
            println!("{}", file.display());
        }
    }
    Ok(())
}

/// Waits until all visible shapes have a size: they load from the sprite after the page.
async fn until_drawn(browser: &Browser) {
    let drawn = "document.fonts.status === 'loaded' && [...document.querySelectorAll('svg use')].every((shape) => \
                 !shape.checkVisibility() || shape.getBBox().width > 0)";
    eventually_some("all shapes are drawn", || async {
        let value = browser.evaluate(drawn).await.ok()?;
        (value.as_bool() == Some(true)).then_some(())
    })
    .await;
}
