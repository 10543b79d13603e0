//! The document around a card: bar with the choices of language and theme, style, shapes and script.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::assets::{SPRITE, STYLE};
use crate::browser_choices::BrowserChoices;
use crate::parts::icon::Glyph;
use crate::text::{Language, card, frame};
use crate::viewer::{Moment, Theme};

/// The line of `console.css` behind the tokens.
const END_OF_TOKENS: &str = "/* ---------- base ---------- */";

const SCRIPT: &str = include_str!("../../assets/card.js");

/// The tokens of the console and the rules of these pages.
static CARD_STYLE: LazyLock<String> = LazyLock::new(|| {
    let console = std::str::from_utf8(STYLE.bytes).unwrap_or_default();
    let tokens = console.split(END_OF_TOKENS).next().unwrap_or_default();
    format!("{tokens}{}", include_str!("../../assets/card.css"))
});

/// Shapes that these pages use.
const GLYPHS: [Glyph; 16] = [
    Glyph::Brand,
    Glyph::BrandLine,
    Glyph::Clock,
    Glyph::Copy,
    Glyph::Down,
    Glyph::Download,
    Glyph::Globe,
    Glyph::Gone,
    Glyph::Lock,
    Glyph::NavFiles,
    Glyph::Off,
    Glyph::Retry,
    Glyph::Theme,
    Glyph::Unknown,
    Glyph::Wait,
    Glyph::Warn,
];

/// The definitions of the shapes, from the sprite of the console.
static SYMBOLS: LazyLock<String> = LazyLock::new(|| {
    let sprite = std::str::from_utf8(SPRITE.bytes).unwrap_or_default();
    GLYPHS.iter().filter_map(|glyph| definition(sprite, *glyph)).collect()
});

fn definition(sprite: &str, glyph: Glyph) -> Option<&str> {
    let begin = sprite.find(&format!("<symbol id=\"{}\"", glyph.id()))?;
    let rest = &sprite[begin..];
    let end = rest.find("</symbol>")? + "</symbol>".len();
    Some(&rest[..end])
}

fn policy(script: &str) -> String {
    let style = STANDARD.encode(Sha256::digest(CARD_STYLE.as_str()));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; {script}img-src data:; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
         trusted-types 'none'"
    )
}

/// The Content-Security-Policy of the pages of links: only their style and their script.
pub fn link_policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let script = STANDARD.encode(Sha256::digest(SCRIPT));
        policy(&format!("script-src 'sha256-{script}'; "))
    });
    &POLICY
}

/// The Content-Security-Policy of the sign-in: only its style.
pub fn sign_in_policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| policy(""));
    &POLICY
}

/// The form that keeps a choice of language or theme.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ChoiceForm {
    /// The page has no choices.
    #[default]
    None,
    /// Posts to the address of the page itself.
    Here,
    /// Posts to this address, and comes back to the second one.
    Elsewhere(String, String),
}

/// The reader of a page, and the bar above it.
#[derive(Clone, Debug, Default)]
pub struct CardContext {
    /// Language of all texts.
    pub language: Language,
    /// Colours.
    pub theme: Theme,
    /// Instant of the rendering.
    pub now: Moment,
    /// Name in the bar, such as the host of the links.
    pub site: String,
    /// The form of the choices.
    pub choices: ChoiceForm,
}

impl CardContext {
    /// The context for the choices of a browser.
    pub fn of_browser(choices: BrowserChoices) -> CardContext {
        let BrowserChoices { language, theme } = choices;
        CardContext { language, theme, ..CardContext::default() }
    }
}

/// A shape of the document.
pub(super) fn card_shape(glyph: Glyph, class: &str) -> Markup {
    html! { svg class=(class) viewBox="0 0 16 16" aria-hidden="true" { use href={ "#" (glyph.id()) } {} } }
}

/// The largest width of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CardWidth {
    /// 1032 pixels: the page of a link.
    Wide,
    /// 560 pixels: a few sentences, or one field.
    Middle,
    /// 360 pixels, in the middle of the window: the sign-in.
    Narrow,
}

impl CardWidth {
    const fn class(self) -> Option<&'static str> {
        match self {
            CardWidth::Wide => None,
            CardWidth::Middle => Some("middle"),
            CardWidth::Narrow => Some("narrow"),
        }
    }
}

/// The content of a document, and the words around it.
pub(super) struct CardParts {
    pub(super) title: String,
    pub(super) content: Markup,
    pub(super) width: CardWidth,
    pub(super) foot: Markup,
    pub(super) has_script: bool,
}

pub(super) fn document(context: &CardContext, parts: &CardParts) -> Markup {
    let language = context.language;
    html! {
        (DOCTYPE)
        html lang=(language.code()) data-theme=(context.theme.word()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                // The address of a login link contains its secret, so other sites never get it. With "no-referrer", the
                // browser would send a form with the origin "null", which the node refuses.
                meta name="referrer" content="same-origin";
                meta name="color-scheme" content="light dark";
                title { (parts.title) }
                link rel="icon" href="data:,";
                style { (PreEscaped(CARD_STYLE.as_str())) }
            }
            body {
                svg.vh aria-hidden="true" { (PreEscaped(SYMBOLS.as_str())) }
                header.bar {
                    b {
                        svg viewBox="0 0 16 16" aria-hidden="true" { use href="#brand" {} use href="#brand2" {} }
                        bdi { (context.site) }
                    }
                    (choices(context))
                }
                main class=[parts.width.class()] { (parts.content) }
                footer { (parts.foot) }
                @if parts.has_script {
                    div #announce .vh role="status" aria-live="polite" data-copied=(frame::COPIED.of(language)) {}
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
    }
}

fn choices(context: &CardContext) -> Markup {
    let language = context.language;
    let (action, back) = match &context.choices {
        ChoiceForm::None => return html! {},
        ChoiceForm::Here => (None, None),
        ChoiceForm::Elsewhere(action, back) => (Some(action), Some(back)),
    };
    html! {
        form method="post" action=[action] {
            @if let Some(back) = back { input type="hidden" name="back" value=(back); }
            @for other in Language::ALL.into_iter().filter(|other| *other != language) {
                button.ib type="submit" name="language" value=(other.code()) lang=(other.code()) {
                    (card_shape(Glyph::Globe, "i")) (other.own_name())
                }
            }
            details.menu {
                summary.ib aria-label=(frame::THEME.of(language)) { (card_shape(Glyph::Theme, "i")) }
                ul {
                    @for theme in Theme::ALL {
                        li {
                            button type="submit" name="theme" value=(theme.word()) aria-pressed=(theme == context.theme) {
                                (theme.name().of(language))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Says in which zone the times of the page are.
pub(super) fn times_foot(language: Language) -> Markup {
    html! { span data-zone=(card::TIMES_LOCAL.of(language)) { (card::TIMES_UTC.of(language)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_all_shapes_and_tokens() {
        for glyph in GLYPHS {
            assert!(SYMBOLS.contains(&format!("id=\"{}\"", glyph.id())), "{}", glyph.id());
        }
        assert!(CARD_STYLE.contains("--accent: #1551b5") && CARD_STYLE.contains(".card {"));
        assert!(!CARD_STYLE.contains(".shell"), "only tokens come from the console");
        assert!(!link_policy().contains("unsafe") && !sign_in_policy().contains("script-src"));
    }
}
