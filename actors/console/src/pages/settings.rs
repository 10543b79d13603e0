//! Settings: values in force, their origin and default, and the differences of the file.

use maud::{Markup, html};

use crate::address::{ROOT, page_query};
use crate::format::{count, counted, time_tag, visible_text};
use crate::parts::act::{ACT_FORM, command};
use crate::parts::filter::{FilterBar, FilterChoice, ROWS, filter_bar};
use crate::parts::icon::Glyph;
use crate::parts::mark::{StateMark, Tone, state, tag};
use crate::parts::notice::{empty_by_filter, notice};
use crate::parts::panel::page_head;
use crate::text::{Text, access, common, frame};
use crate::viewer::{Moment, Viewer};

page_query! {
    /// Query parameters of the page Settings.
    SettingsPageQuery at "/settings" {
        /// Part of a name or value.
        q: String,
        /// Only settings that differ from their default.
        changed: bool,
    }
}

/// The place where the node found a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueOrigin {
    /// Nothing sets it, so the program's own value is in force.
    #[default]
    Default,
    /// The configuration file of the node.
    File,
    /// A variable of the process.
    Environment,
    /// An option at the start of the program.
    CommandLine,
    /// The settings that the cluster has on record.
    Record,
}

impl ValueOrigin {
    const fn words(self) -> (Text, Tone) {
        match self {
            ValueOrigin::Default => (access::FROM_DEFAULT, Tone::Plain),
            ValueOrigin::File => (access::FROM_FILE, Tone::Work),
            ValueOrigin::Environment => (access::FROM_ENVIRONMENT, Tone::Work),
            ValueOrigin::CommandLine => (access::FROM_LINE, Tone::Work),
            ValueOrigin::Record => (access::FROM_RECORD, Tone::Work),
        }
    }
}

/// A row of the table of settings.
#[derive(Clone, Debug, Default)]
pub struct SettingLine {
    /// Section, such as "storage".
    pub section: String,
    /// Name within the section.
    pub name: String,
    /// Its purpose, in the words of the configuration.
    pub meaning: String,
    /// Value in force; `None` if it is not set.
    pub value: Option<String>,
    /// The value is a secret and is never shown.
    pub is_secret: bool,
    /// Origin of the value.
    pub origin: ValueOrigin,
    /// Default; `None` if it has none.
    pub default: Option<String>,
    /// A change needs a restart.
    pub needs_restart: bool,
}

/// A difference between the file and the values in force.
#[derive(Clone, Debug, Default)]
pub struct SettingDifference {
    /// Section and name.
    pub setting: String,
    /// Value in force.
    pub before: String,
    /// Value in the file.
    pub after: String,
    /// A reload does not put it into force.
    pub needs_restart: bool,
}

/// The state of an input file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputCondition {
    /// No setting names a file.
    #[default]
    Unset,
    /// It is read and up to date.
    Good,
    /// It was not read yet.
    Pending,
    /// A program is writing it.
    Changing,
    /// It does not exist.
    Missing,
    /// It cannot be read.
    Unreadable,
}

impl InputCondition {
    /// Shape, colour and word.
    pub const fn mark(self) -> StateMark {
        match self {
            InputCondition::Unset => StateMark::new(Glyph::Unknown, Tone::Off, access::NOT_SET),
            InputCondition::Good => StateMark::new(Glyph::Up, Tone::Ok, access::INPUT_GOOD),
            InputCondition::Pending => {
                StateMark::new(Glyph::Wait, Tone::Plain, access::INPUT_PENDING)
            }
            InputCondition::Changing => {
                StateMark::new(Glyph::Work, Tone::Work, access::INPUT_CHANGING)
            }
            InputCondition::Missing => {
                StateMark::new(Glyph::Down, Tone::Bad, access::INPUT_MISSING)
            }
            InputCondition::Unreadable => {
                StateMark::new(Glyph::Down, Tone::Bad, access::INPUT_UNREADABLE)
            }
        }
    }
}

