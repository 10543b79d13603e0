//! The yard in short: `reelyard status` and `reelyard top`.

mod figures;
pub mod status;
pub mod top;
mod verdict;
