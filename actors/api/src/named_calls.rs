//! The calls that can be repeated after a lost answer: under a request id in the body, or in a header.

use reelyard_core::event::RequestId;
use serde_json::{Map, Value};

/// The header with the request id of any change.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The header of a request that was sent before and whose answer may be lost.
pub const REPEATED: &str = "reelyard-repeated";

/// Method, and path below the API. A part `*` is any one.
const NAMED: [(&str, &str); 6] = [
    ("POST", "shares"),
    ("PATCH", "shares/*"),
    ("POST", "files/move"),
    ("POST", "users"),
    ("PATCH", "users/*"),
    ("POST", "pools/*/leases"),
];

/// The changes that are not repeated. The secret of an answer is not stored, a repetition has another effect, or it is
/// refused although the first one was carried out.
const NOT_REPEATED: [(&str, &str); 10] = [
    ("POST", "tokens"),
    ("POST", "tokens/*/rotate"),
    ("POST", "sessions"),
    ("DELETE", "sessions/*"),
    ("POST", "login-links"),
    ("POST", "cluster/transfer"),
    ("POST", "config/reload"),
    ("POST", "workers/*/reports"),
    // A later look finds other links, or other leases.
    ("POST", "shares/revoke"),
    ("POST", "pools/*/adopt"),
];

/// Whether the body of this call can have a request id. The path has one entry for each part below the API.
pub fn has_request_id<'p>(method: &str, path: impl Iterator<Item = &'p str> + Clone) -> bool {
    is_in(&NAMED, method, path)
}

/// Whether a program may repeat this change under the same request id.
pub fn is_repeatable<'p>(method: &str, path: impl Iterator<Item = &'p str> + Clone) -> bool {
    !is_in(&NOT_REPEATED, method, path)
}

/// A request id that no other request has.
pub fn new_request_id() -> String {
    RequestId::random().to_string()
}

fn is_in<'p>(
    calls: &[(&str, &str)],
    method: &str,
    path: impl Iterator<Item = &'p str> + Clone,
) -> bool {
    calls.iter().any(|(of, pattern)| {
        let mut parts = pattern.split('/');
        let is_same =
            |part: &str| parts.next().is_some_and(|wanted| wanted == "*" || wanted == part);
        *of == method && path.clone().all(is_same) && parts.next().is_none()
    })
}

/// A body with its request id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedBody {
    /// The text of the body.
    pub body: Vec<u8>,
    /// The request id in it.
    pub id: String,
}

impl NamedBody {
    /// The body with its own request id, or with `new` before all other members. Otherwise its text stays, so that the
    /// leader refuses what it refuses in a body that comes directly. None if it is no object in JSON.
    pub fn of(body: &[u8], new: impl FnOnce() -> String) -> Option<Self> {
        let object: Map<String, Value> = serde_json::from_slice(body).ok()?;
        match object.get("request_id") {
            Some(Value::String(own)) => {
                return Some(NamedBody { body: body.to_vec(), id: own.clone() });
            }
            Some(_) => return None,
            None => {}
        }
        let id = new();
        let begin = body.iter().position(|byte| *byte == b'{')? + 1;
        let (before, members) = body.split_at_checked(begin)?;
        let separator = if object.is_empty() { "" } else { "," };
        let member = format!("\"request_id\":\"{id}\"{separator}");
        Some(NamedBody { body: [before, member.as_bytes(), members].concat(), id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(body: &str) -> Option<NamedBody> {
        NamedBody::of(body.as_bytes(), || "new".to_owned())
    }

    #[test]
    fn a_request_without_an_id_gets_one() {
        for (body, rest) in [
            (r#"{"path": "a"}"#, r#""path": "a"}"#),
            (" {\n \"path\" : 1.0 }", "\n \"path\" : 1.0 }"),
            ("{ }", " }"),
        ] {
            let NamedBody { body: given, id } = named(body).unwrap();
            let text = str::from_utf8(&given).unwrap();
            assert!(id == "new" && text.ends_with(rest), "{text}");
            let read: Value = serde_json::from_str(text).unwrap();
            assert_eq!(read["request_id"], id);
        }
        let own = r#"{"request_id": "mine"}"#;
        let kept = NamedBody { body: own.as_bytes().to_vec(), id: "mine".to_owned() };
        assert_eq!(named(own), Some(kept));
        for other in ["[1]", "{", r#"{"request_id": null}"#, r#"{"request_id": 7}"#] {
            assert_eq!(named(other), None, "{other}");
        }
    }

    #[test]
    fn a_member_that_occurs_twice_stays_twice() {
        let body = named(r#"{"path": "a", "path": "b"}"#).unwrap().body;
        let text = str::from_utf8(&body).unwrap();
        assert_eq!(text.matches("path").count(), 2, "{text}");
    }

    #[test]
    fn only_calls_that_are_done_once_have_an_id() {
        for (method, path, expected) in [
            ("POST", "shares", true),
            ("PATCH", "shares/x", true),
            ("POST", "pools/p/leases", true),
            ("GET", "shares", false),
            ("POST", "shares/x", false),
            ("POST", "shares/revoke", false),
            ("POST", "tokens", false),
        ] {
            assert_eq!(has_request_id(method, path.split('/')), expected, "{method} {path}");
        }
        for (method, path, expected) in [
            ("PUT", "pools/p", true),
            ("DELETE", "users/u", true),
            ("DELETE", "tokens/t", true),
            ("POST", "leases/l/release", true),
            ("POST", "tokens/t/rotate", false),
            ("POST", "shares/revoke", false),
            ("POST", "pools/p/adopt", false),
            ("POST", "cluster/transfer", false),
        ] {
            assert_eq!(is_repeatable(method, path.split('/')), expected, "{method} {path}");
        }
    }
}
