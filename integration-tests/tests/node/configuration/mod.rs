//! Files, layers, import and reload of the configuration.

mod config_import;
mod config_layers;
mod config_reload;
