//! Shares over the API and the command line of a real node, and their links with curl.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Result;
use reelyard_api::Rfc3339;
use reelyard_core::clock::Clock;
use reelyard_integration_tests::rigs::binary::{ProgramOutput, ended, reelyard};
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, free_addr, wait_for};
use serde_json::{Value, json};

/// A node with a share root.
struct ShareApiNode {
    ground: ProcessYard,
    node: RoleProcess,
    links: SocketAddr,
}

impl ShareApiNode {
    fn start(more: &[(&str, &str)]) -> Result<Self> {
        let ground = ProcessYard::new(1, 0)?;
        let root = ground.path("films");
        std::fs::create_dir_all(root.join("new"))?;
        std::fs::write(root.join("a.mpg"), b"0123456789")?;
        std::fs::write(root.join("new/b.mpg"), b"abc")?;
        std::os::unix::fs::symlink("/etc/passwd", root.join("out"))?;
        let links = free_addr(Ipv4Addr::LOCALHOST)?;
        let roots = format!("{{ films = \"{}\" }}", root.display());
        let listen = links.to_string();
        let own = [("share.roots", roots.as_str()), ("share.listen", listen.as_str())];
        let node = ground.start_node(&[&own[..], more].concat())?;
        let place = ShareApiNode { ground, node, links };
        place.until_up()?;
        Ok(place)
    }

    fn until_up(&self) -> Result<()> {
        wait_for("the node answers", &[&self.node], || {
            (self.ask("GET", "/shares/reclaim", None).0 == 200).then_some(())
        })
    }

    /// Status and body of a call of the API.
    fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut command = self.ground.curl();
        command.args(["-X", method, "-w", "\n%{http_code}"]);
        if let Some(body) = body {
            command.args(["-H", "content-type: application/json", "-d", &body.to_string()]);
        }
        let output = command.arg(format!("http://{}/api/v1{path}", self.ground.node)).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        let (body, status) = text.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// The answer to the creation of a share for `path`.
    fn create(&self, path: &str, more: Value) -> Value {
        let mut wanted = json!({ "path": path });
        wanted.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, share) = self.ask("POST", "/shares", Some(wanted));
        assert_eq!(status, 201, "{share}");
        share
    }

    /// Status and body of a link.
    fn fetch(&self, url: &str) -> (u16, String) {
        let mut curl = Command::new("curl");
        let output = curl.args(["-s", "-m", "20", "-w", "\n%{http_code}", url]).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        let (body, status) = text.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), body.to_owned())
    }

    fn share(&self, arguments: &[&str], input: &str) -> ProgramOutput {
        let url = format!("http://{}", self.ground.node);
        let stdin = self.ground.path("stdin");
        std::fs::write(&stdin, input).unwrap();
        let mut command = reelyard(&[&["share"], arguments, &["--url", &url]].concat());
        ended(command.stdin(Stdio::from(std::fs::File::open(stdin).unwrap())))
    }
}

