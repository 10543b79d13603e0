//! Tests with real sockets on the loopback addresses.

mod abuse;
mod calls;
mod encryption;
mod forwards;
mod hellos;
mod joins;
mod listening;
mod support;
