//! Programs that a worker runs: their output, their process families, and how to end them. Also the
//! other processes of this machine.
//!
//! Everything here except [`below::end`] blocks: it reads `/proc`, and waits for processes to end.

pub mod below;
pub mod family;
pub mod table;
pub mod tail;
