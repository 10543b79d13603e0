//! The history in the order of a column, one page at a time.

use std::cmp::Reverse;
use std::collections::HashMap;

use reelyard_api::HistoryLine;
use reelyard_core::history::BoundedLog;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, NameTable};
use reelyard_core::page_order::{ItemNumber, PageRange, page_by_number, page_by_text};
use reelyard_yard::remover::{Ending, RemovalRecord};
use reelyard_yard::task_manager::{CopyRecord, TaskState};

use super::history::{HistoryFilter, PLANNER, of_copy, of_removal};

/// A column by which the history is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryColumn {
    /// The end of the copy or removal.
    When,
    /// Copied, removed, cancelled or failed.
    Step,
    /// The name of the file.
    File,
    /// The host that took the copy, or lost it.
    Host,
    /// The size of the file.
    Size,
    /// The requester.
    By,
}

/// A line of one of both histories.
enum EndedStep<'a> {
    Copy(&'a CopyRecord),
    Removal(&'a RemovalRecord),
}

impl EndedStep<'_> {
    fn at(&self) -> i64 {
        match self {
            EndedStep::Copy(copy) => copy.at.0,
            EndedStep::Removal(removal) => removal.at.0,
        }
    }

    fn step(&self) -> u64 {
        match self {
            EndedStep::Copy(copy) => match copy.state {
                TaskState::Done => 0,
                TaskState::Cancelled => 2,
                _ => 3,
            },
            EndedStep::Removal(removal) => match removal.ending {
                Ending::Removed | Ending::Absent => 1,
                _ => 3,
            },
        }
    }

    fn file(&self) -> FileId {
        match self {
            EndedStep::Copy(copy) => copy.file,
            EndedStep::Removal(removal) => removal.file,
        }
    }

    fn host(&self) -> HostAddr {
        match self {
            EndedStep::Copy(copy) => copy.destination,
            EndedStep::Removal(removal) => removal.host,
        }
    }

    fn size(&self) -> Option<u64> {
        match self {
            EndedStep::Copy(copy) => Some(copy.size),
            EndedStep::Removal(removal) => removal.size,
        }
    }

    fn by(&self) -> &str {
        match self {
            EndedStep::Copy(copy) => copy.asked_by.as_deref().unwrap_or(PLANNER),
            EndedStep::Removal(removal) => &removal.asked_by,
        }
    }

    fn line(&self, names: &NameTable) -> HistoryLine {
        match self {
            EndedStep::Copy(copy) => of_copy(copy, names),
            EndedStep::Removal(removal) => of_removal(removal, names),
        }
    }
}

impl HistoryFilter {
    /// The lines of a page of both histories in this order, and how many match. Lines that are alike are sorted newest
    /// first.
    pub fn sorted_page(
        &self,
        copies: &BoundedLog<CopyRecord>,
        removals: &BoundedLog<RemovalRecord>,
        column: HistoryColumn,
        page: &PageRange,
        names: &NameTable,
    ) -> (Vec<HistoryLine>, usize) {
        let copies = copies.newest_first().map(|(_, line)| line);
        let copies = copies.filter(|line| self.takes_copy(line, names)).map(EndedStep::Copy);
        let removals = removals.newest_first().map(|(_, line)| line);
        let removals = removals.filter(|line| self.takes_removal(line, names));
        let mut steps: Vec<EndedStep<'_>> =
            copies.chain(removals.map(EndedStep::Removal)).collect();
        // Two sorted halves, which this sort merges.
        steps.sort_by_key(|step| Reverse(step.at()));
        let shown = in_order(&steps, column, page, names).into_iter();
        let shown = shown.filter_map(|item| steps.get(item as usize));
        (shown.map(|step| step.line(names)).collect(), steps.len())
    }
}

