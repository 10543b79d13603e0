//! The names of all changing calls, by method and path pattern.

use std::collections::HashMap;
use std::sync::LazyLock;

use actix_web::http::Method;

use crate::http::api;

/// The forms of the login page.
const OF_PAGES: [(Method, &str, &str); 2] =
    [(Method::POST, "/login", "page.logIn"), (Method::POST, "/logout", "page.logOut")];

/// The forms of the console. A name has the verb of the action in the path in place of `{action}`.
const OF_CONSOLE: [(Method, &str, &str); 23] = [
    (Method::POST, "/console/files/{name}/{action}", "console.{action}File"),
    (Method::POST, "/console/file-actions/{action}", "console.{action}Files"),
    (Method::POST, "/console/hosts/{host}/{action}", "console.{action}Host"),
    (Method::POST, "/console/host-actions/add", "console.addHosts"),
    (Method::POST, "/console/host-actions/{action}", "console.{action}Hosts"),
    (Method::POST, "/console/tasks/{id}/{action}", "console.{action}Task"),
    (Method::POST, "/console/task-actions/{action}", "console.{action}Tasks"),
    (Method::POST, "/console/task-retries", "console.retryTasks"),
    (Method::POST, "/console/shares/new", "console.createShare"),
    (Method::POST, "/console/share-actions/{action}", "console.{action}Shares"),
    (Method::POST, "/console/pools/new", "console.createPool"),
    (Method::POST, "/console/boxes/{pool}/{number}/{action}", "console.{action}Box"),
    (Method::POST, "/console/leases/{id}/revoke", "console.revokeLease"),
    (Method::POST, "/console/audit/export", "console.exportAudit"),
    (Method::POST, "/console/access/users/new", "console.addUser"),
    (Method::POST, "/console/access/users/{name}/{action}", "console.{action}User"),
    (Method::POST, "/console/access/tokens/new", "console.createToken"),
    (Method::POST, "/console/access/tokens/{name}/{action}", "console.{action}Token"),
    (Method::POST, "/console/access/sessions/{id}/end", "console.endSession"),
    (Method::POST, "/console/cluster/invite", "console.inviteNode"),
    (Method::POST, "/console/cluster/members/{number}/{action}", "console.{action}Member"),
    (Method::POST, "/console/settings/reload", "console.reloadConfiguration"),
    (Method::POST, "/console/settings/versions/{number}/revert", "console.revertSettings"),
];

/// The changing calls of cfm's interface.
const OF_CFM: [(Method, &str, &str); 2] = [
    (Method::PATCH, "/tasks/{id}", "cfm.changeTask"),
    (Method::DELETE, "/tasks/{id}", "cfm.cancelTask"),
];

/// Longest word of an action in bytes.
const LONGEST_ACTION: usize = 20;

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

/// The name of the call with this method, path pattern and path. None for an unknown call.
pub(super) fn name(method: &Method, pattern: &str, path: &str) -> Option<String> {
    let of_pattern = OPERATIONS.get(pattern)?;
    let (_, name) = of_pattern.iter().find(|(of_call, _)| of_call == method)?;
    let action = path.rsplit('/').next().unwrap_or_default();
    Some(name.replace("{action}", verb(action)))
}

/// The verb of an action of the console, from its word in addresses.
fn verb(action: &str) -> &str {
    let is_word =
        action.len() <= LONGEST_ACTION && action.bytes().all(|byte| byte.is_ascii_lowercase());
    match action {
        "active" => "activate",
        "maintenance" => "maintain",
        "role" => "changeRoleOf",
        "password" => "setPasswordOf",
        "pin_copy" => "pinAndCopy",
        word if is_word => word,
        _ => "change",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ROUTES: &str = include_str!("console/mod.rs");

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

    #[test]
    fn an_operation_of_the_console_names_its_action() {
        let post = |pattern: &str, path: &str| name(&Method::POST, pattern, path).unwrap();
        let file = |path| post("/console/files/{name}/{action}", path);
        assert_eq!(file("/console/files/a%2Fb.mpg/pin"), "console.pinFile");
        assert_eq!(file("/console/files/a.mpg/unpin"), "console.unpinFile");
        assert_eq!(file("/console/files/a.mpg/%3Cb%3E"), "console.changeFile");
        let hosts = |path| post("/console/host-actions/{action}", path);
        assert_eq!(hosts("/console/host-actions/maintenance"), "console.maintainHosts");
        assert_eq!(
            post("/console/host-actions/add", "/console/host-actions/add"),
            "console.addHosts"
        );
        assert_eq!(name(&Method::GET, "/console/task-retries", "/console/task-retries"), None);
    }
}
