//! The screen of `reelyard top`: a pure function from the model to a buffer.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Widget};
use reelyard_console::Moment;
use reelyard_console::format;
use reelyard_console::parts::mark::Tone;

use super::keys::KEYS;
use super::model::TopModel;
use super::panel::TopPanel;
use crate::cli::output::{PartLook, PrintStyle, ShownLine, cut_end, text_width, wrapped};
use crate::cli::overview_commands::{figures, verdict};

/// Without an answer for this many seconds, the screen is stale.
const STALE_SECONDS: u64 = 3;

/// Draws the whole screen.
pub fn draw(frame: &mut Frame<'_>, model: &TopModel, style: &PrintStyle) {
    let area = frame.area();
    paint(area, frame.buffer_mut(), model, style);
}

/// Paints the screen into a buffer.
fn paint(area: Rect, buffer: &mut Buffer, model: &TopModel, style: &PrintStyle) {
    let style = &PrintStyle { width: Some(usize::from(area.width)), ..style.clone() };
    let mut rows = ScreenRows { area, next: area.y, has_colors: style.has_colors };
    rows.put(buffer, &head(model, style));
    rows.put(buffer, &verdict::sentence(&model.overview, style));
    let mut troubles = verdict::troubles(&model.overview, style);
    troubles.extend(verdict::remarks(&model.overview, style));
    put_some(&mut rows, buffer, &troubles, usize::from(area.height) / 3);
    rows.put(buffer, &ShownLine::default());
    put_panels(&mut rows, buffer, model.panel);
    if model.panel == TopPanel::Overview {
        let figures = figures::lines(&model.overview, style);
        let room = rows.left().saturating_sub(1);
        put_some(&mut rows, buffer, &figures, room);
        rows.put(buffer, &ShownLine::default());
    }
    put_table(&mut rows, buffer, model, style);
    let keys = "q quit   Tab panel   j k row   ? help";
    let foot = Rect { y: area.bottom().saturating_sub(1), height: 1.min(area.height), ..area };
    Line::styled(keys, look(PartLook::Dim, style.has_colors)).render(foot, buffer);
    if model.has_help {
        paint_help(area, buffer);
    }
}

/// The rows of the screen that are filled from above. The last row is for the keys.
struct ScreenRows {
    area: Rect,
    next: u16,
    has_colors: bool,
}

impl ScreenRows {
    /// Free rows.
    fn left(&self) -> usize {
        usize::from(self.area.bottom().saturating_sub(1).saturating_sub(self.next))
    }

    fn put(&mut self, buffer: &mut Buffer, line: &ShownLine) {
        self.put_styled(buffer, line, Style::new());
    }

    fn put_styled(&mut self, buffer: &mut Buffer, line: &ShownLine, over: Style) {
        if self.left() == 0 {
            return;
        }
        let spans = line
            .parts
            .iter()
            .map(|(text, part)| Span::styled(text.as_str(), look(*part, self.has_colors)));
        let row = Rect { y: self.next, height: 1, ..self.area };
        Line::from_iter(spans).render(row, buffer);
        buffer.set_style(row, over);
        self.next += 1;
    }
}

/// Paints the first lines, and says how many more there are.
fn put_some(rows: &mut ScreenRows, buffer: &mut Buffer, lines: &[ShownLine], most: usize) {
    let most = most.min(rows.left());
    let fits = lines.len() <= most;
    let shown = if fits { lines.len() } else { most.saturating_sub(1) };
    lines.iter().take(shown).for_each(|line| rows.put(buffer, line));
    if !fits && most > 0 {
        let more = format!("  {} more lines: reelyard status", lines.len() - shown);
        rows.put(buffer, &ShownLine::of(more, PartLook::Dim));
    }
}

/// The first line: the node, and whether it answers.
fn head(model: &TopModel, style: &PrintStyle) -> ShownLine {
    let silent = Moment(model.answered_at.0).seconds_until(style.viewer.now);
    let is_stale = silent >= STALE_SECONDS;
    let (mark, tone) = if is_stale {
        (format!("▲ Stale, {}", format::age(style.viewer.language, silent)), Tone::Warn)
    } else {
        (format!("● live {}", style.clock(style.instant())), Tone::Ok)
    };
    let width = style.width.unwrap_or_default();
    let failure = model.failure.as_deref().filter(|_| is_stale).map(|why| format!(" {why}"));
    let about = format!("{}{}", model.address, failure.unwrap_or_default());
    let mut line = ShownLine::of(mark, PartLook::State(tone));
    let room = width.saturating_sub(text_width(&line.parts[0].0) + 2);
    line.add(format!("  {}", cut_end(&about, room)), PartLook::Plain);
    line
}

