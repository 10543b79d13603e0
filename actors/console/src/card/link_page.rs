//! The page of a link: name, size, time left, download, address. And the page that asks for its password.

use maud::{Markup, html};

use super::document::{CardContext, CardParts, CardWidth, card_shape, document, times_foot};
use crate::format::{bytes, counted, duration, file_name, full_day, thousands, visible_text};
use crate::parts::act::shell_quoted;
use crate::parts::icon::Glyph;
use crate::text::{Language, Text, card, common};
use crate::viewer::Moment;

/// Data for the page of a valid link.
#[derive(Clone, Debug, Default)]
pub struct LinkPageModel {
    /// Name of the file or directory.
    pub name: String,
    /// The shared file or directory.
    pub contents: LinkContents,
    /// Media type of a file, such as `video/mpeg`.
    pub media_type: String,
    /// The deadline; none without one.
    pub ends: Option<Moment>,
    /// Downloads left and allowed; none without a limit.
    pub downloads: Option<(u32, u32)>,
    /// The download, or the reason why there is none.
    pub download: LinkedDownload,
    /// The whole address for people and terminals, if it is known.
    pub address: Option<String>,
    /// The address as QR code.
    pub qr: Option<QrPicture>,
    /// The link needs a password.
    pub has_password: bool,
}

/// The shared file or directory, as its page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkContents {
    /// A file with its size in bytes.
    File(u64),
    /// The first entries of a directory.
    Directory {
        /// The entries that are listed.
        entries: Vec<LinkedEntry>,
        /// Number of further entries.
        others: usize,
        /// The directory has still more entries, which were not counted.
        goes_on: bool,
    },
}

impl Default for LinkContents {
    fn default() -> Self {
        LinkContents::File(0)
    }
}

/// An entry of a shared directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedEntry {
    /// Name for display.
    pub name: String,
    /// Size of a file in bytes; none for a directory.
    pub size: Option<u64>,
}

/// Whether the visitor may download.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LinkedDownload {
    /// No download is left, but this visitor has started one and may resume it.
    #[default]
    Held,
    /// The path of the download.
    At(String),
}

/// A QR code: the path data of an SVG and its side in modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QrPicture {
    /// Path of the dark modules.
    pub path: String,
    /// Width and height, with the margin.
    pub side: u64,
}

/// The page of a valid link.
pub fn link_page(context: &CardContext, model: &LinkPageModel) -> Markup {
    let language = context.language;
    let name = visible_text(&model.name);
    let with_code = if model.qr.is_some() { "offer" } else { "offer one" };
    let content = html! {
        article.card {
            div class=(with_code) {
                div {
                    @if matches!(model.contents, LinkContents::Directory { .. }) {
                        span.st.work { (card_shape(Glyph::NavFiles, "")) (card::DIRECTORY.of(language)) }
                    }
                    h1 dir="auto" { (name) }
                    p.meta { (size_words(language, model)) }
                    (time_left(context, model.ends))
                    (downloads_left(language, model))
                    @if let LinkContents::Directory { entries, others, goes_on } = &model.contents {
                        (table(language, entries, *others, *goes_on))
                    }
                    (actions(language, model))
                }
                @if let Some(code) = &model.qr { (qr(language, code)) }
            }
            @if let Some(command) = terminal_line(model) {
                details.terminal {
                    summary { (card::TERMINAL.of(language)) }
                    div.cmd {
                        code tabindex="0" { (command) }
                        button.ib.js-only type="button" data-copy=(command)
                            aria-label=(common::COPY_COMMAND.fill(language, &[("command", &command)])) {
                            (card_shape(Glyph::Copy, "i"))
                        }
                    }
                }
            }
        }
    };
    let foot = html! { (card::MADE_BY_OWNER.of(language)) " " (times_foot(language)) };
    document(
        context,
        &CardParts { title: name, content, width: CardWidth::Wide, foot, has_script: true },
    )
}

