//! The tables of all lists.

mod fit;
mod shown_line;

use reelyard_console::Viewer;

use self::fit::{ColumnNeed, GAP, widths};
pub use self::shown_line::{PartLook, ShownLine};
use super::cell::ListCell;
use super::shown_text::{cut_end, cut_middle, padded, width, wrapped};
use super::state_look::{StateLook, look_of};
use super::style::{OutputForm, PrintStyle};

/// Width to which names are cut at least.
const LEAST_NAME: usize = 16;

/// Indentation of a reason below its row.
const INDENT: usize = 4;

/// How a column behaves in a narrow terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    /// It is shown whole.
    Whole,
    /// A name, which is cut in its middle.
    Name,
    /// A text, which moves below its row if the row is full.
    Reason,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct ListColumn {
    head: String,
    kind: ColumnKind,
    is_right: bool,
    leaves: u8,
    is_only_wide: bool,
    is_only_known: bool,
}

impl ListColumn {
    fn of(head: &str, kind: ColumnKind, is_right: bool) -> Self {
        let (is_only_wide, is_only_known) = (false, false);
        ListColumn { head: head.to_owned(), kind, is_right, leaves: 0, is_only_wide, is_only_known }
    }

    /// A column of words.
    pub fn left(head: &str) -> Self {
        Self::of(head, ColumnKind::Whole, false)
    }

    /// A column of numbers.
    pub fn right(head: &str) -> Self {
        Self::of(head, ColumnKind::Whole, true)
    }

    /// A column of names, which are cut in their middle.
    pub fn name(head: &str) -> Self {
        Self::of(head, ColumnKind::Name, false)
    }

    /// A column of texts, which move below their rows if the terminal is narrow.
    pub fn reason(head: &str) -> Self {
        ListColumn { leaves: u8::MAX, ..Self::of(head, ColumnKind::Reason, false) }
    }

    /// Leaves a narrow terminal. Columns with a higher number leave first.
    pub fn leaves(self, leaves: u8) -> Self {
        ListColumn { leaves, ..self }
    }

    /// Only `-o wide` and CSV have this column.
    pub fn wide(self) -> Self {
        ListColumn { is_only_wide: true, ..self }
    }

    /// A table has this column only if a row has a value in it.
    pub fn if_known(self) -> Self {
        ListColumn { is_only_known: true, ..self }
    }
}

/// A list as a table.
#[derive(Clone, Debug)]
pub struct ListTable {
    /// From left to right.
    pub columns: Vec<ListColumn>,
    /// The rows, with one value for each column.
    pub rows: Vec<Vec<ListCell>>,
}

/// A value as it is printed.
struct ShownCell {
    text: String,
    look: PartLook,
}

/// A table, fitted to its place.
#[derive(Clone, Debug, Default)]
pub struct TableLines {
    /// The heads of the columns.
    pub head: ShownLine,
    /// The lines of each row: the row itself, and its reasons if they have no place in it.
    pub rows: Vec<Vec<ShownLine>>,
    /// Remarks below the table.
    pub foot: Vec<ShownLine>,
}

impl ListTable {
    /// A table without rows.
    pub fn new(columns: impl Into<Vec<ListColumn>>) -> Self {
        ListTable { columns: columns.into(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl Into<Vec<ListCell>>) {
        self.rows.push(cells.into());
    }

    /// The table as text.
    pub fn text(&self, style: &PrintStyle) -> String {
        let lines = self.lines(style);
        let all = [&lines.head].into_iter().chain(lines.rows.iter().flatten()).chain(&lines.foot);
        all.map(|line| line.printed(style)).collect()
    }

    /// The lines of the table, fitted to the terminal.
    pub fn lines(&self, style: &PrintStyle) -> TableLines {
        let is_wide = style.form == OutputForm::Wide;
        let rows: Vec<Vec<ShownCell>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| shown(cell, style, is_wide)).collect())
            .collect();
        let needs = self.needs(&rows, is_wide, style.width.is_some());
        let fitted = fit(&needs, style.width.filter(|_| !is_wide));
        let row_lines = |row: &Vec<ShownCell>| {
            let mut lines = vec![self.line(row, &fitted)];
            lines.extend(self.reasons(row, &fitted, &needs, style));
            lines
        };
        TableLines {
            head: self.head(&fitted),
            rows: rows.iter().map(row_lines).collect(),
            foot: self.foot(&fitted, &needs, style),
        }
    }

