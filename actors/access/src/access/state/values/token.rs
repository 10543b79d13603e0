//! A token. Pure, except for its last use.

use std::net::IpAddr;
use std::sync::Arc;

use reelyard_core::clock::Millis;

use super::last_use::{LastUse, UseCell};
use crate::rights::{Rights, Role, TokenName};
use crate::secrets::TokenHash;
use reelyard_core::address_range::AddressRange;

/// A secret with a name and rights.
#[derive(Clone, Debug)]
pub struct Token {
    /// The unique name.
    pub name: TokenName,
    pub(crate) hash: TokenHash,
    /// The rights of its holder.
    pub rights: Rights,
    /// From this instant on it is refused. None for a token without an end.
    pub expires_at: Option<Millis>,
    /// The only addresses from which it is accepted. Empty for any address.
    pub addresses: Vec<AddressRange>,
    /// Changes with each new secret of this name.
    pub(crate) generation: u64,
    /// When the token was created. A rotation does not change it.
    pub created_at: Millis,
    /// The caller that created it.
    pub created_by: String,
    /// The use in the journal, at most an hour older than the last one.
    pub recorded_use: Option<LastUse>,
    pub(in crate::access) uses: Arc<UseCell>,
}

impl Token {
    /// Whether it is refused because of its age.
    pub fn is_expired(&self, now: Millis) -> bool {
        self.expires_at.is_some_and(|at| now >= at)
    }

    /// Whether it is accepted from this address.
    pub fn admits(&self, address: IpAddr) -> bool {
        self.addresses.is_empty() || self.addresses.iter().any(|range| range.contains(address))
    }

    /// Its last use. After a restart of the node this may be a use up to an hour earlier.
    pub fn last_use(&self) -> Option<LastUse> {
        let uses = [self.recorded_use, self.uses.last()];
        uses.into_iter().flatten().max_by_key(|last| last.at)
    }

    /// Whether its holder can administrate the yard at any time.
    pub(in crate::access) fn is_admin_credential(&self) -> bool {
        self.rights == Rights::Role(Role::Admin) && self.expires_at.is_none()
    }
}
