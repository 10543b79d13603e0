//! The page Tasks as a whole.

use maud::{Markup, html};

use super::model::{FailureCause, TasksPageModel};
use super::query::{BlameFilter, TaskStateFilter, TasksPageQuery};
use super::rows::{COLUMNS, YOUNGEST, task_rows};
use crate::address::{QueryWord, ROOT, SortBy, encoded};
use crate::format::{clock, count, counted, host_short, node_text};
use crate::pages::why::why_file;
use crate::parts::act::{as_command, command_menu, list_lines, post_button};
use crate::parts::dialog::ask_dialog;
use crate::parts::filter::{
    self, FilterBar, FilterChoice, FilterMenu, filter_bar, filter_token, host_menu, order_menu,
};
use crate::parts::mark::{Tone, tag};
use crate::parts::panel::page_head;
use crate::parts::spark::spark;
use crate::parts::table::order_in_force;
use crate::parts::why::split;
use crate::text::{Text, common, frame, states, tasks};
use crate::viewer::Viewer;

/// Causes with a row of their own.
const CAUSES: usize = 8;

/// The content of the page.
pub fn render(query: &TasksPageQuery, model: &TasksPageModel, viewer: &Viewer) -> Markup {
    let close = TasksPageQuery { why: String::new(), ..query.clone() }.address();
    let panel = model.why.as_ref().map(|file| why_file(viewer, file, &close));
    html! {
        (page_head(frame::TASKS.of(viewer.language), &tasks_sentence(viewer, model), list_command(viewer, query)))
        (failures(viewer, query, model))
        (filter_bar(viewer, &filters(viewer, query, model)))
        (tokens(viewer, query, model))
        (split(task_rows(viewer, query, model), panel))
        @if let Some(ask) = &model.ask { (ask_dialog(viewer, ask)) }
    }
}

/// The list as a command. No command selects the tasks of a cause.
fn list_command(viewer: &Viewer, query: &TasksPageQuery) -> Markup {
    if !query.cause.is_empty() {
        return command_menu(viewer, &[]);
    }
    let part = Some(("contains", query.q.trim().to_owned())).filter(|(_, part)| !part.is_empty());
    let state = query.state.map(|state| ("state", state.word().to_owned()));
    let host = (!query.host.is_empty()).then(|| ("host", query.host.clone()));
    let blame = query.blamed.map(|blamed| ("blame", blamed.word().to_owned()));
    let filters: Vec<(&str, String)> = [part, state, host, blame].into_iter().flatten().collect();
    command_menu(viewer, &[list_lines("tasks", &filters)])
}

/// The sentence at the top.
pub fn tasks_sentence(viewer: &Viewer, model: &TasksPageModel) -> String {
    let language = viewer.language;
    let totals = model.totals;
    let copies = |value: u64| counted(language, common::COPY_TASKS, value);
    let waiting = counted(language, common::FILES, totals.waiting);
    let values = [
        ("running", copies(totals.working)),
        ("ready", count(totals.ready)),
        ("waiting", waiting),
        ("done", copies(totals.done_lately)),
        ("failed", count(totals.failed_lately)),
        ("causes", counted(language, common::CAUSES, model.causes.len() as u64)),
    ];
    let values: Vec<(&str, &str)> = values.iter().map(|pair| (pair.0, pair.1.as_str())).collect();
    let last =
        if totals.failed_lately == 0 { tasks::SENTENCE_GOOD } else { tasks::SENTENCE_FAILED };
    format!("{} {}", tasks::SENTENCE.fill(language, &values), last.fill(language, &values))
}

