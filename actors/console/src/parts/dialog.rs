//! Dialogs before an action: what will be done to how many, and what is left out.

use maud::{Markup, html};

use super::act::{CommandLines, followed_lines};
use super::mark::Tone;
use super::notice::notice;
use crate::address::QueryPairs;
use crate::format::{count, visible_text};
use crate::text::common;
use crate::viewer::Viewer;

/// Names that a dialog lists; further ones are only counted.
pub const NAMES_LISTED: usize = 5;

/// From this many things on, an action without return wants their number typed.
pub const TYPED_FROM: u64 = 20;

/// The field for a reason, in a form and in the address of a page.
const REASON: &str = "reason";

/// The reason that was typed into the dialog of the page, as its address has it.
pub fn typed_reason(viewer: &Viewer) -> String {
    let query = viewer.here.split_once('?').map_or("", |(_, query)| query);
    QueryPairs::parse(query).first(REASON).unwrap_or_default().trim().to_owned()
}

/// The address of the page with its dialog, up to the reason. None for the answer to a form.
fn followed_page(viewer: &Viewer) -> Option<String> {
    let (path, query) = viewer.here.split_once('?')?;
    let mut kept = QueryPairs::default();
    for (name, value) in QueryPairs::parse(query).pairs().iter().filter(|pair| pair.0 != REASON) {
        kept.add(name, value.clone());
    }
    Some(format!("{path}?{}&", kept.print()))
}

/// A field of a dialog.
#[derive(Clone, Debug, Default)]
pub struct AskField {
    /// Words above the field.
    pub label: String,
    /// Name in the form.
    pub name: String,
    /// Value before the person types.
    pub value: String,
    /// Values to choose from, each with its words. A field without choices is for text.
    pub choices: Vec<(String, String)>,
    /// The field hides what is typed.
    pub is_password: bool,
    /// The form is not sent without a value.
    pub is_needed: bool,
}

/// Some of many things by their names.
#[derive(Clone, Debug, Default)]
pub struct NamedThings {
    /// How many things they are, and the consequence for them.
    pub sentence: String,
    /// The first names, each with a remark.
    pub names: Vec<(String, String)>,
    /// How many there are.
    pub things: u64,
}

/// A dialog that an action asks before it begins.
#[derive(Clone, Debug, Default)]
pub struct AskDialog {
    /// The question with verb and count.
    pub question: String,
    /// The effect of the action, with figures of this moment.
    pub consequence: String,
    /// The first names, each with a remark.
    pub names: Vec<(String, String)>,
    /// Things that the action is for.
    pub things: u64,
    /// The files that exist only on the hosts of the action.
    pub only_there: Option<NamedThings>,
    /// Things that the action leaves out, with the reason, one sentence each.
    pub left_out: Vec<String>,
    /// A warning where the sums do not come out.
    pub warning: Option<String>,
    /// The kind of problem for which the form was refused before, and the reason.
    pub refused: Option<(String, String)>,
    /// The action cannot be undone.
    pub is_final: bool,
    /// Words of the button that acts: the verb again.
    pub verb: String,
    /// Address that the form posts to.
    pub action: String,
    /// Further values that the form sends.
    pub values: Vec<(String, String)>,
    /// Fields that the person fills.
    pub fields: Vec<AskField>,
    /// Address of the page with this dialog, up to the values of the fields: the command lines follow them. Without
    /// one they follow the reason only.
    pub follow: Option<String>,
    /// Label of a field for a reason, if the action has one.
    pub reason_label: Option<String>,
    /// Address of the page without the dialog.
    pub back: String,
    /// The same as command lines.
    pub commands: CommandLines,
}

impl AskDialog {
    /// Whether the action has nothing to act on: all that was chosen is left out.
    fn is_in_vain(&self) -> bool {
        self.things == 0 && !self.left_out.is_empty()
    }
}

