//! The page Files as a whole.

use maud::{Markup, html};

use super::model::FilesPageModel;
use super::query::{FileStateFilter, FilesPageQuery};
use super::rows::{COLUMNS, file_rows};
use crate::address::{QueryWord, ROOT, SortBy};
use crate::format::{count, counted};
use crate::pages::why::{PassedReason, why_file};
use crate::parts::act::{CommandLines, command_menu, list_lines_at};
use crate::parts::dialog::ask_dialog;
use crate::parts::filter::{
    self, FilterBar, FilterChoice, filter_bar, filter_token, host_menu, order_menu,
};
use crate::parts::icon::{Glyph, icon};
use crate::parts::panel::page_head;
use crate::parts::why::split;
use crate::text::{Text, access, common, files, frame, states};
use crate::viewer::Viewer;

/// The content of the page.
pub fn render(query: &FilesPageQuery, model: &FilesPageModel, viewer: &Viewer) -> Markup {
    let close = FilesPageQuery { why: String::new(), ..query.clone() }.address();
    let panel = model.why.as_ref().map(|file| why_file(viewer, file, &close));
    html! {
        (page_head(frame::FILES.of(viewer.language), &files_sentence(viewer, model), list_actions(viewer, query)))
        (filter_bar(viewer, &filters(viewer, query, model)))
        (tokens(viewer, query))
        (split(file_rows(viewer, query, model), panel))
        @if let Some(ask) = &model.ask { (ask_dialog(viewer, ask)) }
    }
}

/// The list as a command and as a file. The command is absent if it lacks a part of the filter.
fn list_actions(viewer: &Viewer, query: &FilesPageQuery) -> Markup {
    let language = viewer.language;
    let pairs = base(query).pairs().print();
    let mark = if pairs.is_empty() { "" } else { "?" };
    html! {
        (command_menu(viewer, &as_commands(query)))
        a.btn href={ (ROOT) "/files/export" (mark) (pairs) } { (icon(Glyph::Download)) (access::EXPORT_CSV.of(language)) }
    }
}

/// The states of the API that "Problem" stands for.
pub const PROBLEM_STATES: [&str; 7] =
    ["no_master", "ungraded", "master_absent", "listed", "too_big", "name_not_carried", "no_room"];

/// The commands that list the same files: one for each state of the API that the filter stands for. None if the
/// filter of the page has a part that they lack.
fn as_commands(query: &FilesPageQuery) -> Vec<CommandLines> {
    let states: &[&str] = match query.state {
        _ if !query.reason.is_empty() => &[],
        None | Some(FileStateFilter::Hot) => &[""],
        Some(FileStateFilter::Waiting) => &["waiting", "backing_off"],
        Some(FileStateFilter::Problem) => &PROBLEM_STATES,
        Some(state) => &[state.word()],
    };
    let (part, host) = (query.q.trim(), query.host.as_str());
    let flag = (query.state == Some(FileStateFilter::Hot)).then_some("hot");
    let mut all = Vec::new();
    for state in states {
        let named = [("contains", part), ("state", *state), ("host", host)];
        let given = named.iter().filter(|(_, value)| !value.is_empty());
        let filters: Vec<(&str, String)> =
            given.map(|(name, value)| (*name, (*value).to_owned())).collect();
        all.push(list_lines_at(&["files"], "/files", &filters, flag));
    }
    all
}

/// The sentence at the top: how many there are, and in which states.
pub fn files_sentence(viewer: &Viewer, model: &FilesPageModel) -> String {
    let language = viewer.language;
    let totals = model.totals;
    let all = counted(language, common::FILES, totals.all);
    let values =
        [("all", all), ("placed", count(totals.placed)), ("waiting", count(totals.waiting))];
    let values: Vec<(&str, &str)> = values.iter().map(|pair| (pair.0, pair.1.as_str())).collect();
    let mut sentence = files::SENTENCE.fill(language, &values);
    let others = [
        (Some(totals.copying), files::SENTENCE_COPYING),
        (totals.out_of_reach, files::SENTENCE_REACH),
        (totals.problem, files::SENTENCE_PROBLEM),
        (totals.ignored, files::SENTENCE_IGNORED),
    ];
    for (value, words) in others {
        if let Some(value) = value.filter(|value| *value > 0) {
            sentence.push_str(", ");
            sentence.push_str(&words.fill(language, &[("n", &count(value))]));
        }
    }
    sentence.push('.');
    sentence
}

fn base(query: &FilesPageQuery) -> FilesPageQuery {
    FilesPageQuery {
        after: String::new(),
        pick: Vec::new(),
        all: false,
        ask: String::new(),
        why: String::new(),
        ..query.clone()
    }
}

/// The parts above the rows that follow changes with them.
pub fn live_head(
    viewer: &Viewer,
    query: &FilesPageQuery,
    model: &FilesPageModel,
) -> Vec<(String, Markup)> {
    filter::live_head(viewer, &files_sentence(viewer, model), &filters(viewer, query, model))
}

