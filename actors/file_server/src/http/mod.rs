//! Rules of HTTP/1.1 for file servers: heads of requests and answers, conditions and ranges. Pure.

pub mod conditions;
pub mod minimum_rate;
pub mod range;
pub mod request_head;
pub mod response_head;
