//! Accessibility of a page: the rules of axe-core, and rules of our own about width and targets.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::browser::Browser;

/// axe-core 4.14.1, file `axe.min.js` of the npm package. Licence: MPL-2.0, beside it. It is used unchanged.
const AXE: &str = include_str!("axe/axe.min.js");

/// SHA-256 of that file.
pub const AXE_SHA256: &str = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c";

/// The rules of axe-core that a page is checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxeRules {
    /// Every rule, of any impact.
    All,
    /// The rules that depend on colours.
    Colours,
    /// Every rule that depends neither on colours nor on the sizes of targets.
    WithoutColours,
}

/// The bytes of axe-core.
pub fn axe_bytes() -> &'static [u8] {
    AXE.as_bytes()
}

/// Loads axe-core into each page that the browser opens from now on.
pub async fn watch(browser: &Browser) -> Result<()> {
    // Colours must not be in motion while they are measured.
    browser.prefer(&[("prefers-reduced-motion", "reduce")]).await?;
    browser.run_in_each_page(AXE).await
}

/// The violations of the rules of axe-core on the present page.
pub async fn violations(browser: &Browser, rules: AxeRules) -> Result<Vec<String>> {
    let colours = ["color-contrast", "link-in-text-block"];
    let mut options = json!({ "preload": false, "resultTypes": ["violations"] });
    let changed = match rules {
        AxeRules::All => ("rules", json!({ "target-size": { "enabled": true } })),
        AxeRules::Colours => ("runOnly", json!({ "type": "rule", "values": colours })),
        AxeRules::WithoutColours => (
            "rules",
            json!({
                "target-size": { "enabled": false },
                "color-contrast": { "enabled": false }, "link-in-text-block": { "enabled": false },
            }),
        ),
    };
    options[changed.0] = changed.1;
    let expression = format!(
        "axe.run(document, {options}).then((found) => found.violations.map((rule) => \
         rule.id + ' (' + rule.impact + '): ' + rule.nodes.slice(0, 3).map((node) => \
         node.target.join(' ') + ' ' + node.html.slice(0, 120) + ' ' + \
         (node.failureSummary || '').replace(/\\s+/g, ' ')).join(' | ')))"
    );
    texts(&browser.evaluate(&expression).await?)
}

/// Elements that make the page wider than its window. Boxes that scroll by themselves may be wider.
pub async fn too_wide(browser: &Browser) -> Result<Vec<String>> {
    let expression = "(() => {
        const width = document.documentElement.clientWidth;
        if (document.documentElement.scrollWidth <= width) return [];
        const scrolls = (element) => {
            for (let up = element.parentElement; up; up = up.parentElement) {
                if (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(up).overflowX)) return true;
            }
            return false;
        };
        const wide = [...document.querySelectorAll('body *')].filter((element) =>
            element.getBoundingClientRect().right > width + 0.5 && !scrolls(element));
        return ['the page has ' + document.documentElement.scrollWidth + ' of ' + width + ' pixels']
            .concat(wide.slice(0, 4).map((element) => element.tagName + '.' + element.className));
    })()";
    texts(&browser.evaluate(expression).await?)
}

/// Controls whose target is smaller than 24 by 24 pixels. Links within a sentence may be lower.
pub async fn small_targets(browser: &Browser) -> Result<Vec<String>> {
    let expression = "(() => {
        const all = document.querySelectorAll('button, summary, select, input:not([type=hidden]), a[href]');
        const small = [...all].filter((element) => {
            if (element.closest('p, li > span, dd, .prose, .then, .note, .txt, .foot, svg')) return false;
            const target = element.closest('.hit, label') || element;
            const box = target.getBoundingClientRect();
            const isShown = box.width > 1 && box.height > 1 && getComputedStyle(element).visibility === 'visible';
            const inText = getComputedStyle(element).display === 'inline';
            return isShown && !inText && (box.width < 23.5 || box.height < 23.5);
        });
        return small.slice(0, 5).map((element) => {
            const box = element.getBoundingClientRect();
            return element.outerHTML.slice(0, 100) + ' has ' + box.width + ' by ' + box.height;
        });
    })()";
    texts(&browser.evaluate(expression).await?)
}

/// States that only a colour shows, pictures without a name, and charts without a link to their figures.
pub async fn wordless(browser: &Browser) -> Result<Vec<String>> {
    let expression = "(() => {
        const all = (selector) => [...document.querySelectorAll(selector)];
        const says = (element) => element.textContent.trim() !== '';
        const faults = all('.st').filter((state) => !says(state) || !state.querySelector('svg'))
            .concat(all('.tag, .note').filter((remark) => !says(remark)))
            .concat(all('svg[role=img]').filter((picture) => !picture.getAttribute('aria-label')))
            .concat(all('svg:not([role]):not([aria-hidden=true])'))
            .concat(all('svg.chart').filter((chart) =>
                !chart.closest('section').querySelector('a[href*=\"as=table\"]')));
        return faults.slice(0, 5).map((element) => 'without words: ' + element.outerHTML.slice(0, 140));
    })()";
    texts(&browser.evaluate(expression).await?)
}

/// The texts of a list.
///
/// # Errors
/// The page gave no list of texts: then nothing was checked.
fn texts(value: &Value) -> Result<Vec<String>> {
    let lines = value.as_array().with_context(|| format!("the check gave no list: {value}"))?;
    let text = |line: &Value| line.as_str().map(str::to_owned);
    lines.iter().map(|line| text(line).with_context(|| format!("no text: {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_of_texts_is_a_result() {
        assert!(texts(&json!([])).is_ok_and(|lines| lines.is_empty()));
        assert!(texts(&json!(["a"])).is_ok_and(|lines| lines == ["a"]));
        for bad in [Value::Null, json!({}), json!(""), json!([1])] {
            assert!(texts(&bad).is_err(), "{bad}");
        }
    }
}
