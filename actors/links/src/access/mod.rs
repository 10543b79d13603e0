//! Whether a request may be served, and the file of a link.

pub(crate) mod authorization;
pub(crate) mod client_address;
pub(crate) mod link;
pub(crate) mod passwords;
pub(crate) mod refusal;
pub(crate) mod roots;
pub(crate) mod share_location;
pub(crate) mod throttle;
