//! The pages of links, boxes, records, access and the node itself.

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::{Value, json};

use super::console_yard::{ConsoleYard, FILES, Visit};

/// The pages of this file, in their usual state and in others.
const PAGES: [&str; 23] = [
    "/console/plan",
    "/console/plan?all=removals",
    "/console/map",
    "/console/map?view=table",
    "/console/shares",
    "/console/shares?state=ended&sort=-downloads",
    "/console/shares?new=true&path=movies/alpha.mpg",
    "/console/boxes",
    "/console/history",
    "/console/history?step=failures&q=alpha&sort=host",
    "/console/audit",
    "/console/audit?outcome=refused&actor=nobody&sort=address",
    "/console/cluster",
    "/console/cluster?ask=invite",
    "/console/cluster?ask=replace&node=1",
    "/console/cluster?ask=transfer&node=1",
    "/console/settings",
    "/console/settings?q=limit&changed=true",
    "/console/access",
    "/console/access?ask=new-token",
    "/console/guide",
    "/console/guide/configuration",
    "/console/find?q=alpha",
];

impl ConsoleYard {
    /// Calls the API as the administrator, with a body of JSON.
    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let (bearer, body) = (self.ground.bearer(), body.to_string());
        let kind = "content-type: application/json";
        let path = format!("/api/v1{path}");
        let answer =
            self.curl(&["-X", method, "-H", &bearer, "-H", kind, "-d", &body, path.as_str()])?;
        ensure!(answer.status < 300, "{path}: {} {}", answer.status, answer.body);
        Ok(serde_json::from_str(&answer.body).unwrap_or_default())
    }

    /// The answer of the API to the administrator.
    fn read(&self, path: &str) -> Result<Value> {
        let path = format!("/api/v1{path}");
        let answer = self.curl(&["-H", &self.ground.bearer(), path.as_str()])?;
        ensure!(answer.status == 200, "{path}: {} {}", answer.status, answer.body);
        Ok(serde_json::from_str(&answer.body)?)
    }
}

#[test]
fn further_pages_are_shown_filtered_exported_and_found() -> Result<()> {
    let mut yard = ConsoleYard::start()?;
    further_pages_are_shown_in_both_languages(&yard)?;
    the_history_is_filtered_and_exported(&yard)?;
    the_files_are_exported_as_the_filter_has_them(&yard)?;
    the_first_load_is_packed_and_small(&yard)?;
    pages_refuse_visitors_without_their_scopes(&yard)?;
    hosts_pages_and_files_are_found(&yard)?;
    the_chain_of_the_audit_is_verified(&yard)?;
    a_dead_host_says_which_files_only_it_holds(&mut yard)
}

#[test]
fn links_boxes_and_access_are_changed_by_forms() -> Result<()> {
    let yard = ConsoleYard::start()?;
    a_link_is_made_extended_and_revoked_by_forms(&yard)?;
    boxes_are_quarantined_and_leases_revoked(&yard)?;
    a_secret_is_shown_once_and_users_are_changed(&yard)
}

fn further_pages_are_shown_in_both_languages(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("boss", "admin")?;
    for path in PAGES {
        for (language, word) in [("en", "Hosts"), ("ko", "호스트")] {
            let header = format!("Accept-Language: {language}");
            let answer = yard.curl(&["-H", &visit.cookie, "-H", &header, path])?;
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            assert!(answer.body.contains(word), "{path} in {language}: {}", answer.body);
            assert!(!answer.body.contains(" style="), "{path}");
            assert!(!answer.body.contains("<script>alert"), "{path}");
            assert!(answer.body.len() < 1 << 20, "{path}: {} bytes", answer.body.len());
        }
    }
    assert_eq!(yard.curl(&["-H", &visit.cookie, "/console/guide/absent"])?.status, 404);
    Ok(())
}

