//! Tokens, users and rights of a real node.

use std::os::unix::fs::MetadataExt;
use std::process::Stdio;

use anyhow::{Context, Result};
use reelyard_integration_tests::probes::api_document::ApiDocument;
use reelyard_integration_tests::rigs::binary::{self, ended, reelyard, run};
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::{Value, json};

use super::access_node::AccessNode;

#[test]
fn a_new_node_writes_the_token_of_its_administrator() -> Result<()> {
    let mut yard = AccessNode::start(&[])?;
    let file = yard.ground.path("node/admin.token");
    assert_eq!(std::fs::metadata(&file)?.mode() & 0o777, 0o600);
    let secret = std::fs::read_to_string(&file)?;
    assert!(yard.done(&["whoami"])?.contains("token admin"));

    let (status, problem) = yard.call("GET", "/api/v1/status", "X-None: 1", None);
    assert_eq!((status, &problem["token_file"]), (401, &json!(file)), "{problem}");
    for (token, words) in [
        ("not-a-token-of-reelyard", "begins with ryt_"),
        (&secret.trim()[..40], "cut or mistyped"),
        (&format!("{0}{0}", secret.trim()), "cut or mistyped"),
        (&format!("{}x", &secret.trim()[..secret.trim().len() - 1]), "mistyped"),
    ] {
        let (status, detail) = yard.with(token, "GET", "/api/v1/status");
        assert!(status == 401 && detail.contains(words), "{token}: {status} {detail}");
        assert!(!detail.contains(token), "{detail}");
    }

    yard.node.kill();
    yard.node.start_again()?;
    yard.until_up()?;
    assert_eq!(std::fs::read_to_string(&file)?, secret, "a restart keeps the token");
    assert!(!yard.node.log_text().contains(secret.trim()));
    Ok(())
}

#[test]
fn a_token_ends_with_its_rotation_its_revocation_or_its_time() -> Result<()> {
    let yard = AccessNode::start(&[])?;
    let first = yard.done(&["token", "create", "ci", "--scope", "yard:read"])?;
    assert_eq!(yard.with(&first, "GET", "/api/v1/status").0, 200);
    let (status, detail) = yard.with(&first, "POST", "/api/v1/config/reload");
    assert_eq!(status, 403);
    assert!(
        detail.contains("config:write") && detail.contains("token ci has scope yard:read"),
        "{detail}"
    );
    let again = yard.cli(&["token", "create", "ci", "--role", "viewer"]);
    assert!(again.code == Some(4) && again.err.contains("exists already"), "{}", again.err);

    let second = yard.done(&["token", "rotate", "ci", "--ttl", "1h"])?;
    assert_eq!(yard.with(&first, "GET", "/api/v1/status").0, 401);
    assert_eq!(yard.with(&second, "GET", "/api/v1/status").0, 200);
    let listed = yard.done(&["token", "list"])?;
    assert!(listed.contains("yard:read") && !listed.contains(&second), "{listed}");
    assert_eq!(yard.done(&["token", "revoke", "ci"])?, "ci: revoked");
    let (status, detail) = yard.with(&second, "GET", "/api/v1/status");
    assert!(status == 401 && detail.contains("revoked or rotated"), "{detail}");

    let short = yard.done(&["token", "create", "short", "--role", "viewer", "--ttl", "1s"])?;
    let expired = || {
        let (status, detail) = yard.with(&short, "GET", "/api/v1/status");
        (status == 401 && detail.contains("expired at")).then_some(())
    };
    wait_for("the token expires", &[&yard.node], expired)?;
    let elsewhere = ["token", "create", "far", "--role", "viewer", "--from", "192.0.2.0/24"];
    let (status, detail) = yard.with(&yard.done(&elsewhere)?, "GET", "/api/v1/status");
    assert!(status == 401 && detail.contains("not accepted from this address"), "{detail}");
    Ok(())
}

