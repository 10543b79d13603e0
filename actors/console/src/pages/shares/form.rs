//! The panel of a new link: fields, preview, QR code, command.

use maud::{Markup, html};

use super::model::{FoundPath, NewLink};
use super::query::SharesPageQuery;
use crate::address::ROOT;
use crate::format::{bytes, day_and_time, duration, node_sentence, visible_text};
use crate::parts::act::{command, command_lines, followed_lines};
use crate::parts::mark::Tone;
use crate::parts::notice::notice;
use crate::parts::why::side_panel;
use crate::text::{Language, Text, common, shares};
use crate::viewer::Viewer;

/// Lifetimes to choose from, with their words.
const PRESETS: [(&str, Text); 4] = [
    ("1h", shares::PRESET_HOUR),
    ("1d", shares::PRESET_DAY),
    ("7d", shares::PRESET_WEEK),
    ("30d", shares::PRESET_MONTH),
];

/// The panel. It works as a plain form.
pub fn new_link(viewer: &Viewer, query: &SharesPageQuery, link: &NewLink) -> Markup {
    let language = viewer.language;
    let close =
        SharesPageQuery { new: false, path: String::new(), ttl: String::new(), ..query.clone() }
            .address();
    let body = match &link.made {
        Some(address) => made(viewer, link, address),
        None => fields(viewer, link, &close),
    };
    side_panel(viewer, shares::NEW.of(language), &link.path, &close, body)
}

fn field(viewer: &Viewer, label: Text, name: &str, value: &str) -> Markup {
    html! {
        label.field {
            span { (label.of(viewer.language)) }
            input type="text" name=(name) value=(visible_text(value)) autocomplete="off";
        }
    }
}

fn fields(viewer: &Viewer, link: &NewLink, close: &str) -> Markup {
    let language = viewer.language;
    let follow = format!("{}?new=true&", SharesPageQuery::path());
    let look = format!("{follow}path=");
    html! {
        form method="post" action={ (ROOT) "/shares/new" } data-follow=(follow) {
            section.form {
                input type="hidden" name="csrf_token" value=(viewer.csrf);
                input type="hidden" name="back" value=(close);
                input type="hidden" name="request_id" value=(link.request_id);
                @if let Some((title, reason)) = &link.refused {
                    (notice(Tone::Bad, title, html! { p { (visible_text(reason)) } }, html! {}))
                }
                label.field {
                    span { (shares::NEW_PATH.of(language)) }
                    input type="text" name="path" value=(visible_text(&link.path)) autocomplete="off" required data-look=(look);
                    (found(viewer, &link.found))
                }
                (lifetime(viewer, link))
                div.cols2 {
                    (field(viewer, shares::NEW_MOST, "max_downloads", &link.most))
                    (field(viewer, shares::OWNER, "owner", &link.owner))
                }
                label.field {
                    span { (shares::NEW_PASSWORD.of(language)) }
                    input type="password" name="password" autocomplete="new-password";
                }
                (field(viewer, shares::NEW_NOTE, "note", &link.note))
            }
            section { (preview(viewer, link)) }
            section {
                div.acts.mb {
                    button.btn.go type="submit" { (shares::CREATE.of(language)) }
                    a.btn href=(close) { (common::CANCEL.of(language)) }
                }
                (followed_lines(viewer, &link.commands))
            }
        }
    }
}