fn a_link_is_made_extended_and_revoked_by_forms(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("ops", "operator")?;
    let new = "/console/shares/new";
    let refused = yard.post(&visit, new, &["path=movies/absent.mpg", "owner=press"])?;
    assert_eq!(refused.status, 404, "{}", refused.body);
    assert!(refused.body.contains("value=\"movies/absent.mpg\""), "{}", refused.body);
    assert!(refused.body.contains("value=\"press\""), "{}", refused.body);

    let made =
        yard.post(&visit, new, &["path=movies/alpha.mpg", "ttl=1h", "password=opensesame"])?;
    assert_eq!(made.status, 200, "{}", made.body);
    assert!(made.body.contains("/s/") && made.body.contains("aria-label=\"QR\""), "{}", made.body);
    assert!(!made.body.contains("opensesame") && made.header("set-cookie").is_none());
    let shares = yard.read("/shares")?;
    let id = shares["items"][0]["id"].as_str().context("no share")?.to_owned();
    let listed = yard.page(&visit, "/console/shares?q=movies/alpha")?;
    assert!(listed.contains("alpha.mpg") && listed.contains(&id), "{listed}");
    assert!(!yard.page(&visit, "/console/shares?q=gamma")?.contains(&id));
    let one = yard.page(&visit, &format!("/console/shares/{id}"))?;
    assert!(one.contains("movies/alpha.mpg"), "{one}");

    let pick = format!("pick={id}");
    let asked = yard.page(&visit, &format!("/console/shares?ask=extend&{pick}"))?;
    assert!(asked.contains("Extend 1 link?") && asked.contains("name=\"ttl\""), "{asked}");
    let extend = "/console/share-actions/extend";
    assert_eq!(yard.post(&visit, extend, &[&pick, "ttl=7d"])?.status, 303);
    let generation = |share: &Value| share["generation"].as_u64();
    assert_eq!(generation(&yard.read(&format!("/shares/{id}"))?), Some(1));
    // An earlier end is left out.
    assert_eq!(yard.post(&visit, extend, &[&pick, "ttl=1h"])?.status, 303);
    assert_eq!(generation(&yard.read(&format!("/shares/{id}"))?), Some(1));
    let revoked = yard.post(&visit, "/console/share-actions/revoke", &[&pick])?;
    assert_eq!(revoked.status, 303, "{}", revoked.body);
    assert_eq!(yard.read("/shares")?["items"], json!([]));
    Ok(())
}

fn boxes_are_quarantined_and_leases_revoked(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("ops", "operator")?;
    yard.call("PUT", "/pools/judges", &json!({ "size": 3 }))?;
    let wanted = json!({ "holder": "job-1", "ttl": "1h" });
    let lease = yard.call("POST", "/pools/judges/leases", &wanted)?;
    let id = lease["lease_id"].as_str().context("no lease")?.to_owned();
    let page = yard.page(&visit, "/console/boxes")?;
    assert!(page.contains("judges") && page.contains("job-1"), "{page}");

    let sorted = yard.page(&visit, "/console/boxes?pool=judges&leases_sort=-holder")?;
    assert!(sorted.contains("1, sorted by: ") && sorted.contains("job-1"), "{sorted}");
    let asked = yard.page(&visit, &format!("/console/boxes?pool=judges&ask=revoke&lease={id}"))?;
    assert!(asked.contains("Revoke the lease of box") && asked.contains("job-1"), "{asked}");
    let revoke = format!("/console/leases/{id}/revoke");
    assert_eq!(yard.post(&visit, &revoke, &["reason=it hangs"])?.status, 303);
    assert_eq!(yard.read(&format!("/leases/{id}"))?["state"], "revoked");

    let number = (lease["box"].as_u64().context("no box")? + 1) % 3;
    let place = format!("/console/boxes/judges/{number}");
    let quarantine = format!("{place}/quarantine");
    let shown = format!("/pools/judges/boxes/{number}");
    let state = || -> Result<Value> { Ok(yard.read(&shown)?["state"].clone()) };
    assert_eq!(yard.post(&visit, &quarantine, &[])?.status, 303);
    assert_eq!(state()?, "free");
    assert_eq!(yard.post(&visit, &quarantine, &["reason=broken disk"])?.status, 303);
    assert_eq!(state()?, "quarantined");
    let page = yard.page(&visit, &format!("/console/boxes?pool=judges&number={number}"))?;
    assert!(page.contains("broken disk"), "{page}");
    assert_eq!(yard.post(&visit, &format!("{place}/unquarantine"), &[])?.status, 303);
    wait_for("the cleaned box", &[&yard.node], || (state().ok()? == "free").then_some(()))?;
    sums_of_boxes_are_those_of_all_pages(yard)
}

