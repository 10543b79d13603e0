//! The HTML of the pages. Pure: values in, HTML out. The pages work without scripts; the only
//! script is a countdown.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytesize::ByteSize;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use reelyard_core::clock::Millis;
use reelyard_core::counted::counted;
use reelyard_core::display_text::escaped;
use sha2::{Digest, Sha256};

use super::listing::{Contents, DirectoryListing};
use super::qr;
use crate::access::refusal::HELD;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Data for the page of a valid link.
pub(super) struct LinkPage<'s> {
    /// Path of the page, as the browser sees it.
    pub(super) path: String,
    /// The link for people to copy, if it is known.
    pub(super) link: Option<String>,
    /// Display name of the share.
    pub(super) name: &'s str,
    /// The shared file or directory.
    pub(super) contents: &'s Contents,
    /// The deadline; none without one.
    pub(super) ends: Option<Millis>,
    /// Downloads left and allowed; none without a limit. The number left is 0 only for a visitor
    /// who has a counted download: others are refused.
    pub(super) downloads: Option<(u32, u32)>,
    /// Whether this visitor may start a download: one is left, or the visitor has a counted one.
    pub(super) may_begin: bool,
    /// Current time, for the time left.
    pub(super) now: Millis,
}

/// The content security policy: only the style and script of these pages may run.
pub(super) fn security_policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

/// The page of a valid link.
pub(super) fn share(link: &LinkPage<'_>) -> Markup {
    let is_held = !link.may_begin;
    let name = escaped(link.name);
    let part = if matches!(link.contents, Contents::File(_)) { "file" } else { "zip" };
    page(
        &name,
        html! {
            h1 { (name) }
            dl {
                @match link.contents {
                    Contents::File(size) => { dt { "Size" } dd title={ (size) " bytes" } { (in_words(*size)) } }
                    Contents::Directory(listing) => {
                        dt { "Directory" }
                        dd { (more_than(listing)) (entries(listing.entries.len() + listing.others)) }
                    }
                }
                (time_left(link.ends, link.now))
                @if let Some((left, most)) = link.downloads {
                    dt { "Downloads left" } dd { (left) " of " (most) }
                }
            }
            (button(&link.path, part, is_held))
            @if let Contents::Directory(listing) = link.contents { (table(listing)) }
            @if let Some((url, picture)) = with_picture(link.link.as_deref()) {
                details {
                    summary { "Open this link on another device" }
                    div.qr { (PreEscaped(picture)) }
                    p.link { (url) }
                }
            }
        },
    )
}

fn with_picture(link: Option<&str>) -> Option<(&str, String)> {
    let link = link?;
    Some((link, qr::svg(link)?))
}

/// The download button. With `is_held` no download is left, so there is no button. A file can then
/// be resumed only by a download manager, and an archive not at all.
fn button(path: &str, part: &str, is_held: bool) -> Markup {
    html! {
        @if is_held && part == "zip" {
            p.gone { "All downloads of this link are used." }
        } @else if is_held {
            p.gone { (HELD) }
        } @else {
            p { a.button href={ (path) "/" (part) } download {
                @if part == "file" { "Download" } @else { "Download as zip" }
            } }
        }
    }
}

/// The page that asks for the password. It shows nothing else about the share.
pub(super) fn password(path: &str, wrong: bool) -> Markup {
    page(
        "A shared file",
        html! {
            h1 { "This link needs a password" }
            @if wrong { p.gone { "Wrong password. Try again." } }
            form method="post" action=(path) {
                label for="password" { "Password" }
                input #password name="password" type="password" required autofocus
                    autocomplete="current-password";
                button.button type="submit" { "Open" }
            }
        },
    )
}

/// The page of a refused request.
pub(super) fn refusal((title, heading): (&str, &str), text: &str) -> Markup {
    page(title, html! { h1 { (heading) } p { (text) } })
}

fn page(title: &str, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { (body) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

fn time_left(ends: Option<Millis>, now: Millis) -> Markup {
    html! {
        dt { "Ends" }
        @match ends {
            Some(ends) => dd {
                "in " span.countdown data-left=(ends.since(now).as_millis()) {
                    (left_in_words(ends.since(now)))
                }
                " " time datetime=(ends) { "(" (ends) ")" }
            },
            None => dd { "never" },
        }
    }
}

fn table(listing: &DirectoryListing) -> Markup {
    html! {
        table {
            thead { tr { th { "Name" } th.size { "Size" } } }
            tbody {
                @for entry in &listing.entries {
                    tr {
                        td { (escaped(&entry.name)) @if entry.size.is_none() { "/" } }
                        td.size { @if let Some(size) = entry.size { (in_words(size)) } }
                    }
                }
            }
        }
        @if listing.others > 0 || listing.goes_on {
            p { "and " (more_than(listing)) (listing.others) " more" }
        }
    }
}

fn entries(count: usize) -> String {
    counted(count, "entry", "entries")
}

/// Prefix of the number of entries if they were not all counted.
fn more_than(listing: &DirectoryListing) -> &'static str {
    if listing.goes_on { "more than " } else { "" }
}

fn in_words(bytes: u64) -> String {
    ByteSize(bytes).display().iec().to_string()
}

/// A duration in its two largest units.
fn left_in_words(left: Duration) -> String {
    let seconds = left.as_secs();
    let units = [("d", 86400), ("h", 3600), ("min", 60), ("s", 1)];
    let first = units.iter().position(|(_, length)| seconds >= *length).unwrap_or(3);
    let mut words = Vec::new();
    let mut rest = seconds;
    for (name, length) in units.iter().skip(first).take(2) {
        words.push(format!("{} {name}", rest / length));
        rest %= length;
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_time_has_two_units() {
        let text = |seconds| left_in_words(Duration::from_secs(seconds));
        assert_eq!(text(0), "0 s");
        assert_eq!(text(59), "59 s");
        assert_eq!(text(61), "1 min 1 s");
        assert_eq!(text(7 * 86400 + 3599), "7 d 0 h");
    }

    #[test]
    fn a_name_cannot_be_markup() {
        let page = LinkPage {
            path: "/s/x".into(),
            link: Some("http://h/s/x".into()),
            name: "<script>alert(1)</script>",
            contents: &Contents::File(5),
            ends: Some(Millis(90_000)),
            downloads: Some((1, 3)),
            may_begin: true,
            now: Millis(0),
        };
        let html = share(&page).into_string();
        assert!(!html.contains("<script>alert"), "{html}");
        assert!(html.contains("1 of 3") && html.contains("1 min 30 s"), "{html}");
        assert!(html.contains("href=\"/s/x/file\"") && html.contains("<svg"), "{html}");
        let turned = LinkPage { name: "rtl\u{202e}gpm.exe", ..page };
        let html = share(&turned).into_string();
        assert!(!html.contains('\u{202e}') && html.contains("rtl\\u{202e}gpm.exe"), "{html}");
        let page = turned;
        let held = LinkPage { downloads: Some((0, 3)), may_begin: false, ..page };
        let html = share(&held).into_string();
        assert!(!html.contains("/s/x/file") && html.contains("You can resume it"), "{html}");
        let directory =
            LinkPage { contents: &Contents::Directory(DirectoryListing::default()), ..held };
        let html = share(&directory).into_string();
        assert!(!html.contains("/s/x/zip") && !html.contains("You can resume it"), "{html}");
    }
}