#[test]
fn a_link_is_made_shown_changed_and_ended_on_the_command_line() -> Result<()> {
    let place = ShareApiNode::start(&[])?;
    let made = place.share(&["create", "films/a.mpg", "--ttl", "1h", "--owner", "jo"], "");
    assert_eq!(made.code, Some(0), "{}", made.err);
    assert!(made.err.starts_with("films/a.mpg until "), "{}", made.err);
    let url = made.out.strip_suffix('\n').unwrap().to_owned();
    assert!(url.starts_with(&format!("http://{}/s/", place.links)), "{url}");
    assert_eq!(place.fetch(&format!("{url}/file")), (200, "0123456789".to_owned()));
    let secret = place.share(&["create", "films/new", "--password", "--json"], "open sesame\n");
    let secret: Value = serde_json::from_str(&secret.out)?;
    assert_eq!((&secret["has_password"], &secret["kind"]), (&json!(true), &json!("directory")));
    assert_eq!(place.fetch(&format!("{}/zip", secret["url"].as_str().unwrap())).0, 401);

    let listed = place.share(&["list", "--owner", "jo"], "");
    assert!(listed.out.contains("films/a.mpg") && !listed.out.contains("films/new"));
    let longer = place.share(&["extend", &url, "--ttl", "2h", "--if", "less"], "");
    assert_eq!(longer.code, Some(4), "{}", longer.out);
    assert!(longer.err.contains("the condition does not hold"), "{}", longer.err);
    let shorter = place.share(&["extend", &url, "--ttl", "10m"], "");
    assert_eq!(shorter.code, Some(4), "{}", shorter.out);
    assert!(shorter.err.contains("use --if less to set an earlier one"), "{}", shorter.err);
    let nothing = place.share(&["extend", &url], "");
    assert_eq!(nothing.code, Some(2), "{}", nothing.out);
    let longer = place.share(&["extend", &format!("{url}/file?x"), "--ttl", "2h", "--json"], "");
    let longer: Value = serde_json::from_str(&longer.out)?;
    assert_eq!(longer["generation"], 1);

    let ended = place.share(&["revoke", &url], "");
    assert_eq!(ended.out, "1 ended\n", "{}", ended.err);
    assert_eq!(place.fetch(&format!("{url}/file")).0, 410);
    let shown = place.share(&["show", &url], "");
    assert!(shown.err.contains("the share has ended: revoked at 2"), "{}", shown.err);
    let back = place.share(&["extend", &url, "--ttl", "2h"], "");
    assert!(back.err.contains("the share has ended: revoked"), "{}", back.err);
    let nobody = place.share(&["revoke", "--path", "flims"], "");
    assert_eq!((nobody.code, nobody.out.as_str()), (Some(0), "0 ended; nothing matched\n"));
    // An id in the format of an earlier version, which looks like an option for help.
    let old = place.share(&["show", &format!("-h{}", "A".repeat(20))], "");
    assert_eq!(old.code, Some(4), "{} {}", old.out, old.err);
    let ended = place.share(&["revoke", "--path", "films", "--json"], "");
    assert_eq!(serde_json::from_str::<Value>(&ended.out)?, json!({ "ended": 1, "others": 0 }));
    let metrics = place.fetch(&format!("http://{}/metrics", place.ground.node)).1;
    for line in [
        "reelyard_shares 0",
        "reelyard_shares_ended_total{why=\"revoked\"} 2",
        "reelyard_link_downloads_total{of=\"file\"} 1",
        "reelyard_link_refusals_total{why=\"ended\"} 1",
    ] {
        assert!(metrics.lines().any(|shown| shown == line), "{line}\n{metrics}");
    }
    let status = place.share(&["status"], "");
    assert!(status.out.contains("of 2 created: 0 expired, 0 exhausted, 2 revoked"));
    Ok(())
}

#[test]
fn downloads_are_listed_with_the_network_of_the_visitor() -> Result<()> {
    let place = ShareApiNode::start(&[])?;
    let share = place.create("films/a.mpg", json!({ "ttl": "1h" }));
    let url = share["url"].as_str().unwrap();
    let other = place.create("films/new/b.mpg", json!({ "ttl": "1h", "password": "open sesame" }));
    let other = other["url"].as_str().unwrap();
    assert_eq!(place.fetch(&format!("{url}/file")).0, 200);
    assert_eq!(place.fetch(&format!("{other}/file")).0, 401);
    assert_eq!(place.share(&["revoke", url], "").code, Some(0));
    assert_eq!(place.fetch(&format!("{url}/file")).0, 410);
    let listed = wait_for("the downloads are logged", &[&place.node], || {
        let listed = place.share(&["downloads", url, "--json"], "").out;
        let listed: Value = serde_json::from_str(&listed).ok()?;
        listed["items"].as_array().filter(|items| items.len() == 2).cloned()
    })?;
    let shown = |item: &Value| (item["status"].clone(), item["bytes"].clone());
    assert_eq!(shown(&listed[0]), (json!(410), json!(0)));
    assert_eq!(shown(&listed[1]), (json!(200), json!(10)));
    assert_eq!(listed[1]["address"], "127.0.0.0");
    assert!(listed[1]["user_agent"].as_str().unwrap().starts_with("curl/"), "{}", listed[1]);
    let table = place.share(&["downloads", other], "");
    assert!(table.out.contains("401"), "{}", table.out);
    let first = place.share(&["downloads", url, "--limit", "1"], "");
    assert!(first.out.contains("410") && first.out.contains("--cursor 1"), "{}", first.out);
    Ok(())
}