fn sums_of_boxes_are_those_of_all_pages(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("ops", "operator")?;
    yard.call("PUT", "/pools/crowd", &json!({ "size": 2101 }))?;
    let wanted = json!({ "holder": "job-2", "ttl": "1h", "count": 101 });
    yard.call("POST", "/pools/crowd/leases", &wanted)?;
    for (query, shown) in [
        ("pool=crowd", "2 pools, 2,104 boxes."),
        ("pool=crowd", "101, soonest to end first"),
        ("pool=crowd", "1–100 of 101"),
        ("pool=crowd&leases=100", "101–101 of 101"),
        ("pool=crowd", "2,000 shown of 2,101"),
        ("pool=crowd", "pool=crowd&amp;from=2000"),
        ("pool=crowd&from=2000", "101 shown of 2,101"),
        ("pool=judges", "1,997 shown of 2,101"),
    ] {
        let page = yard.page(&visit, &format!("/console/boxes?{query}"))?;
        assert!(page.contains(shown), "{query} lacks {shown:?}: {page}");
    }
    Ok(())
}

/// A changed byte in the log of a node breaks its chain, and the page says where.
fn the_chain_of_the_audit_is_verified(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("boss", "admin")?;
    let page = yard.page(&visit, "/console/audit")?;
    assert!(page.contains("check=true") && !page.contains("The chain"), "{page}");
    let page = yard.page(&visit, "/console/audit?check=true")?;
    assert!(page.contains("The chain of the audit is whole up to"), "{page}");
    let log = yard.ground.path("node").join("audit");
    let segment = std::fs::read_dir(&log)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| std::fs::read(path).is_ok_and(|bytes| bytes.len() > 4000))
        .context("no segment")?;
    let mut bytes = std::fs::read(&segment)?;
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&segment, bytes)?;
    let page = yard.page(&visit, "/console/audit?check=true")?;
    assert!(page.contains("The chain of the audit is broken"), "{page}");
    Ok(())
}

