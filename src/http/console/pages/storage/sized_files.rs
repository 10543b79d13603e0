//! Files with their sizes, for the order of a page. Pure.

use reelyard_core::names::{ByFile, FileId};
use reelyard_core::page_order::PageRange;
use reelyard_yard::catalog::ranking::Ranking;
use roaring::RoaringBitmap;

/// A smaller part of the graded files is looked up, file by file.
const FEW: u64 = 16;

/// A page of these files by size, those without a size before the smallest. The size of a file is that of its master if
/// it is known, otherwise the one in hitcount.history. A list by the latter is kept; only the others are sorted.
pub fn page_by_size(
    files: &RoaringBitmap,
    of_masters: impl IntoIterator<Item = (FileId, u64)>,
    ranking: Option<&Ranking>,
    page: &PageRange,
) -> Vec<FileId> {
    let of_masters = of_masters.into_iter().filter(|(file, _)| files.contains(file.0));
    let mut apart: Vec<_> = of_masters.map(|(file, size)| (Some(size), file)).collect();
    apart.sort_unstable_by_key(|(_, file)| *file);
    let mut left = files - apart.iter().map(|(_, file)| file.0).collect::<RoaringBitmap>();
    let of_many = ranking.filter(|ranking| files.len() * FEW >= ranking.len() as u64);
    let looked_up = of_many.map_or_else(|| left.clone(), |ranking| &left - ranking.set());
    left -= &looked_up;
    let listed = |file| ranking.and_then(|ranking| ranking.size(file));
    apart.extend(looked_up.into_iter().map(FileId).map(|file| (listed(file), file)));
    apart.sort_unstable();
    let graded = of_many.into_iter().flat_map(Ranking::by_size);
    let graded = graded.filter(|(file, _)| left.contains(file.0)).map(|(file, size)| (size, file));
    let positions = page.positions.clone();
    let cut = |sorted: &mut dyn Iterator<Item = (Option<u64>, FileId)>| {
        let shown = sorted.skip(positions.start).take(positions.len());
        shown.map(|(_, file)| file).collect()
    };
    let apart = apart.into_iter();
    match page.descending {
        false => cut(&mut merged(graded, apart, |one, other| one.0 <= other.0)),
        true => cut(&mut merged(graded.rev(), apart.rev(), |one, other| one.0 > other.0)),
    }
}

/// Two sorted lists as one. `is_first` says whether an item of the first one comes before an item of the other one.
fn merged<T>(
    one: impl Iterator<Item = T>,
    other: impl Iterator<Item = T>,
    is_first: impl Fn(&T, &T) -> bool,
) -> impl Iterator<Item = T> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(first), Some(second)) if is_first(first, second) => one.next(),
        (Some(_), None) => one.next(),
        _ => other.next(),
    })
}

/// These files, each once, with its size: that of its master if it is known, otherwise the one in hitcount.history.
/// Most are in the order of grade.info, because the sizes of neighbours there are near each other in memory.
pub fn sized_files(
    files: &RoaringBitmap,
    of_masters: impl IntoIterator<Item = (FileId, u64)>,
    ranking: Option<&Ranking>,
) -> impl Iterator<Item = (FileId, Option<u64>)> {
    let mut left = ByFile::new(false);
    files.iter().for_each(|file| left.set(FileId(file), true));
    let mut take = |file| {
        let is_left = left.get(file);
        left.set(file, false);
        is_left
    };
    let of_masters = of_masters.into_iter().filter(|(file, _)| take(*file));
    let mut first: Vec<_> = of_masters.map(|(file, size)| (file, Some(size))).collect();
    let ungraded = ranking.map_or_else(|| files.clone(), |ranking| files - ranking.set());
    first.extend(ungraded.into_iter().map(|file| (FileId(file), None)).filter(|one| take(one.0)));
    let graded = ranking.into_iter().flat_map(Ranking::sizes);
    first.into_iter().chain(graded.filter(move |(file, _)| left.get(*file)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use reelyard_yard::catalog::ranking::RankedFile;

    use super::*;

    #[test]
    fn each_file_comes_once_with_the_size_of_its_master_first() {
        let ranked = |file, size| RankedFile { file: FileId(file), size, listed_on: Vec::new() };
        let ranking = Ranking::from_files([
            ranked(9, Some(90)),
            ranked(2, None),
            ranked(5000, Some(50)),
            ranked(4, Some(40)),
        ]);
        // File 7 has no grade, file 4 is not wanted, and neither is file 8, which only has a master.
        let files: RoaringBitmap = [2, 7, 9, 5000, 6000].into();
        let of_masters = [(9, 91), (6000, 60), (8, 80)].map(|(file, size)| (FileId(file), size));
        let all = |ranking| {
            let listed: Vec<_> = sized_files(&files, of_masters, ranking).collect();
            let sizes: BTreeMap<u32, _> =
                listed.iter().map(|(file, size)| (file.0, *size)).collect();
            assert_eq!(listed.len(), sizes.len(), "a file comes twice: {listed:?}");
            sizes.into_iter().collect::<Vec<_>>()
        };
        let sizes = [(2, None), (7, None), (9, Some(91)), (5000, Some(50)), (6000, Some(60))];
        assert_eq!(all(Some(&ranking)), sizes);
        let sizes = [(2, None), (7, None), (9, Some(91)), (5000, None), (6000, Some(60))];
        assert_eq!(all(None), sizes);
    }

    #[test]
    fn a_page_by_size_is_the_same_part_of_the_sorted_list() {
        let mut random = fastrand::Rng::with_seed(13);
        for (length, all_but) in [(0, 11), (1, 11), (40, 11), (300, 11), (300, 1)] {
            // Some sizes are alike, and some are not known. Of each five files, one has no grade.
            let mut size = || Some(random.u64(0..length + 9)).filter(|size| size % 7 > 0);
            let ranked = (0..length as u32).filter(|file| file % 5 > 0).rev().map(FileId);
            let ranked: Vec<RankedFile> = ranked
                .map(|file| RankedFile { file, size: size(), listed_on: Vec::new() })
                .collect();
            let ranking = Ranking::from_files(ranked);
            let of_masters: BTreeMap<FileId, u64> = (0..length as u32)
                .filter(|file| file % 3 == 0)
                .filter_map(|file| Some((FileId(file), size()?)))
                .collect();
            // Few files are wanted in one case.
            let is_wanted = |file: &u32| !file.is_multiple_of(all_but) || file % 37 == 1;
            let wanted: RoaringBitmap = (0..length as u32).filter(is_wanted).collect();
            let size_of = |file: &FileId| of_masters.get(file).copied().or(ranking.size(*file));
            let page = |positions, descending| {
                let page = PageRange { positions, descending };
                page_by_size(&wanted, of_masters.clone(), Some(&ranking), &page)
            };
            let all = page(0..1000, false);
            assert_eq!(all.iter().map(|file| file.0).collect::<RoaringBitmap>(), wanted);
            assert_eq!(all.len() as u64, wanted.len());
            assert!(all.is_sorted_by_key(size_of));
            let backwards: Vec<FileId> = all.iter().rev().copied().collect();
            for first in [0, 1, 30, 290, 1000] {
                for (descending, sorted) in [(false, &all), (true, &backwards)] {
                    let part: Vec<FileId> = sorted.iter().skip(first).take(7).copied().collect();
                    assert_eq!(page(first..first + 7, descending), part);
                }
            }
        }
    }
}