#[test]
fn a_rotated_access_log_is_opened_again_by_a_reload() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (log, rotated) = (dir.path().join("links.jsonl"), dir.path().join("links.1"));
    let set = log.display().to_string();
    let more = [("share.access_log", set.as_str()), ("share.access_log_address", "full")];
    let place = ShareApiNode::start(&more)?;
    let share = place.create("films/a.mpg", json!({ "ttl": "1h" }));
    let file = format!("{}/file", share["url"].as_str().unwrap());
    let download = |to: &std::path::Path| {
        assert_eq!(place.fetch(&file).0, 200);
        wait_for("the line is written", &[&place.node], || {
            let text = std::fs::read_to_string(to).ok()?;
            text.contains("\"address\":\"127.0.0.1\"").then_some(())
        })
    };
    download(&log)?;
    std::fs::rename(&log, &rotated)?;
    assert_eq!(place.ask("POST", "/config/reload", None).0, 200);
    download(&log)?;
    assert_eq!(std::fs::read_to_string(&rotated)?.lines().count(), 1);
    Ok(())
}

#[test]
fn an_invalid_share_is_refused_with_its_reason() -> Result<()> {
    let place = ShareApiNode::start(&[("share.max_ttl", "8d"), ("share.max_per_owner", "1")])?;
    place.create("films/a.mpg", json!({ "owner": "jo" }));
    for (wanted, status, kind, words) in [
        (json!({ "path": "films/none" }), 404, "not-found", "does not exist"),
        (json!({ "path": "books/a" }), 404, "not-found", "No share root is named 'books'"),
        (json!({ "path": "films/out" }), 409, "not-allowed", "leads out of the root"),
        (
            json!({ "path": "films/../a" }),
            400,
            "bad-request",
            "lead to \"films/../a\": the path has",
        ),
        (json!({ "path": "films/a.mpg", "ttl": "9d" }), 422, "terms", "at most 8 d"),
        (json!({ "path": "films/a.mpg", "ttl": "never" }), 422, "terms", "needs a deadline"),
        (json!({ "path": "films/a.mpg", "ttl": "8000y" }), 422, "terms", "at most 8 d"),
        (json!({ "path": "films/a.mpg", "ttl": "soon" }), 400, "bad-body", "soon"),
        (json!({ "path": "films/a.mpg", "owner": "jo" }), 409, "limit-reached", "this owner has 1"),
        (json!({ "path": "films/a.mpg", "password": "" }), 400, "bad-request", "password"),
        (json!({ "path": "films/a.mpg", "tll": "1d" }), 400, "bad-body", "tll"),
    ] {
        let (answered, problem) = place.ask("POST", "/shares", Some(wanted.clone()));
        assert_eq!(answered, status, "{wanted}: {problem}");
        assert_eq!(problem["type"], format!("urn:reelyard:problem:{kind}"), "{wanted}");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{wanted}: {problem}");
    }
    let (status, _) = place.ask("GET", "/shares/AAAAAAAAAAAAAAAAAAAAAA", None);
    assert_eq!(status, 404);
    assert_eq!(place.ask("DELETE", "/shares/nonsense", None).0, 404);
    assert_eq!(place.ask("POST", "/shares/revoke", Some(json!({}))).0, 400);
    Ok(())
}

#[test]
fn a_request_that_is_repeated_makes_one_link_also_over_a_kill() -> Result<()> {
    let mut place = ShareApiNode::start(&[])?;
    let wanted = json!({ "request_id": "order 7", "ttl": "1h" });
    let first = place.create("films/a.mpg", wanted.clone());
    place.node.kill();
    place.node.start_again()?;
    place.until_up()?;
    assert_eq!(place.create("films/a.mpg", wanted)["id"], first["id"]);
    let (_, listed) = place.ask("GET", "/shares", None);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(place.fetch(&format!("{}/file", first["url"].as_str().unwrap())).0, 200);
    Ok(())
}

#[test]
fn shares_that_expired_during_downtime_are_refused_at_once() -> Result<()> {
    let mut place = ShareApiNode::start(&[])?;
    let short = place.create("films/a.mpg", json!({ "ttl": "1s" }));
    place.node.kill();
    let url = format!("{}/file", short["url"].as_str().unwrap());
    let Rfc3339(deadline) = short["expires_at"].as_str().unwrap().parse()?;
    wait_for("its deadline", &[], || (Clock::system().now() >= deadline).then_some(()))?;
    place.node.start_again()?;
    // Until the node knows its shares it answers 503. Every later answer says that the link has ended.
    let first = wait_for("the link is answered", &[&place.node], || {
        Some(place.fetch(&url).0).filter(|status| ![0, 503].contains(status))
    })?;
    assert_eq!(first, 410);
    wait_for("it is reclaimed", &[&place.node], || {
        let (_, reclaim) = place.ask("GET", "/shares/reclaim", None);
        (reclaim["totals"]["expired"] == 1 && reclaim["shares"] == 0).then_some(())
    })
}