fn the_history_is_filtered_and_exported(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("eyes", "viewer")?;
    wait_for("the history", &[&yard.node], || {
        let page = yard.page(&visit, "/console/history").ok()?;
        FILES[..2].iter().all(|name| page.contains(name)).then_some(())
    })?;
    let filtered = yard.page(&visit, "/console/history?q=gamma&step=copies")?;
    assert!(filtered.contains("beta gamma.mpg") && !filtered.contains("alpha.mpg"), "{filtered}");
    for (filter, is_shown) in [
        ("by=plan", true),
        ("by=ops-9", false),
        ("from=2026-01-01T00:00&to=2099-01-01T00:00", true),
        ("to=2026-01-01T00:00", false),
        ("from=2099-01-01T00:00&sort=file", false),
    ] {
        let page = yard.page(&visit, &format!("/console/history?{filter}"))?;
        assert_eq!(page.contains("title=\"alpha.mpg\""), is_shown, "{filter}: {page}");
    }
    let page = yard.page(&visit, "/console/history?by=plan&from=2026-01-01T00:00")?;
    let line = "reelyard history --by=plan --since=2026-01-01T00:00:00Z";
    assert!(page.contains(line), "{page}");
    let listed = yard.read("/history?by=plan&until=2026-01-01T00:00:00Z")?;
    assert_eq!(listed["items"], json!([]));
    let place = |page: &str, name: &str| page.find(&format!("title=\"{name}\""));
    let sorted = yard.page(&visit, "/console/history?sort=-file")?;
    assert!(place(&sorted, FILES[1]) < place(&sorted, FILES[0]), "{sorted}");
    assert!(sorted.contains("aria-sort=\"descending\"") && sorted.contains("sorted by: File"));
    let sorted = yard.page(&visit, "/console/history?sort=file")?;
    assert!(place(&sorted, FILES[0]) < place(&sorted, FILES[1]), "{sorted}");
    let csv = yard.page(&visit, "/console/history/export?format=csv")?;
    assert!(csv.starts_with("at,step,name,source,host,size,asked_by,reason\r\n"), "{csv}");
    assert!(csv.contains(",copied,alpha.mpg,"), "{csv}");
    let sorted = yard.page(&visit, "/console/history/export?format=csv&sort=-file")?;
    assert!(sorted.find(FILES[1]) < sorted.find(FILES[0]), "{sorted}");
    let lines = yard.page(&visit, "/console/history/export?format=jsonl&q=alpha")?;
    let lines: Vec<Value> =
        lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(lines.iter().all(|line| line["name"] == "alpha.mpg") && !lines.is_empty(), "{lines:?}");
    Ok(())
}

fn the_files_are_exported_as_the_filter_has_them(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("eyes", "viewer")?;
    let page = yard.page(&visit, "/console/files?host=127.0.0.1:1")?;
    assert!(page.contains("/console/files/export?host="), "{page}");
    assert!(page.contains("reelyard files --host=127.0.0.1:1"), "{page}");
    let all = yard.page(&visit, "/console/files/export")?;
    let head = "rank,name,name_is_encoded,state,hosts,hits,requests_a_day,size,score\r\n";
    assert!(all.starts_with(head), "{all}");
    assert_eq!(all.lines().count(), 1 + FILES.len(), "{all}");
    assert!(
        all.contains(&format!("alpha.mpg,false,placed,{},", yard.ground.destination(0))),
        "{all}"
    );
    let some = yard.page(&visit, "/console/files/export?q=gamma&state=placed")?;
    assert!(some.contains("beta gamma.mpg") && !some.contains("alpha"), "{some}");
    assert_eq!(yard.page(&visit, "/console/files/export?q=zzz")?, head);
    let sorted = yard.page(&visit, "/console/files/export?sort=-name")?;
    assert!(sorted.find("beta gamma.mpg") < sorted.find("alpha.mpg"), "{sorted}");
    // The API and the command find the same files by a part of the name.
    let named = yard.read("/files?contains=gamma")?;
    assert_eq!(
        (named["items"].as_array().map(Vec::len), &named["items"][0]["name"]),
        (Some(1), &json!("beta gamma.mpg"))
    );
    assert_eq!(yard.read("/files?contains=zzz")?["items"], json!([]));
    assert_eq!(
        yard.read("/files?contains=a&prefix=alpha")?["items"].as_array().map(Vec::len),
        Some(1)
    );
    Ok(())
}

/// Bytes that the first load of the console may have on the wire.
const FIRST_LOAD: usize = 60 << 10;

fn the_first_load_is_packed_and_small(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("boss", "admin")?;
    for page in ["/console", "/console/settings"] {
        a_first_load_is_packed_and_small(yard, &visit, page)?;
    }
    let page = yard.packed_length(&visit, "/console/files?q=alpha")?;
    assert!(!page.is_gzip, "text of the address is packed with the token of the forms");
    Ok(())
}

