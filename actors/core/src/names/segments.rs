//! The bytes of names by their ids, in segments that are freed when all of their names are
//! forgotten.

use memchr::memmem::Finder;
use roaring::RoaringBitmap;

/// How many ids a segment has.
const IDS: u32 = 4096;

/// The names, by file id. An id whose name was forgotten has no bytes; no name is empty.
#[derive(Debug, Default)]
pub(super) struct NameSegments {
    /// None if all names are forgotten.
    segments: Vec<Option<NameSegment>>,
    /// One more than the last id.
    end: u32,
}

#[derive(Debug, Default)]
struct NameSegment {
    /// Its names in sequence.
    arena: Vec<u8>,
    /// The end of each name in `arena`. A name starts at the end of the previous one.
    ends: Vec<u32>,
}

impl NameSegment {
    fn bytes(&self, index: usize) -> &[u8] {
        let Some(&end) = self.ends.get(index) else { return &[] };
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.arena[start as usize..end as usize]
    }

    /// Sets the bit of each name that contains the text.
    fn find(&self, text: &Finder<'_>, found: &mut [u8]) {
        let (mut from, mut index) = (0, 0);
        while let Some(offset) = self.arena.get(from..).and_then(|rest| text.find(rest)) {
            let at = from + offset;
            // Step by step: a short text is in most names.
            while self.ends.get(index).is_some_and(|end| *end as usize <= at) {
                index += 1;
            }
            let Some(end) = self.ends.get(index).map(|end| *end as usize) else { return };
            // A text over the end of a name is in no name.
            if at + text.needle().len() <= end {
                if let Some(byte) = found.get_mut(index / 8) {
                    *byte |= 1 << (index % 8);
                }
                from = end;
            } else {
                from = at + 1;
            }
        }
    }

    fn push(&mut self, name: &[u8]) {
        self.arena.extend_from_slice(name);
        // A segment has 4096 names of 255 bytes at most.
        self.ends.push(self.arena.len() as u32);
        if self.ends.len() == IDS as usize {
            self.arena.shrink_to_fit();
        }
    }
}

impl NameSegments {
    /// One more than the last id.
    pub fn end(&self) -> u32 {
        self.end
    }

    /// The name of `id`; empty if it was forgotten or never given.
    pub fn bytes(&self, id: u32) -> &[u8] {
        match self.segments.get((id / IDS) as usize) {
            Some(Some(segment)) => segment.bytes((id % IDS) as usize),
            _ => &[],
        }
    }

    /// How many segments there are.
    pub fn count(&self) -> usize {
        self.segments.len()
    }

    /// A bit for each id of a segment: whether its name contains the text, which is not empty.
    pub fn find_in(&self, segment: usize, text: &Finder<'_>) -> [u8; IDS as usize / 8] {
        let mut found = [0; IDS as usize / 8];
        if let Some(Some(names)) = self.segments.get(segment) {
            names.find(text, &mut found);
        }
        found
    }

    /// Gives `name` the next id. One is free, because the caller has checked
    /// [`NameSegments::end`].
    pub fn push(&mut self, name: &[u8]) -> u32 {
        let id = self.end;
        if id.is_multiple_of(IDS) {
            self.segments.push(None);
        }
        if let Some(last) = self.segments.last_mut() {
            let segment = last.get_or_insert_with(|| NameSegment {
                arena: Vec::new(),
                ends: Vec::with_capacity(IDS as usize),
            });
            segment.push(name);
        }
        self.end += 1;
        id
    }

    /// Forgets the names of `dead`.
    pub fn forget(&mut self, dead: &RoaringBitmap) {
        let mut ids = dead.iter().peekable();
        while let Some(first) = ids.peek().map(|id| id / IDS) {
            let gone = std::iter::from_fn(|| ids.next_if(|id| id / IDS == first));
            let gone: RoaringBitmap = gone.map(|id| id % IDS).collect();
            let Some(slot) = self.segments.get_mut(first as usize) else { continue };
            let Some(segment) = slot else { continue };
            let mut left =
                NameSegment { arena: Vec::new(), ends: Vec::with_capacity(IDS as usize) };
            for index in 0..segment.ends.len() {
                let is_gone = gone.contains(index as u32);
                left.push(if is_gone { &[] } else { segment.bytes(index) });
            }
            let is_full = left.ends.len() == IDS as usize;
            if is_full && left.arena.is_empty() {
                *slot = None;
            } else {
                left.arena.shrink_to_fit();
                *segment = left;
            }
        }
    }

    /// Bytes that are allocated for names and where they end.
    pub fn allocated(&self) -> usize {
        let segments = self.segments.iter().flatten();
        let bytes: usize =
            segments.map(|segment| segment.arena.capacity() + segment.ends.capacity() * 4).sum();
        bytes + self.segments.capacity() * size_of::<Option<NameSegment>>()
    }
}
