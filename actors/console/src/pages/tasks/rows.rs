//! The table of tasks and its rows.

use maud::{Markup, html};

use super::model::{TaskCondition, TaskLine, TasksPageModel};
use super::query::{TaskStateFilter, TasksPageQuery};
use crate::address::{ROOT, SortBy, encoded};
use crate::format::{age_tag, bytes, count, counted, file_name, left, node_text, visible_text};
use crate::pages::yard::{copy_rate, flow};
use crate::parts::act::{as_command, post_icon};
use crate::parts::bars::progress;
use crate::parts::bulk::{
    BulkBar, BulkSum, PickBox, PickTable, PickedSum, bulk_bar, bulk_button, pick_cell,
};
use crate::parts::icon::Glyph;
use crate::parts::mark::{Tone, state, tag};
use crate::parts::notice::{empty, empty_by_filter};
use crate::parts::table::{TableColumn, order_in_force, why_symbol};
use crate::text::{common, states, tasks};
use crate::viewer::Viewer;

/// The form of the picked rows.
const FORM: &str = "pick-tasks";

/// The key of the usual order: the youngest task first.
pub(super) const YOUNGEST: &str = "age";

/// The columns of the table.
pub(super) const COLUMNS: [TableColumn; 8] = [
    TableColumn::sorted(common::FILE, "name", ""),
    TableColumn::sorted(common::STATE, "state", ""),
    TableColumn::sorted(common::FROM_TO, "from", ""),
    TableColumn::sorted(common::COPIED_PART, "copied", "w-p"),
    TableColumn::sorted(common::RATE, "rate", "num p2"),
    TableColumn::sorted(common::LEFT, "left", "num p3"),
    TableColumn::sorted(common::AGE, YOUNGEST, "num p0"),
    TableColumn::plain(tasks::REASON, "whyc p1"),
];

/// The table with its foot. Its id is `rows`, for filters and live updates.
pub fn task_rows(viewer: &Viewer, query: &TasksPageQuery, model: &TasksPageModel) -> Markup {
    let sort = order_in_force(&query.sort, SortBy::ascending(YOUNGEST));
    let table = PickTable {
        caption: tasks::CAPTION,
        columns: &COLUMNS,
        sort: &sort,
        sorted: &|sort| TasksPageQuery { sort, after: String::new(), ..query.clone() }.address(),
        base: base(query).address(),
        page: &model.page,
    };
    let bulk = viewer.rights.storage.then(|| bulk(viewer, query, model));
    let rows = model.rows.iter().map(|line| task_row(viewer, query, line)).collect();
    table.render(viewer, bulk, rows, || nothing(viewer, query, model))
}

/// The page without picked rows, dialog and panel.
fn base(query: &TasksPageQuery) -> TasksPageQuery {
    TasksPageQuery {
        pick: Vec::new(),
        all: false,
        ask: String::new(),
        why: String::new(),
        ..query.clone()
    }
}

fn bulk(viewer: &Viewer, query: &TasksPageQuery, model: &TasksPageModel) -> Markup {
    let language = viewer.language;
    let hidden = base(query);
    let picked = |line: &&TaskLine| query.pick.contains(&line.id);
    let bar = BulkBar {
        form: FORM,
        picked: model.rows.iter().filter(picked).count() as u64,
        is_all: query.all,
        matching: model.page.total.unwrap_or_default(),
        shown: model.rows.len() as u64,
        sum: BulkSum::Bytes,
        amount: PickedSum::of(model.rows.iter().filter(picked).map(|line| Some(line.copy.size))),
        clear: &hidden.address(),
    };
    html! {
        form #(FORM) method="get" action=(TasksPageQuery::path()) {
            @for (name, value) in hidden.pairs().pairs() { input type="hidden" name=(name) value=(value); }
        }
        (bulk_bar(viewer, &bar, html! {
            (bulk_button(FORM, "retry", tasks::RETRY_MANY.of(language)))
            (bulk_button(FORM, "cancel", tasks::CANCEL_MANY.of(language)))
        }))
    }
}

