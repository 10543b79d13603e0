//! axe-core on every page, in both languages and all themes, and reflow down to 320 pixels.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use reelyard_integration_tests::probes::accessibility::{
    AXE_SHA256, AxeRules, axe_bytes, small_targets, too_wide, violations, watch, wordless,
};
use reelyard_integration_tests::probes::browser::Browser;
use reelyard_integration_tests::rigs::pages::console_samples::ConsoleSamples;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::super::console_yard::ConsoleYard;
use super::looking::until;
use super::visits::{by_login_link, make_pool};

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
async fn only_a_long_page_scrolls_and_a_picture_has_its_width() -> Result<()> {
    let pages = ConsoleSamples::start()?;
    let browser = Browser::start(true).await?;
    browser.resize(WIDE.0, WIDE.1).await?;
    for page in ["/en/files-nothing", "/ko/files-nothing"] {
        browser.open(&pages.url(page)).await?;
        let spare = "document.documentElement.scrollHeight - innerHeight";
        assert_eq!(browser.evaluate(spare).await?, 0, "{page}");
    }
    browser.resize(NARROW.0, NARROW.1).await?;
    browser.open(&pages.url("/en/yard")).await?;
    let scrolls = "document.documentElement.scrollHeight > innerHeight";
    assert_eq!(browser.evaluate(scrolls).await?, true);
    assert_eq!(size_of(&browser.picture(None).await?), Some(NARROW));
    assert_eq!(size_of(&browser.picture(Some(600)).await?), Some((NARROW.0, 600)));
    charts_have_a_drawing_for_each_width(&browser).await?;
    any_theme_is_black_on_white_on_paper(&browser).await
}

/// The open page shows one of the two drawings of its chart. In a narrow window the texts are within the drawing.
async fn charts_have_a_drawing_for_each_width(browser: &Browser) -> Result<()> {
    let visible =
        "[...document.querySelectorAll('svg.chart')].filter(chart => chart.checkVisibility())";
    for (width, drawing) in [(1280, "chart wide"), (360, "chart narrow")] {
        browser.resize(width, 900).await?;
        let shown = format!("{visible}.map(chart => chart.getAttribute('class'))");
        assert_eq!(browser.evaluate(&shown).await?, json!([drawing]), "at {width}");
    }
    let outside = format!(
        "{visible}.flatMap(chart => {{
            const drawing = chart.getBoundingClientRect();
            const texts = [...chart.querySelectorAll('text')];
            const isOutside = (text) => text.left < drawing.left || text.right > drawing.right
                || text.top < drawing.top || text.bottom > drawing.bottom;
            return texts.filter(text => isOutside(text.getBoundingClientRect())).map(text => text.textContent);
        }})"
    );
    assert_eq!(browser.evaluate(&outside).await?, json!([]), "texts outside of a narrow drawing");
    Ok(())
}

