//! The settings on record: the list of versions, the changes of one, and the dialog that brings one back.

use std::sync::Arc;

use actix_web::web;
use reelyard_console::address::ROOT;
use reelyard_console::format::{counted, node_sentence};
use reelyard_console::pages::settings::{
    RecordedVersion, SettingDifference, SettingEffect, SettingsPageQuery, SettingsRecord,
    VersionChanges,
};
use reelyard_console::parts::act::CommandLines;
use reelyard_console::parts::dialog::{AskDialog, NAMES_LISTED};
use reelyard_console::parts::table::RowPage;
use reelyard_console::text::{Language, access, common, outcomes};
use reelyard_console::{Moment, Viewer};
use reelyard_settings::cluster_settings::{SettingsBook, SettingsVersion};

use super::change_effects::ChangeFacts;
use super::setting_texts::difference;
use crate::config::reading::recorded::RecordedSettings;
use crate::http::node_state::NodeHttpState;
use crate::reloading::{ReloadRefused, Reloaded};

/// Versions of a page.
const ROWS: u64 = 10;

/// Stands for the file of a node that has none.
const ANY_FILE: &str = "FILE";

/// The versions on record. None while the file of the node decides.
pub async fn record(
    state: &web::Data<NodeHttpState>,
    query: &SettingsPageQuery,
    language: Language,
) -> Option<SettingsRecord> {
    let view = state.actors.settings_views.load();
    let newest = view.book.newest()?.number;
    let shown = query.version.parse().ok().and_then(|number| view.book.version(number));
    let shown = match shown {
        Some(version) => Some(changes_of(state, &view.book, version, language).await),
        None => None,
    };
    let file = state.reloader.file().await.map(|file| file.display().to_string());
    let (versions, page) = rows(&view.book, query);
    Some(SettingsRecord {
        newest,
        versions,
        page,
        shown,
        file: file.unwrap_or_else(|| ANY_FILE.to_owned()),
    })
}

/// The rows of this part of the list, and its neighbours. Versions have numbers without gaps.
fn rows(book: &SettingsBook, query: &SettingsPageQuery) -> (Vec<RecordedVersion>, RowPage) {
    let after_newest = book.newest_number().saturating_add(1);
    let below = query.older.parse().unwrap_or(after_newest).min(after_newest);
    let rows: Vec<RecordedVersion> = book
        .newest_first()
        .filter(|version| version.number < below)
        .take(usize::try_from(ROWS).unwrap_or(usize::MAX))
        .map(|version| RecordedVersion {
            number: version.number,
            at: Moment(version.at.0),
            by: version.by.clone(),
            reason: version.why.clone(),
        })
        .collect();
    let total = book.newest_first().count() as u64;
    let at = |older: u64| {
        let older = if older >= after_newest { String::new() } else { older.to_string() };
        SettingsPageQuery { older, ask: String::new(), ..query.clone() }.address()
    };
    let first = after_newest - below + 1;
    let is_last = first + rows.len() as u64 > total;
    let page = RowPage {
        first: if rows.is_empty() { 0 } else { first },
        shown: rows.len() as u64,
        total: Some(total),
        previous: (below < after_newest).then(|| at(below.saturating_add(ROWS))),
        next: rows.last().filter(|_| !is_last).map(|last| at(last.number)),
    };
    (rows, page)
}

/// The changes of a version, compared with the one before.
async fn changes_of(
    state: &web::Data<NodeHttpState>,
    book: &SettingsBook,
    version: &SettingsVersion,
    language: Language,
) -> VersionChanges {
    let shown = VersionChanges { number: version.number, ..VersionChanges::default() };
    let before = version.number.checked_sub(1).and_then(|before| book.version(before));
    let Some(before) = before else { return shown };
    let shown = VersionChanges { before: Some(before.number), ..shown };
    match between(state, before, version).await {
        Ok(found) => VersionChanges { changes: differences(found, None, language), ..shown },
        Err(why) => VersionChanges { unusable: Some(format!("{why:#}")), ..shown },
    }
}

async fn between(
    state: &web::Data<NodeHttpState>,
    before: &SettingsVersion,
    after: &SettingsVersion,
) -> Result<Reloaded, ReloadRefused> {
    state
        .reloader
        .changes(Some(RecordedSettings::from(before)), RecordedSettings::from(after))
        .await
}

/// The changes of a record for people, with their consequences if the figures of this moment are given.
fn differences(
    found: Reloaded,
    facts: Option<&ChangeFacts>,
    language: Language,
) -> Vec<SettingDifference> {
    let at_once = found.applied.into_iter().map(|one| (one, SettingEffect::OnRecord));
    let later = found.needs_restart.into_iter().map(|one| (one, SettingEffect::AfterRestart));
    at_once.chain(later).map(|(one, effect)| difference(one, effect, facts, language)).collect()
}

/// The dialog that brings the version of the address back. None without the right, and for the version in force.
pub async fn revert_dialog(
    state: &web::Data<NodeHttpState>,
    query: &SettingsPageQuery,
    viewer: &Viewer,
) -> Option<AskDialog> {
    if query.ask != "revert" || !viewer.rights.config {
        return None;
    }
    let view = state.actors.settings_views.load();
    let newest: &Arc<SettingsVersion> = view.book.newest()?;
    let version = view.book.version(query.version.parse().ok()?)?;
    if version.number == newest.number {
        return None;
    }
    let (language, number) = (viewer.language, version.number.to_string());
    let back = SettingsPageQuery { ask: String::new(), ..query.clone() }.address();
    let question = access::ASK_REVERT.fill(language, &[("version", &number)]);
    let ask = AskDialog { question, back, ..AskDialog::default() };
    let found = match between(state, newest, version).await {
        Ok(found) => found,
        Err(why) => {
            return Some(AskDialog {
                left_out: vec![node_sentence(language, &format!("{why:#}"))],
                ..ask
            });
        }
    };
    let facts = ChangeFacts::load(state);
    let settings = |found: usize| counted(language, common::SETTINGS, found as u64);
    let (now, later) = (settings(found.applied.len()), settings(found.needs_restart.len()));
    let changes = differences(found, Some(&facts), language);
    let newest = newest.number;
    if changes.is_empty() {
        let same = access::SAME_AS_IN_FORCE.fill(language, &[("newest", &newest.to_string())]);
        return Some(AskDialog { left_out: vec![same], ..ask });
    }
    let next = newest.saturating_add(1).to_string();
    let values = [("next", next.as_str()), ("now", now.as_str()), ("later", later.as_str())];
    let body = format!("{{\"version\":{number},\"follows\":{newest}}}");
    Some(AskDialog {
        consequence: access::ASK_REVERT_TEXT.fill(language, &values),
        names: changes.iter().take(NAMES_LISTED).map(named).collect(),
        things: changes.len() as u64,
        verb: access::VERB_REVERT.of(language).to_owned(),
        action: format!("{ROOT}/settings/versions/{number}/revert"),
        values: vec![("follows".to_owned(), newest.to_string())],
        reason_label: Some(outcomes::REASON_NEEDED.of(language).to_owned()),
        commands: CommandLines::new(
            &["config", "revert", &number],
            ("POST", "/config/versions", &body),
        ),
        ..ask
    })
}

/// A change as a line of the dialog: the setting, its values, and the consequence.
pub fn named(change: &SettingDifference) -> (String, String) {
    let values = format!("{} → {}", change.before, change.after);
    (change.setting.clone(), format!("{values} {}", change.consequence).trim_end().to_owned())
}
