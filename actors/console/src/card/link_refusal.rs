//! The page of a link that cannot be opened: its state, why, and what to do.

use maud::{Markup, html};

use super::document::{CardContext, CardParts, CardWidth, card_shape, document, times_foot};
use super::link_page::{around, instant};
use crate::format::duration;
use crate::parts::icon::Glyph;
use crate::parts::mark::Tone;
use crate::text::{Text, card};
use crate::viewer::Moment;

/// Why a link cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkRefusalKind {
    /// No link has this address.
    Unknown,
    /// The deadline has passed.
    Expired,
    /// All downloads were used.
    Used,
    /// All downloads were used, one of them by this visitor, who can resume it.
    Held,
    /// The same, but the file was replaced, so the download cannot be resumed.
    Replaced,
    /// A caller took the link back.
    Revoked,
    /// The file was removed.
    Removed,
    /// The root is no longer shared.
    NotShared,
    /// Newer links needed the room.
    Evicted,
    /// Too many attempts; seconds until the next one.
    TooMany(u64),
    /// The file does not exist now.
    Absent,
    /// A file was requested, and the link shares a directory.
    IsDirectory,
    /// An archive was requested, and the link shares a file.
    IsFile,
    /// The node cannot serve links now.
    NotNow,
    /// This address gets its largest number of archives at once; seconds until the next attempt.
    TooManyArchives(u64),
    /// No archive of the directory is possible.
    NoArchive,
    /// The disk failed.
    Unreadable,
    /// The form of the password was not valid.
    BadForm,
    /// The password was too long.
    LongPassword,
}

/// Data for the page.
#[derive(Clone, Debug)]
pub struct LinkRefusalModel {
    /// The reason.
    pub kind: LinkRefusalKind,
    /// When the link ended, if it has.
    pub at: Option<Moment>,
    /// Further detail from the node, in English; empty for none.
    pub detail: String,
}

/// Shape, colour and word of the state, title and text.
const fn words_of(kind: LinkRefusalKind) -> (Glyph, Tone, Text, Text, Option<Text>) {
    let ask = Some(card::USED_TEXT);
    match kind {
        LinkRefusalKind::Unknown => (
            Glyph::Unknown,
            Tone::Off,
            card::NO_LINK,
            card::NO_LINK_TITLE,
            Some(card::NO_LINK_TEXT),
        ),
        LinkRefusalKind::Expired => {
            (Glyph::Clock, Tone::Off, card::EXPIRED, card::EXPIRED_AT, Some(card::EXPIRED_TEXT))
        }
        LinkRefusalKind::Used => (Glyph::Download, Tone::Warn, card::USED, card::USED_TITLE, ask),
        LinkRefusalKind::Held => {
            (Glyph::Download, Tone::Warn, card::USED, card::HELD_TITLE, Some(card::HELD_TEXT))
        }
        LinkRefusalKind::Replaced => (
            Glyph::Download,
            Tone::Warn,
            card::REPLACED,
            card::REPLACED_TITLE,
            Some(card::REPLACED_TEXT),
        ),
        LinkRefusalKind::Revoked => {
            (Glyph::Off, Tone::Off, card::REVOKED, card::REVOKED_TITLE, Some(card::REVOKED_TEXT))
        }
        LinkRefusalKind::Removed => {
            (Glyph::Gone, Tone::Off, card::REMOVED, card::REMOVED_TITLE, ask)
        }
        LinkRefusalKind::NotShared => {
            (Glyph::Off, Tone::Off, card::NOT_SHARED, card::NOT_SHARED_TITLE, ask)
        }
        LinkRefusalKind::Evicted => {
            (Glyph::Off, Tone::Off, card::EVICTED, card::EVICTED_TITLE, ask)
        }
        LinkRefusalKind::TooMany(_) => (Glyph::Wait, Tone::Warn, card::WAIT, card::TOO_MANY, None),
        LinkRefusalKind::TooManyArchives(_) => (
            Glyph::Wait,
            Tone::Warn,
            card::WAIT,
            card::TOO_MANY_ARCHIVES,
            Some(card::TOO_MANY_ARCHIVES_TEXT),
        ),
        LinkRefusalKind::IsDirectory => (
            Glyph::Warn,
            Tone::Warn,
            card::OTHER_KIND,
            card::IS_DIRECTORY_TITLE,
            Some(card::IS_DIRECTORY_TEXT),
        ),
        LinkRefusalKind::IsFile => (
            Glyph::Warn,
            Tone::Warn,
            card::OTHER_KIND,
            card::IS_FILE_TITLE,
            Some(card::IS_FILE_TEXT),
        ),
        LinkRefusalKind::NoArchive => (
            Glyph::Down,
            Tone::Bad,
            card::NO_ARCHIVE,
            card::NO_ARCHIVE_TITLE,
            Some(card::NO_ARCHIVE_TEXT),
        ),
        LinkRefusalKind::Absent => {
            (Glyph::Warn, Tone::Warn, card::ABSENT, card::ABSENT_TITLE, Some(card::ABSENT_TEXT))
        }
        LinkRefusalKind::NotNow => {
            (Glyph::Warn, Tone::Warn, card::ABSENT, card::NOT_NOW_TITLE, Some(card::NOT_NOW_TEXT))
        }
        LinkRefusalKind::Unreadable => (
            Glyph::Down,
            Tone::Bad,
            card::UNREADABLE,
            card::UNREADABLE_TITLE,
            Some(card::NOT_NOW_TEXT),
        ),
        LinkRefusalKind::BadForm => (
            Glyph::Warn,
            Tone::Warn,
            card::BAD_REQUEST,
            card::BAD_REQUEST_TITLE,
            Some(card::BAD_FORM_TEXT),
        ),
        LinkRefusalKind::LongPassword => (
            Glyph::Warn,
            Tone::Warn,
            card::BAD_REQUEST,
            card::BAD_REQUEST_TITLE,
            Some(card::LONG_PASSWORD_TEXT),
        ),
    }
}

