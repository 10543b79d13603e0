//! The inputs of the node as troubles of the first screen.

use reelyard_console::pages::yard::{Trouble, TroubleCause};
use reelyard_yard::catalog::views::{CatalogInputView, CatalogView};

/// How many inputs were looked at.
pub fn count(catalog: &CatalogView) -> u64 {
    let files = usize::from(catalog.grade_info.is_some())
        + usize::from(catalog.hitcount_history.is_some())
        + catalog.event_log.as_ref().map_or(0, |log| log.files.len());
    (files + catalog.source_dirs.dirs.len()) as u64
}

/// Inputs that cannot be read, and rows of them that cannot.
pub fn troubles(catalog: &CatalogView) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    let of_log = catalog.event_log.iter().flat_map(|log| log.files.iter().map(|day| &day.input));
    let files = catalog.grade_info.iter().chain(&catalog.hitcount_history).chain(of_log);
    troubles.extend(files.filter_map(of_file));
    for dir in &catalog.source_dirs.dirs {
        if let Some(reason) = dir.state.problem() {
            troubles.push(unreadable(&dir.path, reason));
        }
    }
    troubles
}

fn of_file(input: &CatalogInputView) -> Option<Trouble> {
    if let Some(reason) = input.state.problem() {
        return Some(unreadable(&input.path, reason));
    }
    let first = input.tally.first_bad.first()?;
    let cause = TroubleCause::BadRows {
        input: input.path.clone(),
        rows: input.tally.bad(),
        line: first.line,
        reason: first.fault.to_string(),
    };
    Some(Trouble { cause, since: None })
}

fn unreadable(path: &str, reason: String) -> Trouble {
    Trouble { cause: TroubleCause::InputUnreadable { input: path.to_owned(), reason }, since: None }
}
