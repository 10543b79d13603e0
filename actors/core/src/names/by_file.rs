//! A value for each file, in pages that are freed when they are empty.

use super::FileId;

/// How many files a page has. The allocator adds up to 4 KiB to an allocation of this size: long pages make that little.
const FILES: u32 = 16_384;

/// A value for each file, found as quickly as in a list by number. Numbers are never reused, so a list would
/// grow while names appear and disappear. Here only the pages in use take memory.
#[derive(Clone, Debug, PartialEq)]
pub struct ByFile<T> {
    /// None if every value is `absent`.
    pages: Vec<Option<FilePage<T>>>,
    /// The value of files that have none.
    absent: T,
}

#[derive(Clone, Debug, PartialEq)]
struct FilePage<T> {
    values: Box<[T]>,
    /// How many of them are not `absent`.
    used: u32,
}

impl<T: Copy + PartialEq> ByFile<T> {
    /// Every file has the value `absent`.
    pub fn new(absent: T) -> Self {
        ByFile { pages: Vec::new(), absent }
    }

    /// The value of a file, or the default.
    pub fn get(&self, file: FileId) -> T {
        match self.pages.get((file.0 / FILES) as usize) {
            Some(Some(page)) => page.values[(file.0 % FILES) as usize],
            _ => self.absent,
        }
    }

    /// Sets the value of a file.
    pub fn set(&mut self, file: FileId, value: T) {
        let number = (file.0 / FILES) as usize;
        if number >= self.pages.len() {
            if value == self.absent {
                return;
            }
            self.pages.resize_with(number + 1, || None);
        }
        let (slot, absent) = (&mut self.pages[number], self.absent);
        let page = slot.get_or_insert_with(|| FilePage {
            values: vec![absent; FILES as usize].into_boxed_slice(),
            used: 0,
        });
        let old = std::mem::replace(&mut page.values[(file.0 % FILES) as usize], value);
        page.used -= u32::from(old != absent);
        page.used += u32::from(value != absent);
        if page.used == 0 {
            *slot = None;
        }
    }

    /// The files that have a value, by number.
    pub fn files(&self) -> impl Iterator<Item = FileId> + '_ {
        let pages =
            (0..).zip(&self.pages).filter_map(|(number, page)| Some((number, page.as_ref()?)));
        pages.flat_map(move |(number, page): (u32, &FilePage<T>)| {
            let values = (0..).zip(&page.values).filter(|(_, value)| **value != self.absent);
            values.map(move |(index, _): (u32, &T)| FileId(number * FILES + index))
        })
    }

    /// How many pages use memory.
    #[cfg(test)]
    fn pages(&self) -> usize {
        self.pages.iter().flatten().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_in_use_take_room() {
        let mut values = ByFile::new(0_u32);
        let files = [3, FILES - 1, FILES, 9_000_000].map(FileId);
        for file in files {
            values.set(file, file.0 + 1);
        }
        assert_eq!(files.map(|file| values.get(file)), [4, FILES, FILES + 1, 9_000_001]);
        assert_eq!((values.get(FileId(4)), values.get(FileId(10_000_000))), (0, 0));
        assert_eq!(values.files().collect::<Vec<_>>(), files);
        assert_eq!(values.pages(), 3);
        values.set(FileId(9_000_000), 0);
        values.set(FileId(FILES), 7);
        values.set(FileId(FILES), 0);
        values.set(FileId(20_000_000), 0);
        assert_eq!(values.pages(), 1);
        assert_eq!(values.get(FileId(FILES)), 0);
    }
}
