//! Files with their sizes, for the order of a page. Pure.

use reelyard_core::names::{ByFile, FileId};
use reelyard_yard::catalog::ranking::Ranking;
use roaring::RoaringBitmap;

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
}
