//! No output of a node, a worker or a command contains a secret.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::binary::{ended, reelyard, run};
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, free_addr, wait_for};
use serde_json::json;

use super::access_node::AccessNode;

const SHARED: &str = "shared-secret-of-this-yard";
const HOOK: &str = "hook-secret-of-this-yard";
const PASSWORD: &str = "password-secret-of-this-yard";
const LINK_PASSWORD: &str = "link-secret-of-this-yard";

/// The configuration of a node whose secrets are in files, with a webhook that nobody answers.
fn configuration(ground: &ProcessYard) -> Result<String> {
    let path = |part: &str| ground.path(part).display().to_string();
    std::fs::write(ground.path("shared.token"), SHARED)?;
    let links = free_addr(std::net::Ipv4Addr::LOCALHOST)?;
    let nobody = free_addr(std::net::Ipv4Addr::LOCALHOST)?;
    Ok(format!(
        "listen = \"{}\"\ndata_dir = \"{}\"\ntoken_file = \"{}\"\n[hosts]\ndestinations = [\"{}\"]\n[share]\nlisten = \
         \"{links}\"\n[share.roots]\nmovies = \"{}\"\n[share.webhooks.billing]\nurl = \"http://{nobody}/\"\nsecret = \
         \"{HOOK}\"\n[log]\nlevel = \"trace\"\n",
        ground.node,
        path("node"),
        path("shared.token"),
        ground.destination(0),
        path("masters"),
    ))
}

/// Standard output of a command that must succeed, with one line of input.
fn done(ground: &ProcessYard, line: &str, arguments: &[&str]) -> Result<String> {
    let typed = ground.path("typed");
    std::fs::write(&typed, format!("{line}\n"))?;
    let url = format!("http://{}", ground.node);
    let mut command = reelyard(&[arguments, &["--url", &url]].concat());
    command.env("REELYARD_CONTEXTS", ground.path("contexts.toml"));
    let ended = ended(command.stdin(std::fs::File::open(typed)?));
    ensure!(ended.code == Some(0), "{arguments:?}: {}", ended.err);
    Ok(ended.out.trim().to_owned())
}

/// The arguments and the environment of a process.
fn arguments_of(role: &RoleProcess) -> Result<String> {
    let process = role.process().context("the process has ended")?;
    let read = |what: &str| std::fs::read(format!("/proc/{process}/{what}"));
    Ok(String::from_utf8_lossy(&[read("cmdline")?, read("environ")?].concat()).into_owned())
}

/// The text of all files of a directory that another program could read or send on.
fn text_below(dir: &Path) -> Result<String> {
    let mut text = String::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            text += &text_below(&path)?;
        } else if path.file_name().is_none_or(|name| name != "admin.token") {
            text += &String::from_utf8_lossy(&std::fs::read(&path)?);
        }
    }
    Ok(text)
}

#[test]
fn no_output_contains_a_secret() -> Result<()> {
    let ground = ProcessYard::new(0, 1)?;
    let file = ground.path("node.toml");
    std::fs::write(&file, configuration(&ground)?)?;
    ground.master(b"a.mpg", 1000)?;
    let node = RoleProcess::start_by_file("node", &file, ground.path("node.log"))?;
    wait_for("the node answers", &[&node], || ground.get("/api/v1/whoami").map(drop))?;

    let host = ground.destination(0).to_string();
    let worker_token = done(&ground, "", &["token", "create", "--worker", &host])?;
    std::fs::write(ground.path("worker.token"), &worker_token)?;
    let worker_file = ground.path("worker.token").display().to_string();
    let worker =
        ground.start_destination(0, &[("token_file", &worker_file), ("log.level", "trace")])?;
    let token = done(&ground, "", &["token", "create", "ci", "--role", "admin"])?;
    done(&ground, PASSWORD, &["user", "add", "alice", "--role", "viewer"])?;
    done(&ground, PASSWORD, &["login", "alice"])?;
    let share = done(&ground, LINK_PASSWORD, &["share", "create", "movies/a.mpg", "--password"])?;
    let yard = AccessNode { ground, node };
    let login = json!({ "token": token });
    let (_, session) = yard.call("POST", "/api/v1/sessions", "X-None: 1", Some(&login));
    let text = |name: &str| session[name].as_str().map(str::to_owned).context(name.to_owned());
    let (session_secret, csrf_token) = (text("secret")?, text("csrf_token")?);
    let admin = std::fs::read_to_string(yard.ground.path("node/admin.token"))?.trim().to_owned();

    let secrets = [
        ("the shared token", SHARED),
        ("the secret of a webhook", HOOK),
        ("a password", PASSWORD),
        ("the password of a link", LINK_PASSWORD),
        ("a worker's token", &worker_token),
        ("a token", &token),
        ("a session", &session_secret),
        ("a CSRF token", &csrf_token),
        ("the administrator's token", &admin),
    ];
    let mut outputs = Vec::new();
    // Errors that could repeat the value.
    for (_, secret) in secrets {
        let bearer = format!("Authorization: Bearer {secret}x");
        for (method, path) in [("GET", "/api/v1/status"), ("POST", "/api/v1/config/reload")] {
            outputs.push(("an error", yard.call(method, path, &bearer, None).1.to_string()));
        }
        let wrong = json!({ "name": "alice", "password": format!("{secret}x") });
        outputs.push((
            "a refused login",
            yard.call("POST", "/api/v1/sessions", "X-None: 1", Some(&wrong)).1.to_string(),
        ));
        let wrong = json!({ "link": format!("{secret}x") });
        outputs.push((
            "a refused link",
            yard.call("POST", "/api/v1/sessions", "X-None: 1", Some(&wrong)).1.to_string(),
        ));
    }
    for path in [
        "/api/v1/status",
        "/api/v1/tokens",
        "/api/v1/users",
        "/api/v1/sessions",
        "/api/v1/shares",
        "/api/v1/history",
    ] {
        outputs.push((path, yard.call("GET", path, &yard.ground.bearer(), None).1.to_string()));
    }
    for path in ["/metrics", "/readyz", "/login"] {
        let page = yard.ground.curl().arg(format!("http://{}{path}", yard.ground.node)).output()?;
        outputs.push((path, String::from_utf8_lossy(&page.stdout).into_owned()));
    }
    let configuration = yard.ground.path("node.toml").display().to_string();
    for command in ["show", "check"] {
        let shown = run(&["config", command, "--config", &configuration]);
        outputs.push(("the configuration", shown.out + &shown.err));
    }
    for role in [&yard.node, &worker] {
        outputs.push(("arguments and environment", arguments_of(role)?));
    }
    // A crash leaves its output in the log, and the audit and the journal on the disk.
    for role in [&yard.node, &worker] {
        let process = role.process().context("a process")?.to_string();
        let sent = std::process::Command::new("kill").args(["-ABRT", &process]).status()?;
        ensure!(sent.success(), "the process cannot be ended");
        wait_for("the crash", &[], || role.has_ended().then_some(()))?;
        outputs.push(("a log", role.log_text()));
    }
    outputs.push(("the data directory", text_below(&yard.ground.path("node"))?));
    for (place, output) in outputs {
        for (what, secret) in secrets {
            assert!(!output.contains(secret), "{place} contains {what}:\n{output}");
        }
    }
    assert!(share.starts_with("http://"), "{share}");
    Ok(())
}