/// The open page on paper, with the line that names it.
async fn any_theme_is_black_on_white_on_paper(browser: &Browser) -> Result<()> {
    let line = "getComputedStyle(document.querySelector('.printed')).display";
    assert_eq!(browser.evaluate(line).await?, "none");
    browser.show_as_printed().await?;
    assert_eq!(browser.evaluate(line).await?, "block");
    for theme in ["light", "dark", "contrast"] {
        set_theme(browser, theme).await?;
        for (part, colour) in
            [("color", "rgb(20, 24, 31)"), ("backgroundColor", "rgb(255, 255, 255)")]
        {
            let shown = format!("getComputedStyle(document.documentElement).{part}");
            assert_eq!(browser.evaluate(&shown).await?, colour, "{theme}");
        }
    }
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

/// Samples that have all parts between them.
const OF_ALL_WIDTHS: [&str; 14] = [
    "yard",
    "hosts-ask",
    "host",
    "files-why",
    "tasks",
    "plan",
    "map",
    "boxes",
    "shares",
    "cluster",
    "settings",
    "refusal",
    "link-file",
    "sign-in-wrong",
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

/// A check of all samples in one language: one browser opens each page once.
struct PageCheck {
    pages: ConsoleSamples,
    browser: Browser,
    found: Vec<String>,
}

impl PageCheck {
    async fn start() -> Result<Self> {
        let (pages, browser) = (ConsoleSamples::start()?, Browser::start(true).await?);
        watch(&browser).await?;
        Ok(PageCheck { pages, browser, found: Vec::new() })
    }

    fn add(&mut self, place: &str, lines: Vec<String>) {
        self.found.extend(lines.into_iter().map(|line| format!("{place}: {line}")));
    }

    /// Whether no page in these widths is wider than its window, has a small target, or a state without words.
    async fn reflow(&mut self, path: &str, widths: &[u32]) -> Result<()> {
        let lines = wordless(&self.browser).await?;
        self.add(path, lines);
        for width in widths {
            self.browser.resize(*width, 900).await?;
            let lines =
                [too_wide(&self.browser).await?, small_targets(&self.browser).await?].concat();
            self.add(&format!("{path} at {width}"), lines);
        }
        Ok(())
    }

    async fn axe(&mut self, path: &str, rules: AxeRules) -> Result<()> {
        let lines = violations(&self.browser, rules).await?;
        self.add(&format!("{path}, {rules:?}"), lines);
        Ok(())
    }

    async fn open(&self, path: &str) -> Result<()> {
        self.browser.open(&self.pages.url(path)).await
    }

    fn end(self) {
        assert!(self.found.is_empty(), "{}", self.found.join("\n"));
    }
}

#[tokio::test]
async fn english_pages_are_accessible_in_any_theme_and_reflow() -> Result<()> {
    let check = PageCheck::start().await?;
    check.browser.resize(WIDE.0, WIDE.1).await?;
    check.open("/en/find").await?;
    faults_are_found(&check.browser).await?;
    every_other_english_page(check, 0).await
}

#[tokio::test]
async fn the_other_english_pages_are_accessible_and_reflow_too() -> Result<()> {
    every_other_english_page(PageCheck::start().await?, 1).await
}

/// Checks every second English page, from this one on. One test for all would take minutes.
async fn every_other_english_page(mut check: PageCheck, first: usize) -> Result<()> {
    for path in check.pages.paths_in("en").into_iter().skip(first).step_by(2) {
        let name = path.trim_start_matches("/en/");
        let has_new_parts = OF_ALL_WIDTHS.contains(&name);
        check.open(&path).await?;
        check.reflow(&path, if has_new_parts { &WIDTHS } else { &OTHER_WIDTHS }).await?;
        if REPEATED.contains(&name) {
            continue;
        }
        check.browser.resize(WIDE.0, WIDE.1).await?;
        check.axe(&path, AxeRules::All).await?;
        for theme in ["dark", "contrast"] {
            set_theme(&check.browser, theme).await?;
            check.axe(&format!("{path}, {theme}"), AxeRules::Colours).await?;
        }
    }
    check.end();
    Ok(())
}

/// Colours do not depend on the language or on the width, and the sizes of targets are measured at two widths.
#[tokio::test]
async fn korean_pages_are_accessible_in_a_narrow_window_and_reflow() -> Result<()> {
    let mut check = PageCheck::start().await?;
    for path in check.pages.paths_in("ko") {
        check.open(&path).await?;
        check.reflow(&path, &OTHER_WIDTHS).await?;
        if REPEATED.contains(&path.trim_start_matches("/ko/")) {
            continue;
        }
        check.browser.resize(NARROW.0, NARROW.1).await?;
        check.axe(&path, AxeRules::WithoutColours).await?;
    }
    check.end();
    Ok(())
}

/// The pages of a node with data. Their colours and sizes are those of the samples. Pictures are for people.
#[tokio::test]
async fn pages_of_a_node_are_accessible() -> Result<()> {
    let yard = ConsoleYard::start_watching()?;
    make_pool(&yard)?;
    let browser = by_login_link(&yard).await?;
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
        let lines = violations(&browser, AxeRules::WithoutColours).await?;
        found.extend(lines.into_iter().map(|line| format!("{page}: {line}")));
        keep_pictures(&browser, page).await?;
    }
    found.extend(open_parts(&yard, &browser).await?);
    found.extend(in_high_contrast(&yard, &browser).await?);
    ensure!(found.is_empty(), "{}", found.join("\n"));
    let errors = browser.console_errors().await?;
    ensure!(errors.is_empty(), "{errors:?}");
    Ok(())
}

/// Pictures of a page in a wide window, and in a narrow one in the dark.
async fn keep_pictures(browser: &Browser, page: &str) -> Result<()> {
    keep_picture(browser, page, "wide").await?;
    set_theme(browser, "dark").await?;
    browser.resize(NARROW.0, NARROW.1).await?;
    keep_picture(browser, page, "narrow").await?;
    browser.resize(WIDE.0, WIDE.1).await
}

/// The palette, the sheet of keys and the menus, which are closed on a page that was just opened.
async fn open_parts(yard: &ConsoleYard, browser: &Browser) -> Result<Vec<String>> {
    let mut found = Vec::new();
    browser.open(&format!("{}/console/hosts", yard.url())).await?;
    for (part, opened) in [
        (
            "menus",
            "document.querySelectorAll('details.menu').forEach((menu) => { menu.open = true; })",
        ),
        ("keys", "document.querySelector('#keys').showModal()"),
        (
            "palette",
            "document.querySelector('#keys').close(); document.querySelector('[data-find]').click()",
        ),
    ] {
        browser.evaluate(&format!("(() => {{ {opened}; return true; }})()")).await?;
        if part == "palette" {
            until(browser, "document.querySelector('#palette').open").await;
            browser.write("#palette input[type=search]", "alpha").await?;
            until(browser, "document.querySelector('#found').textContent.includes('alpha')").await;
        }
        let lines = violations(browser, AxeRules::All).await?;
        found.extend(lines.into_iter().map(|line| format!("open {part}: {line}")));
    }
    Ok(found)
}

/// Pages that the node itself sends in the theme of high contrast.
async fn in_high_contrast(yard: &ConsoleYard, browser: &Browser) -> Result<Vec<String>> {
    let mut found = Vec::new();
    browser.keep_cookie("reelyard_theme", "contrast").await?;
    for page in ["", "/hosts", "/map", "/boxes", "/settings"] {
        browser.open(&format!("{}/console{page}", yard.url())).await?;
        let is_set = "document.documentElement.dataset.theme === 'contrast' && \
                      getComputedStyle(document.body).color === 'rgb(255, 255, 255)'";
        ensure!(browser.evaluate(is_set).await? == true, "{page}: not in high contrast");
        let lines = violations(browser, AxeRules::Colours).await?;
        found.extend(lines.into_iter().map(|line| format!("{page} in high contrast: {line}")));
        keep_picture(browser, page, "contrast").await?;
    }
    browser.keep_cookie("reelyard_theme", "auto").await?;
    Ok(found)
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
