//! What serving files over HTTP/1.1 goes by: the data port of a worker and the public links of
//! shares read requests and pace their clients by the same rules. Pure.

pub mod minimum_rate;
pub mod range;
pub mod request_head;
