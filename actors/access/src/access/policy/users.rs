//! Decisions about users. Pure.

use super::decision_context::{
    AccessDecision, AccessDecisionContext, not_more_than_own, not_yourself,
};
use crate::access::messages::{AddUser, ChangeUser, RemoveUser, UserChange};
use crate::access::state::event::{AccessEvent, NewUser};
use crate::rights::{Rights, Subject};

impl AccessDecisionContext<'_> {
    /// Adds a user.
    pub(in crate::access) fn add_user(&self, asked: &AddUser) -> AccessDecision {
        let AddUser { name, role, password, by, request: _ } = asked;
        not_more_than_own(by, &Rights::Role(*role))?;
        self.decide(AccessEvent::UserAdded(Box::new(NewUser {
            name: name.clone(),
            role: *role,
            password: password.clone(),
            by: by.subject.to_string(),
        })))
    }

    /// Changes a user. A caller could log in with a password that it has set. So each change that helps to log in
    /// needs the rights of the user.
    pub(in crate::access) fn change_user(&self, asked: &ChangeUser) -> AccessDecision {
        let ChangeUser { name, change, by, request: _ } = asked;
        let user = self.table.known_user(name)?;
        let own = Subject::User(name.clone());
        let rights = Rights::Role(user.role);
        let (name, by_text) = (name.clone(), by.subject.to_string());
        let event = match change {
            UserChange::Role(role) => {
                if *role < user.role {
                    not_yourself(by, &own)?;
                }
                not_more_than_own(by, &Rights::Role(*role))?;
                AccessEvent::UserRoleSet { name, role: *role, by: by_text }
            }
            UserChange::Password(password) => {
                not_more_than_own(by, &rights)?;
                AccessEvent::UserPasswordSet { name, password: password.clone(), by: by_text }
            }
            UserChange::Disable => {
                not_yourself(by, &own)?;
                AccessEvent::UserDisabled { name, by: by_text }
            }
            UserChange::Enable => {
                not_more_than_own(by, &rights)?;
                AccessEvent::UserEnabled { name, by: by_text }
            }
            UserChange::Unlock => {
                not_more_than_own(by, &rights)?;
                AccessEvent::UserUnlocked { name, by: by_text }
            }
        };
        self.decide(event)
    }

    /// Removes a user other than the caller.
    pub(in crate::access) fn remove_user(&self, asked: &RemoveUser) -> AccessDecision {
        let RemoveUser { name, by, request: _ } = asked;
        not_yourself(by, &Subject::User(name.clone()))?;
        self.decide(AccessEvent::UserRemoved { name: name.clone(), by: by.subject.to_string() })
    }
}
