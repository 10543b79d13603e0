//! Tables as comma-separated values.

use reelyard_console::Viewer;

use super::table::ListTable;
use crate::csv::row;

/// The table with every column.
pub fn text(table: &ListTable, viewer: &Viewer) -> String {
    let rows = table.raw(viewer);
    rows.iter().map(|fields| row(fields.iter().map(AsRef::as_ref))).collect()
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use reelyard_core::clock::Millis;

    use super::super::cell::{self, ListCell};
    use super::super::style;
    use super::super::table::ListColumn;
    use super::*;

    #[test]
    fn programs_get_numbers_and_instants_without_units() {
        let mut table = ListTable::new([
            ListColumn::name("FILE"),
            ListColumn::right("SIZE"),
            ListColumn::left("PINNED BY").wide(),
            ListColumn::left("SINCE"),
        ]);
        table.row([
            cell::text("a\n.mpg"),
            ListCell::Bytes(9_556_302_233),
            ListCell::Nothing,
            ListCell::Since(Millis(0)),
        ]);
        let viewer = style::viewer(TimeZone::UTC, Millis(1000));
        assert_eq!(
            text(&table, &viewer),
            "file,size,pinned_by,since\r\na␊.mpg,9556302233,,1970-01-01T00:00:00.000+00:00\r\n"
        );
    }
}
