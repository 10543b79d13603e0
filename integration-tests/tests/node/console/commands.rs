//! The command lines that pages show do what they promise when they are pasted into a shell.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::{Value, json};

use super::console_yard::{ConsoleYard, Visit};
use super::shown_lines::values;

impl ConsoleYard {
    /// The lines of a page, or of its dialog, that begin with this word, as the buttons copy them.
    fn lines(&self, visit: &Visit, path: &str, word: &str) -> Result<Vec<String>> {
        let page = self.page(visit, path)?;
        let page = page.split_once("data-dialog").map_or(page.as_str(), |(_, dialog)| dialog);
        let mut lines = values(page, "data-copy");
        lines.retain(|line| line.starts_with(word));
        ensure!(!lines.is_empty(), "{path} shows no line of {word}");
        Ok(lines)
    }

    /// Runs a line in a shell as a person does who has a token in the environment and no context, and returns its
    /// output.
    fn pasted(&self, line: &str) -> Result<String> {
        let folder = binary::path().parent().context("no folder")?.display().to_string();
        let system = std::env::var("PATH").unwrap_or_default();
        let token = self.ground.bearer().replace("Authorization: Bearer ", "");
        let line = match line.strip_prefix("curl ") {
            Some(rest) => format!("curl -sS --fail-with-body -m 30 {rest}"),
            None => line.to_owned(),
        };
        let output = Command::new("bash")
            .args(["-c", &line])
            .env("PATH", format!("{folder}:{system}"))
            .env("REELYARD_TOKEN", token)
            .env("HOME", self.ground.path("home"))
            .output()?;
        let (out, err) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
        ensure!(output.status.success(), "{line}: {err}{}", String::from_utf8_lossy(&out));
        Ok(String::from_utf8(out)?)
    }

    /// Pastes the only line of this word with this part that a page shows.
    fn paste_part(&self, visit: &Visit, path: &str, word: &str, part: &str) -> Result<String> {
        let lines = self.lines(visit, path, word)?;
        let lines: Vec<String> = lines.into_iter().filter(|line| line.contains(part)).collect();
        ensure!(lines.len() == 1, "{path}: {lines:?}");
        self.pasted(&lines[0])
    }

    /// Pastes all lines of this word that a page shows.
    fn paste_all(&self, visit: &Visit, path: &str, word: &str) -> Result<()> {
        self.lines(visit, path, word)?.iter().try_for_each(|line| self.pasted(line).map(drop))
    }

    /// Pastes the only line of this word that a page shows.
    fn paste(&self, visit: &Visit, path: &str, word: &str) -> Result<String> {
        let lines = self.lines(visit, path, word)?;
        ensure!(lines.len() == 1, "{path}: {lines:?}");
        self.pasted(&lines[0])
    }

    fn answer(&self, path: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.curl(&["-H", &self.ground.bearer(), path])?.body)?)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let (bearer, body) = (self.ground.bearer(), body.to_string());
        let kind = "content-type: application/json";
        let answer = self.curl(&["-X", method, "-H", &bearer, "-H", kind, "-d", &body, path])?;
        ensure!(answer.status < 300, "{path}: {} {}", answer.status, answer.body);
        Ok(serde_json::from_str(&answer.body)?)
    }

    /// Begins a copy and pastes the line of this word that cancels it. False if the copy was done before.
    fn cancels(&self, visit: &Visit, word: &str, name: &str) -> Result<bool> {
        let to = self.ground.destination(0).to_string();
        self.send("PUT", &format!("/api/v1/hosts/{to}/mode"), &json!({ "mode": "active" }))?;
        let begun =
            self.send("POST", "/api/v1/tasks", &json!({ "name": name, "destination": to }))?;
        let task = begun["task"].as_str().context("no task")?;
        let path = format!("/console/tasks?ask=cancel&pick={task}");
        // The page has no line for a copy that is done.
        let Ok(lines) = self.lines(visit, &path, word) else { return Ok(false) };
        self.pasted(&lines[0])?;
        // The command and the call drop a copy from the list that was done a moment before.
        let ended = self.answer(&format!("/api/v1/tasks/{task}"))?;
        ensure!(ended["state"] == "cancelled" || ended["status"] == 404, "{ended}");
        Ok(ended["state"] == "cancelled")
    }
}

/// Both forms of each line.
const BOTH: [&str; 2] = ["reelyard", "curl"];

