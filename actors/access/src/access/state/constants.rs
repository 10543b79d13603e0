//! The limits that `apply` uses.
//!
//! **Invariant:** they are part of the version of the events: every node and every replay of the log uses the
//! same values. Another value needs a new event that contains it.

/// Largest number of users. Part of the event version.
pub const MOST_USERS: usize = 10_000;

/// Largest number of tokens. Part of the event version.
pub const MOST_TOKENS: usize = 10_000;

/// Largest number of sessions. The session without use for the longest time gives way. Part of the event version.
pub const MOST_SESSIONS: usize = 20_000;

/// Largest number of sessions of one user or token, with the same rule. Part of the event version.
pub const MOST_SESSIONS_OF_ONE: usize = 100;

/// Largest number of unused login links. The link that expires first gives way. Part of the event version.
pub const MOST_LOGIN_LINKS: usize = 100;

/// Largest number of address ranges of one token. Part of the event version.
pub const MOST_RANGES: usize = 16;
