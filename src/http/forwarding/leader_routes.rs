//! The requests that go to the leader.

use actix_web::http::Method;
use reelyard_api::API;

/// Changes that are of one node.
const OF_THE_NODE: [&str; 1] = ["/config/reload"];

/// Pages that change something of one node, or only of the browser.
const PAGES_OF_THE_NODE: [&str; 2] = ["/console/settings/reload", "/console/preferences"];

/// Reads of the API that only the leader can answer: it alone plans, removes, and lets requests for boxes wait.
const READS: [&str; 4] = ["/workers/", "/files/moves", "/plan", "/removals"];

/// Reads with the files, disks and loads of hosts, or with the progress of copies, and the changes of them. Only the
/// leader asks for them.
const READS_OF_HOSTS: [&str; 5] = ["/hosts", "/files", "/overview", "/tasks", "/events"];

/// Pages that show the same.
const PAGES_OF_HOSTS: [&str; 10] =
    ["", "yard", "hosts", "host", "files", "tasks", "plan", "map", "boxes", "find"];

/// Why a request goes to the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaderNeed {
    /// Each node can answer it.
    None,
    /// The leader knows more. Without a leader this node answers.
    KnowsMore,
    /// Only the leader can answer it.
    Only,
}

impl LeaderNeed {
    /// Of this request.
    pub fn of(method: &Method, path: &str) -> Self {
        if let Some(call) = path.strip_prefix(API) {
            return Self::of_call(method, call);
        }
        if PAGES_OF_THE_NODE.contains(&path) {
            return LeaderNeed::None;
        }
        // Old programs read tasks and change them without a token, and know no other node.
        if !method.is_safe() || path.starts_with("/tasks") || path.starts_with("/dashboard") {
            return LeaderNeed::Only;
        }
        let page = path.strip_prefix("/console").and_then(|rest| match rest.strip_prefix('/') {
            Some(page) => Some(page.strip_prefix("live/").unwrap_or(page)),
            None => rest.is_empty().then_some(rest),
        });
        let first = page.and_then(|page| page.split('/').next());
        Self::knows_more(method, first.is_some_and(|page| PAGES_OF_HOSTS.contains(&page)))
    }

    /// The answer to HEAD has no body to pass on, and is the same everywhere.
    fn knows_more(method: &Method, shows_hosts: bool) -> Self {
        if shows_hosts && *method == Method::GET { LeaderNeed::KnowsMore } else { LeaderNeed::None }
    }

    fn of_call(method: &Method, call: &str) -> Self {
        if !method.is_safe() {
            return match OF_THE_NODE.contains(&call) {
                true => LeaderNeed::None,
                false => LeaderNeed::Only,
            };
        }
        let is_pool =
            call.strip_prefix("/pools").is_some_and(|rest| rest.matches('/').count() <= 1);
        let is_explained = call.starts_with("/files/") && call.ends_with("/explain");
        if is_pool || is_explained || READS.iter().any(|read| call.starts_with(read)) {
            return LeaderNeed::Only;
        }
        Self::knows_more(method, READS_OF_HOSTS.iter().any(|read| call.starts_with(read)))
    }
}

/// Whether an answer is true only while this node leads. Such a call changes nothing.
pub fn is_of_leader(method: &Method, path: &str) -> bool {
    let is_verify = path
        .strip_prefix(API)
        .is_some_and(|call| call.starts_with("/leases/") && call.ends_with("/verify"));
    is_verify || (method.is_safe() && LeaderNeed::of(method, path) == LeaderNeed::Only)
}

/// Whether the answer to a request may take long: it waits for boxes or tasks, or it is a stream of events.
pub fn may_wait(method: &Method, target: &str) -> bool {
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    if method.is_safe() && path.starts_with("/console/live/") {
        return true;
    }
    let Some(call) = path.strip_prefix(API) else { return false };
    match *method {
        Method::GET => {
            call == "/events" || (call.starts_with("/workers/") && call.ends_with("/tasks"))
        }
        Method::POST => call.starts_with("/pools/") && call.ends_with("/leases"),
        _ => false,
    }
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
    fn requests_go_to_the_leader_if_it_knows_more_or_decides() {
        use LeaderNeed::{KnowsMore, None, Only};
        for (method, path, expected) in [
            (Method::GET, "/api/v1/shares", None),
            (Method::GET, "/api/v1/tasks", KnowsMore),
            (Method::HEAD, "/api/v1/tasks", None),
            (Method::GET, "/api/v1/events", KnowsMore),
            (Method::GET, "/api/v1/shares/events", None),
            (Method::GET, "/api/v1/audit/events", None),
            (Method::GET, "/api/v1/hosts/10.0.0.1:8888", KnowsMore),
            (Method::POST, "/api/v1/shares", Only),
            (Method::DELETE, "/api/v1/tokens/ci", Only),
            (Method::POST, "/api/v1/config/reload", None),
            (Method::GET, "/api/v1/workers/10.0.0.1:8888/tasks", Only),
            (Method::GET, "/api/v1/files/moves", Only),
            (Method::GET, "/api/v1/files/a.mp4/explain", Only),
            (Method::GET, "/api/v1/plan/back-offs", Only),
            (Method::GET, "/api/v1/pools", Only),
            (Method::GET, "/api/v1/pools/judge", Only),
            (Method::GET, "/api/v1/pools/judge/boxes", None),
            (Method::GET, "/tasks", Only),
            (Method::GET, "/healthz", None),
            (Method::POST, "/login", Only),
            (Method::POST, "/console/files/copy", Only),
            (Method::POST, "/console/settings/reload", None),
            (Method::GET, "/console", KnowsMore),
            (Method::GET, "/console/live/host", KnowsMore),
            (Method::GET, "/console/hosts/10.0.0.1:8888", KnowsMore),
            (Method::GET, "/console/cluster", None),
            (Method::GET, "/console/assets/1/a.css", None),
        ] {
            assert_eq!(LeaderNeed::of(&method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn only_requests_that_may_wait_take_a_place() {
        for (method, target, expected) in [
            (Method::GET, "/api/v1/events?kinds=box", true),
            (Method::GET, "/api/v1/workers/10.0.0.1:8888/tasks?wait=20s", true),
            (Method::POST, "/api/v1/workers/10.0.0.1:8888/reports", false),
            (Method::POST, "/api/v1/pools/judge/leases", true),
            (Method::PUT, "/api/v1/pools/judge", false),
            (Method::POST, "/api/v1/leases/renew", false),
            (Method::GET, "/api/v1/tasks", false),
            (Method::GET, "/tasks", false),
            (Method::GET, "/console/live/hosts", true),
            (Method::GET, "/console/hosts", false),
        ] {
            assert_eq!(may_wait(&method, target), expected, "{method} {target}");
        }
    }
}