    /// Says that the list is empty, and which columns are not shown.
    fn foot(
        &self,
        fitted: &[Option<usize>],
        needs: &[Option<ColumnNeed>],
        style: &PrintStyle,
    ) -> Vec<ShownLine> {
        let Some(columns) = style.width else { return Vec::new() };
        if self.rows.is_empty() {
            return vec![ShownLine::of("nothing to list", PartLook::Dim)];
        }
        let mut left_out = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let is_out = needs[index].is_some() && fitted[index].is_none();
            if is_out && column.kind != ColumnKind::Reason {
                left_out.push(column.head.as_str());
            }
        }
        if left_out.is_empty() {
            return Vec::new();
        }
        let hint = format!("Not shown: {}. -o wide shows all.", left_out.join(", "));
        wrapped(&hint, columns).into_iter().map(|line| ShownLine::of(line, PartLook::Dim)).collect()
    }

    /// The needs of the columns, `None` for a column that this form never has.
    fn needs(
        &self,
        rows: &[Vec<ShownCell>],
        is_wide: bool,
        terminal: bool,
    ) -> Vec<Option<ColumnNeed>> {
        let need = |(index, column): (usize, &ListColumn)| {
            if column.is_only_wide && !is_wide {
                return None;
            }
            let is_known = self
                .rows
                .iter()
                .any(|row| row.get(index).is_some_and(|cell| *cell != ListCell::Nothing));
            if column.is_only_known && !is_known {
                return None;
            }
            // A reason has a line of its own where it is known, so its column is of no use without one.
            if column.kind == ColumnKind::Reason && !is_known && terminal {
                return None;
            }
            let cells = rows.iter().filter_map(|row| row.get(index));
            let natural = cells.map(|cell| width(&cell.text)).chain([width(&column.head)]).max();
            let natural = natural.unwrap_or_default();
            let least = match column.kind {
                ColumnKind::Name => natural.min(LEAST_NAME),
                ColumnKind::Whole | ColumnKind::Reason => natural,
            };
            Some(ColumnNeed { natural, least, leaves: column.leaves })
        };
        self.columns.iter().enumerate().map(need).collect()
    }

    fn head(&self, fitted: &[Option<usize>]) -> ShownLine {
        let heads =
            self.columns.iter().zip(fitted).filter_map(|(column, width)| {
                Some(padded(&column.head, (*width)?, column.is_right))
            });
        let line = heads.collect::<Vec<_>>().join(&" ".repeat(GAP));
        ShownLine::of(line.trim_end(), PartLook::Dim)
    }

    fn line(&self, row: &[ShownCell], fitted: &[Option<usize>]) -> ShownLine {
        let mut line = ShownLine::default();
        let mut blanks = 0;
        for ((column, cell), columns) in self.columns.iter().zip(row).zip(fitted) {
            let Some(columns) = *columns else { continue };
            let text = match column.kind {
                ColumnKind::Name => cut_middle(&cell.text, columns),
                ColumnKind::Whole | ColumnKind::Reason => cut_end(&cell.text, columns),
            };
            let rest = columns.saturating_sub(width(&text));
            blanks += if column.is_right { rest } else { 0 };
            if blanks > 0 {
                line.add(" ".repeat(blanks), PartLook::Plain);
            }
            line.add(text, cell.look);
            // Blanks are written only before the next value, so that no line ends with them.
            blanks = GAP + if column.is_right { 0 } else { rest };
        }
        line
    }

    /// The reasons of a row that have no place in it.
    fn reasons(
        &self,
        row: &[ShownCell],
        fitted: &[Option<usize>],
        needs: &[Option<ColumnNeed>],
        style: &PrintStyle,
    ) -> Vec<ShownLine> {
        let mut lines = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let is_below = column.kind == ColumnKind::Reason
                && fitted[index].is_none()
                && needs[index].is_some();
            let cell = row.get(index).filter(|cell| is_below && cell.text != "-");
            let Some(cell) = cell else { continue };
            let most = style.width.unwrap_or_default().saturating_sub(INDENT);
            for part in wrapped(&cell.text, most) {
                let text = format!("{}{part}", " ".repeat(INDENT));
                lines.push(ShownLine::of(text, PartLook::Dim));
            }
        }
        lines
    }

    /// The columns and rows for programs: heads in lower case, and values without units.
    pub fn raw(&self, viewer: &Viewer) -> Vec<Vec<String>> {
        let heads = self.columns.iter().map(|column| column.head.to_lowercase().replace(' ', "_"));
        let rows = self.rows.iter().map(|row| row.iter().map(|cell| cell.raw(viewer)).collect());
        [heads.collect()].into_iter().chain(rows).collect()
    }
}

/// The widths of the columns: fitted to a terminal, or as wide as their values.
fn fit(needs: &[Option<ColumnNeed>], terminal: Option<usize>) -> Vec<Option<usize>> {
    let Some(columns) = terminal else {
        return needs.iter().map(|need| need.map(|need| need.natural)).collect();
    };
    let wanted: Vec<ColumnNeed> = needs.iter().copied().flatten().collect();
    let mut fitted = widths(&wanted, columns).into_iter();
    needs.iter().map(|need| need.and_then(|_| fitted.next().flatten())).collect()
}

