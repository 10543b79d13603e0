//! The bytes of one copy: from its source into a temporary file.

pub mod fault;
pub mod fetch;
pub mod live_rate;
pub mod partials;
pub mod rate_limiter;
pub mod source_link;
pub mod source_stream;