fn a_first_load_is_packed_and_small(yard: &ConsoleYard, visit: &Visit, page: &str) -> Result<()> {
    let plain = yard.page(visit, page)?;
    let mut paths: Vec<&str> = plain.split(['"', '#']).collect();
    paths.retain(|path| path.starts_with("/console/assets/"));
    paths.sort_unstable();
    paths.dedup();
    assert!(paths.len() >= 6, "{paths:?}");
    let mut sum = 0;
    for path in [page].iter().chain(&paths) {
        let sent = yard.packed_length(visit, path)?;
        assert!(sent.is_gzip, "{path} is not packed");
        sum += sent.bytes;
    }
    println!("the first load of {page} has {sum} bytes");
    assert!(sum <= FIRST_LOAD, "the first load of {page} has {sum} bytes");
    Ok(())
}

fn a_secret_is_shown_once_and_users_are_changed(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("boss", "admin")?;
    let made =
        yard.post(&visit, "/console/access/tokens/new", &["name=backup", "rights=viewer"])?;
    assert_eq!(made.status, 200, "{}", made.body);
    assert!(made.body.contains("The secret of backup"), "{}", made.body);
    assert!(made.header("set-cookie").is_none(), "{}", made.head);
    let page = yard.page(&visit, "/console/access")?;
    assert!(page.contains("backup") && !page.contains("The secret of backup"), "{page}");
    // One filter for users, tokens and sessions, as of the API.
    let shown = |name: &str| format!("&amp;name={name}\">Rotate");
    assert!(page.contains(&shown("backup")) && page.contains(&shown("boss")), "{page}");
    let page = yard.page(&visit, "/console/access?q=back")?;
    assert!(page.contains(&shown("backup")) && !page.contains(&shown("boss")), "{page}");
    assert!(page.contains("No name has “back” in it"), "{page}");
    assert!(page.contains("reelyard token list --contains=back"), "{page}");
    for (list, part, rows) in [("tokens", "back", 1), ("tokens", "zzz", 0), ("sessions", "oss", 1)]
    {
        let found = yard.read(&format!("/{list}?contains={part}"))?;
        assert_eq!(found["items"].as_array().map(Vec::len), Some(rows), "{list} {part}: {found}");
    }
    let rotated = yard.post(&visit, "/console/access/tokens/backup/rotate", &[])?;
    assert!(rotated.body.contains("The secret of backup"), "{}", rotated.body);
    assert_eq!(yard.post(&visit, "/console/access/tokens/backup/revoke", &[])?.status, 303);

    let new = "/console/access/users/new";
    let refused = yard.post(&visit, new, &["name=alice", "role=viewer", "password=short"])?;
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body.contains("value=\"alice\"") && !refused.body.contains("value=\"short\""));
    let fields = ["name=alice", "role=viewer", "password=a long password"];
    assert_eq!(yard.post(&visit, new, &fields)?.status, 303);
    let user = |key: &str| -> Result<Value> {
        let users = yard.read("/users")?;
        let items = users["items"].as_array().context("no users")?;
        let alice = items.iter().find(|user| user["name"] == "alice").context("no alice")?;
        Ok(alice[key].clone())
    };
    let change = |action: &str| format!("/console/access/users/alice/{action}");
    assert_eq!(yard.post(&visit, &change("role"), &["role=operator"])?.status, 303);
    assert_eq!(user("role")?, "operator");
    // Users are filtered by name, and each list is sorted by its columns.
    let asked = |name: &str| format!("&amp;name={name}\"");
    for (part, is_shown) in [("lic", true), ("zzz", false)] {
        let page = yard.page(&visit, &format!("/console/access?q={part}"))?;
        assert_eq!(page.contains(&asked("alice")), is_shown, "{part}: {page}");
        let found = yard.read(&format!("/users?contains={part}"))?;
        assert_eq!(found["items"] != json!([]), is_shown, "{part}: {found}");
    }
    let fields = ["name=zoe", "role=viewer", "password=a long password"];
    assert_eq!(yard.post(&visit, new, &fields)?.status, 303);
    for (sort, is_first) in [("", true), ("?users_sort=-name", false), ("?users_sort=role", false)]
    {
        let page = yard.page(&visit, &format!("/console/access{sort}"))?;
        let [alice, zoe] = ["alice", "zoe"].map(|name| page.find(&asked(name)));
        assert_eq!(alice < zoe, is_first, "{sort}: {page}");
    }
    for path in ["/console/access?tokens_sort=-role", "/console/access?sessions_sort=used"] {
        assert!(yard.page(&visit, path)?.contains("aria-sort=\"ascending\""), "{path}");
    }
    // The audit is sorted by the same rule, oldest first too.
    let oldest = yard.page(&visit, "/console/audit?sort=when")?;
    assert!(oldest.contains("oldest first"), "{oldest}");
    let rows = yard.page(&visit, "/console/audit?sort=-object&reports=true")?;
    let at = |object: &str| rows.find(&format!("<bdi>{object}</bdi>"));
    assert!(at("user zoe").is_some() && at("user zoe") < at("user alice"), "{rows}");
    assert_eq!(yard.post(&visit, &change("disable"), &[])?.status, 303);
    assert_eq!(user("disabled")?, true);
    assert_eq!(yard.post(&visit, &change("enable"), &[])?.status, 303);
    assert_eq!(user("disabled")?, false);
    assert_eq!(yard.post(&visit, &change("remove"), &[])?.status, 303);
    assert!(user("role").is_err());
    Ok(())
}

