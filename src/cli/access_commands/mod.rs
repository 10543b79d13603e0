//! `reelyard token`, `reelyard user` and `reelyard whoami`.

pub(in crate::cli) mod token;
mod token_recover;
pub(in crate::cli) mod user;
pub(in crate::cli) mod whoami;
