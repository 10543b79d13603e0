//! The top bar: brand, yard, find, live mark, language, theme, user.

use maud::{Markup, html};

use crate::address::ROOT;
use crate::format::age;
use crate::parts::act::ACT_FORM;
use crate::parts::icon::{Glyph, icon, symbol};
use crate::text::{Language, Text, common, frame};
use crate::viewer::{Density, Moment, Theme, Viewer, ViewerRole};

/// Whether the page shows the present state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LiveMark {
    /// Updates arrive.
    #[default]
    Live,
    /// The page is a picture of the instant of its rendering.
    Fixed,
    /// No update arrived since this instant.
    Stale(Moment),
}

/// The live mark. Its id is `live`; the script turns it stale if the stream is cut.
pub fn live_mark(viewer: &Viewer, mark: LiveMark) -> Markup {
    let language = viewer.language;
    html! {
        span #live class={ "live" @if matches!(mark, LiveMark::Stale(_)) { " stale" } @if mark == LiveMark::Fixed { " fixed" } } role="status"
            data-live=(frame::LIVE.of(language)) data-stale=(frame::STALE.of(language)) {
            @match mark {
                LiveMark::Live => {
                    span.if-live { (icon(Glyph::Up)) }
                    span.if-stale { (icon(Glyph::Warn)) }
                    span data-live-words title=(frame::LIVE.of(language)) { (frame::LIVE.of(language)) }
                }
                LiveMark::Fixed => { (icon(Glyph::Clock)) span data-live-words title=(frame::FIXED.of(language)) { (frame::FIXED.of(language)) } }
                LiveMark::Stale(since) => {
                    (icon(Glyph::Warn))
                    span data-live-words {
                        (frame::STALE.fill(language, &[("age", &age(language, since.seconds_until(viewer.now)))]))
                    }
                }
            }
        }
    }
}

/// The header of every page: brand, yard, search, live mark and menus. `yard` is the name of the yard.
pub fn top_bar(viewer: &Viewer, yard: &str, mark: LiveMark) -> Markup {
    let language = viewer.language;
    html! {
        header.top {
            a.brand href=(ROOT) aria-label="Reelyard" {
                svg viewBox="0 0 16 16" aria-hidden="true" { use href=(symbol(Glyph::Brand)) {} use href=(symbol(Glyph::BrandLine)) {} }
                span { "Reelyard" }
            }
            span.yardname title=(frame::YARD_TITLE.of(language)) { bdi { (yard) } }
            a.find href={ (ROOT) "/find" } title=(frame::FIND.of(language)) data-find {
                (icon(Glyph::Search)) span { (frame::FIND.of(language)) } kbd.js-only aria-hidden="true" { "Ctrl K" }
            }
            span.gap {}
            (live_mark(viewer, mark))
            a.ib.find-ib href={ (ROOT) "/find" } data-find aria-label=(frame::FIND_SHORT.of(language)) { (icon(Glyph::Search)) }
            (language_menu(viewer))
            (theme_menu(viewer))
            (user_menu(viewer))
        }
    }
}

/// A button of a menu that keeps a choice in a cookie.
fn choice(name: &str, value: &str, words: &str, is_current: bool, lang: Option<&str>) -> Markup {
    html! { li { (choice_button(name, value, words, is_current, lang)) } }
}

fn choice_button(
    name: &str,
    value: &str,
    words: &str,
    is_current: bool,
    lang: Option<&str>,
) -> Markup {
    html! {
        button type="submit" form=(ACT_FORM) formaction={ (ROOT) "/preferences" } name=(name) value=(value)
            lang=[lang] aria-pressed=(is_current) { (words) }
    }
}

fn language_menu(viewer: &Viewer) -> Markup {
    let code = viewer.language.code().to_ascii_uppercase();
    html! {
        details.menu.end.opt {
            summary.ib { (icon(Glyph::Globe)) (code) span.vh { ", " (frame::LANGUAGE.of(viewer.language)) } }
            ul {
                @for language in Language::ALL {
                    (choice("language", language.code(), language.own_name(), language == viewer.language, Some(language.code())))
                }
            }
        }
    }
}

fn theme_menu(viewer: &Viewer) -> Markup {
    let language = viewer.language;
    let densities = [
        (Density::Usual, "usual", frame::ROWS_USUAL),
        (Density::Compact, "compact", frame::ROWS_COMPACT),
    ];
    html! {
        details.menu.end.opt {
            summary.ib aria-label=(frame::THEME.of(language)) { (icon(Glyph::Theme)) }
            ul {
                @for theme in Theme::ALL {
                    (choice("theme", theme.word(), theme.name().of(language), theme == viewer.theme, None))
                }
                @for (density, word, words) in densities {
                    (choice("density", word, words.of(language), density == viewer.density, None))
                }
                li.js-only { button type="button" data-keys-switch aria-pressed="true" { (frame::LETTER_KEYS.of(language)) } }
            }
        }
    }
}

/// The name of a role, as the menu of the user shows it.
pub const fn role_words(role: ViewerRole) -> Text {
    match role {
        ViewerRole::Viewer => frame::ROLE_VIEWER,
        ViewerRole::Operator => frame::ROLE_OPERATOR,
        ViewerRole::Admin => frame::ROLE_ADMIN,
    }
}

fn user_menu(viewer: &Viewer) -> Markup {
    let language = viewer.language;
    let role = role_words(viewer.role).of(language);
    html! {
        details.menu.end {
            summary.ib aria-label={ (frame::SIGNED_IN.fill(language, &[("user", &viewer.user), ("role", role)])) } {
                (icon(Glyph::User)) span.opt-t { bdi { (viewer.user) } }
            }
            ul {
                li.says { bdi { (viewer.user) } ", " (role) }
                @for other in Language::ALL {
                    @if other != viewer.language {
                        (choice("language", other.code(), other.own_name(), false, Some(other.code())))
                    }
                }
                // Narrow screens have no menu of their own for the colours.
                @for theme in Theme::ALL {
                    li.narrow { (choice_button("theme", theme.word(), theme.name().of(language), theme == viewer.theme, None)) }
                }
                li.js-only { button type="button" data-keys { (frame::KEYS.of(language)) kbd { "?" } } }
                li {
                    form method="post" action="/logout" {
                        input type="hidden" name="csrf_token" value=(viewer.csrf);
                        button type="submit" { (common::SIGN_OUT.of(language)) }
                    }
                }
            }
        }
    }
}