#[test]
fn every_call_is_refused_without_its_scope() -> Result<()> {
    let yard = AccessNode::start(&[])?;
    let token = yard.done(&["token", "create", "none", "--scope", "metrics:read"])?;
    let document: Value = serde_json::from_str(&binary::run(&["openapi"]).out)?;
    let mut open = Vec::new();
    for call in ApiDocument::read(&document.to_string())?.calls()? {
        let method = call.method.to_lowercase();
        let needs = document["paths"][&call.path][&method]["description"].as_str();
        let needs =
            needs.and_then(|text| text.rsplit("Needs ").next()).context(call.path.clone())?;
        let path = call.path.replace("{host}", "192.0.2.1:1").replace("{pool}", "p");
        let path = path.replace("{name}", "x").replace("{id}", "1").replace("{number}", "1");
        let (status, detail) = yard.with(&token, &call.method, &path);
        if status == 403 && detail.contains("needs") {
            let needed = needs.trim_end_matches('.').replace("POOL", "p");
            assert!(detail.contains(&needed), "{} {path}: {detail}", call.method);
        } else {
            open.push(format!("{} {}", call.method, call.path));
        }
    }
    // Everyone may read its own rights and the document, and log in and out. A worker signs its calls. An unknown
    // lease has no pool.
    open.sort();
    assert_eq!(
        open,
        [
            "DELETE /api/v1/sessions/current",
            "GET /api/v1/openapi.json",
            "GET /api/v1/whoami",
            "GET /api/v1/workers/{host}/tasks",
            "POST /api/v1/leases/{id}/release",
            "POST /api/v1/leases/{id}/renew",
            "POST /api/v1/leases/{id}/verify",
            "POST /api/v1/login-links",
            "POST /api/v1/sessions",
            "POST /api/v1/workers/{host}/reports",
        ]
    );
    Ok(())
}

#[test]
fn a_token_for_one_pool_leases_only_its_boxes() -> Result<()> {
    let yard = AccessNode::start(&[("box.pools", "{ a = { size = 1 }, b = { size = 1 } }")])?;
    let token = yard.done(&["token", "create", "jobs", "--scope", "boxes:lease:a"])?;
    let header = format!("Authorization: Bearer {token}");
    let lease = |pool: &str, header: &str| {
        let path = format!("/api/v1/pools/{pool}/leases");
        yard.call("POST", &path, header, Some(&json!({ "holder": "job" })))
    };
    let (_, own) = wait_for("a box of its pool", &[&yard.node], || {
        Some(lease("a", &header)).filter(|(status, _)| *status == 201)
    })?;
    assert_eq!(lease("b", &header).0, 403);
    let (_, other) = lease("b", &yard.ground.bearer());
    for (lease, expected) in [(&own, 200), (&other, 403)] {
        let path = format!("/api/v1/leases/{}/renew", lease["lease_id"].as_str().unwrap());
        let body = json!({ "token": lease["token"] });
        assert_eq!(yard.call("POST", &path, &header, Some(&body)).0, expected);
    }
    Ok(())
}

#[test]
fn users_are_added_changed_and_removed() -> Result<()> {
    let yard = AccessNode::start(&[])?;
    let url = format!("http://{}", yard.ground.node);
    let add = |name: &str, password: &str| {
        let mut command = reelyard(&["user", "add", name, "--role", "operator", "--url", &url]);
        let file = yard.ground.path("password");
        std::fs::write(&file, password).unwrap();
        ended(command.stdin(Stdio::from(std::fs::File::open(file).unwrap())))
    };
    let added = add("alice", "a password of alice\n");
    assert!(added.code == Some(0) && added.out.contains("operator"), "{}", added.err);
    let short = add("bob", "short\n");
    assert!(short.code == Some(4) && short.err.contains("12 to 1024"), "{}", short.err);
    assert!(yard.done(&["user", "disable", "alice"])?.contains("disabled"));
    assert!(yard.done(&["user", "enable", "alice"])?.contains("active"));
    assert!(yard.done(&["user", "role", "alice", "viewer"])?.contains("viewer"));
    let unknown = yard.cli(&["user", "remove", "carol"]);
    assert!(unknown.code == Some(4) && unknown.err.contains("no user is named carol"));
    assert_eq!(yard.done(&["user", "remove", "alice"])?, "alice: removed");

    let own = yard.cli(&["token", "revoke", "admin"]);
    assert!(own.code == Some(4) && own.err.contains("itself"), "{}", own.err);
    assert!(!yard.node.log_text().contains("a password of alice"));
    Ok(())
}

#[test]
fn a_caller_grants_no_more_than_its_own_rights() -> Result<()> {
    let yard = AccessNode::start(&[])?;
    let scopes = ["token", "create", "clerk", "--scope", "access:write", "--scope", "yard:read"];
    let clerk = format!("Authorization: Bearer {}", yard.done(&scopes)?);
    let create = |body: Value| yard.call("POST", "/api/v1/tokens", &clerk, Some(&body));
    assert_eq!(create(json!({ "name": "reader", "scopes": ["yard:read"] })).0, 201);
    let (status, problem) = create(json!({ "name": "boss", "role": "admin" }));
    assert!(
        status == 403 && problem["detail"].as_str().unwrap().contains("more than"),
        "{problem}"
    );
    assert_eq!(create(json!({ "name": "both", "role": "viewer", "scopes": ["yard:read"] })).0, 400);
    assert_eq!(create(json!({ "name": "no\u{7}name", "role": "viewer" })).0, 400);
    Ok(())
}