fn a_dead_host_says_which_files_only_it_holds(yard: &mut ConsoleYard) -> Result<()> {
    let visit = yard.visit("eyes", "viewer")?;
    let host = yard.ground.destination(0).to_string();
    yard.stop_destination();
    let first = wait_for("the dead host", &[&yard.node], || {
        let first = yard.page(&visit, "/console").ok()?;
        first.contains("</svg>Down</span>").then_some(first)
    })?;
    let link = format!("/console/files?state=out_of_reach&amp;host={}", host.replace(':', "%3A"));
    assert!(first.contains("3 of them are nowhere else."), "{first}");
    assert!(first.contains(&link) || first.contains(&link.replace("%3A", ":")), "{first}");
    files_of_a_dead_host_are_not_called_placed(yard)
}

fn files_of_a_dead_host_are_not_called_placed(yard: &ConsoleYard) -> Result<()> {
    let (visit, host) = (yard.visit("eyes", "viewer")?, yard.ground.destination(0));
    let files = yard.page(&visit, "/console/files?why=alpha.mpg")?;
    let only = format!("Only on {host}, which does not answer since ");
    for words in [&*only, "holds the file, does not answer", "0 placed", "3 out of reach"] {
        assert!(files.contains(words), "lacks {words:?}: {files}");
    }
    assert!(!files.contains("A host holds it already"), "{files}");
    let placed = yard.page(&visit, "/console/files?state=placed")?;
    assert!(placed.contains("No file is in this state"), "{placed}");
    let rows = yard.page(&visit, "/console/files/export?state=out_of_reach")?;
    assert_eq!(rows.matches(",out_of_reach,").count(), 3, "{rows}");
    for (state, files) in [("placed", 0), ("out_of_reach", 3)] {
        let listed = yard.read(&format!("/files?state={state}"))?;
        assert_eq!(listed["items"].as_array().map(Vec::len), Some(files), "{listed}");
    }
    let copies = yard.read("/overview")?["copies"].clone();
    assert_eq!([&copies["placed"], &copies["out_of_reach"]], [&json!(0), &json!(3)]);
    let one = yard.page(&visit, &format!("/console/hosts/{host}"))?;
    assert!(one.contains(" in a row failed.") && !one.contains("answers in"), "{one}");
    assert!(one.contains("presumed lost and its files are copied again"), "{one}");
    troubles_that_are_over_stay_on_record(yard)
}

