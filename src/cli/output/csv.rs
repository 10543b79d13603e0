//! Comma-separated values, as RFC 4180 has them.

use reelyard_console::Viewer;

use super::table::ListTable;

/// First characters that make a spreadsheet read a field as a formula.
const FORMULAS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// The table with every column.
pub fn text(table: &ListTable, viewer: &Viewer) -> String {
    let lines = table.raw(viewer).into_iter().map(|row| {
        let fields: Vec<String> = row.iter().map(|value| field(value)).collect();
        format!("{}\r\n", fields.join(","))
    });
    lines.collect()
}

/// A field, in quotes where it needs them. An apostrophe in front keeps a spreadsheet from reading it as a formula.
fn field(value: &str) -> String {
    let harmless = if value.starts_with(FORMULAS) { format!("'{value}") } else { value.to_owned() };
    if harmless.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", harmless.replace('"', "\"\""))
    } else {
        harmless
    }
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
    fn fields_are_quoted_and_never_formulas() {
        assert_eq!(field("a.mpg"), "a.mpg");
        assert_eq!(field("a, \"b\".mpg"), "\"a, \"\"b\"\".mpg\"");
        for formula in ["=1+1", "+1", "-2", "@SUM(A1)", "\tx"] {
            assert_eq!(field(formula), format!("'{formula}"));
        }
        assert_eq!(field("=HYPERLINK(\"x\",\"y\")"), "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
    }

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
