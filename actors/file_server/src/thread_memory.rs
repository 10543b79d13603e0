//! Memory for one small file at a time. Its thread keeps it for the next file. Fresh memory of that size
//! comes from the kernel page by page, and that costs as much as the file's bytes themselves.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

/// How much a thread keeps, in bytes.
const MOST_KEPT: usize = 256 << 10;

thread_local! {
    static KEPT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// This many bytes, with any content. The thread that drops it keeps the memory, unless it is too large.
pub struct ThreadMemory {
    space: Vec<u8>,
    length: usize,
}

impl ThreadMemory {
    /// Memory of `length` bytes.
    pub fn of(length: usize) -> Self {
        let mut space = if length <= MOST_KEPT { KEPT.take() } else { Vec::new() };
        if space.len() < length {
            // The old content is not needed, so it need not be moved.
            space = vec![0; length];
        }
        ThreadMemory { space, length }
    }
}

impl Deref for ThreadMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.space[..self.length]
    }
}

impl DerefMut for ThreadMemory {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.space[..self.length]
    }
}

impl Drop for ThreadMemory {
    fn drop(&mut self) {
        if self.space.len() <= MOST_KEPT {
            KEPT.set(std::mem::take(&mut self.space));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_buffer_is_reused_and_a_large_one_is_freed() {
        let place = |memory: &ThreadMemory| memory.as_ptr();
        let first = ThreadMemory::of(1000);
        let at = place(&first);
        drop(first);
        let again = ThreadMemory::of(10);
        assert_eq!((place(&again), again.len()), (at, 10));
        let beside = ThreadMemory::of(10);
        assert_ne!(place(&beside), at, "two at a time share nothing");
        drop(again);
        drop(ThreadMemory::of(MOST_KEPT + 1));
        assert!(KEPT.take().len() <= MOST_KEPT);
    }
}
