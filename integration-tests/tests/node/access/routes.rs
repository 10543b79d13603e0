//! Every route of a node has a decision about rights.

use std::path::Path;

use anyhow::Result;

/// The routes outside of the API, with the decision for each. The calls of the API declare their rights.
const DECIDED: [(&str, &str); 13] = [
    ("/healthz", "open: it only says that the process answers"),
    ("/readyz", "open: monitoring has no token"),
    ("/metrics", "metrics.allow, or metrics:read"),
    ("/guide", "open: the manual"),
    ("/guide/", "open: the manual"),
    ("/guide/{topic}", "open: the manual"),
    ("/login", "open: it begins a session, and limits wrong attempts"),
    ("/logout", "the session and its CSRF token"),
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
    routes.extend(paths_in("src/http/compat/routes.rs")?);
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
