//! Removals that make room on a host. Pure.

mod exchange;
pub mod exchange_budget;
pub(in crate::remover) mod least_demanded;
mod make_room;
pub(in crate::remover) mod over_limit;
pub(crate) mod relief;
pub(in crate::remover) mod room;