/// The destination was started after the node, so the first look found none.
fn troubles_that_are_over_stay_on_record(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("eyes", "viewer")?;
    let shown = wait_for("an ended trouble", &[&yard.node], || {
        let page = yard.page(&visit, "/console/history?step=troubles&sort=lasted").ok()?;
        page.contains("data-l=\"Lasted\"").then_some(page)
    })?;
    assert!(shown.contains("of this node since"), "{shown}");
    let none = yard.page(&visit, "/console/history?step=troubles&q=zzz")?;
    assert!(none.contains("No trouble that is over matches"), "{none}");
    let csv = yard.page(&visit, "/console/history/export?step=troubles&format=csv")?;
    assert!(csv.starts_with("began,ended,state,host,trouble\r\n"), "{csv}");
    assert!(csv.lines().count() > 1, "{csv}");
    Ok(())
}

fn pages_refuse_visitors_without_their_scopes(yard: &ConsoleYard) -> Result<()> {
    let (viewer, operator) = (yard.visit("eyes", "viewer")?, yard.visit("ops", "operator")?);
    for (visit, path, scope) in [
        (&viewer, "/console/audit", "audit:read"),
        (&viewer, "/console/access", "access:read"),
        (&operator, "/console/access", "access:read"),
    ] {
        let answer = yard.curl(&["-H", &visit.cookie, path])?;
        assert!(answer.status == 403 && answer.body.contains(scope), "{path}: {}", answer.body);
    }
    for (visit, path, scope) in [
        (&viewer, "/console/shares/new", "shares:write"),
        (&viewer, "/console/share-actions/revoke", "shares:write"),
        (&viewer, "/console/boxes/judges/1/quarantine", "boxes:write"),
        (&viewer, "/console/leases/x/revoke", "boxes:write"),
        (&viewer, "/console/audit/export", "audit:read"),
        (&operator, "/console/settings/reload", "config:write"),
        (&operator, "/console/cluster/invite", "access:write"),
        (&operator, "/console/cluster/members/1/remove", "cluster:write"),
        (&operator, "/console/access/users/new", "access:write"),
        (&operator, "/console/access/tokens/new", "access:write"),
    ] {
        let answer = yard.post(visit, path, &[])?;
        assert!(answer.status == 403 && answer.body.contains(scope), "{path}: {}", answer.body);
    }
    assert!(!yard.page(&viewer, "/console/shares")?.contains("new=true"));
    Ok(())
}

