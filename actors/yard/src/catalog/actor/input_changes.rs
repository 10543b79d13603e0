//! Changes of inputs for the change feed. Pure.

use crate::catalog::load_balancer::rising::RisingHits;
use crate::catalog::ranking::Ranking;
use crate::catalog::sources::masters::Masters;
use crate::changes::InputChange;

pub(super) fn of_ranking(ranking: &Ranking, bad_rows: u64) -> InputChange {
    InputChange::Ranking { files: ranking.len() as u64, bad_rows }
}

pub(super) fn of_masters(masters: &Masters) -> InputChange {
    InputChange::Masters { files: masters.files.len() }
}

pub(super) fn of_rising(rising: &RisingHits) -> InputChange {
    InputChange::Hot { files: rising.hot().len() as u64 }
}