#[test]
fn the_lines_of_lists_and_of_actions_on_storage_work_as_shown() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let visit = yard.visit("boss", "admin")?;
    let host = yard.ground.destination(0).to_string();
    for word in BOTH {
        let listed = yard.paste(&visit, "/console/files?q=gamma&state=placed", word)?;
        assert!(listed.contains("beta gamma.mpg") && !listed.contains("alpha.mpg"), "{listed}");
        let hosts = format!("/console/hosts?role=destination&health=up&mode=active&q={host}");
        assert!(yard.paste(&visit, &hosts, word)?.contains(&host));
        let none = yard.paste(&visit, "/console/hosts?q=no-such-host", word)?;
        assert!(!none.contains(&host), "{none}");
        let named = yard.paste(&visit, "/console/tasks?q=gamma", word)?;
        assert!(named.contains("beta gamma.mpg") && !named.contains("alpha.mpg"), "{named}");
        let tasks = format!("/console/tasks?state=done&host={}", yard.ground.source(0));
        assert!(yard.paste(&visit, &tasks, word)?.contains("alpha.mpg"));
        yard.paste(&visit, "/console/tasks?state=failed&blamed=source", word)?;
        let why = yard.paste(&visit, "/console/tasks?cause=none&why=beta%20gamma.mpg", word)?;
        assert!(why.contains("beta gamma.mpg"), "{why}");
        for page in ["plan", "boxes", "files?state=waiting", "files?state=problem"] {
            for line in yard.lines(&visit, &format!("/console/{page}"), word)? {
                yard.pasted(&line)?;
            }
        }
        let history = format!("/console/history?q=gamma&step=copies&host={host}");
        let history = yard.paste(&visit, &history, word)?;
        assert!(history.contains("beta gamma.mpg") && !history.contains("alpha.mpg"), "{history}");
        assert!(!yard.paste(&visit, "/console/history?step=failures", word)?.contains("alpha.mpg"));
        let audit = "/console/audit?action=createToken&outcome=done&from=2026-01-01T00:00";
        assert!(yard.paste(&visit, audit, word)?.contains("boss"));
        yard.paste(&visit, "/console/audit", word)?;
        for line in yard.lines(&visit, "/console/settings", word)? {
            let shown = yard.pasted(&line)?;
            ensure!(!line.contains("config show") || shown.contains("limit_percent"), "{shown}");
        }
    }
    for word in BOTH {
        let added = "10.255.0.1:8888";
        let add = format!("/console/hosts?ask=add&addresses={added}&as=source");
        yard.paste(&visit, &add, word)?;
        assert_eq!(yard.answer(&format!("/api/v1/hosts/{added}"))?["role"], "source");
        yard.paste(&visit, &format!("/console/hosts?ask=remove&pick={added}"), word)?;
        for (ask, mode) in [
            ("drain", "draining"),
            ("active", "active"),
            ("maintenance", "maintenance"),
            ("active", "active"),
        ] {
            let ask = format!(
                "/console/hosts?ask={ask}&pick={host}&reason=it%27s%205%25+%EA%B3%A0%EC%9E%A5"
            );
            yard.paste(&visit, &ask, word)?;
            wait_for(mode, &[&yard.node], || {
                let shown = yard.answer(&format!("/api/v1/hosts/{host}")).ok()?;
                (shown["mode"] == mode).then_some(())
            })?;
        }
        yard.paste(&visit, &format!("/console/hosts?ask=reset&pick={host}"), word)?;
        let probed = yard.paste(&visit, &format!("/console/hosts?ask=probe&pick={host}"), word)?;
        let answer = if word == "curl" { "\"latency_ms\":" } else { " answered in " };
        assert!(probed.contains(&host) && probed.contains(answer), "{probed}");
    }
    let rows = yard.answer("/api/v1/audit?operation=setHostMode")?;
    let rows = rows["items"].as_array().context("no rows")?;
    assert_eq!(rows.iter().filter(|row| row["reason"] == "it's 5% 고장").count(), 8, "{rows:?}");
    let lists = ["hosts", "files", "tasks", "plan", "history", "audit", "settings"];
    let mut pages: Vec<String> = lists.map(|list| format!("/console/{list}")).to_vec();
    pages.push(format!("/console/hosts/{host}"));
    pages.push("/console/files?state=waiting&why=alpha.mpg".to_owned());
    pages.push("/console/tasks?cause=none&state=failed".to_owned());
    let asked = ["drain", "maintenance", "remove", "active", "reset", "adopt", "probe"];
    pages.extend(asked.map(|ask| format!("/console/hosts?ask={ask}&pick={host}&reason=a")));
    assert!(yard.check_shown_lines(&visit, &pages)? > 40);
    let picked =
        "pick=alpha.mpg&pick=beta%2520gamma.mpg&pick=%253Cscript%253Ealert(1)%253Cb%253E.mpg";
    for (word, ask, pins) in
        [("reelyard", "pin", 3), ("curl", "unpin", 0), ("curl", "pin", 3), ("reelyard", "unpin", 0)]
    {
        yard.paste_all(&visit, &format!("/console/files?ask={ask}&{picked}"), word)?;
        assert_eq!(yard.answer("/api/v1/pins")?["items"].as_array().map(Vec::len), Some(pins));
    }
    Ok(())
}

#[test]
fn the_lines_of_actions_on_copies_work_as_shown() -> Result<()> {
    let names = ["one.mpg", "two.mpg"];
    let (yard, _disks) =
        ConsoleYard::start_empty(&names, 8 << 20, &[("task.copy_speed", "8Mbit/s")])?;
    let visit = yard.visit("boss", "admin")?;
    // Each copy would take eight seconds.
    for (word, name) in BOTH.into_iter().zip(names) {
        ensure!(yard.cancels(&visit, word, name)?, "{name} was done before it was cancelled");
    }
    Ok(())
}