/// Failures by cause. Its id is `task-failures`, for live updates.
pub fn failures(viewer: &Viewer, query: &TasksPageQuery, model: &TasksPageModel) -> Markup {
    let language = viewer.language;
    let copies = counted(language, common::COPY_TASKS, model.totals.failed_lately);
    let causes = counted(language, common::CAUSES, model.causes.len() as u64);
    let remark = format!("{copies}, {causes}");
    let retryable: u64 = model.causes.iter().map(|cause| cause.retryable).sum();
    let ask = TasksPageQuery { ask: "retry_all".to_owned(), ..query.clone() }.address();
    html! {
        section #task-failures .panel.mb hidden[model.causes.is_empty()] {
            header {
                h2 { (tasks::BY_CAUSE.of(language)) }
                span.sub { (remark) }
                @if viewer.rights.storage && retryable > 0 {
                    div.acts { a.btn.sm href=(ask) { (counted(language, tasks::RETRY_ALL, retryable)) } }
                }
            }
            ul { @for cause in model.causes.iter().take(CAUSES) { (cause_row(viewer, cause)) } }
            @if let Some(more) = model.causes.len().checked_sub(CAUSES).filter(|more| *more > 0) {
                @let all = TasksPageQuery { state: Some(TaskStateFilter::Failed), ..TasksPageQuery::default() };
                @let words = common::AND_MORE.fill(language, &[("n", &count(more as u64))]);
                div.tfoot { a href=(all.address()) { (words) } }
            }
        }
    }
}

fn cause_row(viewer: &Viewer, cause: &FailureCause) -> Markup {
    let language = viewer.language;
    let show = TasksPageQuery {
        state: Some(TaskStateFilter::Failed),
        cause: cause.key.clone(),
        ..TasksPageQuery::default()
    };
    let retry = format!("{ROOT}/task-retries?cause={}", encoded(&cause.key));
    let dialog = TasksPageQuery { all: true, ask: "retry".to_owned(), ..show.clone() };
    let values = [("first", clock(viewer, cause.first)), ("last", clock(viewer, cause.last))];
    html! {
        li.cause {
            span.big { (count(cause.copies)) }
            div {
                div.t { (node_text(language, &cause.cause)) }
                div.s {
                    @if let Some(host) = &cause.host { (host_short(host)) " · " }
                    @if let Some(blamed) = cause.blamed { (tasks::BLAMED.of(language)) ": " (blamed.words().of(language)) " · " }
                    (counted(language, common::FILES, cause.files)) " · "
                    (tasks::FIRST_LAST.fill(language, &[("first", &values[0].1), ("last", &values[1].1)]))
                }
            }
            div { @if !cause.curve.is_empty() { (spark(&cause.curve, Tone::Bad, &count(cause.copies))) } }
            div.acts {
                a.btn.sm href=(show.address()) { (tasks::SHOW.of(language)) }
                @if cause.retryable == 0 {
                    (tag(None, Tone::Plain, tasks::NOTHING_TO_DO.of(language)))
                } @else if viewer.rights.storage {
                    @let words = tasks::RETRY_N.fill(language, &[("n", &count(cause.retryable))]);
                    (post_button(&retry, "btn sm go", html! { (words) }))
                    (as_command(viewer, &words, &dialog.address()))
                }
            }
        }
    }
}

