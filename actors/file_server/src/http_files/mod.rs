//! Rules for serving files over HTTP/1.1. The data port of a worker and the public links of shares
//! read requests and limit slow clients by the same rules. Pure.

pub mod minimum_rate;
pub mod range;
pub mod request_head;
