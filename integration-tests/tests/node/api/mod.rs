//! The API of a node, its events and its metrics.

mod api_document;
mod api_node;
mod bounded_answers;
mod events;
mod metrics;
