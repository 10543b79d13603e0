//! axe-core on every page, in both languages and all themes, and reflow down to 320 pixels.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use reelyard_integration_tests::probes::accessibility::{
    AXE_SHA256, AxeRules, axe_bytes, small_targets, too_wide, violations, watch, wordless,
};
use reelyard_integration_tests::probes::browser::Browser;
use reelyard_integration_tests::rigs::console_samples::ConsoleSamples;
use sha2::{Digest, Sha256};

use super::super::console_yard::ConsoleYard;
use super::visits::signed_in;

/// A wide and a narrow window.
const WIDE: (u32, u32) = (1440, 900);
const NARROW: (u32, u32) = (390, 844);

/// Widths down to which no page is wider than its window, for pages that have all parts between them.
const WIDTHS: [u32; 5] = [320, 390, 768, 1024, 1440];

/// The same for all other pages, whose frame and parts are those: the narrowest width, and one with a side bar.
const OTHER_WIDTHS: [u32; 2] = [320, 1024];

async fn set_theme(browser: &Browser, theme: &str) -> Result<()> {
    browser.evaluate(&format!("document.documentElement.dataset.theme = '{theme}'")).await.map(drop)
}

#[test]
fn axe_core_is_the_published_file() {
    let digest = Sha256::digest(axe_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, AXE_SHA256);
    let text = String::from_utf8_lossy(axe_bytes());
    assert!(text.starts_with("/*! axe v4.14.1") && text.contains("Mozilla Public"));
}

/// Width and height of a PNG, which follow its first chunk's name.
fn size_of(png: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from_be_bytes(png.get(at..at + 4)?.try_into().ok()?));
    Some((number(16)?, number(20)?))
}

#[tokio::test]
async fn a_short_page_has_no_scroll_bar() -> Result<()> {
    let pages = ConsoleSamples::start()?;
    let browser = Browser::start(true).await?;
    browser.resize(WIDE.0, WIDE.1).await?;
    for page in ["/en/files-nothing", "/ko/files-nothing"] {
        browser.open(&pages.url(page)).await?;
        let spare = "document.documentElement.scrollHeight - innerHeight";
        assert_eq!(browser.evaluate(spare).await?, 0, "{page}");
    }
    Ok(())
}

#[tokio::test]
async fn a_picture_has_the_width_of_its_window() -> Result<()> {
    let pages = ConsoleSamples::start()?;
    let browser = Browser::start(true).await?;
    browser.resize(NARROW.0, NARROW.1).await?;
    browser.open(&pages.url("/en/yard")).await?;
    let has_bar = "innerWidth > document.documentElement.clientWidth";
    assert_eq!(browser.evaluate(has_bar).await?, true, "the page has no scroll bar");
    assert_eq!(size_of(&browser.picture(None).await?), Some(NARROW));
    assert_eq!(size_of(&browser.picture(Some(600)).await?), Some((NARROW.0, 600)));
    Ok(())
}

/// Samples whose elements are all on another sample too.
const REPEATED: [&str; 13] = [
    "yard-healthy",
    "yard-empty",
    "files",
    "files-nothing",
    "map-table",
    "link-held",
    "link-password",
    "link-revoked",
    "link-throttled",
    "link-absent",
    "link-unreadable",
    "sign-in-link",
    "refusal-busy",
];

/// Samples that have all parts between them. Colours come from tokens, so that other pages repeat their pairs.
const OF_ALL_THEMES: [&str; 14] = [
    "/yard",
    "/hosts-ask",
    "/host",
    "/files-why",
    "/tasks",
    "/plan",
    "/map",
    "/boxes",
    "/shares",
    "/cluster",
    "/settings",
    "/refusal",
    "/link-file",
    "/sign-in-wrong",
];

/// The checks report faults that are put into the page: otherwise an empty result would prove nothing.
async fn faults_are_found(browser: &Browser) -> Result<()> {
    let planted = "(() => {
        const add = (name, into = document.querySelector('main')) =>
            into.appendChild(document.createElement(name));
        add('img').src = 'data:,';
        const button = add('button');
        button.className = 'planted';
        add('span').className = 'st bad';
        const grey = add('div');
        grey.textContent = 'hardly visible';
        grey.id = 'grey';
        const sheet = new CSSStyleSheet();
        sheet.replaceSync('#grey { color: #ddd; background: #fff; } .planted { width: 9px; height: 9px; \
            padding: 0; display: block; } #wide { width: 3000px; height: 1px; }');
        document.adoptedStyleSheets = [sheet];
        add('div').id = 'wide';
    })()";
    browser.evaluate(planted).await?;
    let all = violations(browser, AxeRules::All).await?.join("\n");
    for rule in ["image-alt", "button-name", "color-contrast"] {
        ensure!(all.contains(rule), "axe does not report {rule}: {all}");
    }
    let colours = violations(browser, AxeRules::Colours).await?.join("\n");
    ensure!(colours.contains("color-contrast") && !colours.contains("button-name"), "{colours}");
    let others = violations(browser, AxeRules::WithoutColours).await?.join("\n");
    ensure!(!others.contains("color-contrast") && others.contains("button-name"), "{others}");
    ensure!(wordless(browser).await?.len() == 1, "a state without words is not reported");
    ensure!(small_targets(browser).await?.len() == 1, "a small target is not reported");
    ensure!(too_wide(browser).await?.len() > 1, "a page that is too wide is not reported");
    Ok(())
}

