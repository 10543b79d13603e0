//! `/console/settings`: values in force, what the file would change, and the inputs.

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_api::{InputState, InputView};
use reelyard_console::address::ROOT;
use reelyard_console::format::counted;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::settings::{
    self, InputCondition, InputFileLine, SettingDifference, SettingEffect, SettingLine,
    SettingsPageModel, SettingsPageQuery, ValueOrigin,
};
use reelyard_console::parts::act::CommandLines;
use reelyard_console::parts::dialog::{AskDialog, NAMES_LISTED};
use reelyard_console::parts::table::RowPage;
use reelyard_console::text::{Language, access, common, outcomes};
use reelyard_console::{Moment, Viewer};
use reelyard_core::settings::{Presence, Scope, TakesEffect};

use super::change_effects::ChangeFacts;
use super::setting_texts::{DESCRIBED, HIDDEN, difference, meaning};
use super::settings_record;
use crate::config::{Difference, EffectiveSetting, SettingOrigin};
use crate::http::api::node_calls::status::inputs;
use crate::http::console::answer;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::reloading::Reloaded;

/// Rows of a page.
const ROWS: usize = 80;

/// Field of the form of a reload with the digest of the changes that its dialog showed.
pub const SEEN_CHANGES: &str = "seen";

/// `GET /console/settings`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::ConfigRead)?;
    let query = SettingsPageQuery::parse(request.query_string());
    let model = model(&state, &query, &visitor.viewer).await;
    let content = settings::render(&query, &model, &visitor.viewer);
    let title = NavPage::Settings.title().of(visitor.viewer.language);
    let parts = PageParts::new(NavPage::Settings, title, content);
    Ok(answer::page(&request, &state, &visitor, &parts))
}

async fn model(
    state: &web::Data<NodeHttpState>,
    query: &SettingsPageQuery,
    viewer: &Viewer,
) -> SettingsPageModel {
    let language = viewer.language;
    let running = state.reloader.running().await;
    let record = settings_record::record(state, query, language).await;
    let line = |setting| line(setting, record.is_some(), language);
    let all: Vec<SettingLine> = running.iter().map(line).collect();
    let mut seen = String::new();
    let (differences, unusable) = match state.reloader.reload(true).await {
        Ok(found) => {
            seen = digest(&found);
            (file_differences(found, &ChangeFacts::load(state), language), None)
        }
        Err(refused) => (Vec::new(), Some(format!("{refused:#}"))),
    };
    let ask = match query.ask.as_str() {
        "reload" => reload_dialog(query, &differences, seen, viewer),
        _ => settings_record::revert_dialog(state, query, viewer).await,
    };
    let catalog = state.actors.catalog_view.load();
    let mut sections: Vec<String> = all.iter().map(|line| line.section.clone()).collect();
    sections.retain(|section| !section.is_empty());
    sections.sort();
    sections.dedup();
    let changed = all.iter().filter(|line| is_changed(line)).count() as u64;
    let total = all.len() as u64;
    let (settings, page) = page_of(all, query);
    SettingsPageModel {
        total,
        changed,
        settings,
        page,
        sections,
        differences,
        record,
        ask,
        file: state.reloader.file().await.map(|file| file.display().to_string()),
        unusable,
        inputs: inputs(&catalog).into_iter().map(input_line).collect(),
    }
}

/// A digest of the changes that a reload would make. A secret counts only as changed.
pub fn digest(found: &Reloaded) -> String {
    let digest = blake3::hash(format!("{found:?}").as_bytes());
    digest.to_hex().chars().take(24).collect()
}

/// The dialog before a reload. None without a change that takes effect.
fn reload_dialog(
    query: &SettingsPageQuery,
    differences: &[SettingDifference],
    seen: String,
    viewer: &Viewer,
) -> Option<AskDialog> {
    let language = viewer.language;
    let at_once: Vec<&SettingDifference> =
        differences.iter().filter(|one| one.effect == SettingEffect::AtReload).collect();
    let settings = counted(language, common::SETTINGS, at_once.len() as u64);
    (!at_once.is_empty()).then(|| AskDialog {
        question: access::ASK_RELOAD.fill(language, &[("n", &settings)]),
        consequence: access::ASK_RELOAD_TEXT.of(language).to_owned(),
        names: at_once.iter().take(NAMES_LISTED).map(|one| settings_record::named(one)).collect(),
        things: at_once.len() as u64,
        verb: access::VERB_RELOAD.of(language).to_owned(),
        action: format!("{ROOT}/settings/reload"),
        values: vec![(SEEN_CHANGES.to_owned(), seen)],
        reason_label: Some(outcomes::REASON.of(language).to_owned()),
        back: SettingsPageQuery { ask: String::new(), ..query.clone() }.address(),
        commands: CommandLines::new(&["config", "reload"], ("POST", "/config/reload", "")),
        ..AskDialog::default()
    })
}