/// The page of a refused request.
pub fn link_refusal(context: &CardContext, model: &LinkRefusalModel) -> Markup {
    let language = context.language;
    let (glyph, tone, word, title, text) = words_of(model.kind);
    let ended = model.at.map(|at| instant(language, at));
    let has_time_in_title = model.kind == LinkRefusalKind::Expired;
    let content = html! {
        article.card.ended {
            span class={ "st " (tone.class()) } { (card_shape(glyph, "")) (word.of(language)) }
            h1 {
                @match (&ended, has_time_in_title) {
                    (Some(at), true) => { (around(title.of(language), "at", at.clone())) }
                    _ => { (title.of(language)) }
                }
            }
            @if let LinkRefusalKind::TooMany(seconds) | LinkRefusalKind::TooManyArchives(seconds) = model.kind {
                p.soft { (card::TRY_AFTER.fill(language, &[("wait", &duration(language, seconds))])) }
            }
            @if let Some(text) = text { p.soft { (text.of(language)) } }
            @if let (Some(at), false) = (ended, has_time_in_title) {
                p.soft { (around(card::ENDED_AT.of(language), "at", at)) }
            }
            @if !model.detail.is_empty() { p.soft lang="en" { (model.detail) } }
        }
    };
    let foot = if model.at.is_some() {
        times_foot(language)
    } else {
        html! {}
    };
    let title = word.of(language).to_owned();
    document(
        context,
        &CardParts { title, content, width: CardWidth::Middle, foot, has_script: true },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Language;

    #[test]
    fn every_reason_has_a_state_and_a_sentence() {
        let kinds = [
            LinkRefusalKind::Unknown,
            LinkRefusalKind::Expired,
            LinkRefusalKind::Used,
            LinkRefusalKind::Revoked,
            LinkRefusalKind::Removed,
            LinkRefusalKind::NotShared,
            LinkRefusalKind::Evicted,
            LinkRefusalKind::TooMany(61),
            LinkRefusalKind::Held,
            LinkRefusalKind::Replaced,
            LinkRefusalKind::TooManyArchives(10),
            LinkRefusalKind::IsDirectory,
            LinkRefusalKind::IsFile,
            LinkRefusalKind::NoArchive,
            LinkRefusalKind::Absent,
            LinkRefusalKind::NotNow,
            LinkRefusalKind::Unreadable,
            LinkRefusalKind::BadForm,
            LinkRefusalKind::LongPassword,
        ];
        for language in Language::ALL {
            let context = CardContext { language, ..CardContext::default() };
            for kind in kinds {
                let has_ended =
                    kind == LinkRefusalKind::Expired || kind == LinkRefusalKind::Revoked;
                let at = has_ended.then_some(Moment(0));
                let model = LinkRefusalModel { kind, at, detail: String::new() };
                let page = link_refusal(&context, &model).into_string();
                assert!(page.contains("<span class=\"st "), "{kind:?}: {page}");
                assert_eq!(page.contains("<time datetime"), has_ended, "{kind:?}");
                assert!(!page.contains("{at}") && !page.contains("{wait}"), "{kind:?}: {page}");
            }
        }
    }
}
