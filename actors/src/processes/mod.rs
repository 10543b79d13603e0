//! Programs that a worker runs: what they say, who belongs to them, and the end of all of them. And
//! who runs on this machine besides.
//!
//! Everything here but [`below::end`] blocks: it reads `/proc`, and waits for processes to end.

pub mod below;
pub mod family;
pub mod table;
pub mod tail;