/// The page that asks for the password. It shows nothing else about the link.
pub fn password_page(context: &CardContext, action: &str, is_wrong: bool) -> Markup {
    let language = context.language;
    let content = html! {
        article.card {
            div.offer.one {
                div {
                    span.st.work { (card_shape(Glyph::Lock, "")) (card::NEEDS_PASSWORD.of(language)) }
                    h1 { (card::ASKS_PASSWORD.of(language)) }
                    form method="post" action=(action) {
                        div.field {
                            span { label for="password" { (card::PASSWORD.of(language)) } }
                            div.inputrow {
                                input #password name="password" type="password" required autofocus
                                    autocomplete="current-password" aria-invalid=[is_wrong.then_some("true")]
                                    aria-describedby=[is_wrong.then_some("wrong")];
                                button.btn.go type="submit" { (card::OPEN.of(language)) }
                            }
                            @if is_wrong { span #wrong .hint.badt role="alert" { (card::WRONG_PASSWORD.of(language)) } }
                        }
                    }
                }
            }
        }
    };
    let title = card::ASKS_PASSWORD.of(language).to_owned();
    let foot = html! { (card::MADE_BY_OWNER.of(language)) };
    document(
        context,
        &CardParts { title, content, width: CardWidth::Middle, foot, has_script: true },
    )
}

fn size_words(language: Language, model: &LinkPageModel) -> String {
    match &model.contents {
        LinkContents::File(size) => {
            let exact = thousands(*size);
            let shown = bytes(*size);
            let words = [("size", shown.as_str()), ("bytes", exact.as_str())];
            let size = card::EXACT_BYTES.fill(language, &words);
            match media_words(&model.media_type) {
                Some(kind) => format!("{size} · {}", kind.of(language)),
                None => size,
            }
        }
        LinkContents::Directory { entries, others, goes_on } => {
            let count = counted(language, card::ENTRIES, (entries.len() + others) as u64);
            if *goes_on { card::MORE_THAN.fill(language, &[("entries", &count)]) } else { count }
        }
    }
}

fn media_words(media_type: &str) -> Option<Text> {
    match media_type.split('/').next()? {
        "video" => Some(card::VIDEO),
        "audio" => Some(card::AUDIO),
        "image" => Some(card::PICTURE),
        "text" => Some(card::DOCUMENT),
        _ => None,
    }
}

/// The time left, as a sentence of this moment. The script turns it into a clock.
fn time_left(context: &CardContext, ends: Option<Moment>) -> Markup {
    let language = context.language;
    let Some(ends) = ends else {
        return html! { p.clock.calm { b { (card::NEVER_ENDS.of(language)) } } };
    };
    let left = u64::try_from(ends.0.saturating_sub(context.now.0)).unwrap_or(0);
    html! {
        p.clock {
            b.countdown role="timer" aria-live="off" data-left=(left) { (duration(language, left / 1000)) }
            " "
            span { (around(card::LEFT_UNTIL.of(language), "at", instant(language, ends))) }
        }
    }
}

fn downloads_left(language: Language, model: &LinkPageModel) -> Markup {
    let Some((left, most)) = model.downloads else { return html! {} };
    let (left, most) = (left.to_string(), most.to_string());
    let is_file = matches!(model.contents, LinkContents::File(_));
    html! {
        p.lefts {
            span {
                (card_shape(Glyph::Download, "i"))
                (card::DOWNLOADS_LEFT.fill(language, &[("left", &left), ("most", &most)]))
            }
            @if is_file { " " span { (card_shape(Glyph::Retry, "i")) (card::RESUMABLE.of(language)) } }
        }
    }
}

/// The buttons. Without a download a file can be resumed only by a download manager, and an archive not at all.
fn actions(language: Language, model: &LinkPageModel) -> Markup {
    let is_file = matches!(model.contents, LinkContents::File(_));
    let (words, held) = match is_file {
        true => (card::DOWNLOAD, card::HELD_FILE),
        false => (card::DOWNLOAD_ALL, card::HELD_ARCHIVE),
    };
    html! {
        @if model.download == LinkedDownload::Held {
            div.note.warn { (card_shape(Glyph::Warn, "i")) (held.of(language)) }
        }
        div.acts {
            @if let LinkedDownload::At(path) = &model.download {
                a.btn.go href=(path) download { (card_shape(Glyph::Download, "i")) (words.of(language)) }
            }
            button.btn.js-only type="button" data-copy="" {
                (card_shape(Glyph::Copy, "i")) span data-label { (card::COPY_LINK.of(language)) }
            }
        }
    }
}

fn qr(language: Language, code: &QrPicture) -> Markup {
    html! {
        div.qr {
            svg viewBox={ "0 0 " (code.side) " " (code.side) } role="img" aria-label=(card::QR_LABEL.of(language))
                shape-rendering="crispEdges" { path fill="#000" d=(code.path) {} }
            (card::ANOTHER_DEVICE.of(language))
        }
    }
}

fn table(language: Language, entries: &[LinkedEntry], others: usize, goes_on: bool) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th scope="col" { (card::NAME_HEAD.of(language)) }
                    th.size scope="col" { (card::SIZE_HEAD.of(language)) }
                }
            }
            tbody {
                @for entry in entries {
                    tr {
                        td.file {
                            @if entry.size.is_some() { (file_name(&entry.name, None)) }
                            @else { (file_name(&format!("{}/", entry.name), None)) }
                        }
                        td.size { @if let Some(size) = entry.size { (bytes(size)) } }
                    }
                }
            }
        }
        @if others > 0 || goes_on {
            @let words = if goes_on { card::AND_MORE_THAN } else { card::AND_MORE };
            p.soft.mt { (words.fill(language, &[("n", &thousands(others as u64))])) }
        }
    }
}

