#![doc = include_str!("README.md")]

mod actor;
mod messages;
mod policy;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod samples;
mod settings;
mod state;
mod views;

pub use actor::AccessActor;
pub use messages::*;
pub use policy::upkeep::{SESSIONS_AT_ONCE, TOKENS_AT_ONCE};
pub use settings::{AccessSettings, AccountLockConfig, SessionConfig};
pub use state::access_table::AccessTable;
pub use state::constants::{
    MOST_LOGIN_LINKS, MOST_RANGES, MOST_SESSIONS, MOST_SESSIONS_OF_ONE, MOST_TOKENS, MOST_USERS,
};
pub use state::event::{
    AccessEvent, AccessOutcome, AccessRefusal, NewSession, NewToken, NewUser, RecordedUse,
    RotatedToken,
};
pub use state::values::last_use::LastUse;
pub use state::values::session::{Session, SessionSubject};
pub use state::values::token::Token;
pub use state::values::user::User;
pub use state::values::user_agent::UserAgent;
pub use views::access_view::{AccessView, PasswordLogin};
pub use views::refusals::{LoginRefused, SessionRefused, TokenRefused};