fn shown(cell: &ListCell, style: &PrintStyle, is_wide: bool) -> ShownCell {
    let viewer = &style.viewer;
    let text = match style.width {
        None => cell.whole(viewer),
        Some(_) if is_wide => cell.wide(viewer),
        Some(_) => cell.short(viewer),
    };
    let ListCell::State(state) = cell else { return ShownCell { text, look: PartLook::Plain } };
    let word = state.split(',').next().unwrap_or_default();
    let StateLook { shape, tone } = look_of(word);
    let text = if style.has_shapes { format!("{shape} {text}") } else { text };
    ShownCell { text, look: PartLook::State(tone) }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use reelyard_core::clock::Millis;

    use super::super::{cell, style};
    use super::*;

    const NOW: Millis = Millis(1_795_410_131_482);

    fn style_for(form: OutputForm, width: Option<usize>) -> PrintStyle {
        PrintStyle {
            form,
            width,
            has_colors: false,
            has_shapes: width.is_some(),
            viewer: style::viewer(TimeZone::get("Asia/Seoul").unwrap(), NOW),
        }
    }

    fn tasks() -> ListTable {
        let mut table = ListTable::new([
            ListColumn::left("TASK"),
            ListColumn::left("STATE"),
            ListColumn::name("FILE"),
            ListColumn::left("SOURCE").leaves(2),
            ListColumn::right("SIZE").leaves(3),
            ListColumn::left("SINCE"),
            ListColumn::left("DIR").wide(),
            ListColumn::right("RATE").if_known(),
            ListColumn::reason("WHY"),
        ]);
        let names =
            ["M655A7SGL1500001_K202611220655.mpg".to_owned(), "다큐".repeat(32) + "\u{1b}[31m\n"];
        for (name, why) in names.into_iter().zip([None, Some("no space left on device".repeat(5))])
        {
            table.row([
                cell::text(1_795_396_895_763_000_000_u64),
                cell::state(if why.is_some() { "failed" } else { "working" }),
                cell::text(name),
                cell::text("10.4.2.31:8888"),
                ListCell::Bytes(9_556_302_233),
                ListCell::Since(Millis(NOW.0 - 18 * 60_000)),
                cell::text("/data"),
                ListCell::Nothing,
                cell::maybe(why, cell::text),
            ]);
        }
        table
    }

    #[test]
    fn a_table_fits_every_terminal_from_60_columns_on() {
        for columns in 60..300 {
            let text = tasks().text(&style_for(OutputForm::Table, Some(columns)));
            for line in text.lines() {
                assert!(width(line) <= columns, "{columns}: {line}");
                assert!(!line.contains('\u{1b}') && line.trim_end() == line, "{line:?}");
            }
        }
    }

    #[test]
    fn at_80_columns_a_reason_is_below_its_row() {
        let text = tasks().text(&style_for(OutputForm::Table, Some(80)));
        let lines: Vec<&str> = text.lines().collect();
        let heads =
            "TASK                 STATE      FILE                      SOURCE          SINCE";
        assert_eq!(lines[0], heads, "{text}");
        assert!(lines[1].contains("◐ working  M655A7SGL15…11220655.mpg  10.4.2.31:8888"), "{text}");
        assert!(lines[3].starts_with("    no space left"), "{text}");
        assert!(lines.last().unwrap().starts_with("Not shown: SIZE"), "{text}");
    }

    #[test]
    fn a_pipe_gets_whole_values_and_no_shapes() {
        let text = tasks().text(&style_for(OutputForm::Table, None));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[1].contains("working  M655A7SGL1500001_K202611220655.mpg"), "{text}");
        assert!(lines[2].contains("␛[31m␊") && lines[2].ends_with("device"), "{text}");
        assert!(!lines[0].contains("DIR") && !lines[0].contains("RATE"), "{text}");
    }

    #[test]
    fn wide_has_all_columns_and_exact_times() {
        let text = tasks().text(&style_for(OutputForm::Wide, Some(80)));
        assert!(text.contains("2026-11-23 13:44:11.482 +09:00") && text.contains("DIR"), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
    }

    #[test]
    fn colours_end_with_their_values() {
        let style = PrintStyle { has_colors: true, ..style_for(OutputForm::Table, Some(120)) };
        let text = tasks().text(&style);
        assert!(text.contains("\u{1b}[34m◐ working\u{1b}[0m"), "{text:?}");
        assert!(text.contains("\u{1b}[1m\u{1b}[31m■ failed\u{1b}[0m"), "{text:?}");
    }

    #[test]
    fn an_empty_list_says_so_on_a_terminal() {
        let empty = ListTable { rows: Vec::new(), ..tasks() };
        assert!(empty.text(&style_for(OutputForm::Table, Some(80))).ends_with("nothing to list\n"));
        assert_eq!(empty.text(&style_for(OutputForm::Table, None)).lines().count(), 1);
    }
}
