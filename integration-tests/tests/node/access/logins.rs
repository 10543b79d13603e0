//! Logins of people: sessions, contexts, the login page, and the limits on guessing.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::binary::{ProgramOutput, ended, reelyard};
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::{Value, json};

use super::access_node::AccessNode;

pub const PASSWORD: &str = "a password of alice";

/// A node with the user alice, and a person with a file of contexts.
pub struct LoginYard {
    pub yard: AccessNode,
    contexts: PathBuf,
}

impl LoginYard {
    pub fn start(more: &[(&str, &str)]) -> Result<Self> {
        let yard = AccessNode::start(more)?;
        let contexts = yard.ground.path("contexts.toml");
        let person = LoginYard { yard, contexts };
        let url = person.url();
        let added =
            person.typing(PASSWORD, &["user", "add", "alice", "--role", "operator", "--url", &url]);
        ensure!(added.code == Some(0), "{}", added.err);
        Ok(person)
    }

    fn url(&self) -> String {
        format!("http://{}", self.yard.ground.node)
    }

    /// Runs a command with this line as its input.
    fn typing(&self, line: &str, arguments: &[&str]) -> ProgramOutput {
        let file = self.yard.ground.path("typed");
        std::fs::write(&file, format!("{line}\n")).unwrap();
        let mut command = reelyard(arguments);
        command.env("REELYARD_CONTEXTS", &self.contexts);
        ended(command.stdin(Stdio::from(std::fs::File::open(file).unwrap())))
    }

    fn done(&self, arguments: &[&str]) -> Result<String> {
        let ended = self.typing("", arguments);
        ensure!(ended.code == Some(0), "{arguments:?}: {}", ended.err);
        Ok(ended.out.trim_end().to_owned())
    }

    /// Begins a session by the API.
    pub fn log_in(&self, body: &Value) -> (u16, Value) {
        self.yard.call("POST", "/api/v1/sessions", "X-None: 1", Some(body))
    }

    /// Status, headers and body of curl with these arguments. The last one is the path.
    fn curl(&self, arguments: &[&str]) -> (u16, String) {
        let (path, arguments) = arguments.split_last().unwrap();
        let mut curl = Command::new("curl");
        curl.args(["-s", "-i", "-m", "20"]).args(arguments).arg(format!("{}{path}", self.url()));
        let text = String::from_utf8(curl.output().unwrap().stdout).unwrap();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_default(), text)
    }
}

#[test]
fn a_login_stores_a_session_in_a_context_until_logout() -> Result<()> {
    let person = LoginYard::start(&[])?;
    let url = person.url();
    let wrong = person.typing("not the password", &["login", "alice", "--url", &url]);
    assert!(
        wrong.code == Some(4) && wrong.err.contains("name or the password is wrong"),
        "{}",
        wrong.err
    );
    let login = person.typing(PASSWORD, &["login", "alice", "--url", &url]);
    assert!(login.code == Some(0) && login.out.contains("user alice"), "{}", login.err);
    // Without --url, and therefore without the administrator's token.
    let who = person.done(&["whoami"])?;
    assert!(who.contains("user alice") && who.contains("operator"), "{who}");
    assert!(person.done(&["context", "list"])?.contains("session"));
    assert_eq!(
        std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&person.contexts)?) & 0o777,
        0o600
    );
    let refused = person.typing("", &["user", "list"]);
    assert!(refused.code == Some(4) && refused.err.contains("access:read"), "{}", refused.err);

    // Another node gets nothing of this context.
    let other =
        person.typing("", &["whoami", "--context", "default", "--url", "http://127.0.0.1:1"]);
    assert_eq!(other.code, Some(3), "{}", other.err);

    // The environment may be meant for another node.
    let mut command = reelyard(&["whoami", "--context", "default"]);
    command.env("REELYARD_CONTEXTS", &person.contexts).env("REELYARD_URL", "http://127.0.0.1:1");
    let named = ended(command.env("REELYARD_TOKEN", "a-token-of-another-node"));
    assert!(named.out.contains("user alice"), "{}", named.err);
    let mut command = reelyard(&["logout"]);
    command.env("REELYARD_CONTEXTS", &person.contexts);
    let out = ended(command.env("REELYARD_TOKEN", "a-token-of-another-node"));
    assert_eq!(out.code, Some(0), "{}", out.err);
    let out = out.out;
    assert!(out.contains("Logged out"), "{out}");
    assert!(person.done(&["context", "list"])?.contains("none"));
    let again = person.typing("", &["logout"]);
    assert!(again.code == Some(2) && again.err.contains("has no session"), "{}", again.err);
    assert!(!person.yard.node.log_text().contains(PASSWORD));
    Ok(())
}

