//! Limits on guessing passwords and tokens. Pure: the caller passes the time.

mod bounded_map;
mod guess_limiter;

pub use guess_limiter::{GuessLimiter, RetryAfter};