fn base(query: &TasksPageQuery) -> TasksPageQuery {
    TasksPageQuery {
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
    query: &TasksPageQuery,
    model: &TasksPageModel,
) -> Vec<(String, Markup)> {
    filter::live_head(viewer, &tasks_sentence(viewer, model), &filters(viewer, query, model))
}

fn filters(viewer: &Viewer, query: &TasksPageQuery, model: &TasksPageModel) -> FilterBar {
    let language = viewer.language;
    let totals = model.totals;
    let base = base(query);
    let choices: [(Option<TaskStateFilter>, Text, u64); 5] = [
        (None, common::ALL, totals.all),
        (Some(TaskStateFilter::Open), tasks::OPEN, totals.working + totals.ready),
        (Some(TaskStateFilter::Failed), states::FAILED, totals.failed),
        (Some(TaskStateFilter::Done), states::DONE, totals.done),
        (Some(TaskStateFilter::Cancelled), states::CANCELLED, totals.cancelled),
    ];
    let mut row = Vec::new();
    for (state, words, rows) in choices {
        row.push(FilterChoice {
            words: words.of(language).to_owned(),
            rows: Some(rows),
            address: TasksPageQuery { state, ..base.clone() }.address(),
            is_current: query.state == state,
        });
    }
    let sort = order_in_force(&query.sort, SortBy::ascending(YOUNGEST));
    let status = if query.sort.key.is_empty() { common::NEWEST_FIRST.of(language) } else { "" };
    FilterBar {
        path: TasksPageQuery::path(),
        field: Some(tasks::FIELD),
        text: query.q.clone(),
        others: TasksPageQuery { q: String::new(), ..base.clone() }.pairs().pairs().to_vec(),
        states_label: common::STATE,
        states: row,
        menus: vec![
            host_menu(viewer, tasks::HOST_MENU, &model.hosts, &query.host, &|host| {
                TasksPageQuery { host: host.to_owned(), ..base.clone() }.address()
            }),
            blame_menu(viewer, query, &base),
        ],
        orders: order_menu(viewer, &COLUMNS, &sort, &|sort: SortBy| {
            TasksPageQuery { sort, ..base.clone() }.address()
        }),
        has_picks: viewer.rights.storage,
        status: status.to_owned(),
    }
}

fn blame_menu(viewer: &Viewer, query: &TasksPageQuery, base: &TasksPageQuery) -> FilterMenu {
    let blames = [
        (None, tasks::BLAMED_ANYONE),
        (Some(BlameFilter::Source), tasks::BLAMED_SOURCE),
        (Some(BlameFilter::Destination), tasks::BLAMED_DESTINATION),
        (Some(BlameFilter::File), tasks::BLAMED_FILE),
    ];
    let mut menu = FilterMenu { label: tasks::BLAMED, chosen: String::new(), choices: Vec::new() };
    for (blamed, words) in blames {
        let choice = FilterChoice {
            words: words.of(viewer.language).to_owned(),
            rows: None,
            address: TasksPageQuery { blamed, ..base.clone() }.address(),
            is_current: query.blamed == blamed,
        };
        if choice.is_current {
            menu.chosen.clone_from(&choice.words);
        }
        menu.choices.push(choice);
    }
    menu
}

/// Filters that neither the field nor the states show.
fn tokens(viewer: &Viewer, query: &TasksPageQuery, model: &TasksPageModel) -> Markup {
    let without = TasksPageQuery { cause: String::new(), ..base(query) }.address();
    let named = model.causes.iter().find(|cause| cause.key == query.cause);
    let words = match named {
        Some(cause) => node_text(viewer.language, &cause.cause),
        None => tasks::CAUSE_GONE.of(viewer.language).to_owned(),
    };
    html! {
        @if !query.cause.is_empty() {
            div.filters { (filter_token(viewer, &words, &without)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::text::Language;
    use crate::viewer::{Moment, ViewerRights};

    #[test]
    fn causes_that_are_not_named_lead_to_all_failures() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment::default());
        let shown = |causes: usize| {
            let causes = vec![FailureCause::default(); causes];
            let model = TasksPageModel { causes, ..TasksPageModel::default() };
            failures(&viewer, &TasksPageQuery::default(), &model).into_string()
        };
        let more = "href=\"/console/tasks?state=failed\">and 2 more<";
        assert!(shown(CAUSES + 2).contains(more), "{}", shown(CAUSES + 2));
        assert!(!shown(CAUSES).contains(" more<"));
    }

    #[test]
    fn the_button_that_retries_counts_the_copies() {
        let rights = ViewerRights { storage: true, ..ViewerRights::default() };
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment::default());
        let viewer = Viewer { rights, ..viewer };
        let shown = |retryable: u64| {
            let causes = vec![FailureCause { retryable, ..FailureCause::default() }];
            let model = TasksPageModel { causes, ..TasksPageModel::default() };
            failures(&viewer, &TasksPageQuery::default(), &model).into_string()
        };
        assert!(shown(1).contains(">Retry 1 that can be…<"), "{}", shown(1));
        assert!(shown(2).contains(">Retry all 2 that can be…<"));
    }
}