/// The dialog. It is part of the page, so that it needs no script. Nothing for a viewer whose form would be refused.
pub fn ask_dialog(viewer: &Viewer, ask: &AskDialog) -> Markup {
    if !viewer.rights.may_post(&ask.action) {
        return html! {};
    }
    let role = if ask.is_final { "alertdialog" } else { "dialog" };
    let follow = ask.follow.clone().or_else(|| followed_page(viewer));
    html! {
        div.veil role=(role) aria-modal="true" aria-labelledby="ask-title" data-dialog {
            form.dialog method="post" action=(ask.action) data-follow=[follow] {
                @if ask.is_in_vain() { (vain_parts(viewer, ask)) } @else { (asking_parts(viewer, ask)) }
            }
        }
    }
}

/// A dialog without anything to act on has no button that acts.
fn vain_parts(viewer: &Viewer, ask: &AskDialog) -> Markup {
    let language = viewer.language;
    html! {
        h2 #ask-title { (common::NOTHING_TO_ACT_ON.of(language)) }
        @for sentence in &ask.left_out { p.txt { (sentence) } }
        footer { a.btn href=(ask.back) autofocus data-cancel { (common::BACK.of(language)) } }
    }
}

fn asking_parts(viewer: &Viewer, ask: &AskDialog) -> Markup {
    let language = viewer.language;
    let reason = typed_reason(viewer);
    let commands = ask.commands.clone().with_reason(&reason);
    // A person who has to fill fields begins there.
    let is_filled = !ask.fields.is_empty() && !ask.is_final;
    html! {
        input type="hidden" name="csrf_token" value=(viewer.csrf);
        input type="hidden" name="back" value=(ask.back);
        @for (name, value) in &ask.values { input type="hidden" name=(name) value=(value); }
        h2 #ask-title { (ask.question) }
        p.txt { (ask.consequence) @if ask.is_final { " " b { (common::FINAL.of(language)) } } }
        (first_names(viewer, &ask.names, ask.things))
        @if let Some(only) = &ask.only_there {
            p.txt { (only.sentence) }
            (first_names(viewer, &only.names, only.things))
        }
        @if let Some(warning) = &ask.warning {
            div { (notice(Tone::Warn, warning, html! {}, html! {})) }
        }
        @if let Some((title, reason)) = &ask.refused {
            div { (notice(Tone::Bad, title, html! { p { (visible_text(reason)) } }, html! {})) }
        }
        @for sentence in &ask.left_out { p.txt.mt { (sentence) } }
        @for (index, field) in ask.fields.iter().enumerate() {
            div.mt { (ask_field(field, is_filled && index == 0)) }
        }
        @if let Some(label) = &ask.reason_label {
            div.mt { label.field { span { (label) } input type="text" name=(REASON) value=(reason) maxlength="200"; } }
        }
        @if ask.is_final && ask.things >= TYPED_FROM { (typed_count(viewer, ask.things)) }
        @if commands != CommandLines::default() { details.ask-command { summary { (common::AS_COMMAND.of(language)) } (followed_lines(viewer, &commands)) } }
        footer {
            a.btn href=(ask.back) autofocus[ask.is_final] data-cancel { (common::CANCEL.of(language)) }
            button type="submit" class={ "btn go" @if ask.is_final { " danger" } } autofocus[!ask.is_final && !is_filled] { (ask.verb) }
        }
    }
}

fn first_names(viewer: &Viewer, names: &[(String, String)], things: u64) -> Markup {
    let rest = things.saturating_sub(names.len().min(NAMES_LISTED) as u64);
    html! {
        @if !names.is_empty() {
            ul.names {
                @for (name, remark) in names.iter().take(NAMES_LISTED) {
                    li { bdi { (visible_text(name)) } " " span.muted { (remark) } }
                }
                @if rest > 0 { li.muted { (common::AND_MORE.fill(viewer.language, &[("n", &count(rest))])) } }
            }
        }
    }
}