fn put_panels(rows: &mut ScreenRows, buffer: &mut Buffer, chosen: TopPanel) {
    let y = rows.next;
    rows.put(buffer, &ShownLine::default());
    let mut x = rows.area.x;
    for panel in TopPanel::ALL {
        let name = panel.name();
        let style = match panel == chosen {
            true => Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD),
            false => Style::new().add_modifier(Modifier::DIM),
        };
        if y >= rows.area.bottom().saturating_sub(1) || x >= rows.area.right() {
            return;
        }
        let room = usize::from(rows.area.right() - x);
        x = buffer.set_stringn(x, y, name, room, style).0.saturating_add(1);
    }
}

/// The list of the panel, moved so that the chosen row is on the screen.
fn put_table(rows: &mut ScreenRows, buffer: &mut Buffer, model: &TopModel, style: &PrintStyle) {
    if model.table.columns.is_empty() {
        rows.put(buffer, &ShownLine::of("…", PartLook::Dim));
        return;
    }
    if let Some(right) = &model.missing {
        let name = model.panel.name().to_lowercase();
        let text = format!(
            "These {name} need the right {right}, which your token does not have. Ask an administrator for a token with it."
        );
        for part in wrapped(&text, usize::from(rows.area.width)) {
            rows.put(buffer, &ShownLine::of(part, PartLook::Plain));
        }
        return;
    }
    let lines = model.table.lines(style);
    rows.put(buffer, &lines.head);
    let room = rows.left();
    let mut first = model.row.min(lines.rows.len());
    let mut used = lines.rows.get(first).map_or(0, Vec::len);
    while let Some(before) = first.checked_sub(1) {
        used += lines.rows.get(before).map_or(0, Vec::len);
        if used > room {
            break;
        }
        first = before;
    }
    for (index, row) in lines.rows.iter().enumerate().skip(first) {
        for (part, line) in row.iter().enumerate() {
            let is_chosen = index == model.row && part == 0;
            let over = if is_chosen { Modifier::REVERSED } else { Modifier::empty() };
            rows.put_styled(buffer, line, Style::new().add_modifier(over));
        }
    }
    if lines.rows.is_empty() {
        lines.foot.iter().for_each(|line| rows.put(buffer, line));
    }
}

fn paint_help(area: Rect, buffer: &mut Buffer) {
    let lines: Vec<Line<'_>> =
        KEYS.iter().map(|(key, effect)| Line::raw(format!(" {key:<19}{effect} "))).collect();
    let width = lines.iter().map(Line::width).max().unwrap_or_default();
    let width = u16::try_from(width).unwrap_or(u16::MAX).saturating_add(2).min(area.width);
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2).min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(place, buffer);
    Paragraph::new(lines).block(Block::bordered().title(" Keys ")).render(place, buffer);
}

/// The look of a part on the screen. Without colours, only weight and inversion are used.
fn look(part: PartLook, has_colors: bool) -> Style {
    let style = Style::new();
    match part {
        PartLook::Plain => style,
        PartLook::Dim => style.add_modifier(Modifier::DIM),
        PartLook::Strong => style.add_modifier(Modifier::BOLD),
        PartLook::State(tone) => match color(tone).filter(|_| has_colors) {
            Some(color) => style.fg(color),
            None => style,
        },
    }
}

const fn color(tone: Tone) -> Option<Color> {
    match tone {
        Tone::Plain | Tone::Off => None,
        Tone::Ok => Some(Color::Green),
        Tone::Warn => Some(Color::Yellow),
        Tone::Bad => Some(Color::Red),
        Tone::Work => Some(Color::Blue),
        Tone::Hold | Tone::Hot => Some(Color::Magenta),
    }
}

#[cfg(test)]
mod tests;