#[test]
fn contexts_are_added_chosen_and_removed() -> Result<()> {
    let person = LoginYard::start(&[])?;
    let token = person.yard.ground.path("node/admin.token").display().to_string();
    let host = person.yard.ground.node.to_string();
    person.done(&["context", "add", "far", "--url", "https://yard.example:8080"])?;
    person.done(&["context", "add", "near", "--url", &host, "--token-file", &token])?;
    person.done(&["context", "use", "near"])?;
    assert!(person.done(&["whoami"])?.contains("token admin"));
    let far = person.typing("", &["whoami", "--context", "absent"]);
    assert!(far.code == Some(2) && far.err.contains("Contexts: far, near"), "{}", far.err);
    let listed: Value = serde_json::from_str(&person.done(&["context", "list", "--json"])?)?;
    assert_eq!(
        (&listed[1]["name"], &listed[1]["current"]),
        (&json!("near"), &json!(true)),
        "{listed}"
    );
    person.done(&["context", "remove", "near", "far"])?;
    assert_eq!(person.done(&["context", "list", "--json"])?, "[]");
    Ok(())
}

#[test]
fn a_session_ends_at_once_when_its_user_is_disabled() -> Result<()> {
    let person = LoginYard::start(&[])?;
    let (status, session) = person.log_in(&json!({ "name": "alice", "password": PASSWORD }));
    assert_eq!(status, 201, "{session}");
    let secret = session["secret"].as_str().context("no secret")?;
    assert_eq!(person.yard.with(secret, "GET", "/api/v1/status").0, 200);
    person.yard.done(&["user", "disable", "alice"])?;
    let (status, detail) = person.yard.with(secret, "GET", "/api/v1/status");
    assert!(status == 401 && detail.contains("log in again"), "{detail}");
    let (status, refused) = person.log_in(&json!({ "name": "alice", "password": PASSWORD }));
    assert_eq!(
        (status, refused["detail"].as_str()),
        (401, Some("the name or the password is wrong"))
    );
    person.yard.done(&["user", "enable", "alice"])?;
    assert_eq!(
        person.yard.with(secret, "GET", "/api/v1/status").0,
        401,
        "a session does not return"
    );

    let (_, session) = person.log_in(&json!({ "name": "alice", "password": PASSWORD }));
    let (secret, id) = (session["secret"].as_str().unwrap(), session["id"].as_str().unwrap());
    let (status, _) = person.yard.call(
        "DELETE",
        &format!("/api/v1/sessions/{id}"),
        &person.yard.ground.bearer(),
        None,
    );
    assert_eq!((status, person.yard.with(secret, "GET", "/api/v1/status").0), (204, 401));
    Ok(())
}

#[test]
fn a_cookie_alone_changes_nothing() -> Result<()> {
    let person = LoginYard::start(&[])?;
    let (_, session) = person.log_in(&json!({ "name": "alice", "password": PASSWORD }));
    let cookie = format!("Cookie: reelyard_session={}", session["secret"].as_str().unwrap());
    let csrf = format!("Reelyard-Csrf: {}", session["csrf_token"].as_str().unwrap());
    assert_eq!(person.curl(&["-H", &cookie, "/api/v1/status"]).0, 200);
    let change = "/api/v1/removals/check";
    let (status, text) = person.curl(&["-X", "POST", "-H", &cookie, change]);
    assert!(status == 403 && text.contains("Reelyard-Csrf"), "{text}");
    let wrong = person.curl(&["-X", "POST", "-H", &cookie, "-H", "Reelyard-Csrf: x", change]);
    assert_eq!(wrong.0, 403);
    let (status, text) =
        person.curl(&["-X", "POST", "-H", &cookie, "-H", &csrf, "/api/v1/login-links"]);
    assert_eq!(status, 201, "{text}");
    assert_eq!(
        person.curl(&["-X", "DELETE", "-H", &cookie, "-H", &csrf, "/api/v1/sessions/current"]).0,
        204
    );
    assert_eq!(person.curl(&["-H", &cookie, "/api/v1/status"]).0, 401);
    Ok(())
}

