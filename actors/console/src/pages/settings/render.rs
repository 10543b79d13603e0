//! The page Settings: values in force, their origin and default, and the differences of the file.

use maud::{Markup, html};

use super::differences::{difference_table, nodes};
use super::model::{SettingEffect, SettingLine, SettingsPageModel, SettingsPageQuery, ValueOrigin};
use super::record::record_panel;
use crate::address::SortBy;
use crate::format::{count, counted, node_text, time_tag, visible_text, with_code};
use crate::parts::act::{CommandLines, command_lines, command_menu};
use crate::parts::dialog::ask_dialog;
use crate::parts::filter::{FilterBar, FilterChoice, FilterMenu, ROWS, filter_bar, order_menu};
use crate::parts::icon::Glyph;
use crate::parts::mark::{Tone, state, tag};
use crate::parts::notice::{empty_by_filter, notice};
use crate::parts::panel::page_head;
use crate::parts::table::{TableColumn, column_head, table_foot};
use crate::text::{Text, access, common, frame, node_words};
use crate::viewer::Viewer;

const COLUMNS: [TableColumn; 5] = [
    TableColumn::sorted(access::SETTING, "setting", ""),
    TableColumn::plain(access::IN_FORCE, ""),
    TableColumn::sorted(access::ORIGIN, "origin", ""),
    TableColumn::plain(access::DEFAULT, ""),
    TableColumn::sorted(access::TAKES_EFFECT, "effect", ""),
];

/// The content of the page.
pub fn render(query: &SettingsPageQuery, model: &SettingsPageModel, viewer: &Viewer) -> Markup {
    let language = viewer.language;
    html! {
        (page_head(frame::SETTINGS.of(language), &sentence(viewer, model), command_menu(viewer, &as_commands(model))))
        @if let Some(reason) = &model.unusable {
            div.mb { (notice(Tone::Bad, access::FILE_UNUSABLE.of(language), html! { @for line in node_words(language, reason).lines() { p { (visible_text(line)) } } }, html! {})) }
        } @else { (differences(viewer, model)) }
        @if let Some(record) = &model.record { (record_panel(viewer, query, record)) }
        @if !model.inputs.is_empty() { (inputs(viewer, model)) }
        (filter_bar(viewer, &filters(viewer, query, model)))
        div #(ROWS) .tablebox.sticky data-rows {
            @if model.settings.is_empty() {
                @let title = access::SETTINGS_EMPTY.fill(language, &[("text", &visible_text(&query.q))]);
                (empty_by_filter(language, &title, &counted(language, common::SETTINGS, model.total), SettingsPageQuery::path()))
            } @else { (settings_table(viewer, query, model)) }
        }
        @if let Some(ask) = &model.ask { (ask_dialog(viewer, ask)) }
    }
}

/// The sentence at the top: where a setting is changed.
fn sentence(viewer: &Viewer, model: &SettingsPageModel) -> String {
    let own =
        |words: Text, file: &str| words.fill(viewer.language, &[("file", &visible_text(file))]);
    let place = match (&model.file, &model.record) {
        (Some(file), Some(_)) => own(access::SETTINGS_BESIDE_RECORD, file),
        (Some(file), None) => own(access::SETTINGS_FILE, file),
        (None, _) => access::SETTINGS_NO_FILE.of(viewer.language).to_owned(),
    };
    format!("{} {place}", access::SETTINGS_SENTENCE.of(viewer.language))
}

/// The settings, and what a reload would do, as commands.
fn as_commands(model: &SettingsPageModel) -> [CommandLines; 2] {
    let mut words = vec!["config", "show"];
    if let Some(file) = &model.file {
        words.extend(["--config", file]);
    }
    let show = CommandLines { is_local: true, ..CommandLines::of_words(&words) };
    let dry_run = ("POST", "/config/reload?dry_run=true", "");
    [show, CommandLines::new(&["config", "reload", "--dry-run"], dry_run)]
}

/// The changes that a reload would make. Its id is `settings-differences`, for live updates.
pub fn differences(viewer: &Viewer, model: &SettingsPageModel) -> Markup {
    let language = viewer.language;
    let all = counted(language, common::SETTINGS, model.differences.len() as u64);
    let title = if model.differences.is_empty() { access::FILE_SAME } else { access::FILE_DIFFERS };
    html! {
        section #settings-differences .panel.mb {
            header { h2 { (title.of(language)) } @if !model.differences.is_empty() { span.sub { (all) } } }
            @if !model.differences.is_empty() {
                div.body.flush { (difference_table(viewer, access::CHANGE, &model.differences)) }
                div.body.mt { (command_lines(viewer, &reload_lines())) }
                (reload_foot(viewer, model))
            }
        }
    }
}

/// The reload with its number of changes. A reload that would change nothing has no button.
fn reload_foot(viewer: &Viewer, model: &SettingsPageModel) -> Markup {
    let language = viewer.language;
    let of = |effect| model.differences.iter().filter(|change| change.effect == effect).count();
    let at_reload = of(SettingEffect::AtReload) as u64;
    let changes = counted(language, common::SETTINGS, at_reload);
    html! {
        footer {
            @if at_reload == 0 {
                @let words = match of(SettingEffect::AfterRestart) {
                    0 => access::ONLY_RECORD,
                    _ => access::ONLY_RESTART,
                };
                span { (words.of(language)) }
            } @else if viewer.rights.config {
                @let ask = SettingsPageQuery { ask: "reload".to_owned(), ..SettingsPageQuery::default() };
                a.btn.sm.go href=(ask.address()) { (access::RELOAD_CONFIRM.fill(language, &[("n", &changes)])) "…" }
            }
        }
    }
}