/// An input file of the node.
#[derive(Clone, Debug, Default)]
pub struct InputFileLine {
    /// The setting that names it.
    pub setting: String,
    /// Path on the node's disk, as the setting has it.
    pub path: String,
    /// State.
    pub condition: InputCondition,
    /// Details in the words of the node; empty for none.
    pub detail: String,
    /// When it was read.
    pub read: Option<Moment>,
    /// Lines.
    pub rows: u64,
    /// Lines that cannot be read.
    pub bad_rows: u64,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct SettingsPageModel {
    /// Settings of this filter, by section.
    pub settings: Vec<SettingLine>,
    /// All settings.
    pub total: u64,
    /// Settings that differ from their default.
    pub changed: u64,
    /// Differences of the file.
    pub differences: Vec<SettingDifference>,
    /// Why the file cannot be used, if it cannot.
    pub unusable: Option<String>,
    /// Files that settings name, such as the ranking.
    pub inputs: Vec<InputFileLine>,
}

/// The content of the page.
pub fn render(query: &SettingsPageQuery, model: &SettingsPageModel, viewer: &Viewer) -> Markup {
    let language = viewer.language;
    html! {
        (page_head(frame::SETTINGS.of(language), access::SETTINGS_SENTENCE.of(language), html! {}))
        @if let Some(reason) = &model.unusable {
            div.mb { (notice(Tone::Bad, access::FILE_UNUSABLE.of(language), html! { p { (visible_text(reason)) } }, html! {})) }
        } @else { (differences(viewer, model)) }
        @if !model.inputs.is_empty() { (inputs(viewer, model)) }
        (filter_bar(viewer, &filters(viewer, query, model)))
        div #(ROWS) .tablebox.sticky data-rows {
            @if model.settings.is_empty() {
                @let title = access::SETTINGS_EMPTY.fill(language, &[("text", &visible_text(&query.q))]);
                (empty_by_filter(language, &title, &counted(language, common::SETTINGS, model.total), SettingsPageQuery::path()))
            } @else { (settings_table(viewer, model)) }
        }
    }
}

/// The changes that a reload would make. Its id is `settings-differences`, for live updates.
pub fn differences(viewer: &Viewer, model: &SettingsPageModel) -> Markup {
    let language = viewer.language;
    let changes = counted(language, common::SETTINGS, model.differences.len() as u64);
    let title = if model.differences.is_empty() { access::FILE_SAME } else { access::FILE_DIFFERS };
    html! {
        section #settings-differences .panel.mb {
            header { h2 { (title.of(language)) } @if !model.differences.is_empty() { span.sub { (changes) } } }
            @if !model.differences.is_empty() {
                div.body.flush {
                    table.cards {
                        thead { tr {
                            th scope="col" { (access::SETTING.of(language)) }
                            th scope="col" { (access::CHANGE.of(language)) }
                            th scope="col" { (common::WHEN.of(language)) }
                        } }
                        tbody {
                            @for change in &model.differences {
                                tr {
                                    td.mono.wide data-l=(access::SETTING.of(language)) { (change.setting) }
                                    td.diff.wide data-l=(access::CHANGE.of(language)) { del { (visible_text(&change.before)) } " " ins { (visible_text(&change.after)) } }
                                    td.nw data-l=(common::WHEN.of(language)) { (effect(viewer, change.needs_restart)) }
                                }
                            }
                        }
                    }
                }
                footer {
                    @if viewer.rights.config {
                        button.btn.sm.go type="submit" form=(ACT_FORM) formaction={ (ROOT) "/settings/reload" } {
                            (access::RELOAD_CONFIRM.fill(language, &[("n", &changes)]))
                        }
                    }
                    div.push { (command(language, "reelyard config reload")) }
                }
            }
        }
    }
}

fn effect(viewer: &Viewer, needs_restart: bool) -> Markup {
    let language = viewer.language;
    html! {
        @if needs_restart { (tag(Some(Glyph::Retry), Tone::Warn, access::AFTER_RESTART.of(language))) }
        @else { span.soft { (access::AT_ONCE.of(language)) } }
    }
}