fn filters(viewer: &Viewer, query: &FilesPageQuery, model: &FilesPageModel) -> FilterBar {
    let language = viewer.language;
    let totals = model.totals;
    let base = base(query);
    // A state without a count is offered all the same: its files are many to count.
    let choices: [(Option<FileStateFilter>, Text, Option<u64>); 8] = [
        (None, common::ALL, Some(totals.all)),
        (Some(FileStateFilter::Placed), states::PLACED, Some(totals.placed)),
        (Some(FileStateFilter::Waiting), states::WAITING, Some(totals.waiting)),
        (Some(FileStateFilter::Hot), files::HOT, Some(totals.hot)),
        (Some(FileStateFilter::OutOfReach), states::OUT_OF_REACH, totals.out_of_reach),
        (Some(FileStateFilter::Problem), files::PROBLEM, totals.problem),
        (Some(FileStateFilter::Copying), states::COPYING, Some(totals.copying)),
        (Some(FileStateFilter::Ignored), states::IGNORED, totals.ignored),
    ];
    let mut row = Vec::new();
    for (state, words, rows) in choices {
        let is_current = query.state == state;
        row.push(FilterChoice {
            words: words.of(language).to_owned(),
            rows,
            address: FilesPageQuery { state, ..base.clone() }.address(),
            is_current,
        });
    }
    let shown = model.matching.unwrap_or(model.rows.len() as u64);
    let shown = counted(language, common::FILES, shown);
    let is_usual = query.sort.key.is_empty();
    let status = if is_usual { files::STATUS_HOT.fill(language, &[("n", &shown)]) } else { shown };
    FilterBar {
        path: FilesPageQuery::path(),
        field: Some(files::FIELD),
        text: query.q.clone(),
        others: FilesPageQuery { q: String::new(), ..base.clone() }.pairs().pairs().to_vec(),
        states_label: files::STATES,
        states: row,
        menus: vec![host_menu(viewer, files::HOST_MENU, &model.hosts, &query.host, &|host| {
            FilesPageQuery { host: host.to_owned(), ..base.clone() }.address()
        })],
        orders: order_menu(viewer, &COLUMNS, &query.sort, &|sort: SortBy| {
            FilesPageQuery { sort, ..base.clone() }.address()
        }),
        has_picks: viewer.rights.storage,
        status,
    }
}

/// Filters that neither the field nor the states show.
fn tokens(viewer: &Viewer, query: &FilesPageQuery) -> Markup {
    let without = FilesPageQuery { reason: String::new(), ..base(query) }.address();
    html! {
        @if let Some(reason) = PassedReason::of_api(&query.reason) {
            div.filters { (filter_token(viewer, reason.words().of(viewer.language), &without)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Language;
    use crate::viewer::Moment;

    #[test]
    fn every_state_of_a_file_is_a_choice() {
        let utc = jiff::tz::TimeZone::UTC;
        let viewer = Viewer::without_session(Language::English, utc, Moment(0));
        let bar = filters(&viewer, &FilesPageQuery::default(), &FilesPageModel::default());
        for (word, _) in FileStateFilter::WORDS {
            let address = format!("/console/files?state={word}");
            assert!(bar.states.iter().any(|choice| choice.address == address), "{word}");
        }
    }

    #[test]
    fn a_filter_is_a_command_only_as_a_whole() {
        let of = |state, host: &str| {
            let query =
                FilesPageQuery { state, host: host.to_owned(), ..FilesPageQuery::default() };
            let lines = as_commands(&query).into_iter();
            let pair =
                |lines: CommandLines| (lines.reelyard[0].join(" "), lines.curl[0].path.clone());
            lines.map(pair).collect::<Vec<_>>()
        };
        let pair = |words: &str, path: &str| (words.to_owned(), path.to_owned());
        assert_eq!(of(None, ""), [pair("files", "/files")]);
        assert_eq!(of(Some(FileStateFilter::Hot), ""), [pair("files --hot", "/files?hot=true")]);
        let host = "10.4.2.31:8888";
        let waiting = ["waiting", "backing_off"].map(|state| {
            let words = format!("files --state={state} --host={host}");
            (words, format!("/files?state={state}&host={host}"))
        });
        assert_eq!(of(Some(FileStateFilter::Waiting), host), waiting);
        assert_eq!(of(Some(FileStateFilter::Problem), "").len(), PROBLEM_STATES.len());
        let pair = pair("files --state=out_of_reach", "/files?state=out_of_reach");
        assert_eq!(of(Some(FileStateFilter::OutOfReach), ""), [pair]);
        let named = FilesPageQuery { q: " -a b ".into(), ..FilesPageQuery::default() };
        let named = as_commands(&named).remove(0);
        assert_eq!(named.reelyard, [["files", "--contains=-a b"]]);
        assert_eq!(named.curl[0].path, "/files?contains=-a%20b");
    }
}
