//! A yard with cfm, cfw, or both.

mod old_cfm;
mod old_cfw;
mod old_source;
mod old_to_new;
mod wire;