fn ask_field(field: &AskField, is_first: bool) -> Markup {
    let kind = if field.is_password { "password" } else { "text" };
    html! {
        label.field {
            span { (field.label) }
            @if field.choices.is_empty() {
                input type=(kind) name=(field.name) value=(visible_text(&field.value)) required[field.is_needed] autofocus[is_first] autocomplete="off";
            } @else {
                select name=(field.name) autofocus[is_first] {
                    @for (value, words) in &field.choices {
                        option value=(value) selected[*value == field.value] { (words) }
                    }
                }
            }
        }
    }
}

fn typed_count(viewer: &Viewer, things: u64) -> Markup {
    let number = things.to_string();
    html! {
        div.mt {
            label.field {
                span { (common::TYPE_COUNT.fill(viewer.language, &[("n", &number)])) }
                input type="text" name="typed" inputmode="numeric" autocomplete="off" required pattern=(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::text::Language;
    use crate::viewer::{Moment, ViewerRights};

    fn viewer(here: &str) -> Viewer {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        let rights = ViewerRights { storage: true, ..ViewerRights::default() };
        Viewer { here: here.to_owned(), origin: "http://n:1".to_owned(), rights, ..viewer }
    }

    #[test]
    fn the_lines_of_a_dialog_follow_its_reason() {
        let ask = AskDialog {
            reason_label: Some("Reason".to_owned()),
            commands: CommandLines::new(&["tasks", "retry", "7"], ("POST", "/tasks/7/retry", "")),
            ..AskDialog::default()
        };
        let asked = "/console/tasks?ask=retry&pick=7";
        let page = ask_dialog(&viewer(asked), &ask).into_string();
        assert!(
            page.contains("data-follow=\"/console/tasks?ask=retry&amp;pick=7&amp;\""),
            "{page}"
        );
        assert!(page.contains("data-copy=\"reelyard tasks retry 7 --url http://n:1\""), "{page}");
        let typed = viewer(&format!("{asked}&reason=disk+changed&typed="));
        let page = ask_dialog(&typed, &ask).into_string();
        let line = "data-copy=\"reelyard tasks retry 7 '--reason=disk changed' --url http://n:1\"";
        assert!(page.contains(line), "{page}");
        assert!(page.contains("-H 'Reelyard-Reason: disk changed' http://n:1/api"), "{page}");
        assert!(page.contains("name=\"reason\" value=\"disk changed\""), "{page}");
        assert!(!ask_dialog(&viewer(""), &ask).into_string().contains("data-follow"));
    }

    #[test]
    fn a_dialog_without_anything_to_act_on_has_no_button_that_acts() {
        let ask = AskDialog {
            question: "Retry 0 copies?".to_owned(),
            left_out: vec!["Left out: 1 task.".to_owned()],
            verb: "Retry".to_owned(),
            back: "/console/tasks".to_owned(),
            reason_label: Some("Reason".to_owned()),
            ..AskDialog::default()
        };
        let page = ask_dialog(&viewer(""), &ask).into_string();
        assert!(page.contains("Left out: 1 task.") && page.contains("data-cancel"), "{page}");
        assert!(!page.contains("<button") && !page.contains("name=\"reason\""), "{page}");
        let page = ask_dialog(&viewer(""), &AskDialog { things: 1, ..ask }).into_string();
        assert!(page.contains("<button") && page.contains("Retry 0 copies?"), "{page}");
    }

    #[test]
    fn the_first_field_has_the_focus() {
        let field = AskField { name: "name".to_owned(), ..AskField::default() };
        let ask = AskDialog { fields: vec![field.clone(), field], ..AskDialog::default() };
        let focused = |ask: &AskDialog| {
            let page = ask_dialog(&viewer(""), ask).into_string();
            let tags: Vec<&str> = page.split('<').filter(|tag| tag.contains("autofocus")).collect();
            assert_eq!(tags.len(), 1, "{page}");
            tags[0].split(' ').next().unwrap_or_default().to_owned()
        };
        assert_eq!(focused(&ask), "input");
        assert_eq!(focused(&AskDialog { is_final: true, ..ask }), "a");
        assert_eq!(focused(&AskDialog::default()), "button");
    }
}
