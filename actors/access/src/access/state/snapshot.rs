//! The piece as rows of a snapshot. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use reelyard_core::event::PieceId;
use reelyard_replication::stored::{RowVersions, encode_row, read_row};
use reelyard_replication::{FrozenPiece, UnreadableEvent};
use serde::{Deserialize, Serialize};

use super::access_table::AccessTable;
use super::shared_map::SharedMap;
use super::stored::{StoredLoginLink, StoredSession, StoredToken, StoredUser};
use super::values::login_link::LoginLink;
use super::values::session::Session;
use super::values::token::Token;
use super::values::user::User;
use crate::rights::{TokenName, UserName};
use crate::secrets::{LinkHash, SessionHash};

/// The first byte of each row.
const ROW_VERSIONS: RowVersions = 1..=1;

/// How many users or sessions one row holds, so that a row stays far below 1 MiB.
const RECORDS_A_ROW: usize = 256;

/// How many tokens one row holds. A token with all its scopes and ranges has up to 8 KiB.
const TOKENS_A_ROW: usize = 64;

/// One row. Postcard numbers the variants in this order: new ones must be added at the end.
#[derive(Serialize, Deserialize)]
pub(super) enum AccessSnapshotRow {
    /// The counters of the piece.
    Head { next_generation: u64 },
    /// Users, in the order of their names.
    Users(Vec<StoredUser>),
    /// Tokens, in the order of their names.
    Tokens(Vec<StoredToken>),
    /// Sessions, in the order of their hashes.
    Sessions(Vec<StoredSession>),
    /// Login links, in the order of their hashes.
    LoginLinks(Vec<(LinkHash, StoredLoginLink)>),
}

/// The piece at one index: shared maps.
pub(in crate::access) struct FrozenAccessTable {
    users: SharedMap<UserName, Arc<User>>,
    tokens: SharedMap<TokenName, Arc<Token>>,
    sessions: SharedMap<SessionHash, Arc<Session>>,
    links: BTreeMap<LinkHash, LoginLink>,
    next_generation: u64,
}

impl FrozenAccessTable {
    pub(in crate::access) fn of(table: &AccessTable) -> Self {
        FrozenAccessTable {
            users: table.users.clone(),
            tokens: table.tokens.clone(),
            sessions: table.sessions.clone(),
            links: table.links.clone(),
            next_generation: table.next_generation,
        }
    }
}

impl FrozenPiece for FrozenAccessTable {
    fn write(self: Box<Self>, row: &mut dyn FnMut(&[u8])) {
        let mut put = |content: AccessSnapshotRow| row(&encode_row(&ROW_VERSIONS, &content));
        put(AccessSnapshotRow::Head { next_generation: self.next_generation });
        let mut users: Vec<&Arc<User>> = self.users.values().collect();
        users.sort_unstable_by_key(|user| &user.name);
        for some in users.chunks(RECORDS_A_ROW) {
            let stored = some.iter().map(|user| User::clone(user).into());
            put(AccessSnapshotRow::Users(stored.collect()));
        }
        let mut tokens: Vec<&Arc<Token>> = self.tokens.values().collect();
        tokens.sort_unstable_by_key(|token| &token.name);
        for some in tokens.chunks(TOKENS_A_ROW) {
            let stored = some.iter().map(|token| StoredToken::from(token.as_ref()));
            put(AccessSnapshotRow::Tokens(stored.collect()));
        }
        let mut sessions: Vec<&Arc<Session>> = self.sessions.values().collect();
        sessions.sort_unstable_by_key(|session| session.hash);
        for some in sessions.chunks(RECORDS_A_ROW) {
            let stored = some.iter().map(|session| StoredSession::from(session.as_ref()));
            put(AccessSnapshotRow::Sessions(stored.collect()));
        }
        let links = self.links.into_iter().map(|(hash, link)| (hash, link.into()));
        put(AccessSnapshotRow::LoginLinks(links.collect()));
    }
}

/// Restores one row that a frozen table wrote.
pub(in crate::access) fn thaw_row(
    table: &mut AccessTable,
    row: &[u8],
) -> Result<(), UnreadableEvent> {
    match read_row(PieceId::Access, &ROW_VERSIONS, row)? {
        AccessSnapshotRow::Head { next_generation } => table.next_generation = next_generation,
        AccessSnapshotRow::Users(users) => {
            users.into_iter().for_each(|user| table.put_user(user.into()));
        }
        AccessSnapshotRow::Tokens(tokens) => {
            tokens.into_iter().for_each(|token| table.put_token(token.into()));
        }
        AccessSnapshotRow::Sessions(sessions) => {
            sessions.into_iter().for_each(|session| table.put_session(session.into()));
        }
        AccessSnapshotRow::LoginLinks(links) => {
            table.links = links.into_iter().map(|(hash, link)| (hash, link.into())).collect();
        }
    }
    Ok(())
}
