//! Commands of the program.

mod cli_client;
mod cli_help;
mod cli_output;
mod cli_roles;
mod cli_store;
mod cluster_certs;
mod demo;
