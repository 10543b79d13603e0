//! Rows of the audit for people.

use reelyard_api::AuditRowInfo;

use crate::cli::output::cell::{maybe, text};
use crate::cli::output::{ListCell, ListColumn, ListTable, PrintStyle, plain};

/// A table with one line for each row.
pub fn table(rows: &[AuditRowInfo], _: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::right("ROW"),
        ListColumn::left("TIME"),
        ListColumn::name("ACTOR"),
        ListColumn::left("FROM").leaves(3),
        ListColumn::left("OPERATION"),
        ListColumn::name("SUBJECT"),
        ListColumn::name("OUTCOME").leaves(1),
        ListColumn::name("CHANGE").leaves(2),
        ListColumn::reason("REASON"),
    ]);
    for row in rows {
        let mut line = vec![text(row.seq), ListCell::At(row.at.0)];
        line.extend(cells(row).into_iter().map(|cell| maybe(cell, text)));
        table.row(line);
    }
    table
}

/// A row as one line.
pub fn line(row: &AuditRowInfo, style: &PrintStyle) -> String {
    let cells: Vec<String> = cells(row).into_iter().flatten().map(|cell| plain(&cell)).collect();
    format!("{} {} {}", row.seq, style.exact(row.at.0), cells.join("  "))
}

/// The values of a row that are texts. They may have any characters.
fn cells(row: &AuditRowInfo) -> [Option<String>; 7] {
    let name = if row.actor.name.is_empty() { "" } else { " " };
    let actor = format!("{}{name}{}", row.actor.kind.word(), row.actor.name);
    let outcome = match (row.status, &row.problem) {
        (None, _) => None,
        (Some(status), Some(problem)) => Some(format!("{status} {problem}")),
        (Some(status), None) => Some(status.to_string()),
    };
    let outcome = match (outcome, row.count) {
        (outcome, None) => outcome,
        (outcome, Some(count)) => {
            Some(format!("{} ({count} times)", outcome.unwrap_or_else(|| "-".to_owned())))
        }
    };
    let change = match (&row.before, &row.after) {
        (None, None) => None,
        (None, Some(after)) => Some(after.to_string()),
        (Some(before), None) => Some(format!("{before} ->")),
        (Some(before), Some(after)) => Some(format!("{before} -> {after}")),
    };
    [
        Some(actor),
        row.from.clone(),
        Some(row.operation.clone()),
        row.subject.clone(),
        outcome,
        change,
        row.reason.clone(),
    ]
}
