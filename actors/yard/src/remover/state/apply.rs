//! How events change the piece. Deterministic: the piece, the event and its time decide alone.

use std::sync::Arc;

use RemovalOutcome::{AlreadySo, Applied};
use reelyard_core::clock::Millis;
use reelyard_core::event::PieceId;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileName, NamePin};
use reelyard_replication::{FrozenPiece, Piece, UnreadableEvent};

use super::ending::Ending;
use super::event::{Intent, RemovalEvent, RemovalOutcome, RemovalRefusal};
use super::removal_book::{CopyKey, OpenRemoval, Pin, RemovalBook, RemovalRecord};
use super::snapshot::{FrozenRemovalBook, thaw_row};

type RemoverApplyResult = Result<RemovalOutcome, RemovalRefusal>;

impl Piece for RemovalBook {
    const ID: PieceId = PieceId::Removals;
    const EVENT_VERSION: u8 = 1;

    type Event = RemovalEvent;
    type Outcome = RemovalOutcome;
    type Refusal = RemovalRefusal;

    fn apply(&mut self, at: Millis, event: &RemovalEvent) -> RemoverApplyResult {
        match event {
            RemovalEvent::Intended(intent) => self.intend(at, intent),
            RemovalEvent::Ended { host, name, ending } => self.end(at, *host, name, ending),
            RemovalEvent::Pinned { name, asked_by } => self.pin(at, name, asked_by),
            RemovalEvent::Unpinned { name } => self.unpin(name),
            RemovalEvent::Forgot { history_before, doubts_until } => {
                self.forget(*history_before, *doubts_until)
            }
        }
    }

    fn freeze(&self) -> Box<dyn FrozenPiece> {
        Box::new(FrozenRemovalBook::of(self))
    }

    fn thaw(&mut self, row: &[u8]) -> Result<(), UnreadableEvent> {
        thaw_row(self, row)
    }

    fn emptied(&self) -> Self {
        RemovalBook::new(self.names.clone())
    }

    fn pin_names(&self) -> Option<NamePin> {
        Some(self.names.pin())
    }
}

impl RemovalBook {
    fn intend(&mut self, at: Millis, intent: &Intent) -> RemoverApplyResult {
        let Intent { host, name, keeper, .. } = intent;
        let (host, name, file) = (*host, name.clone(), self.file(name));
        let copy = (host, file);
        if self.is_pinned(file) {
            return Err(RemovalRefusal::IsPinned { name });
        }
        if self.goes(copy) {
            return Err(RemovalRefusal::UnderWay { name, host });
        }
        if self.is_keeper(copy) {
            return Err(RemovalRefusal::IsKeeper { name, host });
        }
        if let Some(keeper) = *keeper {
            if keeper == host {
                return Err(RemovalRefusal::KeepsItself { name, host });
            }
            if self.goes((keeper, file)) {
                return Err(RemovalRefusal::KeeperGoes { name, keeper });
            }
        }
        self.insert_open(copy, OpenRemoval { intent: intent.clone(), at });
        Ok(Applied)
    }

    fn end(
        &mut self,
        at: Millis,
        host: HostAddr,
        name: &FileName,
        ending: &Ending,
    ) -> RemoverApplyResult {
        let copy = (host, self.file(name));
        let Some(OpenRemoval { intent, at: decided }) = self.remove_open(copy) else {
            return Err(RemovalRefusal::NotIntended { name: name.clone(), host });
        };
        if let Ending::StillThere { doubted_until } = ending {
            Arc::make_mut(&mut self.doubts).insert(copy, *doubted_until);
        }
        let Intent { size, reason, keeper, asked_by, .. } = intent;
        let (file, ending) = (copy.1, ending.clone());
        let record =
            RemovalRecord { host, file, size, reason, keeper, asked_by, decided, at, ending };
        self.history.push(record);
        Ok(Applied)
    }

    fn pin(&mut self, at: Millis, name: &FileName, asked_by: &str) -> RemoverApplyResult {
        let file = self.file(name);
        if self.is_pinned(file) {
            return Ok(AlreadySo);
        }
        let pin = Pin { asked_by: asked_by.to_owned(), at };
        Arc::make_mut(&mut self.pins).insert(file, pin);
        Ok(Applied)
    }

    fn unpin(&mut self, name: &FileName) -> RemoverApplyResult {
        let file = self.file(name);
        if !self.is_pinned(file) {
            return Ok(AlreadySo);
        }
        Arc::make_mut(&mut self.pins).remove(&file);
        Ok(Applied)
    }

    fn forget(&mut self, history_before: u64, doubts_until: Millis) -> RemoverApplyResult {
        self.history.forget_before(history_before);
        if self.doubts.values().any(|until| *until <= doubts_until) {
            Arc::make_mut(&mut self.doubts).retain(|_, until| *until > doubts_until);
        }
        Ok(Applied)
    }

