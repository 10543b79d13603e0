//! The rights of callers: roles, scopes, and the callers themselves. Pure.

mod caller;
mod granted_rights;
mod names;
mod role;
mod scope;

pub use caller::{Caller, Subject};
pub use granted_rights::{BadRights, MOST_SCOPES, Rights};
pub use names::{BadAccessName, LONGEST_ACCESS_NAME, TokenName, UserName};
pub use role::{BadRole, Role};
pub use scope::{AccessScope, BadScope};