#[test]
fn a_paused_reclaim_still_refuses_and_continues_when_it_is_resumed() -> Result<()> {
    let place = ShareApiNode::start(&[])?;
    let paused = place.share(&["pause-reclaim"], "");
    assert!(
        paused.out.contains("reclaim is paused by token admin"),
        "{}{}",
        paused.out,
        paused.err
    );
    let short = place.create("films/a.mpg", json!({ "ttl": "1s" }));
    let url = format!("{}/file", short["url"].as_str().unwrap());
    wait_for("its deadline", &[&place.node], || (place.fetch(&url).0 == 410).then_some(()))?;
    let (_, due) = place.ask("GET", "/shares?state=due", None);
    assert_eq!(due["items"][0]["id"], short["id"], "it is still there");
    assert_eq!(place.share(&["resume-reclaim"], "").code, Some(0));
    wait_for("it is reclaimed", &[&place.node], || {
        let (_, reclaim) = place.ask("GET", "/shares/reclaim", None);
        (reclaim["totals"]["expired"] == 1).then_some(())
    })
}

#[test]
fn a_link_works_after_each_move_of_its_file() -> Result<()> {
    let place = ShareApiNode::start(&[])?;
    let (file, dir) =
        (place.create("films/new/b.mpg", json!({})), place.create("films/new", json!({})));
    let url = |share: &Value, part: &str| format!("{}/{part}", share["url"].as_str().unwrap());
    let moved = place.share(&["move", "films/new", "films/old"], "");
    assert_eq!(moved.out, "moved; shares that followed: 2\n", "{}", moved.err);
    assert_eq!(place.fetch(&url(&file, "file")), (200, "abc".to_owned()));
    assert!(place.fetch(dir["url"].as_str().unwrap()).1.contains("b.mpg"));
    let shown = place.ask("GET", &format!("/shares/{}", file["id"].as_str().unwrap()), None).1;
    assert_eq!(shown["path"], "films/old/b.mpg");
    let there = place.create("films/a.mpg", json!({}));
    let onto = place.share(&["move", "films/old/b.mpg", "films/a.mpg"], "");
    assert_eq!(onto.code, Some(4), "{}", onto.out);
    assert!(onto.err.contains("the new path already exists"), "{}", onto.err);
    let onto =
        place.share(&["move", "films/old/b.mpg", "films/a.mpg", "--overwrite", "--json"], "");
    assert_eq!(serde_json::from_str::<Value>(&onto.out)?, json!({ "followed": 1, "ended": 1 }));
    assert_eq!(place.fetch(&url(&file, "file")), (200, "abc".to_owned()));
    let (status, answer) = place.fetch(&url(&there, "file"));
    assert!(status == 410 && answer.contains("removed"), "{status} {answer}");
    for (from, to, status, kind, words) in [
        ("films/none", "films/x", 404, "not-found", "does not exist"),
        ("films/a.mpg", "films/none/x", 404, "not-found", "does not exist"),
        ("films/a.mpg", "books/x", 404, "not-found", "No share root is named 'books'"),
        ("films/old", "films/old/x", 409, "not-allowed", "into itself"),
        ("films/out", "films/x", 409, "not-allowed", "symbolic link"),
        ("films/../a", "films/x", 400, "bad-request", "from: "),
        ("films/a.mpg", "films/../x", 400, "bad-request", "to: "),
        ("films", "films/x", 409, "not-allowed", "a root itself"),
        ("films/a.mpg", "films/old", 409, "target-exists", "already"),
    ] {
        let (answered, problem) =
            place.ask("POST", "/files/move", Some(json!({ "from": from, "to": to })));
        assert_eq!(answered, status, "{from} {to}: {problem}");
        assert_eq!(problem["type"], format!("urn:reelyard:problem:{kind}"), "{from} {to}");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{from} {to}: {problem}");
    }
    Ok(())
}

