//! Answers that last longer than their request end when their caller loses its rights.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};

use anyhow::Result;
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::json;

use super::access_node::AccessNode;
use super::logins::{LoginYard, PASSWORD};

/// A call of curl that lasts.
struct LongCall {
    curl: Child,
    output: PathBuf,
}

impl LongCall {
    /// Begins a call with this bearer text, and waits until its answer contains `begun`.
    fn begin(yard: &AccessNode, name: &str, bearer: &str, arguments: &[&str]) -> Result<Self> {
        let output = yard.ground.path(name);
        let (path, arguments) = arguments.split_last().unwrap();
        let mut curl = Command::new("curl");
        curl.args(["-s", "-N", "-m", "60", "-w", "\n%{http_code}"]).args(arguments);
        curl.args(["-H", &format!("Authorization: Bearer {bearer}")]);
        curl.arg(format!("http://{}{path}", yard.ground.node));
        let curl = curl.stdout(File::create(&output)?).spawn()?;
        Ok(LongCall { curl, output })
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.output).unwrap_or_default()
    }

    fn until_begun(&self, yard: &AccessNode, words: &str) -> Result<()> {
        wait_for(words, &[&yard.node], || self.text().contains(words).then_some(()))
    }

    /// Waits for the end of the answer. Returns its text.
    fn ended(mut self, yard: &AccessNode) -> Result<String> {
        let curl = &mut self.curl;
        let status = wait_for("the end of the answer", &[&yard.node], || curl.try_wait().unwrap())?;
        assert!(status.success(), "the answer was cut: {status}");
        Ok(self.text())
    }
}

impl Drop for LongCall {
    fn drop(&mut self) {
        let _ = self.curl.kill();
        let _ = self.curl.wait();
    }
}

fn log_in(yard: &AccessNode, token: &str) -> String {
    let proof = json!({ "token": token });
    let (status, session) = yard.call("POST", "/api/v1/sessions", "X-None: 1", Some(&proof));
    assert_eq!(status, 201, "{session}");
    session["secret"].as_str().unwrap().to_owned()
}

#[test]
fn event_streams_end_when_their_caller_loses_its_rights() -> Result<()> {
    let yard = AccessNode::start(&[])?;
    let token = yard.done(&["token", "create", "screen", "--role", "operator"])?;
    let stays = yard.done(&["token", "create", "stays", "--role", "viewer"])?;
    let session = log_in(&yard, &token);
    let streams = ["/api/v1/events", "/api/v1/shares/events", "/api/v1/audit/events"];
    let mut open = Vec::new();
    for (number, path) in streams.into_iter().enumerate() {
        for (kind, bearer) in [("token", &token), ("session", &session)] {
            let name = format!("{kind}-{number}");
            let call = LongCall::begin(&yard, &name, bearer, &[path])?;
            call.until_begun(&yard, ": ")?;
            open.push(call);
        }
    }
    let other = LongCall::begin(&yard, "other", &stays, &["/api/v1/events"])?;
    other.until_begun(&yard, ": ")?;
    yard.done(&["token", "revoke", "screen"])?;
    for call in open {
        call.ended(&yard)?;
    }
    let mut other = other;
    assert!(other.curl.try_wait()?.is_none(), "another caller's stream ended: {}", other.text());
    Ok(())
}

#[test]
fn a_stream_ends_when_its_user_is_disabled_or_demoted() -> Result<()> {
    let person = LoginYard::start(&[])?;
    let yard = &person.yard;
    for (name, change) in [
        ("demoted", ["user", "role", "alice", "viewer"].as_slice()),
        ("disabled", &["user", "disable", "alice"]),
    ] {
        let (status, session) = person.log_in(&json!({ "name": "alice", "password": PASSWORD }));
        assert_eq!(status, 201, "{session}");
        let secret = session["secret"].as_str().unwrap();
        let call = LongCall::begin(yard, name, secret, &["/api/v1/events"])?;
        call.until_begun(yard, ": ")?;
        yard.done(change)?;
        call.ended(yard)?;
    }
    Ok(())
}

#[test]
fn a_caller_gets_only_the_changes_that_it_may_read() -> Result<()> {
    let yard = AccessNode::start(&[])?;
    let narrow = yard.done(&["token", "create", "narrow", "--scope", "yard:read"])?;
    let (status, detail) = yard.with(&narrow, "GET", "/api/v1/events?kinds=task,share");
    assert!(status == 403 && detail.contains("shares:read"), "{detail}");
    let wide = yard.done(&["token", "create", "wide", "--role", "viewer"])?;
    let narrow = LongCall::begin(&yard, "narrow", &narrow, &["/api/v1/events"])?;
    let wide = LongCall::begin(&yard, "wide", &wide, &["/api/v1/events"])?;
    narrow.until_begun(&yard, ": ")?;
    wide.until_begun(&yard, ": ")?;
    let admin = yard.ground.bearer();
    let (status, made) =
        yard.call("PUT", "/api/v1/pools/judge", &admin, Some(&json!({ "size": 1 })));
    assert!(status < 300, "{made}");
    wide.until_begun(&yard, "event: box")?;
    yard.done(&["hosts", "add", "127.0.0.99:1", "--role", "destination"])?;
    wide.until_begun(&yard, "event: host")?;
    narrow.until_begun(&yard, "event: host")?;
    assert!(!narrow.text().contains("event: box"), "{}", narrow.text());
    Ok(())
}

#[test]
fn a_wait_for_a_lease_ends_when_its_token_is_revoked() -> Result<()> {
    let yard = AccessNode::start(&[])?;
    let admin = yard.ground.bearer();
    let pool = json!({ "size": 1 });
    let (status, made) = yard.call("PUT", "/api/v1/pools/judge", &admin, Some(&pool));
    assert!(status < 300, "{made}");
    let lease = json!({ "holder": "first", "ttl": "10m" });
    let (status, made) = yard.call("POST", "/api/v1/pools/judge/leases", &admin, Some(&lease));
    assert_eq!(status, 201, "{made}");

    let token = yard.done(&["token", "create", "judge", "--scope", "boxes:lease:judge"])?;
    let wanted = json!({ "holder": "second", "wait": "1m" }).to_string();
    let json = "content-type: application/json";
    let path = "/api/v1/pools/judge/leases";
    let plain = LongCall::begin(&yard, "plain", &token, &["-H", json, "-d", &wanted, path])?;
    let events = ["-H", json, "-H", "accept: text/event-stream", "-d", &wanted, path];
    let events = LongCall::begin(&yard, "events", &token, &events)?;
    events.until_begun(&yard, "event: waiting")?;
    wait_for("two waiters", &[&yard.node], || {
        let (_, pool) = yard.call("GET", "/api/v1/pools/judge", &admin, None);
        (pool["waiting"] == 2).then_some(())
    })?;
    yard.done(&["token", "revoke", "judge"])?;
    let refused = plain.ended(&yard)?;
    assert!(refused.ends_with("401") && refused.contains("lost its rights"), "{refused}");
    events.ended(&yard)?;
    wait_for("nobody waits", &[&yard.node], || {
        let (_, pool) = yard.call("GET", "/api/v1/pools/judge", &admin, None);
        (pool["waiting"] == 0).then_some(())
    })
}
