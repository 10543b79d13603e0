//! The most requested of some files.

use std::collections::BTreeMap;

use reelyard_core::names::FileId;
use reelyard_core::page_order::{PageRange, page_by_number};
use reelyard_yard::catalog::views::CatalogView;
use roaring::RoaringBitmap;

/// The files among these with most hits, and then with the best ranks, at most `most`.
pub fn most_asked(catalog: &CatalogView, files: &RoaringBitmap, most: usize) -> Vec<FileId> {
    let hot: BTreeMap<FileId, u32> = catalog.rising.hot().iter().copied().collect();
    let key = |file: FileId| {
        let rank = catalog.ranking.as_ref().and_then(|ranking| ranking.rank(file));
        let hits = hot.get(&file).copied().unwrap_or(0);
        u64::from(u32::MAX - hits) << 32 | u64::from(rank.unwrap_or(u32::MAX))
    };
    let keyed = files.iter().map(|file| (key(FileId(file)), file));
    let page = PageRange { positions: 0..most, descending: false };
    page_by_number(keyed, &page).into_iter().map(FileId).collect()
}
