//! The ranking, computed every day from the requests, like the program that writes grade.info.

use std::sync::Arc;

use reelyard_core::names::FileId;
use reelyard_yard::catalog::ranking::{Ranking, SizedFile};

use super::catalogue::Catalogue;

/// Weight of yesterday's hits today.
const MEMORY: f32 = 0.5;

/// Hits of the last days, and the resulting order of the files.
#[derive(Debug)]
pub struct Popularity {
    /// Hits by file; older hits weigh less.
    hits: Vec<f32>,
    /// Every graded file, best first.
    order: Vec<FileId>,
    targets: Targets,
}

/// Wanted numbers of copies (`TargetCopyCount`).
#[derive(Clone, Debug)]
pub enum Targets {
    /// The number of each file from the ranking that was read.
    Read(Vec<u8>),
    /// Three for the best per mille, two for the best per cent, one for the others.
    ByPlace,
}

impl Popularity {
    /// The popularity of `files`, best first, each with its requests per day.
    pub fn new(files: Vec<(FileId, f64)>, all: usize, targets: Targets) -> Self {
        let mut hits = vec![0.0; all];
        for (file, a_day) in &files {
            // As if every earlier day had been the same.
            hits[file.0 as usize] = (a_day / f64::from(1.0 - MEMORY)) as f32 * MEMORY;
        }
        let order = files.into_iter().map(|(file, _)| file).collect();
        Popularity { hits, order, targets }
    }

    /// Counts a request for a file.
    pub fn asked_for(&mut self, file: FileId) {
        if let Some(hits) = self.hits.get_mut(file.0 as usize) {
            *hits += 1.0;
        }
    }

    /// Ends a day. `released` files are new: they come after all others with the same hits.
    pub fn end_day(&mut self, released: &[FileId]) {
        self.order.extend(released);
        let hits = &self.hits;
        // Stable: files with equal hits keep their order.
        self.order.sort_by(|a, b| hits[b.0 as usize].total_cmp(&hits[a.0 as usize]));
        self.hits.iter_mut().for_each(|hits| *hits *= MEMORY);
    }

    /// Every graded file, best first.
    pub fn order(&self) -> &[FileId] {
        &self.order
    }

    /// The current ranking.
    pub fn ranking(&self, catalogue: &Catalogue) -> Arc<Ranking> {
        let files = self.order.iter().enumerate().map(|(place, file)| SizedFile {
            file: *file,
            size: catalogue.size(*file),
            copies: self.copies(place, *file),
        });
        Arc::new(Ranking::from_sized_files(files))
    }

    fn copies(&self, place: usize, file: FileId) -> u8 {
        match &self.targets {
            Targets::Read(copies) => copies.get(file.0 as usize).copied().unwrap_or(1),
            Targets::ByPlace if place < self.order.len() / 1000 => 3,
            Targets::ByPlace if place < self.order.len() / 100 => 2,
            Targets::ByPlace => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_requests_rank_first_and_fade() {
        let files = vec![(FileId(0), 4.0), (FileId(1), 1.0), (FileId(2), 0.0)];
        let mut popularity = Popularity::new(files, 4, Targets::ByPlace);
        let order = |popularity: &Popularity| -> Vec<u32> {
            popularity.order().iter().map(|file| file.0).collect()
        };
        (0..10).for_each(|_| popularity.asked_for(FileId(2)));
        popularity.end_day(&[FileId(3)]);
        assert_eq!(order(&popularity), [2, 0, 1, 3]);
        for _ in 0..4 {
            (0..4).for_each(|_| popularity.asked_for(FileId(0)));
            popularity.end_day(&[]);
        }
        assert_eq!(order(&popularity), [0, 2, 1, 3]);
    }

    #[test]
    fn the_ranking_contains_sizes_and_copies() {
        let files = (0..1000).map(|file| (FileId(file), f64::from(1000 - file))).collect();
        let sizes = (0..1000).map(|file| file * 10).collect();
        let catalogue = Catalogue { sizes, ..Catalogue::default() };
        let ranking = Popularity::new(files, 1000, Targets::ByPlace).ranking(&catalogue);
        assert_eq!(ranking.size(FileId(7)), Some(70));
        assert_eq!([0, 9, 10].map(|file| ranking.target(FileId(file))), [3, 2, 1]);
    }
}
