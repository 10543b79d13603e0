//! Callers of a real node: tokens, users, logins and contexts.

mod access_node;
mod logins;
mod long_answers;
mod routes;
mod secrets;
mod tls;
mod tokens;
mod workers;
