//! Authentication and authorization of the calls to a node.

pub mod authority;
mod call_rights;
mod login;
mod login_guard;
mod request_caller;
mod request_credential;
mod rights_watch;
mod worker_refusals;

pub use call_rights::{CallRights, authorize, require};
pub use login::{BegunSession, GivenProof, begin, cookie_of, removed_cookie};
pub use login_guard::LoginGuard;
pub use request_caller::{
    RequestCaller, address_of, authenticate, authenticate_form, request_id, session_cookie,
};
pub use request_credential::RequestCredential;
pub use rights_watch::{CallerRightsWatch, CheckedScope};
pub use worker_refusals::WorkerRefusals;
