//! Files set aside because no destination has room for them, by size.

use std::collections::BTreeSet;

use roaring::RoaringBitmap;

use crate::names::FileId;

/// Files that wait for room. They come back, the smallest first, once some destination has as much.
#[derive(Clone, Debug, Default)]
pub struct Parking {
    by_size: BTreeSet<(u64, u32)>,
    files: RoaringBitmap,
}

impl Parking {
    /// Sets a file aside until there is room for `size` bytes.
    pub fn park(&mut self, file: FileId, size: u64) {
        if self.files.insert(file.0) {
            self.by_size.insert((size, file.0));
        }
    }

    /// Takes back the smallest file if it fits into `room` bytes.
    pub fn take_fitting(&mut self, room: u64) -> Option<FileId> {
        let &(size, file) = self.by_size.first()?;
        if size > room {
            return None;
        }
        self.by_size.pop_first();
        self.files.remove(file);
        Some(FileId(file))
    }

    /// The files.
    pub fn files(&self) -> &RoaringBitmap {
        &self.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_by_size_as_room_grows() {
        let mut parking = Parking::default();
        for (file, size) in [(1, 30), (2, 10), (3, 20), (2, 99)] {
            parking.park(FileId(file), size);
        }
        let mut fitting =
            |room| std::iter::from_fn(|| parking.take_fitting(room)).collect::<Vec<_>>();
        assert_eq!(fitting(9), []);
        assert_eq!(fitting(20), [FileId(2), FileId(3)]);
        assert_eq!(fitting(100), [FileId(1)]);
        assert!(parking.files().is_empty());
    }
}