/// The result of the look at the path. Its id is `new-found`: the script asks for it again.
fn found(viewer: &Viewer, found: &FoundPath) -> Markup {
    let language = viewer.language;
    let words = match found {
        FoundPath::NotLooked => shares::NEW_PATH_HINT.of(language).to_owned(),
        FoundPath::File(size) => shares::FOUND_FILE.fill(language, &[("size", &bytes(*size))]),
        FoundPath::Directory => shares::FOUND_DIRECTORY.of(language).to_owned(),
        FoundPath::Refused(why) => node_sentence(language, why),
    };
    let class = if matches!(found, FoundPath::Refused(_)) { "hint badt" } else { "hint" };
    html! { span #new-found class=(class) role="status" { (words) } }
}

/// A choice of the lifetime. An empty value leaves it to the settings of the yard.
struct LifetimeChoice {
    value: &'static str,
    label: String,
    /// The lifetime in the preview.
    words: String,
}

fn lifetime_choices(language: Language, link: &NewLink) -> Vec<LifetimeChoice> {
    let words = duration(language, link.default_seconds);
    let label = shares::PRESET_DEFAULT.fill(language, &[("ttl", &words)]);
    let mut choices = vec![LifetimeChoice { value: "", label, words }];
    for (value, words) in PRESETS {
        let words = words.of(language).to_owned();
        choices.push(LifetimeChoice { value, label: words.clone(), words });
    }
    choices
}

/// Presets of the lifetime, and a field for another one.
fn lifetime(viewer: &Viewer, link: &NewLink) -> Markup {
    let language = viewer.language;
    let choices = lifetime_choices(language, link);
    let is_preset = choices.iter().any(|choice| choice.value == link.ttl);
    let other = if is_preset { "" } else { link.ttl.as_str() };
    html! {
        fieldset.field {
            legend { (shares::NEW_UNTIL.of(language)) }
            div.seg {
                @for LifetimeChoice { value, label, words } in &choices {
                    label { input.vh type="radio" name="preset" value=(value) checked[*value == link.ttl] data-words=(words); (label) }
                }
            }
            label.field.mt {
                span { (shares::NEW_OTHER.of(language)) }
                input type="text" name="ttl" value=(visible_text(other)) autocomplete="off" aria-describedby="ttl-hint";
                span #ttl-hint .hint { (shares::NEW_TTL_HINT.of(language)) }
            }
        }
    }
}

/// The card that visitors of the link will see. The script keeps it up to date with the fields.
fn preview(viewer: &Viewer, link: &NewLink) -> Markup {
    let language = viewer.language;
    let no_name = shares::PREVIEW_NO_NAME.of(language);
    let name = link.path.rsplit('/').find(|part| !part.is_empty()).map(visible_text);
    let size = match link.found {
        FoundPath::File(size) => bytes(size),
        FoundPath::Directory => shares::DIRECTORY.of(language).to_owned(),
        _ => String::new(),
    };
    let terms = match link.most.is_empty() {
        true => String::new(),
        false => shares::PREVIEW_MOST.fill(language, &[("n", &visible_text(&link.most))]),
    };
    let mut choices = lifetime_choices(language, link).into_iter();
    let preset = choices.find(|choice| choice.value == link.ttl);
    let lifetime = preset.map_or_else(|| visible_text(&link.ttl), |choice| choice.words);
    html! {
        h3 { (shares::PREVIEW.of(language)) }
        div.preview.one data-preview data-no-name=(no_name) data-password=(shares::WITH_PASSWORD.of(language))
            data-most=(shares::PREVIEW_MOST.of(language)) data-ends=(shares::PREVIEW_ENDS.of(language)) {
            div {
                b dir="auto" data-preview-name { (name.as_deref().unwrap_or(no_name)) }
                @if !size.is_empty() { span.muted { (size) } }
                span.muted data-preview-terms { (terms) }
                span data-preview-ends { (shares::PREVIEW_ENDS.fill(language, &[("ttl", &lifetime)])) }
            }
        }
    }
}

fn made(viewer: &Viewer, link: &NewLink, address: &str) -> Markup {
    let language = viewer.language;
    let ends = link.ends.map(|at| day_and_time(viewer, at)).unwrap_or_default();
    html! {
        section {
            h3 { (shares::PREVIEW.of(language)) }
            div.preview {
                div {
                    b { bdi { (visible_text(&link.path)) } }
                    span { (shares::CREATED.fill(language, &[("at", &ends)])) }
                }
                @if let Some((path, side)) = &link.qr {
                    div.qr.sm {
                        svg viewBox={ "0 0 " (side) " " (side) } role="img" aria-label="QR" shape-rendering="crispEdges" {
                            path fill="#000" d=(path) {}
                        }
                    }
                }
            }
            div.mt { (command(language, address)) }
        }
        section { (command_lines(viewer, &link.commands)) }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::viewer::Moment;

    #[test]
    fn an_untouched_form_leaves_the_lifetime_to_the_settings() {
        let link = NewLink { default_seconds: 7200, ..NewLink::default() };
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        let form = lifetime(&viewer, &link).into_string();
        let chosen = "value=\"\" checked data-words=\"2 hours\"";
        assert!(form.contains(chosen) && form.contains("Default: 2 hours"), "{form}");
        assert_eq!(form.matches(" checked").count(), 1, "{form}");
    }
}
