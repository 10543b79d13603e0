//! The JSON that goes over the wire, shared by servers and clients: cfm's and cfw's as they are
//! (spec section 2), and Reelyard's own between node and worker.

pub mod api;
pub mod boxes;
pub mod cfm;
pub mod cfw;
pub mod inventory;
pub mod task_id_text;
pub mod worker;
