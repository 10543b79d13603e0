//! Names, secrets and callers for tests.

use std::net::IpAddr;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;

use crate::access::messages::CreateToken;
use crate::access::policy::decision_context::AccessDecisionContext;
use crate::access::settings::AccessSettings;
use crate::access::state::access_table::AccessTable;
use crate::access::state::event::{AccessEvent, NewToken, NewUser};
use crate::access::state::values::use_queue::UseQueue;
use crate::access::views::access_view::AccessView;
use crate::rights::{Caller, Rights, Role, Subject, TokenName, UserName};
use crate::secrets::{LinkSecret, SessionSecret, TokenKind, TokenSecret, UserPasswordHash};

pub(super) const START: Millis = Millis(1_800_000_000_000);

pub(super) fn user_name(text: &str) -> UserName {
    text.parse().unwrap()
}

pub(super) fn token_name(text: &str) -> TokenName {
    text.parse().unwrap()
}

/// The address with this last number.
pub(super) fn address(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

fn bytes(number: u32) -> [u8; 32] {
    let mut bytes = [7; 32];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    bytes
}

pub(super) fn secret(number: u32) -> TokenSecret {
    TokenSecret::new(TokenKind::General, &bytes(number))
}

pub(super) fn session_secret(number: u32) -> SessionSecret {
    SessionSecret::new(bytes(number))
}

pub(super) fn link_secret(number: u32) -> LinkSecret {
    LinkSecret::new(bytes(number))
}

/// A hash that no test checks against a password.
pub(super) fn password() -> UserPasswordHash {
    UserPasswordHash::of_nobody()
}

pub(super) fn user_caller(name: &str, role: Role) -> Caller {
    Caller { subject: Subject::User(user_name(name)), rights: Rights::Role(role) }
}

pub(super) fn user_added(name: &str, role: Role) -> AccessEvent {
    let (name, password) = (user_name(name), Some(password()));
    AccessEvent::UserAdded(Box::new(NewUser { name, role, password, by: "node".to_owned() }))
}

pub(super) fn token_created(name: &str, number: u32, rights: Rights) -> AccessEvent {
    AccessEvent::TokenCreated(Box::new(NewToken {
        name: token_name(name),
        hash: secret(number).hash(),
        rights,
        expires_at: None,
        addresses: Vec::new(),
        by: "node".to_owned(),
    }))
}

/// A request of the node for a token without an end.
pub(super) fn create_token(name: &str, number: u32, rights: Rights) -> CreateToken {
    CreateToken {
        name: token_name(name),
        hash: secret(number).hash(),
        rights,
        expires_at: None,
        addresses: Vec::new(),
        replace: false,
        by: Caller::node(),
        request: RequestId(number.into()),
    }
}

/// A context at this time, with the default settings.
pub(super) fn at(table: &AccessTable, now: Millis) -> AccessDecisionContext<'_> {
    // Only tests do this, a few times each.
    let settings = Box::leak(Box::new(AccessSettings::default()));
    AccessDecisionContext { table, settings, now }
}

/// The view of readers after the start of the node.
pub(super) fn view_of(table: &AccessTable, uses: &UseQueue) -> AccessView {
    let (settings, has_admin) = (AccessSettings::default(), table.has_admin_credential());
    let mut view = AccessView::of(table, settings, uses.clone(), has_admin);
    view.is_ready = true;
    view
}