fn reload_lines() -> CommandLines {
    CommandLines::new(&["config", "reload"], ("POST", "/config/reload", ""))
}

/// When a change takes effect, and on which nodes.
fn effect(viewer: &Viewer, line: &SettingLine) -> Markup {
    let language = viewer.language;
    html! {
        @match line.origin {
            // These sources are read only at the start of the process.
            ValueOrigin::Environment | ValueOrigin::CommandLine => {
                @let words = match line.origin {
                    ValueOrigin::Environment => access::BEHIND_ENVIRONMENT,
                    _ => access::BEHIND_LINE,
                };
                span title=(words.of(language)) { (tag(Some(Glyph::Retry), Tone::Warn, access::AFTER_RESTART.of(language))) }
            }
            _ if line.needs_restart => (tag(Some(Glyph::Retry), Tone::Warn, access::AFTER_RESTART.of(language))),
            _ if line.is_on_record => span.soft { (access::AT_RECORD.of(language)) },
            _ => span.soft { (access::AT_RELOAD.of(language)) },
        }
        (nodes(viewer, line.is_for_all_nodes))
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
                                td.two.wide data-l=(common::STATE.of(language)) {
                                    (state(language, input.condition.mark()))
                                    @if !input.detail.is_empty() { small { (node_text(language, &input.detail)) } }
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
    let base = SettingsPageQuery { after: String::new(), ..query.clone() };
    let orders = order_menu(viewer, &COLUMNS, &query.sort, &|sort: SortBy| {
        SettingsPageQuery { sort, ..base.clone() }.address()
    });
    let choice = |changed: bool, words: Text, rows: u64| FilterChoice {
        words: words.of(viewer.language).to_owned(),
        rows: Some(rows),
        address: SettingsPageQuery { changed, ..base.clone() }.address(),
        is_current: query.changed == changed,
    };
    FilterBar {
        path: SettingsPageQuery::path(),
        field: Some(access::SETTINGS_FIELD),
        text: query.q.clone(),
        others: SettingsPageQuery { q: String::new(), ..base.clone() }.pairs().pairs().to_vec(),
        states_label: access::SETTINGS_WHICH,
        states: vec![
            choice(false, common::ALL, model.total),
            choice(true, access::CHANGED_ONLY, model.changed),
        ],
        menus: vec![section_menu(viewer, &base, &model.sections)],
        orders,
        has_picks: false,
        status: String::new(),
    }
}

/// Limits the list to one part of the configuration file.
fn section_menu(viewer: &Viewer, base: &SettingsPageQuery, sections: &[String]) -> FilterMenu {
    let all = common::ALL.of(viewer.language);
    let choice = |words: &str, section: &str| FilterChoice {
        words: words.to_owned(),
        rows: None,
        address: SettingsPageQuery { section: section.to_owned(), ..base.clone() }.address(),
        is_current: base.section == section,
    };
    let mut choices = vec![choice(all, "")];
    choices.extend(sections.iter().map(|section| choice(section, section)));
    let chosen = if base.section.is_empty() { all } else { base.section.as_str() };
    FilterMenu { label: access::SECTION, chosen: chosen.to_owned(), choices }
}

/// Rows in the order of the sections have the sections as heads. Sorted rows have whole names.
fn settings_table(viewer: &Viewer, query: &SettingsPageQuery, model: &SettingsPageModel) -> Markup {
    let is_grouped = query.sort.key.is_empty();
    html! {
        table.cards.set {
            thead { tr {
                @for column in &COLUMNS {
                    (column_head(viewer, column, &query.sort, &|sort: SortBy| {
                        SettingsPageQuery { sort, after: String::new(), ..query.clone() }.address()
                    }))
                }
            } }
            tbody {
                @for section in model.settings.chunk_by(|a, b| a.section == b.section) {
                    @if let Some(first) = section.first().filter(|first| is_grouped && !first.section.is_empty()) {
                        tr.grp { th.mono colspan="5" scope="rowgroup" { "[" (first.section) "]" } }
                    }
                    @for line in section { (setting_row(viewer, line, is_grouped)) }
                }
            }
        }
        (table_foot(viewer, &model.page))
    }
}

fn setting_row(viewer: &Viewer, line: &SettingLine, is_grouped: bool) -> Markup {
    let language = viewer.language;
    let name = match is_grouped || line.section.is_empty() {
        true => line.name.clone(),
        false => format!("{}.{}", line.section, line.name),
    };
    let (origin, tone) = line.origin.words();
    let value = match (&line.value, line.is_secret) {
        (Some(_), true) => access::SECRET.of(language).to_owned(),
        (Some(value), false) => visible_text(value),
        (None, _) => access::NOT_SET.of(language).to_owned(),
    };
    let default = line.default.as_deref().map_or_else(|| "–".to_owned(), visible_text);
    html! {
        tr {
            td.two.wide data-l=(access::SETTING.of(language)) { span.mono.b { (name) } small { (with_code(&line.meaning)) } }
            td.mono.wide data-l=(access::IN_FORCE.of(language)) { (value) }
            td data-l=(access::ORIGIN.of(language)) { (tag(None, tone, origin.of(language))) }
            td.mono.muted data-l=(access::DEFAULT.of(language)) { (default) }
            td.two data-l=(access::TAKES_EFFECT.of(language)) { (effect(viewer, line)) }
        }
    }
}