#[test]
fn the_lines_of_actions_on_links_boxes_and_access_work_as_shown() -> Result<()> {
    let yard = ConsoleYard::start()?;
    let visit = yard.visit("boss", "admin")?;
    for word in BOTH {
        let new = "/console/shares?new=true&path=movies/alpha.mpg&ttl=90m&max_downloads=3";
        let new = format!("{new}&owner=press&note=for%20Lee");
        let part = if word == "curl" { "-X POST" } else { "share create" };
        yard.paste_part(&visit, &new, word, part)?;
        let listed = yard.paste(&visit, "/console/shares?state=due&q=alpha", word)?;
        assert!(listed.contains("movies/alpha.mpg"), "{listed}");
        let none = yard.paste(&visit, "/console/shares?q=nothing", word)?;
        assert!(!none.contains("movies/alpha.mpg"), "{none}");
        let shares = yard.answer("/api/v1/shares")?;
        let share = &shares["items"][0];
        assert_eq!([&share["owner"], &share["note"]], ["press", "for Lee"], "{share}");
        assert_eq!(share["max_downloads"], 3, "{share}");
        let id = share["id"].as_str().context("no share")?.to_owned();
        let row = format!("value=\"{id}\"");
        let is_shown = |column: &u64| {
            let shown = yard.page(&visit, &format!("/console/shares?due={column}"));
            shown.is_ok_and(|page| page.contains(&row))
        };
        let column = (0..60).find(is_shown).context("no column of the time line has the link")?;
        for (column, is_listed) in [(column, true), (column + 5, false)] {
            let listed = yard.paste(&visit, &format!("/console/shares?due={column}"), word)?;
            assert_eq!(listed.contains("movies/alpha.mpg"), is_listed, "column {column}: {listed}");
        }
        for line in yard.lines(&visit, "/console/shares?state=ended", word)? {
            assert!(!yard.pasted(&line)?.contains("movies/alpha.mpg"), "{line}");
        }
        yard.send("PATCH", &format!("/api/v1/shares/{id}"), &json!({ "ttl": "1h" }))?;
        yard.paste(&visit, &format!("/console/shares?ask=extend&pick={id}"), word)?;
        yard.paste(&visit, &format!("/console/shares?ask=revoke&pick={id}"), word)?;
        assert_eq!(yard.answer("/api/v1/shares")?["items"], json!([]));

        if word == "reelyard" {
            yard.paste_part(&visit, "/console/boxes", word, "pools put")?;
        }
        let pool = format!("/console/boxes?ask=new-pool&name={word}&size=2&ttl_default=5m");
        yard.paste(&visit, &pool, word)?;
        let pool = &yard.answer(&format!("/api/v1/pools/{word}"))?["spec"];
        assert_eq!((&pool["size"], &pool["ttl_default"]), (&json!(2), &json!("5m")), "{pool}");
        let lease = json!({ "holder": "job", "ttl": "1h" });
        let lease = yard.send("POST", "/api/v1/pools/judges/leases", &lease)?;
        let id = lease["lease_id"].as_str().context("no lease")?;
        let ask = format!("/console/boxes?pool=judges&ask=revoke&lease={id}");
        yard.paste(&visit, &ask, word)?;
        let number = if word == "curl" { 30 } else { 31 };
        let ask = format!("/console/boxes?pool=judges&number={number}&ask=quarantine");
        yard.paste(&visit, &ask, word)?;
        let place = format!("/api/v1/pools/judges/boxes/{number}");
        assert_eq!(yard.answer(&place)?["state"], "quarantined");
        if word == "curl" {
            let pages = ["shares", "boxes", "access", "cluster"];
            let pages = pages.map(|page| format!("/console/{page}"));
            assert!(yard.check_shown_lines(&visit, &pages)? > 20);
        }
        yard.paste(&visit, &ask.replace("ask=quarantine", "ask=unquarantine"), word)?;
        assert_eq!(yard.answer(&place)?["state"], "free");

        yard.paste(&visit, "/console/access?ask=new-token", word)?;
        yard.paste(&visit, "/console/access?ask=rotate&name=backup", word)?;
        yard.paste(&visit, "/console/access?ask=revoke&name=backup", word)?;
        if word == "reelyard" {
            // The command asks for a password at the terminal.
            yard.send("POST", "/api/v1/users", &json!({ "name": "alice", "role": "viewer" }))?;
        } else {
            yard.paste(&visit, "/console/access?ask=new-user", word)?;
        }
        for ask in ["role", "disable", "enable", "unlock", "remove"] {
            yard.paste(&visit, &format!("/console/access?ask={ask}&name=alice"), word)?;
        }
        yard.visit(&format!("guest-{word}"), "viewer")?;
        let sessions = yard.answer("/api/v1/sessions")?;
        let id = sessions["items"][0]["id"].as_str().context("no session")?;
        yard.paste(&visit, &format!("/console/access?ask=end&name={id}"), word)?;
        assert_ne!(yard.answer("/api/v1/sessions")?["items"][0]["id"], id, "the newest has ended");
    }
    Ok(())
}
