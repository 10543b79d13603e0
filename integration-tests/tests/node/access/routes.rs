//! Every route of a node has a decision about rights.

use std::path::Path;

use anyhow::Result;

/// The routes outside of the API, with the decision for each. The calls of the API declare their rights.
const DECIDED: [(&str, &str); 68] = [
    ("/healthz", "open: it only says that the process answers"),
    ("/readyz", "open: monitoring has no token"),
    ("/shared-files/{id}", "streams of other nodes of the cluster only"),
    ("/shared-files/{id}/contents", "streams of other nodes of the cluster only"),
    ("/shared-files/{id}/archive", "streams of other nodes of the cluster only"),
    ("/shared-files/{id}/count", "streams of other nodes of the cluster only"),
    ("/metrics", "metrics.allow, or metrics:read"),
    ("/guide", "open: the manual"),
    ("/guide/", "open: the manual"),
    ("/guide/{topic}", "open: the manual"),
    ("/guide/pictures/{name}", "open: the manual"),
    ("/login", "open: it begins a session, and limits wrong attempts"),
    ("/login/", "open: it only leads to the login"),
    ("/logout", "the session and its CSRF token"),
    ("/", "open: it only leads to the console"),
    ("/console", "a session with yard:read"),
    ("/console/assets/{hash}/{name}", "open: style and scripts without data"),
    ("/console/preferences", "open: it changes cookies of the browser only"),
    ("/console/live/{page}", "a session with the scopes of the page"),
    ("/console/session", "a session: it answers with its user and its CSRF token"),
    ("/console/hosts", "a session with yard:read"),
    ("/console/hosts/{host}", "a session with yard:read"),
    ("/console/hosts/{host}/{action}", "a session with yard:write, and its CSRF token"),
    ("/console/host-actions/add", "a session with yard:write, and its CSRF token to post"),
    ("/console/host-actions/{action}", "a session with yard:write, and its CSRF token"),
    ("/console/files", "a session with yard:read"),
    ("/console/files/{name}/{action}", "a session with yard:write, and its CSRF token"),
    ("/console/file-actions/{action}", "a session with yard:write, and its CSRF token"),
    ("/console/files/export", "a session with yard:read"),
    ("/console/tasks", "a session with yard:read"),
    ("/console/tasks/{id}/{action}", "a session with yard:write, and its CSRF token"),
    ("/console/task-actions/{action}", "a session with yard:write, and its CSRF token"),
    ("/console/task-retries", "a session with yard:write, and its CSRF token"),
    ("/console/shares", "a session with shares:read"),
    ("/console/shares/new", "a session with shares:write, and its CSRF token to post"),
    ("/console/shares/{id}", "a session with shares:read"),
    ("/console/share-actions/{action}", "a session with shares:write, and its CSRF token"),
    ("/console/boxes", "a session with boxes:read"),
    ("/console/pools/new", "a session with boxes:write, and its CSRF token to post"),
    ("/console/boxes/{pool}/{number}/{action}", "a session with boxes:write, and its CSRF token"),
    ("/console/leases/{id}/revoke", "a session with boxes:write, and its CSRF token"),
    ("/console/history", "a session with yard:read"),
    ("/console/history/export", "a session with yard:read"),
    ("/console/audit", "a session with audit:read"),
    ("/console/audit/export", "a session with audit:read, and its CSRF token"),
    ("/console/access", "a session with access:read"),
    ("/console/access/users/new", "a session with access:write, and its CSRF token to post"),
    ("/console/access/users/{name}/{action}", "a session with access:write, and its CSRF token"),
    ("/console/access/tokens/new", "a session with access:write, and its CSRF token to post"),
    ("/console/access/tokens/{name}/{action}", "a session with access:write, and its CSRF token"),
    ("/console/access/sessions/{id}/end", "a session with access:write, and its CSRF token"),
    ("/console/plan", "a session with yard:read"),
    ("/console/map", "a session with yard:read"),
    ("/console/cluster", "a session with yard:read"),
    ("/console/cluster/invite", "a session with access:write, and its CSRF token to post"),
    (
        "/console/cluster/members/{number}/{action}",
        "a session with cluster:write, and its CSRF token",
    ),
    ("/console/settings", "a session with config:read"),
    ("/console/settings/reload", "a session with config:write, and its CSRF token"),
    (
        "/console/settings/versions/{number}/revert",
        "a session with config:write, and its CSRF token",
    ),
    ("/console/guide", "a session with yard:read"),
    ("/console/guide/{topic}", "a session with yard:read"),
    ("/console/find", "a session with yard:read"),
    ("/console/{rest:.*}", "open: it only says that there is no page"),
    ("/tasks", "compat.allow"),
    ("/tasks/{id}", "compat.allow"),
    ("/dashboard", "compat.allow"),
    ("/dashboard/hb", "compat.allow"),
    ("/dashboard/filemetas", "compat.allow"),
];

/// The texts that begin with a slash after these words in a file.
fn paths_in(file: &str) -> Result<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let code = std::fs::read_to_string(root.join(file))?;
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for words in ["web::resource(", "add(config, "] {
        for rest in code.split(words).skip(1) {
            // One route may have several paths.
            let end = if rest.starts_with('[') { ']' } else { ')' };
            let arguments = rest.split([end, ',']).collect::<Vec<_>>();
            let list = if rest.starts_with('[') {
                rest.split(']').next().unwrap_or_default()
            } else {
                arguments[0]
            };
            found.extend(list.split('"').filter(|text| text.starts_with('/')).map(str::to_owned));
        }
    }
    Ok(found)
}

#[test]
fn every_route_has_a_decision_about_rights() -> Result<()> {
    let mut routes = paths_in("src/http/node.rs")?;
    routes.extend(paths_in("src/http/login_page.rs")?);
    routes.extend(paths_in("src/http/legacy/routes.rs")?);
    routes.extend(paths_in("src/http/console/mod.rs")?);
    routes.sort();
    let mut decided: Vec<String> = DECIDED.map(|(path, _)| path.to_owned()).to_vec();
    decided.sort();
    assert_eq!(routes, decided, "decide who may call a new route, and add it here");
    // The API is the only scope, and each of its calls needs rights to be a call.
    let node =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/http/node.rs"))?;
    assert_eq!(node.matches("web::scope(").count(), 1);
    Ok(())
}
