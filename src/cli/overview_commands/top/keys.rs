//! The keys of `reelyard top`. Pure.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::model::TopModel;
use super::panel::TopPanel;

/// Rows that a page key moves.
const PAGE: usize = 10;

/// The effect of a key beyond the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEffect {
    /// None.
    Nothing,
    /// Another panel needs its list.
    Panel,
    /// The command ends.
    Quit,
}

/// The keys and their effects, for the help.
pub const KEYS: [(&str, &str); 7] = [
    ("q, Ctrl-C", "quit"),
    ("Tab, Right, l", "next panel"),
    ("Shift-Tab, Left, h", "previous panel"),
    ("1 to 6", "choose a panel"),
    ("j, k, Down, Up", "next, previous row"),
    ("PgDn, PgUp, g, G", "page, first, last row"),
    ("?", "this list"),
];

/// Handles a key.
pub fn press(model: &mut TopModel, key: KeyEvent) -> KeyEffect {
    if key.kind == KeyEventKind::Release {
        return KeyEffect::Nothing;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return if key.code == KeyCode::Char('c') { KeyEffect::Quit } else { KeyEffect::Nothing };
    }
    let help_was_shown = std::mem::take(&mut model.has_help);
    match key.code {
        KeyCode::Char('q') => return KeyEffect::Quit,
        KeyCode::Esc if !help_was_shown => return KeyEffect::Quit,
        KeyCode::Char('?') => model.has_help = !help_was_shown,
        KeyCode::Char('j') | KeyCode::Down => model.choose(model.row.saturating_add(1)),
        KeyCode::Char('k') | KeyCode::Up => model.choose(model.row.saturating_sub(1)),
        KeyCode::PageDown => model.choose(model.row.saturating_add(PAGE)),
        KeyCode::PageUp => model.choose(model.row.saturating_sub(PAGE)),
        KeyCode::Char('g') | KeyCode::Home => model.choose(0),
        KeyCode::Char('G') | KeyCode::End => model.choose(usize::MAX),
        code => {
            if let Some(panel) = panel_of(code, model.panel).filter(|panel| *panel != model.panel) {
                model.show(panel);
                return KeyEffect::Panel;
            }
        }
    }
    KeyEffect::Nothing
}

/// The panel that a key leads to.
fn panel_of(code: KeyCode, from: TopPanel) -> Option<TopPanel> {
    match code {
        KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => Some(from.further(1)),
        KeyCode::BackTab | KeyCode::Left | KeyCode::Char('h') => {
            Some(from.further(TopPanel::ALL.len() - 1))
        }
        KeyCode::Char(digit) => {
            let number = digit.to_digit(10)?.checked_sub(1)?;
            TopPanel::ALL.get(usize::try_from(number).ok()?).copied()
        }
        _ => None,
    }
}