/// The paths of the samples in this language, without [`REPEATED`].
fn paths<'s>(pages: &'s ConsoleSamples, language: &str) -> Vec<&'s str> {
    let start = format!("/{language}/");
    let of_language =
        pages.paths.iter().filter_map(|path| Some((path, path.strip_prefix(&start)?)));
    let once = of_language.filter(|(_, name)| !REPEATED.contains(name));
    once.map(|(path, _)| path.as_str()).collect()
}

#[tokio::test]
async fn axe_finds_nothing_on_english_pages_in_any_theme() -> Result<()> {
    let pages = ConsoleSamples::start()?;
    let browser = Browser::start(true).await?;
    watch(&browser).await?;
    browser.resize(WIDE.0, WIDE.1).await?;
    browser.open(&pages.url("/en/find")).await?;
    faults_are_found(&browser).await?;
    let mut found = Vec::new();
    for path in paths(&pages, "en") {
        browser.open(&pages.url(path)).await?;
        let mut add = |place: &str, lines: Vec<String>| {
            found.extend(lines.into_iter().map(|line| format!("{path}, {place}: {line}")));
        };
        add("light", violations(&browser, AxeRules::All).await?);
        if !OF_ALL_THEMES.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        for theme in ["dark", "contrast"] {
            set_theme(&browser, theme).await?;
            add(theme, violations(&browser, AxeRules::Colours).await?);
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}

/// Colours do not depend on the language or on the width.
#[tokio::test]
async fn axe_finds_nothing_on_korean_pages_in_a_narrow_window() -> Result<()> {
    let pages = ConsoleSamples::start()?;
    let browser = Browser::start(true).await?;
    watch(&browser).await?;
    browser.resize(NARROW.0, NARROW.1).await?;
    let mut found = Vec::new();
    for path in paths(&pages, "ko") {
        browser.open(&pages.url(path)).await?;
        let lines = violations(&browser, AxeRules::WithoutColours).await?;
        found.extend(lines.into_iter().map(|line| format!("{path}: {line}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}

#[tokio::test]
async fn every_page_reflows_has_targets_of_24_pixels_and_no_wordless_state() -> Result<()> {
    let pages = ConsoleSamples::start()?;
    let browser = Browser::start(true).await?;
    let mut found = Vec::new();
    for path in &pages.paths {
        browser.open(&pages.url(path)).await?;
        let lines = wordless(&browser).await?;
        found.extend(lines.into_iter().map(|line| format!("{path}: {line}")));
        let has_new_parts =
            path.starts_with("/en/") && OF_ALL_THEMES.iter().any(|name| path.ends_with(name));
        for width in if has_new_parts { &WIDTHS[..] } else { &OTHER_WIDTHS[..] } {
            browser.resize(*width, 900).await?;
            let lines = [too_wide(&browser).await?, small_targets(&browser).await?].concat();
            found.extend(lines.into_iter().map(|line| format!("{path} at {width}: {line}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}

#[tokio::test]
async fn axe_finds_nothing_on_the_pages_of_a_node() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let browser = signed_in(&yard).await?;
    watch(&browser).await?;
    browser.resize(WIDE.0, WIDE.1).await?;
    let mut found = Vec::new();
    let pages = [
        "",
        "/hosts",
        "/files",
        "/files?why=alpha.mpg",
        "/tasks",
        "/plan",
        "/map",
        "/shares",
        "/shares?new=true&path=movies/alpha.mpg",
        "/boxes",
        "/history",
        "/audit",
        "/cluster",
        "/settings",
        "/access",
        "/access?ask=new-token",
        "/guide",
        "/find?q=alpha",
    ];
    let host = format!("/hosts/{}", yard.ground.destination(0));
    for page in pages.into_iter().chain([host.as_str()]) {
        browser.open(&format!("{}/console{page}", yard.url())).await?;
        let lines = violations(&browser, AxeRules::All).await?;
        found.extend(lines.into_iter().map(|line| format!("{page}: {line}")));
        keep_picture(&browser, page, "wide").await?;
        set_theme(&browser, "dark").await?;
        browser.resize(NARROW.0, NARROW.1).await?;
        keep_picture(&browser, page, "narrow").await?;
        browser.resize(WIDE.0, WIDE.1).await?;
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    let errors = browser.console_errors().await?;
    assert!(errors.is_empty(), "{errors:?}");
    Ok(())
}

/// Keeps the picture of a page in `target/console-pictures`, for people who compare it with the design.
pub(super) async fn keep_picture(browser: &Browser, page: &str, window: &str) -> Result<()> {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.parent().unwrap_or(&target).join("console-pictures");
    std::fs::create_dir_all(&folder)?;
    let letters = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let name: String = page.chars().map(letters).collect();
    let picture = browser.picture(Some(2400)).await?;
    std::fs::write(folder.join(format!("console{name}.{window}.png")), picture)?;
    Ok(())
}