fn inputs(viewer: &Viewer, model: &SettingsPageModel) -> Markup {
    let language = viewer.language;
    html! {
        section #settings-inputs .panel.mb {
            header { h2 { (access::INPUTS.of(language)) } }
            div.body.flush {
                table.cards {
                    thead { tr {
                        th scope="col" { (access::SETTING.of(language)) }
                        th scope="col" { (common::STATE.of(language)) }
                        th.num scope="col" { (access::INPUT_ROWS.of(language)) }
                        th.num scope="col" { (access::INPUT_BAD.of(language)) }
                        th scope="col" { (access::INPUT_READ.of(language)) }
                    } }
                    tbody {
                        @for input in &model.inputs {
                            tr {
                                td.two.wide data-l=(access::SETTING.of(language)) { span.mono.b { (input.setting) } small { bdi { (visible_text(&input.path)) } } }
                                td.wide data-l=(common::STATE.of(language)) {
                                    (state(language, input.condition.mark()))
                                    @if !input.detail.is_empty() { small.muted { " " bdi lang="en" { (visible_text(&input.detail)) } } }
                                }
                                td.num data-l=(access::INPUT_ROWS.of(language)) { (count(input.rows)) }
                                td.num data-l=(access::INPUT_BAD.of(language)) { (count(input.bad_rows)) }
                                td.nw data-l=(access::INPUT_READ.of(language)) { @match input.read { Some(at) => (time_tag(viewer, at)), None => "–" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn filters(viewer: &Viewer, query: &SettingsPageQuery, model: &SettingsPageModel) -> FilterBar {
    let choice = |changed: bool, words: Text, rows: u64| FilterChoice {
        words: words.of(viewer.language).to_owned(),
        rows: Some(rows),
        address: SettingsPageQuery { changed, ..query.clone() }.address(),
        is_current: query.changed == changed,
    };
    FilterBar {
        path: SettingsPageQuery::path(),
        field: Some(access::SETTINGS_FIELD),
        text: query.q.clone(),
        others: SettingsPageQuery { q: String::new(), ..query.clone() }.pairs().pairs().to_vec(),
        states_label: access::SETTINGS_WHICH,
        states: vec![
            choice(false, common::ALL, model.total),
            choice(true, access::CHANGED_ONLY, model.changed),
        ],
        menus: Vec::new(),
        status: String::new(),
    }
}

fn settings_table(viewer: &Viewer, model: &SettingsPageModel) -> Markup {
    let language = viewer.language;
    html! {
        table.cards.set {
            thead { tr {
                th scope="col" { (access::SETTING.of(language)) }
                th scope="col" { (access::IN_FORCE.of(language)) }
                th scope="col" { (access::ORIGIN.of(language)) }
                th scope="col" { (access::DEFAULT.of(language)) }
                th scope="col" { (access::TAKES_EFFECT.of(language)) }
            } }
            tbody {
                @for section in model.settings.chunk_by(|a, b| a.section == b.section) {
                    @if let Some(first) = section.first().filter(|first| !first.section.is_empty()) {
                        tr.grp { th.mono colspan="5" scope="rowgroup" { "[" (first.section) "]" } }
                    }
                    @for line in section { (setting_row(viewer, line)) }
                }
            }
        }
    }
}

fn setting_row(viewer: &Viewer, line: &SettingLine) -> Markup {
    let language = viewer.language;
    let (origin, tone) = line.origin.words();
    let value = match (&line.value, line.is_secret) {
        (Some(_), true) => access::SECRET.of(language).to_owned(),
        (Some(value), false) => visible_text(value),
        (None, _) => access::NOT_SET.of(language).to_owned(),
    };
    let default = line.default.as_deref().map_or_else(|| "–".to_owned(), visible_text);
    html! {
        tr {
            td.two.wide data-l=(access::SETTING.of(language)) { span.mono.b { (line.name) } small { (line.meaning) } }
            td.mono.wide data-l=(access::IN_FORCE.of(language)) { (value) }
            td data-l=(access::ORIGIN.of(language)) { (tag(None, tone, origin.of(language))) }
            td.mono.muted data-l=(access::DEFAULT.of(language)) { (default) }
            td.nw data-l=(access::TAKES_EFFECT.of(language)) { (effect(viewer, line.needs_restart)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_back_its_state() {
        let query = SettingsPageQuery { q: "limit = 90".into(), changed: true };
        assert_eq!(SettingsPageQuery::parse(query.address().split_once('?').unwrap().1), query);
    }
}
