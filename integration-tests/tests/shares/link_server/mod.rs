//! The public server of links.

mod browser;
mod cut_downloads;
mod link_answers;
mod link_edges;
mod links;
mod links_and_clocks;
mod links_of_the_actor;
mod pages;
mod tls;
mod tls_node;
mod zip;
