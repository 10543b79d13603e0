//! The table of several modes on the same demand.

use std::io::{self, Write};

use reelyard_simulate::{ComparedReport, SimulationReport};
use reelyard_yard::settings::popularity::PopularityMode;

use super::report_tables::{
    effect_rows, percent_or_dash, reference_text, references, setting_line,
};
use crate::cli::output::cell::{maybe, text};
use crate::cli::output::{ListCell, ListColumn, ListTable, Printer};

/// Prints one table: a column for each mode, and one for the placement that knows the next days.
pub fn print(reports: &[ComparedReport], out: &mut Printer<'_>) -> io::Result<()> {
    let Some(first) = reports.first().map(|compared| &compared.report) else { return Ok(()) };
    setting_line(&first.setting, out)?;
    writeln!(out)?;
    out.table(&table(reports, first))?;
    writeln!(out)?;
    for (what, reference) in references(first) {
        writeln!(out, "{what}: {}", reference_text(reference))?;
    }
    Ok(())
}

fn table(reports: &[ComparedReport], first: &SimulationReport) -> ListTable {
    let modes = reports.iter().map(|compared| mode_word(compared.mode).to_uppercase());
    let mut columns = vec![ListColumn::left("WHAT")];
    columns.extend(modes.map(|mode| ListColumn::right(&mode)));
    columns.push(ListColumn::right("7 DAYS KNOWN"));
    let mut table = ListTable::new(columns);
    let bound = &first.references.next_7_days;
    for (day, known) in bound.days.iter().enumerate() {
        let mut row = vec![text(format!("hit ratio, day {}", day + 1))];
        for ComparedReport { report, .. } in reports {
            let ratio = report.days.get(day).and_then(|day| day.hit_ratio);
            row.push(percent_or_dash(ratio));
        }
        row.push(percent_or_dash(known.hit_ratio()));
        table.row(row);
    }
    let mut all = vec![text("hit ratio, all days")];
    all.extend(reports.iter().map(|compared| percent_or_dash(compared.report.hit_ratio)));
    all.push(percent_or_dash(bound.hit_ratio));
    table.row(all);
    let effects: Vec<_> = reports.iter().map(|compared| effect_rows(&compared.report)).collect();
    for (index, (what, _)) in effect_rows(first).into_iter().enumerate() {
        let mut row = vec![text(what)];
        row.extend(effects.iter().map(|effect| text(&effect[index].1)));
        let bytes = bound.copied_a_day.filter(|_| index == 0);
        row.push(maybe(bytes, ListCell::Bytes));
        table.row(row);
    }
    table
}

/// The word of a mode in settings.
pub fn mode_word(mode: PopularityMode) -> &'static str {
    match mode {
        PopularityMode::On => "on",
        PopularityMode::Shadow => "shadow",
        PopularityMode::Off => "off",
    }
}
