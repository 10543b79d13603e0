//! The part of an audited call that only its handler knows.

use std::cell::{Ref, RefCell};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::rc::Rc;

use actix_web::dev::{Payload, ServiceRequest};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use reelyard_access::audit::{AuditActor, AuditActorKind, LARGEST_REASON, LARGEST_TEXT};
use reelyard_access::rights::Subject;
use serde::Serialize;
use serde_json::{Map, Value};

/// The part of an audited call that only its handler knows. A handler gets it as an argument and adds the
/// object of the call, and the values before and after it. Never add a secret.
#[derive(Clone, Debug, Default)]
pub struct AuditDetails(Rc<RefCell<CallDetails>>);

/// The collected details of one call.
#[derive(Debug, Default)]
pub(super) struct CallDetails {
    pub(super) actor: Option<AuditActor>,
    pub(super) subjects: Vec<String>,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
    pub(super) reason: Option<String>,
    pub(super) changes_nothing: bool,
}

impl AuditDetails {
    /// Names the object of the call, such as "share ABC". Without it, the path names the object.
    pub fn subject(&self, subject: impl Into<String>) {
        self.0.borrow_mut().subjects = vec![subject.into()];
    }

    /// Names the objects of a call on several things. The call gets as many rows as their names need.
    pub fn subjects<N: AsRef<str>>(&self, kind: &str, names: &[N]) {
        let mut subjects: Vec<String> = Vec::new();
        for name in names {
            let name = name.as_ref();
            match subjects.last_mut() {
                Some(last) if last.chars().count() + name.chars().count() + 2 <= LARGEST_TEXT => {
                    last.push_str(", ");
                    last.push_str(name);
                }
                _ => subjects.push(format!("{kind} {name}")),
            }
        }
        self.0.borrow_mut().subjects = subjects;
    }

    /// Adds the values after the call.
    pub fn after(&self, values: Value) {
        self.0.borrow_mut().after = Some(values);
    }

    /// Adds the members of an object that differ before and after the call. None if it did not exist.
    pub fn changed<T: Serialize>(&self, before: Option<&T>, after: Option<&T>) {
        let (before, after) = differing(before, after);
        let mut collected = self.0.borrow_mut();
        (collected.before, collected.after) = (before, after);
    }

    /// Names the caller.
    pub fn actor(&self, subject: &Subject) {
        self.0.borrow_mut().actor = Some(AuditActor::of(subject));
    }

    /// Names the caller of a form, and the reason in it. A page sends no header for them.
    pub fn of_form(&self, subject: &Subject, reason: Option<&str>) {
        let mut collected = self.0.borrow_mut();
        collected.actor = Some(AuditActor::of(subject));
        collected.reason = reason.map(|reason| reason.chars().take(LARGEST_REASON).collect());
    }

    /// The details of this request. Those of a request without a row are not used.
    pub fn of(request: &HttpRequest) -> Self {
        request.extensions().get::<AuditDetails>().cloned().unwrap_or_default()
    }

    /// The call changes nothing, so it gets a row only if it is refused.
    pub fn changes_nothing(&self) {
        self.0.borrow_mut().changes_nothing = true;
    }

    pub(super) fn collected(&self) -> Ref<'_, CallDetails> {
        self.0.borrow()
    }

    /// Remembers the worker that signed this request.
    pub fn remember_worker(request: &ServiceRequest) {
        let extensions = request.extensions();
        let Some(details) = extensions.get::<AuditDetails>() else { return };
        let name = request.match_info().get("host").unwrap_or_default().to_owned();
        let mut collected = details.0.borrow_mut();
        collected.actor.get_or_insert(AuditActor { kind: AuditActorKind::Worker, name });
    }
}

/// The members of two objects that are not equal.
fn differing<T: Serialize>(
    before: Option<&T>,
    after: Option<&T>,
) -> (Option<Value>, Option<Value>) {
    let members = |object: Option<&T>| match serde_json::to_value(object) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    };
    let (before, after) = (members(before), members(after));
    let rest = |of: &Option<Map<String, Value>>, other: &Option<Map<String, Value>>| {
        let mut rest = of.clone()?;
        if let Some(other) = other {
            rest.retain(|key, value| other.get(key) != Some(value));
        }
        Some(Value::Object(rest))
    };
    (rest(&before, &after), rest(&after, &before))
}

impl FromRequest for AuditDetails {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(AuditDetails::of(request)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_object_of_a_call_is_in_one_of_its_rows() {
        let names: Vec<String> = (10..60).map(|number| format!("10.0.0.{number}:8888")).collect();
        let details = AuditDetails::default();
        details.subjects("host", &names);
        let subjects = details.collected().subjects.clone();
        assert!(subjects.iter().all(|subject| subject.chars().count() <= LARGEST_TEXT));
        assert!((2..10).contains(&subjects.len()), "{subjects:?}");
        let named: Vec<&str> = subjects
            .iter()
            .flat_map(|subject| subject.strip_prefix("host ").unwrap().split(", "))
            .collect();
        assert_eq!(named, names);
        details.subjects("host", &[""; 0]);
        assert!(details.collected().subjects.is_empty());
    }

    #[test]
    fn only_differing_members_are_kept() {
        let before = json!({ "role": "viewer", "name": "alice", "locked": true });
        let after = json!({ "role": "admin", "name": "alice" });
        let changed = differing(Some(&before), Some(&after));
        let locked = json!({ "role": "viewer", "locked": true });
        assert_eq!(changed, (Some(locked), Some(json!({ "role": "admin" }))));
        assert_eq!(differing(None, Some(&after)), (None, Some(after.clone())));
        assert_eq!(differing(Some(&after), None), (Some(after), None));
    }
}