/// The line that downloads with curl. It resumes a file; curl asks for the password.
fn terminal_line(model: &LinkPageModel) -> Option<String> {
    let (address, LinkedDownload::At(_)) = (model.address.as_ref()?, &model.download) else {
        return None;
    };
    let password = if model.has_password { "-u x " } else { "" };
    // A name with a slash cannot be the name of a file.
    let name = model.name.replace('/', "_");
    Some(match model.contents {
        LinkContents::File(_) => {
            format!("curl -fL {password}-C - -o {} {address}/file", shell_quoted(&name))
        }
        LinkContents::Directory { .. } => {
            let name = shell_quoted(&format!("{name}.zip"));
            format!("curl -fL {password}-o {name} {address}/zip")
        }
    })
}

/// An instant in UTC. The script shows it in the zone of the visitor.
pub(super) fn instant(language: Language, at: Moment) -> Markup {
    let (machine, words) = full_day(language, at);
    html! { time datetime=(machine) data-local { (words) " UTC" } }
}

/// A text with an element in place of one value.
pub(super) fn around(text: &str, name: &str, element: Markup) -> Markup {
    let (before, after) = text.split_once(&format!("{{{name}}}")).unwrap_or((text, ""));
    html! { (before) (element) (after) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> LinkPageModel {
        LinkPageModel {
            name: "opening night.mpg".into(),
            contents: LinkContents::File(9_347_231_744),
            media_type: "video/mpeg".into(),
            ends: Some(Moment(90_000)),
            downloads: Some((1, 3)),
            download: LinkedDownload::At("/s/x/file".into()),
            address: Some("https://h/s/x".into()),
            qr: Some(QrPicture { path: "M4 4h1v1h-1z".into(), side: 33 }),
            has_password: false,
        }
    }

    fn html(model: &LinkPageModel, language: Language) -> String {
        let context = CardContext { language, ..CardContext::default() };
        link_page(&context, model).into_string()
    }

    #[test]
    fn a_page_says_name_size_time_and_downloads() {
        let english = html(&model(), Language::English);
        for part in [
            "opening night.mpg",
            "8.7 GiB (9,347,231,744 bytes) · video",
            "1 of 3 downloads left",
            "data-left=\"90000\"",
            ">1 minute<",
            "Thu 1 Jan 1970 00:01 UTC",
            "href=\"/s/x/file\"",
            "curl -fL -C - -o &#39;opening night.mpg&#39; https://h/s/x/file",
            "viewBox=\"0 0 33 33\"",
        ] {
            let quoted = part.replace("&#39;", "'");
            assert!(english.contains(part) || english.contains(&quoted), "{part}: {english}");
        }
        let korean = html(&model(), Language::Korean);
        assert!(
            korean.contains("다운로드 3회 중 1회 남음") && korean.contains("1970년 1월 1일(목)"),
            "{korean}"
        );
    }

    #[test]
    fn a_name_is_neither_markup_nor_misleading() {
        let hostile = LinkPageModel { name: "<script>alert(1)</script>".into(), ..model() };
        assert!(!html(&hostile, Language::English).contains("<script>alert"));
        let turned = LinkPageModel { name: "rtl\u{202e}gpm.exe".into(), ..model() };
        assert!(!html(&turned, Language::English).contains('\u{202e}'));
    }

    #[test]
    fn without_a_download_there_is_no_button() {
        let held =
            LinkPageModel { downloads: Some((0, 3)), download: LinkedDownload::Held, ..model() };
        let file = html(&held, Language::English);
        assert!(!file.contains("/s/x/file") && file.contains("You can resume it"), "{file}");
        let contents = LinkContents::Directory { entries: Vec::new(), others: 0, goes_on: false };
        let archive = html(&LinkPageModel { contents, ..held }, Language::English);
        assert!(!archive.contains("/s/x/zip") && !archive.contains("You can resume it"));
    }

    #[test]
    fn a_locked_link_lets_curl_ask_for_the_password() {
        let contents = LinkContents::Directory { entries: Vec::new(), others: 2, goes_on: true };
        let locked = LinkPageModel { has_password: true, contents, ..model() };
        let page = html(&locked, Language::English);
        assert!(page.contains("-u x -o") && page.contains("https://h/s/x/zip"), "{page}");
        assert!(page.contains("more than 2 entries"), "{page}");
    }
}