#[test]
fn the_log_has_a_link_that_logs_a_browser_in_once() -> Result<()> {
    let person = LoginYard::start(&[])?;
    let link = wait_for("the link", &[&person.yard.node], || {
        let log = person.yard.node.log_text();
        let link = log.split("/login?link=").nth(1)?;
        Some(
            link.chars()
                .take_while(|c| c.is_ascii_alphanumeric() || ['-', '_'].contains(c))
                .collect::<String>(),
        )
    })?;
    let (status, text) = person.curl(&[&format!("/login?link={link}")]);
    assert!(status == 200 && text.contains("begins one session"), "{text}");
    assert!(text.contains("content-security-policy: default-src 'none'"), "{text}");
    let form = format!("link={link}");
    let (status, text) = person.curl(&["-d", &form, "/login"]);
    assert!(status == 303 && text.contains("HttpOnly; SameSite=Lax"), "{text}");
    let cookie =
        text.split("reelyard_session=").nth(1).and_then(|text| text.split(';').next()).unwrap();
    let cookie = format!("Cookie: reelyard_session={cookie}");
    let (_, page) = person.curl(&["-H", &cookie, "/login"]);
    assert!(page.contains("token admin"), "{page}");
    let (status, text) = person.curl(&["-d", &form, "/login"]);
    assert!(status == 401 && text.contains("was used or has expired"), "{text}");
    let foreign = person.curl(&["-d", &form, "-H", "Origin: http://evil.example", "/login"]);
    assert_eq!(foreign.0, 403);

    let csrf = page
        .split("name=\"csrf_token\" value=\"")
        .nth(1)
        .and_then(|text| text.split('"').next())
        .unwrap();
    assert_eq!(person.curl(&["-d", "csrf_token=x", "-H", &cookie, "/logout"]).0, 403);
    assert_eq!(
        person.curl(&["-d", &format!("csrf_token={csrf}"), "-H", &cookie, "/logout"]).0,
        303
    );
    assert_eq!(person.curl(&["-H", &cookie, "/api/v1/status"]).0, 401);

    let printed = person.yard.done(&["login", "--web"])?;
    assert!(printed.starts_with(&person.url()) && printed.contains("/login?link="), "{printed}");
    Ok(())
}

#[test]
fn unknown_tokens_are_limited_while_others_work() -> Result<()> {
    let person = LoginYard::start(&[])?;
    let known = person.yard.done(&["token", "create", "ci", "--role", "viewer"])?;
    let mut wrong = known.clone().into_bytes();
    wrong[10] = if wrong[10] == b'A' { b'B' } else { b'A' };
    let wrong = String::from_utf8(wrong)?;
    let refused: Vec<u16> =
        (0..30).map(|_| person.yard.with(&wrong, "GET", "/api/v1/status").0).collect();
    assert_eq!(refused[..10], [401; 10]);
    assert!(refused[10..].contains(&429), "{refused:?}");
    let header = format!("Authorization: Bearer {wrong}");
    let limited = wait_for("a refusal with Retry-After", &[&person.yard.node], || {
        let (status, text) = person.curl(&["-H", &header, "/api/v1/status"]);
        (status == 429).then_some(text)
    })?;
    assert!(
        limited.contains("retry-after: ") && limited.contains("too many failed attempts"),
        "{limited}"
    );
    assert_eq!(person.yard.with(&known, "GET", "/api/v1/status").0, 200);
    let (status, session) = person.log_in(&json!({ "name": "alice", "password": PASSWORD }));
    assert_eq!(status, 201, "people log in from the same address: {session}");
    Ok(())
}

