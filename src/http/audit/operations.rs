//! The names of all changing calls, by method and path pattern.

use std::collections::HashMap;
use std::sync::LazyLock;

use actix_web::http::Method;

use crate::http::api;

/// The forms of the login page.
const OF_PAGES: [(Method, &str, &str); 2] =
    [(Method::POST, "/login", "page.logIn"), (Method::POST, "/logout", "page.logOut")];

/// The forms of the console.
const OF_CONSOLE: [(Method, &str, &str); 23] = [
    (Method::POST, "/console/files/{name}/{action}", "console.changeFile"),
    (Method::POST, "/console/file-actions/{action}", "console.changeFiles"),
    (Method::POST, "/console/hosts/{host}/{action}", "console.changeHost"),
    (Method::POST, "/console/host-actions/add", "console.addHosts"),
    (Method::POST, "/console/host-actions/{action}", "console.changeHosts"),
    (Method::POST, "/console/tasks/{id}/{action}", "console.changeTask"),
    (Method::POST, "/console/task-actions/{action}", "console.changeTasks"),
    (Method::POST, "/console/task-retries", "console.retryTasks"),
    (Method::POST, "/console/shares/new", "console.createShare"),
    (Method::POST, "/console/share-actions/{action}", "console.changeShares"),
    (Method::POST, "/console/pools/new", "console.createPool"),
    (Method::POST, "/console/boxes/{pool}/{number}/{action}", "console.changeBox"),
    (Method::POST, "/console/leases/{id}/revoke", "console.revokeLease"),
    (Method::POST, "/console/audit/export", "console.exportAudit"),
    (Method::POST, "/console/access/users/new", "console.addUser"),
    (Method::POST, "/console/access/users/{name}/{action}", "console.changeUser"),
    (Method::POST, "/console/access/tokens/new", "console.createToken"),
    (Method::POST, "/console/access/tokens/{name}/{action}", "console.changeToken"),
    (Method::POST, "/console/access/sessions/{id}/end", "console.endSession"),
    (Method::POST, "/console/cluster/invite", "console.inviteNode"),
    (Method::POST, "/console/cluster/members/{number}/{action}", "console.changeMember"),
    (Method::POST, "/console/settings/reload", "console.reloadConfiguration"),
    (Method::POST, "/console/settings/versions/{number}/revert", "console.revertSettings"),
];

/// The changing calls of cfm's interface.
const OF_CFM: [(Method, &str, &str); 2] = [
    (Method::PATCH, "/tasks/{id}", "cfm.changeTask"),
    (Method::DELETE, "/tasks/{id}", "cfm.cancelTask"),
];

static OPERATIONS: LazyLock<HashMap<String, Vec<(Method, String)>>> = LazyLock::new(|| {
    let mut operations: HashMap<String, Vec<(Method, String)>> = HashMap::new();
    for (method, pattern, name) in OF_CFM.into_iter().chain(OF_PAGES).chain(OF_CONSOLE) {
        operations.entry(pattern.to_owned()).or_default().push((method, name.to_owned()));
    }
    for (pattern, method, name) in api::operations() {
        operations.entry(pattern).or_default().push((method, name));
    }
    operations
});

/// The name of the call with this method and path pattern. None for an unknown call.
pub(super) fn name(method: &Method, pattern: &str) -> Option<&'static str> {
    let of_pattern = OPERATIONS.get(pattern)?;
    let found = of_pattern.iter().find(|(of_call, _)| of_call == method);
    found.map(|(_, name)| name.as_str())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ROUTES: &str = include_str!("../console/mod.rs");

    /// A form that changes only the browser.
    const UNNAMED: &str = "/console/preferences";

    #[test]
    fn each_form_of_the_console_has_a_name_in_the_audit() {
        let resources = ROUTES.split("web::resource(").skip(1);
        let posts = resources.filter(|resource| resource.contains("web::post()"));
        let routes: BTreeSet<&str> = posts.filter_map(|post| post.split('"').nth(1)).collect();
        let named = OF_CONSOLE.iter().map(|(_, pattern, _)| *pattern).chain([UNNAMED]);
        assert_eq!(routes, named.collect());
    }
}