/// The settings that match, sorted and cut to a page.
fn page_of(all: Vec<SettingLine>, query: &SettingsPageQuery) -> (Vec<SettingLine>, RowPage) {
    let mut lines: Vec<SettingLine> =
        all.into_iter().filter(|line| is_wanted(line, query)).collect();
    let name = |line: &SettingLine| (line.section.clone(), line.name.clone());
    match query.sort.key.as_str() {
        "setting" => lines.sort_by_cached_key(name),
        "origin" => lines.sort_by_key(|line| line.origin as u8),
        "effect" => lines.sort_by_key(|line| line.needs_restart),
        _ => {}
    }
    if query.sort.descending {
        lines.reverse();
    }
    let total = lines.len();
    let first = query.after.parse().unwrap_or(0).min(total);
    let shown: Vec<SettingLine> = lines.into_iter().skip(first).take(ROWS).collect();
    let page = RowPage::at(first, shown.len(), total, ROWS, &|at| {
        let after = if at == 0 { String::new() } else { at.to_string() };
        SettingsPageQuery { after, ..query.clone() }.address()
    });
    (shown, page)
}

/// The differences of the file, in the order in which they take effect.
fn file_differences(
    found: Reloaded,
    facts: &ChangeFacts,
    language: Language,
) -> Vec<SettingDifference> {
    let parts = [
        (found.applied, SettingEffect::AtReload),
        (found.needs_restart, SettingEffect::AfterRestart),
        (found.not_as_recorded, SettingEffect::Never),
    ];
    let of_part = |(changes, effect): (Vec<Difference>, SettingEffect)| {
        // A change without an effect has no consequence.
        let facts = Some(facts).filter(|_| effect != SettingEffect::Never);
        changes.into_iter().map(move |one| difference(one, effect, facts, language))
    };
    parts.into_iter().flat_map(of_part).collect()
}

fn line(setting: &EffectiveSetting, is_recorded: bool, language: Language) -> SettingLine {
    let (section, name) = setting.key.rsplit_once('.').unwrap_or(("", &setting.key));
    let described = DESCRIBED.get(&setting.key);
    let default = described.filter(|described| described.presence == Presence::Default);
    SettingLine {
        section: section.to_owned(),
        name: name.to_owned(),
        meaning: meaning(&setting.key, language),
        value: setting
            .value
            .as_ref()
            .map(|value| if setting.is_secret { HIDDEN.to_owned() } else { value.clone() }),
        is_secret: setting.is_secret,
        origin: match setting.origin {
            SettingOrigin::Default => ValueOrigin::Default,
            SettingOrigin::File { .. } => ValueOrigin::File,
            SettingOrigin::Environment { .. } => ValueOrigin::Environment,
            SettingOrigin::Argument { .. } => ValueOrigin::CommandLine,
            SettingOrigin::Record { .. } | SettingOrigin::Given { .. } => ValueOrigin::Record,
        },
        default: default.map(|described| described.value.clone()),
        needs_restart: setting.applies.effect == TakesEffect::Restart,
        is_for_all_nodes: setting.applies.scope == Scope::Cluster,
        is_on_record: is_recorded && setting.applies.scope == Scope::Cluster,
    }
}

fn is_changed(line: &SettingLine) -> bool {
    line.value != line.default && line.origin != ValueOrigin::Default
}

fn is_wanted(line: &SettingLine, query: &SettingsPageQuery) -> bool {
    let text = query.q.trim();
    let has_text = line.name.contains(text)
        || format!("{}.{}", line.section, line.name).contains(text)
        || (!line.is_secret && line.value.as_ref().is_some_and(|value| value.contains(text)));
    let is_in_section = query.section.is_empty() || line.section == query.section;
    is_in_section && has_text && (!query.changed || is_changed(line))
}

fn input_line(input: InputView) -> InputFileLine {
    InputFileLine {
        setting: input.setting,
        path: input.path,
        condition: match input.state {
            InputState::Good => InputCondition::Good,
            InputState::Unset => InputCondition::Unset,
            InputState::Pending => InputCondition::Pending,
            InputState::Changing => InputCondition::Changing,
            InputState::Missing => InputCondition::Missing,
            InputState::Unreadable => InputCondition::Unreadable,
        },
        detail: input.detail.unwrap_or_default(),
        read: input.read.map(|at| Moment(at.0)),
        rows: input.rows,
        bad_rows: input.bad_rows,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use reelyard_console::text::korean_settings;

    use super::*;

    #[test]
    fn every_setting_has_a_korean_description_and_none_is_left_over() {
        let declared: BTreeSet<&str> = DESCRIBED.keys().map(String::as_str).collect();
        let all: Vec<&str> = korean_settings().map(|(key, _)| key).collect();
        let described: BTreeSet<&str> = all.iter().copied().collect();
        let missing: Vec<_> = declared.difference(&described).collect();
        assert!(missing.is_empty(), "settings without a Korean description: {missing:?}");
        let left_over: Vec<_> = described.difference(&declared).collect();
        assert!(left_over.is_empty(), "descriptions of settings that do not exist: {left_over:?}");
        assert_eq!(all.len(), described.len(), "a setting is described twice");
    }
}