#[test]
fn wrong_passwords_lock_an_account_until_an_administrator_unlocks_it() -> Result<()> {
    let person = LoginYard::start(&[("access.lock_after", "3")])?;
    let wrong = json!({ "name": "alice", "password": "not the password" });
    let answers: Vec<u16> = (0..3).map(|_| person.log_in(&wrong).0).collect();
    assert_eq!(answers, [401, 401, 429]);
    let right = json!({ "name": "alice", "password": PASSWORD });
    let (status, refused) = person.log_in(&right);
    assert!(status == 429 && refused["detail"].as_str().unwrap().contains("locked"), "{refused}");
    assert!(person.yard.done(&["user", "list"])?.contains("locked until"));
    let row = wait_for("the row of the lock", &[&person.yard.node], || {
        let listed = person.yard.done(&["audit", "list", "--json"]).ok()?;
        let page: Value = serde_json::from_str(&listed).ok()?;
        let rows = page["items"].as_array()?;
        rows.iter().find(|row| row["operation"] == "access.user_locked").cloned()
    })?;
    assert_eq!([&row["subject"], &row["actor"]["kind"]], ["user alice", "node"]);
    assert!(row["after"]["locked_until"].is_string(), "{row}");
    let (status, refused) =
        person.log_in(&json!({ "name": "bob", "password": "not the password" }));
    assert_eq!(status, 401, "a name without a user: {refused}");
    person.yard.done(&["user", "unlock", "alice"])?;
    assert_eq!(person.log_in(&right).0, 201);
    Ok(())
}

#[test]
fn a_session_ends_when_it_is_idle_and_at_its_greatest_age() -> Result<()> {
    for (idle, max_age) in [("1s", "1h"), ("1h", "1s")] {
        let person = LoginYard::start(&[("session.idle", idle), ("session.max_age", max_age)])?;
        let (status, session) = person.log_in(&json!({ "name": "alice", "password": PASSWORD }));
        assert_eq!(status, 201, "{session}");
        let id = session["id"].as_str().context("no id")?;
        // The list does not use the session.
        wait_for("the end of the session", &[&person.yard.node], || {
            let (_, sessions) =
                person.yard.call("GET", "/api/v1/sessions", &person.yard.ground.bearer(), None);
            let listed = sessions["items"].as_array()?;
            listed.iter().all(|session| session["id"] != id).then_some(())
        })?;
        let secret = session["secret"].as_str().context("no secret")?;
        let (status, detail) = person.yard.with(secret, "GET", "/api/v1/status");
        assert!(status == 401 && detail.contains("log in again"), "{detail}");
    }
    Ok(())
}

#[test]
fn a_wrong_password_counts_although_its_client_has_left() -> Result<()> {
    let person = LoginYard::start(&[("access.lock_after", "2")])?;
    let wrong = json!({ "name": "alice", "password": "not the password" }).to_string();
    let json = "content-type: application/json";
    wait_for("the lock of the account", &[&person.yard.node], || {
        // Shorter than the check of a password takes.
        person.curl(&["-m", "0.02", "-H", json, "-d", &wrong, "/api/v1/sessions"]);
        person.yard.done(&["user", "list"]).ok()?.contains("locked until").then_some(())
    })
}

#[test]
fn lists_of_callers_have_pages() -> Result<()> {
    let person = LoginYard::start(&[])?;
    for name in ["bob", "carol"] {
        person.yard.done(&["user", "add", name, "--role", "viewer", "--no-password"])?;
        person.yard.done(&["token", "create", name, "--role", "viewer"])?;
    }
    let admin = person.yard.ground.bearer();
    for _ in 0..3 {
        assert_eq!(person.log_in(&json!({ "name": "alice", "password": PASSWORD })).0, 201);
    }
    for (list, key) in [("users", "name"), ("tokens", "name"), ("sessions", "id")] {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        for _ in 0..3 {
            let path = format!("/api/v1/{list}?limit=1{cursor}");
            let (status, page) = person.yard.call("GET", &path, &admin, None);
            assert_eq!((status, page["items"].as_array().map(Vec::len)), (200, Some(1)), "{page}");
            seen.push(page["items"][0][key].as_str().context("no key")?.to_owned());
            cursor = match page["next"].as_str() {
                Some(next) => format!("&cursor={next}"),
                None => String::new(),
            };
        }
        assert!(cursor.is_empty(), "{list} has more than three items: {cursor}");
        let distinct: std::collections::BTreeSet<&String> = seen.iter().collect();
        assert_eq!(distinct.len(), 3, "{list}: {seen:?}");
    }
    let bad = person.yard.call("GET", "/api/v1/sessions?cursor=x", &admin, None);
    assert_eq!(bad.0, 400, "{}", bad.1);
    Ok(())
}