#[test]
fn a_request_repeated_after_a_move_gets_the_same_answer() -> Result<()> {
    let place = ShareApiNode::start(&[])?;
    let wanted = json!({ "path": "films/a.mpg", "request_id": "order 8", "ttl": "1h" });
    let (_, first) = place.ask("POST", "/shares", Some(wanted.clone()));
    let to = json!({ "from": "films/a.mpg", "to": "films/new/a.mpg" });
    assert_eq!(place.ask("POST", "/files/move", Some(to)).0, 200);
    let (status, again) = place.ask("POST", "/shares", Some(wanted.clone()));
    assert_eq!((status, &again["id"]), (201, &first["id"]), "{again}");
    assert_eq!(again["path"], "films/new/a.mpg");
    let id = format!("/shares/{}", first["id"].as_str().unwrap());
    assert_eq!(place.ask("DELETE", &id, None).0, 204);
    assert_eq!(place.ask("POST", "/shares", Some(wanted)).0, 410);
    Ok(())
}

#[test]
fn human_input_is_accepted_or_refused_with_a_hint() -> Result<()> {
    let place = ShareApiNode::start(&[])?;
    let share = place.create("films/new/", json!({}));
    assert_eq!(share["path"], "films/new");
    let id = format!("/shares/{}", share["id"].as_str().unwrap());
    for null in [json!({ "expires_at": null }), json!({ "ttl": null })] {
        let (status, refused) = place.ask("PATCH", &id, Some(null));
        let detail = refused["detail"].as_str().unwrap_or_default();
        assert!(
            status == 400 && detail.contains("a deadline cannot be null"),
            "{status} {refused}"
        );
    }
    assert_eq!(place.ask("GET", "/shares?limit=99999999999999999999", None).0, 200);
    let (status, refused) = place.ask("GET", "/shares?due_before=2036-12-31T18:00:00+09:00", None);
    let detail = refused["detail"].as_str().unwrap_or_default();
    assert!(status == 400 && detail.contains("write it as %2B"), "{status} {refused}");
    let encoded = "/shares?due_before=2036-12-31T18:00:00%2B09:00";
    assert_eq!(place.ask("GET", encoded, None).1["items"].as_array().unwrap().len(), 1);
    Ok(())
}

#[test]
fn a_name_of_a_request_is_good_for_that_request_only() -> Result<()> {
    let place = ShareApiNode::start(&[])?;
    let named = |method: &str, path: &str, mut body: Value| {
        body["request_id"] = json!("once");
        let (status, answer) = place.ask(method, path, Some(body));
        (status, answer["type"].as_str().map(str::to_owned), answer)
    };
    let reused = Some("urn:reelyard:problem:request-id-reused".to_owned());
    let (status, _, first) = named("POST", "/shares", json!({ "path": "films/a.mpg" }));
    assert_eq!(status, 201);
    let (status, _, again) = named("POST", "/shares", json!({ "path": "films/a.mpg" }));
    assert_eq!((status, &again["id"]), (201, &first["id"]));
    let id = format!("/shares/{}", first["id"].as_str().unwrap());
    for (method, path, body) in [
        ("POST", "/shares", json!({ "path": "films/new" })),
        ("POST", "/shares", json!({ "path": "films/a.mpg", "ttl": "1h" })),
        ("POST", "/shares", json!({ "path": "films/a.mpg", "password": "x" })),
        ("PATCH", &*id, json!({ "ttl": "1h" })),
        ("POST", "/files/move", json!({ "from": "films/a.mpg", "to": "films/x" })),
    ] {
        let (status, kind, answer) = named(method, path, body.clone());
        assert_eq!((status, kind), (409, reused.clone()), "{method} {path} {body}: {answer}");
    }
    assert_eq!(place.ask("GET", "/shares", None).1["items"].as_array().unwrap().len(), 1);
    Ok(())
}

#[test]
fn a_link_ends_with_its_file_and_not_before_that_is_certain() -> Result<()> {
    let place = ShareApiNode::start(&[("share.removed_after", "100ms")])?;
    let share = place.create("films/a.mpg", json!({}));
    let url = format!("{}/file", share["url"].as_str().unwrap());
    std::fs::remove_file(place.ground.path("films/a.mpg"))?;
    assert!([404, 410].contains(&place.fetch(&url).0));
    let answer = wait_for("it ends", &[&place.node], || {
        Some(place.fetch(&url)).filter(|(status, _)| *status == 410)
    })?;
    assert!(answer.1.contains("removed"), "{}", answer.1);
    Ok(())
}

