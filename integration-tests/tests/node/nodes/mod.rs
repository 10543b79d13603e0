//! Several nodes that form a cluster.

mod chaos;
mod cluster;
mod leader_change;
mod leader_inputs;
mod links_without_leader;
mod passed_downloads;
mod promised_reads;
mod recorded_settings;
mod slow_links;
