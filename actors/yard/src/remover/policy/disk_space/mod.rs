//! Removals that make room on a host. Pure.

pub(in crate::remover) mod make_room;
pub(in crate::remover) mod over_limit;
pub(crate) mod relief;
pub(in crate::remover) mod room;