#[test]
fn a_lost_administrator_token_is_replaced_on_the_host() -> Result<()> {
    let yard = AccessNode::start(&[])?;
    let file = yard.ground.path("node/admin.token");
    let lost = std::fs::read_to_string(&file)?;
    let data_dir = format!("data_dir={}", yard.ground.path("node").display());
    let asked = run(&["token", "recover", "--set", &data_dir]);
    assert!(asked.code == Some(0) && asked.out.contains("SIGHUP"), "{}", asked.err);
    yard.node.hang_up()?;
    wait_for("a new token", &[&yard.node], || {
        (std::fs::read_to_string(&file).ok()? != lost).then_some(())
    })?;
    wait_for("it is accepted", &[&yard.node], || yard.ground.get("/api/v1/whoami").map(drop))?;
    assert_eq!(yard.with(lost.trim(), "GET", "/api/v1/whoami").0, 401);
    wait_for("it is logged", &[&yard.node], || {
        yard.node.log_text().contains("replaced on request of the host").then_some(())
    })?;
    Ok(())
}

#[test]
fn the_shared_token_is_the_legacy_administrator() -> Result<()> {
    let shared = "a-shared-token-of-a-yard";
    let yard = AccessNode::start(&[("token", shared)])?;
    assert_eq!(yard.with(shared, "GET", "/api/v1/users").0, 200);
    let listed = yard.done(&["token", "list"])?;
    assert!(listed.contains("legacy") && listed.contains("configuration"), "{listed}");
    let checked = run(&["config", "check", "--set", &format!("token={shared}")]);
    assert!(
        checked.out.contains("To retire it") && !checked.out.contains(shared),
        "{}",
        checked.out
    );
    let revoked = yard.cli(&["token", "revoke", "legacy"]);
    assert!(revoked.code == Some(4) && revoked.err.contains("remove token or token_file"));
    Ok(())
}

#[test]
fn a_page_of_another_site_reaches_nothing() -> Result<()> {
    let yard = AccessNode::start(&[("http.names", "[\"yard.example\"]")])?;
    let bearer = yard.ground.bearer();
    let call = |method: &str, headers: &[&str], path: &str| {
        let mut curl = std::process::Command::new("curl");
        curl.args(["-s", "-m", "20", "-o", "/dev/null", "-w", "%{http_code}", "-X", method]);
        for header in headers {
            curl.args(["-H", header]);
        }
        let output = curl.arg(format!("http://{}{path}", yard.ground.node)).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for path in ["/api/v1/whoami", "/metrics", "/tasks", "/dashboard", "/healthz"] {
        assert_eq!(call("GET", &[&bearer, "Host: evil.example"], path), "403", "{path}");
        assert_eq!(call("GET", &[&bearer, "Host: yard.example:80"], path), "200", "{path}");
    }
    let foreign = [bearer.as_str(), "Origin: http://evil.example"];
    assert_eq!(call("POST", &foreign, "/api/v1/config/reload"), "403");
    assert_eq!(call("DELETE", &["Origin: http://evil.example"], "/tasks/1"), "403");
    assert_eq!(
        call("POST", &[&bearer, "Origin: http://yard.example"], "/api/v1/config/reload"),
        "200"
    );
    Ok(())
}

#[test]
fn metrics_need_a_token_from_other_addresses() -> Result<()> {
    let yard = AccessNode::start(&[])?;
    let open = yard.call("GET", "/metrics", "X-None: 1", None);
    assert_eq!(open.0, 200, "this host reads the metrics without a token");
    let yard = AccessNode::start(&[("metrics.allow", "[\"10.9.9.9\"]")])?;
    let (status, refused) = yard.call("GET", "/metrics", "X-None: 1", None);
    assert_eq!(status, 401, "{refused}");
    let other = yard.done(&["token", "create", "other", "--scope", "yard:read"])?;
    let (status, detail) = yard.with(&other, "GET", "/metrics");
    assert!(status == 403 && detail.contains("metrics:read"), "{detail}");
    let prometheus = yard.done(&["token", "create", "prometheus", "--scope", "metrics:read"])?;
    assert_eq!(yard.with(&prometheus, "GET", "/metrics").0, 200);
    Ok(())
}
