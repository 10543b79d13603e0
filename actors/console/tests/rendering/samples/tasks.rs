//! Tasks with failures by cause.

use reelyard_console::Viewer;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::tasks::{
    BlamedSide, FailureCause, TaskCondition, TaskLine, TaskTotals, TasksPageModel, TasksPageQuery,
    render,
};
use reelyard_console::parts::table::RowPage;

use super::ago;
use super::yard::copy;

fn cause(copies: u64, words: &str, blamed: BlamedSide, retryable: u64) -> FailureCause {
    FailureCause {
        key: words.into(),
        copies,
        cause: words.into(),
        blamed: Some(blamed),
        host: (blamed != BlamedSide::File).then(|| "10.4.2.31:8888".to_owned()),
        files: copies,
        first: ago(1069),
        last: ago(9),
        curve: vec![0.0, 0.0, 0.0, 1.0, 12.0, 9.0, 4.0],
        retryable,
    }
}

pub fn table(viewer: &Viewer) -> PageParts {
    let line = |index: usize| TaskLine {
        id: format!("17953968957{index:02}"),
        copy: copy(index),
        condition: match index {
            0..6 => TaskCondition::Working,
            6 => TaskCondition::Ready,
            7 => TaskCondition::Failed,
            8 => TaskCondition::TimedOut,
            9 => TaskCondition::Cancelled,
            _ => TaskCondition::Done,
        },
        created: ago(8 + 40 * index as i64),
        reason: match index {
            7 => "no space left on the device".into(),
            8 => "the source sent nothing for 1 h".into(),
            9 => "cancelled by ops-1".into(),
            _ => String::new(),
        },
    };
    let model = TasksPageModel {
        totals: TaskTotals {
            all: 3183,
            working: 12,
            ready: 2,
            waiting: 212,
            failed: 46,
            done: 3120,
            cancelled: 3,
            done_lately: 3120,
            failed_lately: 46,
        },
        causes: vec![
            cause(31, "10.4.2.31:8888 is down", BlamedSide::Destination, 0),
            cause(9, "no space left on the device", BlamedSide::Destination, 9),
            cause(4, "the source sent nothing for 1 h", BlamedSide::Source, 4),
            cause(2, "the content differs from its hash", BlamedSide::File, 2),
        ],
        rows: (0..12).map(line).collect(),
        page: RowPage {
            first: 1,
            shown: 12,
            total: Some(3183),
            previous: None,
            next: Some("/console/tasks?after=9".into()),
        },
        hosts: vec!["10.4.2.31:8888".into()],
        ask: None,
        why: None,
    };
    let title = NavPage::Tasks.title().of(viewer.language);
    PageParts::new(NavPage::Tasks, title, render(&TasksPageQuery::default(), &model, viewer))
}
