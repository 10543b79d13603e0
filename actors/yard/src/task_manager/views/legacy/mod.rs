//! Views for cfm's protocol.

pub mod cfm_list;
