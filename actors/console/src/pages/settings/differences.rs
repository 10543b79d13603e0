//! Differences of settings as a table.

use maud::{Markup, html};

use super::model::{SettingDifference, SettingEffect};
use crate::format::{visible_text, with_code};
use crate::parts::icon::Glyph;
use crate::parts::mark::{Tone, tag};
use crate::text::{Text, access};
use crate::viewer::Viewer;

/// A table of changes. `values` is the head of the column with the values.
pub(super) fn difference_table(
    viewer: &Viewer,
    values: Text,
    changes: &[SettingDifference],
) -> Markup {
    let language = viewer.language;
    html! {
        table.cards {
            thead { tr {
                th scope="col" { (access::SETTING.of(language)) }
                th scope="col" { (values.of(language)) }
                th scope="col" { (access::IT_DOES.of(language)) }
                th scope="col" { (access::TAKES_EFFECT.of(language)) }
            } }
            tbody { @for change in changes { (difference_row(viewer, values, change)) } }
        }
    }
}

fn difference_row(viewer: &Viewer, values: Text, change: &SettingDifference) -> Markup {
    let language = viewer.language;
    html! {
        tr {
            td.mono.wide data-l=(access::SETTING.of(language)) { (change.setting) }
            td.diff.wide data-l=(values.of(language)) { del { (visible_text(&change.before)) } " " ins { (visible_text(&change.after)) } }
            td.two.wide data-l=(access::IT_DOES.of(language)) {
                @if !change.consequence.is_empty() { span.b { (visible_text(&change.consequence)) } }
                small { (with_code(&change.meaning)) }
            }
            td.two data-l=(access::TAKES_EFFECT.of(language)) {
                @match change.effect {
                    SettingEffect::AtReload => { (access::AT_RELOAD.of(language)) }
                    SettingEffect::OnRecord => { (access::AT_RECORD.of(language)) }
                    SettingEffect::AfterRestart => {
                        (tag(Some(Glyph::Retry), Tone::Warn, access::AFTER_RESTART.of(language)))
                        small { (access::STAYS_UNTIL_RESTART.of(language)) }
                    }
                    SettingEffect::Never => {
                        (tag(Some(Glyph::Warn), Tone::Warn, access::NO_EFFECT.of(language)))
                        small { (access::RECORD_DECIDES.of(language)) }
                    }
                }
                (nodes(viewer, change.is_for_all_nodes))
            }
        }
    }
}

/// The nodes for which a value counts.
pub(super) fn nodes(viewer: &Viewer, is_for_all: bool) -> Markup {
    let words = if is_for_all { access::OF_ALL_NODES } else { access::OF_THIS_NODE };
    html! { small { (words.of(viewer.language)) } }
}
