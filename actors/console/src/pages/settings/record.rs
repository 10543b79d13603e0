//! The settings that a cluster has on record: the versions, the changes of one, and the way back to it.

use maud::{Markup, html};

use super::differences::difference_table;
use super::model::{RecordedVersion, SettingsPageQuery, SettingsRecord, VersionChanges};
use crate::format::{node_sentence, time_tag, visible_text};
use crate::parts::act::{CommandLines, command_lines};
use crate::parts::mark::{Tone, tag};
use crate::parts::notice::notice;
use crate::parts::panel::{PanelHead, flush_panel};
use crate::parts::table::{actions_head, named_table_foot};
use crate::text::{access, common};
use crate::viewer::Viewer;

/// The id of the panel. The links to its parts lead there.
const RECORD: &str = "settings-record";

/// The panel with the versions.
pub fn record_panel(viewer: &Viewer, query: &SettingsPageQuery, record: &SettingsRecord) -> Markup {
    let language = viewer.language;
    let newest = record.newest.to_string();
    let head = PanelHead {
        class: "mb",
        id: RECORD,
        title: access::RECORD.of(language).to_owned(),
        remark: access::RECORD_IN_FORCE.fill(language, &[("version", &newest)]),
        link: None,
    };
    let apply = CommandLines::of_words(&["config", "apply", &record.file, "--reason=REASON"]);
    let body = html! {
        div.body { p { (access::RECORD_TEXT.of(language)) } div.mt { (command_lines(viewer, &apply)) } }
        table.cards {
            thead { tr {
                th.num scope="col" { (access::VERSION.of(language)) }
                th scope="col" { (access::RECORDED_AT.of(language)) }
                th scope="col" { (access::RECORDED_BY.of(language)) }
                th scope="col" { (access::RECORD_REASON.of(language)) }
                (actions_head(viewer))
            } }
            tbody { @for version in &record.versions { (version_row(viewer, query, record, version)) } }
        }
        (named_table_foot(viewer, &record.page, access::RECORD.of(language)))
        @if let Some(shown) = &record.shown { (changes(viewer, shown)) }
    };
    flush_panel(&head, body)
}

fn version_row(
    viewer: &Viewer,
    query: &SettingsPageQuery,
    record: &SettingsRecord,
    version: &RecordedVersion,
) -> Markup {
    let language = viewer.language;
    let number = version.number.to_string();
    let named =
        |words: &str| access::OF_VERSION.fill(language, &[("action", words), ("version", &number)]);
    let at = |ask: &str| {
        let (version, ask) = (number.clone(), ask.to_owned());
        SettingsPageQuery { version, ask, ..query.clone() }.address()
    };
    let (changes, revert) = (access::SHOW_CHANGES.of(language), access::REVERT.of(language));
    html! {
        tr {
            td.num.b data-l=(access::VERSION.of(language)) { (number) }
            td.nw data-l=(access::RECORDED_AT.of(language)) { (time_tag(viewer, version.at)) }
            td data-l=(access::RECORDED_BY.of(language)) { bdi { (visible_text(&version.by)) } }
            td.wide data-l=(access::RECORD_REASON.of(language)) {
                @if version.number == record.newest { (tag(None, Tone::Ok, access::IN_FORCE_NOW.of(language))) " " }
                @if version.reason.is_empty() { "–" } @else { bdi { (visible_text(&version.reason)) } }
            }
            td.act {
                a.btn.sm href={ (at("")) "#" (RECORD) } aria-label=(named(changes)) { (changes) }
                @if viewer.rights.config && version.number != record.newest {
                    " " a.btn.sm href=(at("revert")) aria-label=(named(revert)) { (revert) }
                }
            }
        }
    }
}

fn changes(viewer: &Viewer, shown: &VersionChanges) -> Markup {
    let language = viewer.language;
    let (number, before) =
        (shown.number.to_string(), shown.before.map(|before| before.to_string()));
    let title = match &before {
        Some(before) => {
            access::CHANGES_SINCE.fill(language, &[("version", &number), ("before", before)])
        }
        None => access::CHANGES_FIRST.fill(language, &[("version", &number)]),
    };
    html! {
        div.body { h3 { (title) } }
        @if let Some(why) = &shown.unusable {
            div.body { (notice(Tone::Warn, access::VERSION_UNUSABLE.of(language), html! { p { (node_sentence(language, why)) } }, html! {})) }
        } @else if !shown.changes.is_empty() {
            (difference_table(viewer, access::BEFORE_AFTER, &shown.changes))
        } @else if before.is_some() {
            div.body { p.soft { (common::NOTHING_DIFFERS.of(language)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::text::Language;
    use crate::viewer::Moment;

    #[test]
    fn only_an_earlier_version_comes_back_and_only_for_those_who_may() {
        let mut viewer =
            Viewer::without_session(Language::English, TimeZone::UTC, Moment::default());
        let version = |number| RecordedVersion { number, ..RecordedVersion::default() };
        let record = SettingsRecord {
            newest: 3,
            versions: [3, 2, 1].map(version).to_vec(),
            ..SettingsRecord::default()
        };
        let query = SettingsPageQuery::default();
        let page = record_panel(&viewer, &query, &record).into_string();
        assert!(page.contains("?version=1#settings-record") && !page.contains("revert"), "{page}");
        viewer.rights.config = true;
        let page = record_panel(&viewer, &query, &record).into_string();
        for (number, is_shown) in [(1, true), (2, true), (3, false)] {
            assert_eq!(
                page.contains(&format!("version={number}&amp;ask=revert")),
                is_shown,
                "{page}"
            );
        }
    }
}
