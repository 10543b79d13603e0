//! The requests that go to the leader.

use actix_web::http::Method;

use crate::http::api::API;

/// Changes that are of one node.
const OF_THE_NODE: [&str; 1] = ["/config/reload"];

/// Pages that change something of one node, or only of the browser.
const PAGES_OF_THE_NODE: [&str; 2] = ["/console/settings/reload", "/console/preferences"];

/// Reads of the API that only the leader can answer.
const READS: [&str; 2] = ["/workers/", "/files/moves"];

/// Whether only the leader can answer a request.
pub fn needs_leader(method: &Method, path: &str) -> bool {
    if let Some(call) = path.strip_prefix(API) {
        return match method.is_safe() {
            true => READS.iter().any(|read| call.starts_with(read)),
            false => !OF_THE_NODE.contains(&call),
        };
    }
    if PAGES_OF_THE_NODE.contains(&path) {
        return false;
    }
    // Old programs read tasks and change them without a token, and know no other node.
    !method.is_safe() || path.starts_with("/tasks") || path.starts_with("/dashboard")
}

/// Whether an answer is true only while this node leads. Such a call changes nothing.
pub fn is_of_leader(method: &Method, path: &str) -> bool {
    let is_verify = path
        .strip_prefix(API)
        .is_some_and(|call| call.starts_with("/leases/") && call.ends_with("/verify"));
    is_verify || (method.is_safe() && needs_leader(method, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_leader_that_change_nothing_need_its_rank() {
        for (method, path, expected) in [
            (Method::POST, "/api/v1/leases/x/verify", true),
            (Method::POST, "/api/v1/leases/x/renew", false),
            (Method::GET, "/api/v1/workers/10.0.0.1:8888/tasks", true),
            (Method::GET, "/api/v1/tasks", false),
            (Method::GET, "/tasks", true),
            (Method::POST, "/tasks", false),
        ] {
            assert_eq!(is_of_leader(&method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn changes_and_calls_of_workers_go_to_the_leader() {
        for (method, path, expected) in [
            (Method::GET, "/api/v1/tasks", false),
            (Method::POST, "/api/v1/shares", true),
            (Method::DELETE, "/api/v1/tokens/ci", true),
            (Method::POST, "/api/v1/config/reload", false),
            (Method::GET, "/api/v1/workers/10.0.0.1:8888/tasks", true),
            (Method::GET, "/api/v1/files/moves", true),
            (Method::GET, "/tasks", true),
            (Method::GET, "/healthz", false),
            (Method::POST, "/login", true),
            (Method::POST, "/console/files/copy", true),
            (Method::POST, "/console/settings/reload", false),
            (Method::GET, "/console", false),
        ] {
            assert_eq!(needs_leader(&method, path), expected, "{method} {path}");
        }
    }
}
