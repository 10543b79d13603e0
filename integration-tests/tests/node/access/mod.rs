//! Callers of a real node: tokens, users, logins and contexts.

mod access_mailbox;
mod access_node;
mod logins;
mod long_answers;
mod routes;
mod secrets;
mod tls;
mod tls_failures;
mod tls_workers;
mod tls_yard;
mod tokens;
mod workers;