#[test]
fn a_removed_root_ends_its_links() -> Result<()> {
    let mut place = ShareApiNode::start(&[])?;
    let share = place.create("films/a.mpg", json!({}));
    place.node.start_again_with(&[("share.roots", "{}")])?;
    let path = format!("/shares/{}", share["id"].as_str().unwrap());
    let answer = wait_for("it ends", &[&place.node], || {
        Some(place.ask("GET", &path, None)).filter(|(status, _)| *status == 410)
    })?;
    assert!(answer.1["detail"].as_str().unwrap().contains("root_gone"), "{}", answer.1);
    Ok(())
}

#[test]
fn another_password_is_another_request() -> Result<()> {
    let place = ShareApiNode::start(&[])?;
    let reused = "urn:reelyard:problem:request-id-reused";
    let create = |password: &str| {
        let wanted = json!({ "path": "films/a.mpg", "password": password, "request_id": "once" });
        place.ask("POST", "/shares", Some(wanted))
    };
    let (status, first) = create("one");
    assert_eq!((status, create("one").1["id"].clone()), (201, first["id"].clone()));
    let (status, refused) = create("two");
    assert_eq!((status, refused["type"].as_str()), (409, Some(reused)));
    let id = format!("/shares/{}", first["id"].as_str().unwrap());
    let change = |password: &str| {
        let wanted = json!({ "password": password, "request_id": "twice" });
        place.ask("PATCH", &id, Some(wanted))
    };
    assert_eq!((change("three").0, change("three").0), (200, 200));
    let (status, refused) = change("four");
    assert_eq!((status, refused["type"].as_str()), (409, Some(reused)));
    // The first answer still holds, even with another password.
    assert_eq!(create("one").1["id"], first["id"]);
    Ok(())
}

#[test]
fn a_moved_file_is_shared_at_its_new_path() -> Result<()> {
    let place = ShareApiNode::start(&[])?;
    let mut at = "films/a.mpg";
    for n in 0..20_u64 {
        let other = if at == "films/a.mpg" { "films/new/a.mpg" } else { "films/a.mpg" };
        let (status, share) = std::thread::scope(|scope| {
            let wanted = json!({ "path": at, "password": "open sesame" });
            let creating = scope.spawn(|| place.ask("POST", "/shares", Some(wanted)));
            // At a random time between the first check and the answer.
            std::thread::sleep(Duration::from_millis(n));
            let to = json!({ "from": at, "to": other });
            assert_eq!(place.ask("POST", "/files/move", Some(to)).0, 200);
            creating.join().unwrap()
        });
        at = other;
        if status == 201 {
            let id = share["id"].as_str().unwrap();
            let (_, now) = place.ask("GET", &format!("/shares/{id}"), None);
            assert_eq!(now["path"], at, "after {n} ms");
        } else {
            assert!(matches!(status, 404 | 409), "{status} {share}");
        }
    }
    Ok(())
}

#[test]
fn an_unknown_share_is_reported_and_the_others_still_end() -> Result<()> {
    let place = ShareApiNode::start(&[])?;
    let urls = ["films/a.mpg", "films/new"].map(|path| {
        let share = place.create(path, json!({}));
        share["url"].as_str().unwrap().to_owned()
    });
    let never = "AAAAAAAAAAAAAAAAAAAAAA";
    let ended = place.share(&["revoke", &urls[0], never, never], "");
    assert_eq!((ended.code, ended.out.as_str()), (Some(4), "1 ended\n"));
    let message = format!("share {never} does not exist");
    assert_eq!(ended.err.matches(&message).count(), 1, "{}", ended.err);
    assert_eq!(place.fetch(&urls[0]).0, 410);
    let ended = place.share(&["revoke", "--hard", never, &urls[1]], "");
    assert_eq!((ended.code, ended.out.as_str()), (Some(4), "1 ended\n"));
    let again = place.share(&["revoke", "--hard", &urls[1]], "");
    assert_eq!((again.code, again.out.as_str()), (Some(0), "0 ended; 1 had already ended\n"));
    let json = place.share(&["revoke", "--json", never], "");
    assert_eq!(json.code, Some(4), "{}", json.out);
    assert_eq!(serde_json::from_str::<Value>(&json.out)?["ended"], 0);
    Ok(())
}
