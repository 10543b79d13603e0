//! The keys of the demo.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::termios::LocalModes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::terminal::ModesOff;

/// The keys and their effects, for the terminal.
pub const KEYS: &str = "1 2 3 choose   k kill or start   p pause or wake   c cut or join   q quit";

/// Longest wait for a key before the thread looks whether it is still wanted.
const KEY_WAIT: Duration = Duration::from_millis(100);

/// A key with an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoKey {
    /// The node with this number is chosen.
    Choose(u64),
    /// The chosen node is killed, or started again.
    KillOrStart,
    /// The chosen node is paused, or woken.
    PauseOrWake,
    /// The chosen node is cut off from the others, or joined again.
    CutOrJoin,
    /// The demo ends.
    Quit,
}

impl DemoKey {
    fn of(key: KeyEvent) -> Option<Self> {
        if key.kind == KeyEventKind::Release || key.modifiers.contains(KeyModifiers::CONTROL) {
            return None;
        }
        match key.code {
            KeyCode::Char(digit @ '1'..='3') => digit.to_digit(10).map(u64::from).map(Self::Choose),
            KeyCode::Char('k') => Some(DemoKey::KillOrStart),
            KeyCode::Char('p') => Some(DemoKey::PauseOrWake),
            KeyCode::Char('c') => Some(DemoKey::CutOrJoin),
            KeyCode::Char('q') => Some(DemoKey::Quit),
            _ => None,
        }
    }
}

/// The keys that are pressed, until this is dropped.
///
/// Only lines and echo are switched off. In raw mode Ctrl-C would be no signal any more, and the lines that the
/// demo prints would lose their carriage returns.
pub struct DemoKeys {
    keys: UnboundedReceiver<DemoKey>,
    is_wanted: Arc<AtomicBool>,
    _modes: ModesOff,
}

impl DemoKeys {
    /// Begins to read keys from the terminal.
    pub fn read() -> Result<Self> {
        let modes = ModesOff::of_stdin(LocalModes::ECHO | LocalModes::ICANON)?;
        let (send, keys) = unbounded_channel();
        let is_wanted = Arc::new(AtomicBool::new(true));
        let of_thread = Arc::clone(&is_wanted);
        std::thread::spawn(move || read_keys(&send, &of_thread));
        Ok(DemoKeys { keys, is_wanted, _modes: modes })
    }

    /// The next key. None if the terminal cannot be read any more.
    pub async fn next(&mut self) -> Option<DemoKey> {
        self.keys.recv().await
    }
}

impl Drop for DemoKeys {
    fn drop(&mut self) {
        self.is_wanted.store(false, Ordering::Relaxed);
    }
}

fn read_keys(send: &UnboundedSender<DemoKey>, is_wanted: &AtomicBool) {
    while is_wanted.load(Ordering::Relaxed) {
        let read = match event::poll(KEY_WAIT) {
            Ok(false) => continue,
            Ok(true) => event::read(),
            Err(_) => return,
        };
        match read {
            Ok(Event::Key(key)) => {
                if let Some(key) = DemoKey::of(key)
                    && send.send(key).is_err()
                {
                    return;
                }
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_listed_keys_have_an_effect() {
        let key = |code| DemoKey::of(KeyEvent::new(KeyCode::Char(code), KeyModifiers::NONE));
        assert_eq!(key('1'), Some(DemoKey::Choose(1)));
        assert_eq!(key('3'), Some(DemoKey::Choose(3)));
        for other in ['0', '4', 'K', 'x'] {
            assert_eq!(key(other), None, "{other}");
        }
        let end = DemoKey::of(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert_eq!(end, None, "Ctrl-C is a signal");
        for word in KEYS.split_whitespace().filter(|word| word.len() == 1) {
            let listed = word.chars().find_map(key);
            assert!(listed.is_some(), "{word}");
        }
    }
}
