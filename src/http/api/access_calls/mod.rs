//! `/api/v1/tokens`, `/api/v1/users` and `/api/v1/whoami`.

pub mod tokens;
pub mod users;
pub mod whoami;
