//! Rows of the audit for people.

use comfy_table::{Cell, Table};
use reelyard_api::AuditRowInfo;

use crate::cli::support::output::{self, number, plain};

/// A table with one line for each row.
pub fn table(rows: &[AuditRowInfo]) -> Table {
    let mut table = output::table(&[
        "ROW",
        "TIME",
        "ACTOR",
        "FROM",
        "OPERATION",
        "SUBJECT",
        "OUTCOME",
        "CHANGE",
        "REASON",
    ]);
    for row in rows {
        let [actor, from, operation, subject, outcome, change, reason] = cells(row);
        table.add_row([
            number(row.seq),
            Cell::new(row.at),
            Cell::new(actor),
            Cell::new(from),
            Cell::new(operation),
            Cell::new(subject),
            Cell::new(outcome),
            Cell::new(change),
            Cell::new(reason),
        ]);
    }
    table
}

/// A row as one line.
pub fn line(row: &AuditRowInfo) -> String {
    let cells = cells(row).into_iter().filter(|cell| cell != "-").collect::<Vec<_>>();
    format!("{} {} {}", row.seq, row.at, cells.join("  "))
}

fn cells(row: &AuditRowInfo) -> [String; 7] {
    let shown = |text: &Option<String>| text.as_deref().map_or("-".to_owned(), plain);
    let name = if row.actor.name.is_empty() { "" } else { " " };
    let actor = format!("{}{name}{}", row.actor.kind.word(), plain(&row.actor.name));
    let outcome = match (row.status, &row.problem) {
        (None, _) => "-".to_owned(),
        (Some(status), Some(problem)) => format!("{status} {}", plain(problem)),
        (Some(status), None) => status.to_string(),
    };
    let count = row.count.map_or(String::new(), |count| format!(" ({count} times)"));
    let change = match (&row.before, &row.after) {
        (None, None) => "-".to_owned(),
        (None, Some(after)) => plain(&after.to_string()),
        (Some(before), None) => format!("{} ->", plain(&before.to_string())),
        (Some(before), Some(after)) => {
            format!("{} -> {}", plain(&before.to_string()), plain(&after.to_string()))
        }
    };
    [
        actor,
        shown(&row.from),
        plain(&row.operation),
        shown(&row.subject),
        format!("{outcome}{count}"),
        change,
        shown(&row.reason),
    ]
}