fn in_order(
    steps: &[EndedStep<'_>],
    column: HistoryColumn,
    page: &PageRange,
    names: &NameTable,
) -> Vec<ItemNumber> {
    let by = |key: &dyn Fn(&EndedStep<'_>) -> u64| {
        page_by_number(steps.iter().zip(0..).map(|(step, item)| (key(step), item)), page)
    };
    // Descending texts come in the opposite order of the list, which is therefore turned round.
    let items = || {
        let mut items: Vec<ItemNumber> = (0..steps.len() as ItemNumber).collect();
        if page.descending {
            items.reverse();
        }
        items
    };
    let chosen = |items: &[ItemNumber]| {
        items.iter().filter_map(|item| steps.get(*item as usize)).collect::<Vec<_>>()
    };
    match column {
        HistoryColumn::When => by(&|step| step.at().max(0).unsigned_abs()),
        HistoryColumn::Step => by(&|step| step.step()),
        HistoryColumn::Size => by(&|step| step.size().map_or(0, |size| size.saturating_add(1))),
        HistoryColumn::Host => page_by_number(host_places(steps).zip(0..), page),
        HistoryColumn::File => page_by_text(&items(), page, &mut |items, show| {
            let files: Vec<u32> = chosen(items).iter().map(|step| step.file().0).collect();
            names.show_names(&files, show);
        }),
        HistoryColumn::By => page_by_text(&items(), page, &mut |items, show| {
            chosen(items).iter().for_each(|step| show(step.by().as_bytes()));
        }),
    }
}

/// The place of the host of each line among all hosts. Hosts are compared, not their lines.
fn host_places(steps: &[EndedStep<'_>]) -> impl Iterator<Item = u64> {
    let mut numbers = HashMap::new();
    let number_of = |step: &EndedStep<'_>| {
        let next = numbers.len();
        *numbers.entry(step.host()).or_insert(next)
    };
    let of_steps: Vec<usize> = steps.iter().map(number_of).collect();
    let mut hosts: Vec<(HostAddr, usize)> = numbers.into_iter().collect();
    hosts.sort_unstable();
    let mut places = vec![0; hosts.len()];
    (0..).zip(&hosts).for_each(|(place, (_, number))| places[*number] = place);
    of_steps.into_iter().map(move |number| places[number])
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_core::names::FileName;
    use reelyard_protocol::worker::TaskId;
    use reelyard_yard::remover::Reason;

    use super::*;

    fn host(last: u8) -> HostAddr {
        format!("10.0.0.{last}:80").parse().unwrap()
    }

    fn histories() -> (BoundedLog<CopyRecord>, BoundedLog<RemovalRecord>) {
        let (mut copies, mut removals) = (BoundedLog::default(), BoundedLog::default());
        for (at, file, last, size) in [(1, 1, 10, 5), (4, 0, 9, 7), (5, 2, 10, 6)] {
            copies.push(CopyRecord {
                task: TaskId(at),
                file: FileId(file),
                source: host(1),
                destination: host(last),
                grade: 1,
                hits: 0,
                size,
                state: if at == 4 { TaskState::Failed } else { TaskState::Done },
                reason: None,
                is_unverified: false,
                blame: None,
                asked_by: (at == 5).then(|| "ops".to_owned()),
                planned: Millis(0),
                at: Millis(at),
            });
        }
        removals.push(RemovalRecord {
            host: host(9),
            file: FileId(1),
            size: None,
            reason: Reason::Draining { elsewhere: 1 },
            keeper: None,
            asked_by: "remover".to_owned(),
            decided: Millis(0),
            at: Millis(3),
            ending: Ending::Removed,
        });
        (copies, removals)
    }

    #[test]
    fn both_histories_are_sorted_by_each_column() {
        let names = NameTable::new();
        for name in ["b", "c", "a"] {
            names.intern(&FileName::new(name).unwrap());
        }
        let (copies, removals) = histories();
        let order = |filter: &HistoryFilter, column, descending, positions| {
            let page = PageRange { positions, descending };
            let (lines, total) = filter.sorted_page(&copies, &removals, column, &page, &names);
            (lines.iter().map(|line| line.at.0).collect::<Vec<_>>(), total)
        };
        let all = HistoryFilter::default();
        for (column, ascending, descending) in [
            (HistoryColumn::When, [1, 3, 4, 5], [5, 4, 3, 1]),
            (HistoryColumn::Step, [5, 1, 3, 4], [4, 3, 5, 1]),
            (HistoryColumn::File, [5, 4, 3, 1], [3, 1, 4, 5]),
            // .9 comes before .10, and lines that are alike are newest first.
            (HistoryColumn::Host, [4, 3, 5, 1], [5, 1, 4, 3]),
            (HistoryColumn::Size, [3, 1, 5, 4], [4, 5, 1, 3]),
            (HistoryColumn::By, [5, 4, 1, 3], [3, 4, 1, 5]),
        ] {
            assert_eq!(order(&all, column, false, 0..9).0, ascending, "{column:?}");
            assert_eq!(order(&all, column, true, 0..9).0, descending, "{column:?}");
        }
        assert_eq!(order(&all, HistoryColumn::Size, true, 1..3), (vec![5, 1], 4));
        let failed = HistoryFilter { failed: true, ..HistoryFilter::default() };
        assert_eq!(order(&failed, HistoryColumn::Host, false, 0..9), (vec![4], 1));
    }
}