fn nothing(viewer: &Viewer, query: &TasksPageQuery, model: &TasksPageModel) -> Markup {
    let language = viewer.language;
    let is_of_all_failed = TasksPageQuery {
        state: Some(TaskStateFilter::Failed),
        sort: query.sort.clone(),
        ..TasksPageQuery::default()
    };
    if base(query) == is_of_all_failed {
        let done = count(model.totals.done_lately);
        let body = tasks::EMPTY_FAILED_BODY.fill(language, &[("n", &done)]);
        return empty(tasks::EMPTY_FAILED.of(language), &body, html! {});
    }
    if model.totals.all == 0 {
        let plan = html! { a.btn.sm.go href={ (ROOT) "/plan" } { (tasks::SEE_PLAN.of(language)) } };
        return empty(tasks::EMPTY_ALL.of(language), tasks::EMPTY_ALL_BODY.of(language), plan);
    }
    let title = if query.q.is_empty() {
        tasks::EMPTY_STATE.of(language).to_owned()
    } else {
        tasks::EMPTY_FILTER.fill(language, &[("text", &visible_text(&query.q))])
    };
    let looked = counted(language, common::TASKS, model.totals.all);
    empty_by_filter(language, &title, &looked, TasksPageQuery::path())
}

/// The row of a task. Its id is `task-NUMBER`, for live updates.
pub fn task_row(viewer: &Viewer, query: &TasksPageQuery, line: &TaskLine) -> Markup {
    let language = viewer.language;
    let copy = &line.copy;
    let in_address = copy.name.in_address();
    let is_open = query.why == in_address && !copy.name.is_empty();
    let why = TasksPageQuery { why: in_address.into_owned(), ..query.clone() }.address();
    let dash = || "–".to_owned();
    let id = format!("task-{}", encoded(&line.id));
    let is_picked = query.pick.contains(&line.id);
    let shown = visible_text(&copy.name);
    let pick =
        PickBox { form: FORM, value: &line.id, shown: &shown, is_picked, amount: Some(copy.size) };
    html! {
        tr #(id) class=[is_open.then_some("open")] aria-selected=[is_picked.then_some("true")] {
            @if viewer.rights.storage { (pick_cell(viewer, &pick)) }
            td.file data-l="" {
                div.chips {
                    (file_name(&copy.name, Some(&why)))
                    @if copy.is_hot { (tag(Some(Glyph::Rise), Tone::Hot, states::HOT.of(language))) }
                }
            }
            td data-l=(common::STATE.of(language)) { (state(language, line.condition.mark())) }
            td data-l=(common::FROM_TO.of(language)) { (flow(&copy.source, &copy.destination)) }
            td.w-p data-l=(common::COPIED_PART.of(language)) {
                @match (line.condition.is_open(), copy.percent()) {
                    (true, Some(percent)) => (progress(&copy.name, percent, copy.stalled.is_some())),
                    (false, _) if line.condition == TaskCondition::Done => span { (bytes(copy.size)) },
                    (false, Some(percent)) => span.muted { (percent) "%" },
                    _ => span.muted { "–" },
                }
            }
            td class={ "num nw p2" @if copy.stalled.is_none() { " none" } } data-l=(common::RATE.of(language)) { (copy_rate(language, copy)) }
            td.num.nw.none.p3 data-l=(common::LEFT.of(language)) { (copy.seconds_left().filter(|_| line.condition.is_open()).map_or_else(dash, left)) }
            td.num.nw.p0 data-l=(common::AGE.of(language)) { (age_tag(viewer, line.created)) }
            td class={ "wide p1 whyc" @if line.reason.is_empty() { " none" } } data-l=(tasks::REASON.of(language)) {
                @if line.reason.is_empty() { span.muted { "–" } } @else { (node_text(language, &line.reason)) }
            }
            td.act { (why_symbol(viewer, &why, &copy.name, is_open)) (row_action(viewer, query, line)) }
        }
    }
}

/// Cancel for an open task, Retry for a failed one, and the same as a command.
fn row_action(viewer: &Viewer, query: &TasksPageQuery, line: &TaskLine) -> Markup {
    if !viewer.rights.storage {
        return html! {};
    }
    let (verb, glyph, words) = if line.condition.is_open() {
        ("cancel", Glyph::Cross, tasks::CANCEL_ONE)
    } else if line.condition.has_failed() {
        ("retry", Glyph::Retry, tasks::RETRY_ONE)
    } else {
        return html! {};
    };
    let label = words.fill(viewer.language, &[("name", &visible_text(&line.copy.name))]);
    let (pick, ask) = (vec![line.id.clone()], verb.to_owned());
    let dialog = TasksPageQuery { pick, ask, ..base(query) }.address();
    html! {
        (post_icon(&format!("{ROOT}/tasks/{}/{verb}", encoded(&line.id)), glyph, &label))
        (as_command(viewer, &label, &dialog))
    }
}
