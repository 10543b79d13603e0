//! The files in the order of their names. The order is kept between looks.

use std::sync::{Arc, Mutex, PoisonError};

use reelyard_core::kept_order::KeptOrder;
use reelyard_core::names::NameTable;
use roaring::RoaringBitmap;

/// If more than this part of the files is new, all are sorted again.
const MOST_NEW: u64 = 8;

/// The last order of files by their names. It takes four bytes a file.
#[derive(Default)]
pub struct KeptNameOrder(Mutex<(RoaringBitmap, Arc<KeptOrder>)>);

impl KeptNameOrder {
    /// These files in the order of their names. Looks at the same time wait for each other.
    pub fn order(&self, files: &RoaringBitmap, names: &NameTable) -> Arc<KeptOrder> {
        // A repair that panics leaves the last order.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 != *files {
            *last = (files.clone(), Arc::new(next_order(&last.0, &last.1, files, names)));
        }
        Arc::clone(&last.1)
    }
}

/// The order of some files, made from that of earlier ones.
fn next_order(
    earlier: &RoaringBitmap,
    order: &KeptOrder,
    files: &RoaringBitmap,
    names: &NameTable,
) -> KeptOrder {
    let sorted = |files: &RoaringBitmap| {
        KeptOrder::by_text(files.iter().collect(), &mut |files, show| {
            names.show_names(files, show);
        })
    };
    let added = files - earlier;
    if added.len() * MOST_NEW > files.len() {
        return sorted(files);
    }
    // An id never gets another name.
    order.repaired(
        |file| files.contains(file).then_some(file),
        &sorted(&added),
        |one, other| names.is_before(one, other),
    )
}

#[cfg(test)]
mod tests {
    use reelyard_core::names::FileId;
    use reelyard_core::page_order::PageRange;

    use super::*;

    #[test]
    fn the_order_of_names_follows_the_list_of_files() {
        let (names, kept) = (NameTable::new(), KeptNameOrder::default());
        let mut random = fastrand::Rng::with_seed(12);
        let mut files = RoaringBitmap::new();
        for _ in 0..300 {
            let name = format!("film{}.mpg", random.u32(..1_000_000));
            let interned = names.intern_all([name.as_bytes()]);
            files.insert(interned[0].as_ref().unwrap().0);
        }
        for _ in 0..40 {
            let order = kept.order(&files, &names);
            let all = PageRange { positions: 0..1000, descending: false };
            let shown = order.page(&all);
            assert_eq!(shown.iter().copied().collect::<RoaringBitmap>(), files);
            let name = |file: &u32| names.name(FileId(*file)).as_bytes().to_vec();
            assert!(shown.is_sorted_by_key(name));
            for _ in 0..5 {
                files.remove(random.u32(..300));
                files.insert(random.u32(..300));
            }
        }
    }
}