#[test]
fn settings_show_their_origin_and_are_reloaded() -> Result<()> {
    let yard = ConsoleYard::start_by_file()?;
    let visit = yard.visit("boss", "admin")?;
    let page = yard.page(&visit, "/console/settings?q=storage.limit_percent")?;
    assert!(page.contains("limit_percent") && !page.contains("back_off_base"), "{page}");
    for (language, words) in [
        ("en", ["at once, when reloaded", "the same on every node", "Highest fill level"]),
        ("ko", ["다시 읽으면 즉시", "모든 노드에서 같은 값", "최대 사용률"]),
    ] {
        let accepted = format!("Accept-Language: {language}");
        let path = "/console/settings?q=storage.limit_percent";
        let page = yard.curl(&["-H", &visit.cookie, "-H", &accepted, path])?.body;
        for words in words {
            assert!(page.contains(words), "{language} lacks {words:?}: {page}");
        }
    }
    let page = yard.page(&visit, "/console/settings?section=storage&sort=-setting")?;
    let rows = page.split("class=\"cards set\"").nth(1).unwrap_or_default();
    let place = |name: &str| rows.find(&format!(">storage.{name}<"));
    assert!(place("low_water_percent").is_some(), "{rows}");
    assert!(place("low_water_percent") < place("limit_percent"), "{rows}");
    assert!(!rows.contains("back_off_base"), "{rows}");
    // The file differs: the page says what a reload does, and what waits for a restart.
    let more = "session.idle = \"7h\"\nhttp.body_limit = \"2MiB\"\nstorage.limit_percent = 97\n";
    ConsoleYard::write_settings(&yard.ground, more)?;
    let page = yard.page(&visit, "/console/settings")?;
    let (_, differences) = page.split_once("settings-differences").context("no differences")?;
    for words in [
        "The file differs from the values in force",
        "No destination is above 97%",
        "A session ends after this long without use.",
        "A reload keeps the value in force.",
        "Put 2 settings in force",
    ] {
        assert!(differences.contains(words), "lacks {words:?}: {differences}");
    }
    // The file changes again after the dialog was opened: a person puts nothing in force that nobody saw.
    let asked = yard.page(&visit, "/console/settings?ask=reload")?;
    let seen = asked.split("name=\"seen\" value=\"").nth(1).context("no digest")?;
    let seen = format!("seen={}", seen.split('"').next().unwrap_or_default());
    assert!(asked.contains("Put 2 settings in force?"), "{asked}");
    ConsoleYard::write_settings(&yard.ground, &more.replace("97", "98"))?;
    let later = yard.post(&visit, "/console/settings/reload", &[&seen])?;
    let refused = later.header("set-cookie").unwrap_or_default().contains("reelyard_outcome");
    assert!(later.status == 303 && refused, "{}", later.head);
    let page = yard.page(&visit, "/console/settings")?;
    assert!(page.contains("No destination is above 98%"), "nothing was put in force: {page}");
    ConsoleYard::write_settings(&yard.ground, more)?;
    let with = [seen.as_str(), "back=/console/settings"];
    let reloaded = yard.post(&visit, "/console/settings/reload", &with)?;
    let back = reloaded.header("location");
    assert_eq!((reloaded.status, back), (303, Some("/console/settings")), "{}", reloaded.body);
    let page = yard.page(&visit, "/console/settings")?;
    assert!(page.contains("A reload changes nothing here."), "only the restart is left: {page}");
    Ok(())
}

fn hosts_pages_and_files_are_found(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("eyes", "viewer")?;
    let host = yard.ground.destination(0).to_string();
    let found = yard.page(&visit, &format!("/console/find?q={host}"))?;
    assert!(found.contains(&format!("/console/hosts/{host}")), "{found}");
    let found = yard.page(&visit, "/console/find?q=gamma")?;
    assert!(found.contains("beta gamma.mpg") && !found.contains("alpha.mpg"), "{found}");
    assert!(found.contains(">rank 2<"), "{found}");
    let found = yard.page(&visit, "/console/find?q=troubleshooting")?;
    assert!(found.contains("/console/guide/troubleshooting"), "{found}");

    let operator = yard.visit("ops", "operator")?;
    let drain = format!("/console/hosts/{host}?ask=drain");
    let sought = format!("/console/find?q=drain+{host}");
    assert!(yard.page(&operator, &sought)?.contains(&drain));
    assert!(!yard.page(&visit, &sought)?.contains("ask=drain"), "a viewer may not drain");
    let here = yard.page(&operator, &format!("/console/find?here=/console/hosts/{host}"))?;
    assert!(here.contains(&drain) && here.contains("ask=maintenance"), "{here}");
    let elsewhere = yard.page(&operator, "/console/find?q=create+link")?;
    assert!(elsewhere.contains("/console/shares?new=true"), "{elsewhere}");
    assert!(yard.page(&operator, "/console/find?q=cluster")?.contains("href=\"/console/cluster\""));
    let fields = ["path=movies/alpha.mpg", "ttl=1h", "owner=press-office"];
    assert_eq!(yard.post(&operator, "/console/shares/new", &fields)?.status, 200);
    let found = yard.page(&operator, "/console/find?q=press")?;
    assert!(found.contains("movies/alpha.mpg") && found.contains(">press-office<"), "{found}");
    let found = yard.page(&operator, "/console/find?q=movies")?;
    assert!(found.contains("movies/alpha.mpg") && !found.contains("press-office"), "{found}");
    Ok(())
}
