//! HTTP/1.1 file serving by `sendfile`: the data port of workers, and rules that share links use too.

pub mod data_port;
pub mod file_fingerprint;
pub mod http_files;
pub mod open_regular;
pub mod thread_memory;
pub mod ticket;
pub mod tree_hash;