    /// Records the removal of a copy, and that its keeper must be kept.
    pub(in crate::remover) fn insert_open(&mut self, copy: CopyKey, removal: OpenRemoval) {
        if let Some(keeper) = removal.intent.keeper {
            *self.keeping.entry((keeper, copy.1)).or_default() += 1;
        }
        Arc::make_mut(&mut self.open).insert(copy, removal);
    }

    fn remove_open(&mut self, copy: CopyKey) -> Option<OpenRemoval> {
        if !self.goes(copy) {
            return None;
        }
        let removal = Arc::make_mut(&mut self.open).remove(&copy)?;
        if let Some(keeper) = removal.intent.keeper {
            let relying = self.keeping.get_mut(&(keeper, copy.1));
            match relying {
                Some(count) if *count > 1 => *count -= 1,
                _ => {
                    self.keeping.remove(&(keeper, copy.1));
                }
            }
        }
        Some(removal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remover::samples::{duplicate, ended, host, name, over_limit};

    fn apply(book: &mut RemovalBook, event: RemovalEvent) -> RemoverApplyResult {
        book.apply(Millis(5), &event)
    }

    fn intend(book: &mut RemovalBook, intent: Intent) -> RemoverApplyResult {
        apply(book, RemovalEvent::Intended(intent))
    }

    #[test]
    fn a_keeper_stays_until_the_last_removal_that_relies_on_it_ended() {
        let mut book = RemovalBook::default();
        intend(&mut book, duplicate("a", 1, 3)).unwrap();
        intend(&mut book, duplicate("a", 2, 3)).unwrap();
        let keeper = RemovalRefusal::IsKeeper { name: name("a"), host: host(3) };
        assert_eq!(intend(&mut book, duplicate("a", 3, 4)), Err(keeper.clone()));
        assert_eq!(intend(&mut book, over_limit("a", 3)), Err(keeper.clone()));
        apply(&mut book, ended("a", 1, Ending::Removed)).unwrap();
        assert_eq!(intend(&mut book, over_limit("a", 3)), Err(keeper));
        apply(&mut book, ended("a", 2, Ending::Absent)).unwrap();
        assert_eq!(intend(&mut book, over_limit("a", 3)), Ok(Applied));
        assert_eq!(book.history().len(), 2);
    }

    #[test]
    fn a_copy_under_removal_keeps_no_other_copy() {
        let mut book = RemovalBook::default();
        intend(&mut book, duplicate("a", 1, 2)).unwrap();
        let goes = RemovalRefusal::KeeperGoes { name: name("a"), keeper: host(1) };
        assert_eq!(intend(&mut book, duplicate("a", 3, 1)), Err(goes));
        let twice = RemovalRefusal::UnderWay { name: name("a"), host: host(1) };
        assert_eq!(intend(&mut book, duplicate("a", 1, 3)), Err(twice));
        let itself = RemovalRefusal::KeepsItself { name: name("a"), host: host(4) };
        assert_eq!(intend(&mut book, duplicate("a", 4, 4)), Err(itself));
    }

    #[test]
    fn a_pinned_file_is_not_removed() {
        let mut book = RemovalBook::default();
        let pin = RemovalEvent::Pinned { name: name("a"), asked_by: "me".to_owned() };
        assert_eq!(apply(&mut book, pin.clone()), Ok(Applied));
        assert_eq!(apply(&mut book, pin), Ok(AlreadySo));
        let pinned = RemovalRefusal::IsPinned { name: name("a") };
        assert_eq!(intend(&mut book, over_limit("a", 1)), Err(pinned));
        let unpin = RemovalEvent::Unpinned { name: name("a") };
        assert_eq!(apply(&mut book, unpin.clone()), Ok(Applied));
        assert_eq!(apply(&mut book, unpin), Ok(AlreadySo));
        assert_eq!(intend(&mut book, over_limit("a", 1)), Ok(Applied));
    }

    #[test]
    fn a_copy_that_is_still_there_is_doubted_for_a_while() {
        let mut book = RemovalBook::default();
        intend(&mut book, duplicate("a", 1, 2)).unwrap();
        let still = Ending::StillThere { doubted_until: Millis(100) };
        apply(&mut book, ended("a", 1, still.clone())).unwrap();
        let copy = (host(1), book.file(&name("a")));
        assert!(!book.goes(copy) && book.is_doubted(copy, Millis(99)));
        assert!(!book.is_doubted(copy, Millis(100)));
        let none = RemovalRefusal::NotIntended { name: name("a"), host: host(1) };
        assert_eq!(apply(&mut book, ended("a", 1, still)), Err(none));
        let forgot = RemovalEvent::Forgot { history_before: 1, doubts_until: Millis(100) };
        apply(&mut book, forgot).unwrap();
        assert!(book.doubts().is_empty() && book.history().is_empty());
    }
}
