//! Actions of the pages: they need a right and the CSRF token, and have a row in the audit.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use reelyard_integration_tests::rigs::yard::{free_addr, wait_for};
use serde_json::Value;

use super::console_yard::{ConsoleYard, Visit};

impl ConsoleYard {
    /// The page that a browser shows after a form without fields, with the outcome.
    fn after_form(&self, visit: &Visit, path: &str) -> Result<String> {
        self.after_filled_form(visit, path, &[])
    }

    /// The same after a form with these fields.
    fn after_filled_form(&self, visit: &Visit, path: &str, fields: &[&str]) -> Result<String> {
        let jar = self.ground.path("jar").display().to_string();
        let csrf = format!("csrf_token={}", visit.csrf);
        let mut arguments = vec!["-H", &visit.cookie, "-c", &jar, "--data-urlencode", &csrf];
        for field in fields {
            arguments.extend(["--data-urlencode", field]);
        }
        arguments.push(path);
        let posted = self.curl(&arguments)?;
        ensure!(posted.status == 303, "{path}: {} {}", posted.status, posted.body);
        Ok(self.curl(&["-H", &visit.cookie, "-b", &jar, "/console"])?.body)
    }

    /// A list or object of the API.
    fn api(&self, path: &str) -> Result<Value> {
        let answer = self.curl(&["-H", &self.ground.bearer(), path])?;
        Ok(serde_json::from_str(&answer.body)?)
    }
}

#[test]
fn forms_act_on_hosts_files_and_pools() -> Result<()> {
    let yard = ConsoleYard::start()?;
    files_are_pinned_and_a_refused_copy_says_why(&yard)?;
    the_audit_shows_reports_of_workers_on_request(&yard)?;
    a_viewer_sees_no_actions_and_is_refused(&yard)?;
    hosts_and_pools_are_added_and_refused_forms_stay(&yard)?;
    a_host_is_drained_by_a_form_with_a_reason(&yard)
}

fn a_host_is_drained_by_a_form_with_a_reason(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("ops", "operator")?;
    let host = yard.ground.destination(0).to_string();
    let asked = yard.page(&visit, &format!("/console/hosts?ask=drain&pick={host}"))?;
    assert!(asked.contains("Drain 1 host?") && asked.contains("reelyard hosts drain"), "{asked}");
    // The dialog names the files that are only there, and what happens to them.
    let only = "3 files are nowhere else. They are copied first, then removed there.";
    assert!(asked.contains(only) && asked.contains("<bdi>alpha.mpg</bdi>"), "{asked}");
    assert!(asked.contains("1 file cannot leave: pinned."), "{asked}");
    let source = yard.ground.source(0);
    let asked = yard.page(&visit, &format!("/console/hosts/{source}?ask=drain"))?;
    assert!(asked.contains("A source serves no new copies."), "{asked}");
    assert!(asked.contains("No other source can serve copies."), "{asked}");
    assert!(!asked.contains("then removed"), "masters stay: {asked}");

    let path = "/console/host-actions/drain";
    let pick = format!("pick={host}");
    let without = yard.curl(&["-H", &visit.cookie, "--data-urlencode", &pick, path])?;
    assert!(without.status == 403 && without.body.contains("CSRF"), "{}", without.body);
    let drained =
        yard.post(&visit, path, &[&pick, "reason=disk is noisy", "back=/console/hosts"])?;
    assert_eq!((drained.status, drained.header("location")), (303, Some("/console/hosts")));
    wait_for("the mode", &[&yard.node], || {
        let host = yard.api(&format!("/api/v1/hosts/{host}")).ok()?;
        (host["mode"] == "draining").then_some(())
    })?;
    let row = wait_for("the row", &[&yard.node], || {
        let rows = yard.api("/api/v1/audit?limit=100").ok()?;
        let rows = rows["items"].as_array()?;
        let found = |row: &&Value| row["operation"] == "console.drainHosts" && row["status"] == 303;
        rows.iter().find(found).cloned()
    })?;
    assert_eq!([&row["actor"]["name"], &row["reason"]], ["ops", "disk is noisy"]);
    assert_eq!(row["subject"], format!("host {host}"));
    Ok(())
}

fn a_viewer_sees_no_actions_and_is_refused(yard: &ConsoleYard) -> Result<()> {
    let (visit, host) = (yard.visit("eyes", "viewer")?, yard.ground.destination(0).to_string());
    let operator = yard.visit("ops", "operator")?;
    let path = format!("/console/hosts/{host}");
    assert!(yard.page(&operator, &path)?.contains("ask=drain"));
    assert!(!yard.page(&visit, &path)?.contains("ask=drain"));
    let refused = yard.post(&visit, &format!("{path}/drain"), &[])?;
    assert!(refused.status == 403 && refused.body.contains("yard:write"), "{}", refused.body);
    let other = ["-H", &operator.cookie, "-d", "csrf_token=x", &format!("{path}/drain")];
    let forged = yard.curl(&other)?;
    assert!(forged.status == 403 && forged.body.contains("Load the page again"), "{}", forged.body);
    assert!(!forged.body.contains("with the right for it"), "{}", forged.body);
    a_host_is_probed_now(yard, &operator, &visit)
}

/// The failure of a host that does not answer has a button that probes it at once, for those who may.
fn a_host_is_probed_now(yard: &ConsoleYard, operator: &Visit, viewer: &Visit) -> Result<()> {
    let silent = free_addr(Ipv4Addr::LOCALHOST)?;
    let add = [&*format!("addresses={silent}"), "as=source"];
    let added = yard.post(operator, "/console/host-actions/add", &add)?;
    ensure!(added.status == 303, "{}", added.body);
    let (path, failed) = (format!("/console/hosts/{silent}"), "The last probe failed");
    let probe = format!("formaction=\"{path}/probe\"");
    let shown = wait_for("the failure", &[&yard.node], || {
        yard.page(operator, &path).ok().filter(|page| page.contains(failed))
    })?;
    assert!(shown.contains(&probe) && shown.contains("ask=probe"), "{shown}");
    let shown = yard.page(viewer, &path)?;
    assert!(shown.contains(failed) && !shown.contains("probe\""), "{shown}");
    let refused = yard.post(viewer, &format!("{path}/probe"), &[])?;
    assert_eq!(refused.status, 403);

    let next = yard.after_form(operator, &format!("{path}/probe"))?;
    assert!(next.contains(&format!("{silent} does not answer: ")), "{next}");
    let host = yard.ground.destination(0);
    let next = yard.after_form(operator, &format!("/console/hosts/{host}/probe"))?;
    assert!(next.contains(&format!("{host} answered in ")), "{next}");
    Ok(())
}

fn files_are_pinned_and_a_refused_copy_says_why(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("ops", "operator")?;
    let asked = yard.page(&visit, "/console/files?ask=pin&pick=beta%2520gamma.mpg")?;
    assert!(asked.contains("Pin 1 file?") && asked.contains("beta gamma.mpg"), "{asked}");
    let pinned = yard.post(&visit, "/console/file-actions/pin", &["pick=beta%20gamma.mpg"])?;
    assert_eq!(pinned.status, 303, "{}", pinned.body);
    let pins = yard.api("/api/v1/pins")?;
    assert_eq!(pins["items"][0]["name"], "beta gamma.mpg");

    // The only destination holds it.
    let next = yard.after_form(&visit, "/console/files/alpha.mpg/copy")?;
    assert!(next.contains("all wanted copies exist"), "{next}");
    assert!(next.contains("Nothing was done."), "{next}");
    let next = yard.after_form(&visit, "/console/files/beta%20gamma.mpg/copy")?;
    assert!(next.contains("no destination can take"), "{next}");
    // A name that the node does not know is probably a mistake.
    let next = yard.after_form(&visit, "/console/files/absent.mpg/pin")?;
    assert!(next.contains("No file is named") && next.contains("Nothing was done."), "{next}");
    names_with_signs_of_encodings_are_acted_on(yard, &visit)?;
    // After pin and unpin, the rows of the audit differ.
    yard.after_form(&visit, "/console/files/alpha.mpg/pin")?;
    yard.after_form(&visit, "/console/files/alpha.mpg/unpin")?;
    for operation in ["console.pinFile", "console.unpinFile"] {
        let path = format!("/api/v1/audit?operation={operation}&subject=alpha.mpg");
        wait_for(operation, &[&yard.node], || {
            let rows = yard.api(&path).ok()?;
            (rows["items"].as_array()?.len() == 1).then_some(())
        })?;
    }
    Ok(())
}

/// A name with a percent sign, and one that is no UTF-8: the file that it would be after another decoding stays pinned.
fn names_with_signs_of_encodings_are_acted_on(yard: &ConsoleYard, visit: &Visit) -> Result<()> {
    let pin = |path: &str, method: &str| -> Result<()> {
        let query = if method == "PUT" { "?force=true" } else { "" };
        let pin = format!("/api/v1/files/{path}/pin{query}");
        let answer = yard.curl(&["-X", method, "-H", &yard.ground.bearer(), &pin])?;
        ensure!(answer.status < 300, "{path}: {} {}", answer.status, answer.body);
        Ok(())
    };
    let pinned = |path: &str| -> Result<bool> {
        let rows = yard.curl(&["-H", &yard.ground.bearer(), "/api/v1/pins"])?.body;
        let rows: Value = serde_json::from_str(&rows)?;
        let name = reelyard_core::names::FileName::from_percent(path)?.to_text();
        let name = serde_json::to_value(name)?;
        let is_it = |row: &&Value| {
            row["name"] == name["name"]
                && row["percent_encoded"].as_bool() == name["percent_encoded"].as_bool()
        };
        Ok(rows["items"].as_array().is_some_and(|rows| rows.iter().any(|row| is_it(&row))))
    };
    for (path, other) in [("100%2541.mpg", "100A.mpg"), ("a%FF.mpg", "a%25FF.mpg")] {
        pin(path, "PUT")?;
        pin(other, "PUT")?;
        let in_address = path.replace('%', "%25");
        let panel = yard.page(visit, &format!("/console/files?why={in_address}"))?;
        let unpin = format!("/console/files/{path}/unpin");
        assert!(panel.contains(&format!("formaction=\"{unpin}\"")), "{panel}");
        // By the dialog of picked rows, and by the button of the panel.
        let ask = format!("ask=unpin&amp;pick={}", path.replace('%', "%25"));
        assert!(panel.contains(&ask), "{panel}");
        let asked = yard.page(visit, &format!("/console/files?{}", ask.replace("&amp;", "&")))?;
        let picked = format!("name=\"pick\" value=\"{path}\"");
        assert!(asked.contains("Unpin 1 file?") && asked.contains(&picked), "{asked}");
        let is_encoded = path.contains("%FF");
        assert_eq!(asked.contains("--percent-encoded"), is_encoded, "the line of the command");
        let pick = format!("pick={path}");
        assert_eq!(yard.post(visit, "/console/file-actions/unpin", &[&pick])?.status, 303);
        assert!(!pinned(path)?, "{path}");
        pin(path, "PUT")?;
        let next = yard.after_form(visit, &unpin)?;
        assert!(next.contains("No longer pinned: 1") && !pinned(path)?, "{next}");
        assert!(pinned(other)?, "{path} took {other} along");
        pin(other, "DELETE")?;
    }
    Ok(())
}

fn hosts_and_pools_are_added_and_refused_forms_stay(yard: &ConsoleYard) -> Result<()> {
    let (visit, viewer) = (yard.visit("ops", "operator")?, yard.visit("eyes", "viewer")?);
    for (page, ask) in [("hosts", "add"), ("boxes", "new-pool")] {
        let words = format!("ask={ask}");
        assert!(yard.page(&visit, &format!("/console/{page}"))?.contains(&words), "{page}");
        assert!(!yard.page(&viewer, &format!("/console/{page}"))?.contains(&words), "{page}");
        let asked = yard.page(&viewer, &format!("/console/{page}?{words}"))?;
        assert!(!asked.contains("data-dialog"), "{page}");
    }
    let add = "/console/host-actions/add";
    let refused = yard.post(&visit, add, &["addresses=10.255.0.1:8888 nowhere", "as=both"])?;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("value=\"10.255.0.1:8888 nowhere\""), "{}", refused.body);
    assert!(refused.body.contains("is no host"), "{}", refused.body);
    let added = ["addresses=10.255.0.1:8888, 10.255.0.2:8888", "as=both", "reason=new rack"];
    assert_eq!(yard.post(&visit, add, &added)?.status, 303);
    for host in ["10.255.0.1:8888", "10.255.0.2:8888"] {
        assert_eq!(yard.api(&format!("/api/v1/hosts/{host}"))?["role"], "both");
    }
    let again = ["addresses=10.255.0.2:8888 10.255.0.3:8888", "as=both"];
    let shown = yard.after_filled_form(&visit, add, &again)?;
    assert!(shown.contains("Added to the yard: 1. Known already"), "{shown}");
    hosts_of_all_roles_say_why_nothing_is_copied(yard, &visit)?;
    let unread = yard.page(&visit, "/console/hosts?ask=drain&pick=10.255.0.1:8888")?;
    assert!(unread.contains("the node has never read its list"), "{unread}");
    assert!(!unread.contains("somewhere else too"), "{unread}");

    let create = "/console/pools/new";
    let refused = yard.post(&visit, create, &["name=gpu", "size=many"])?;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("value=\"gpu\""), "{}", refused.body);
    assert!(refused.body.contains("no whole number from 0 to 65536"), "{}", refused.body);
    assert_eq!(yard.post(&visit, create, &["name=gpu", "size=3", "ttl_default=5m"])?.status, 303);
    // The call of the API would change it.
    let again = yard.post(&visit, create, &["name=gpu", "size=1"])?;
    assert_eq!(again.status, 409, "{}", again.body);
    assert!(again.body.contains("is named gpu already"), "{}", again.body);
    assert_eq!(yard.api("/api/v1/pools/gpu")?["spec"]["size"], 3);
    wait_for("the row with the reason", &[&yard.node], || {
        let rows = yard.api("/api/v1/audit?operation=console.addHosts&outcome=accepted").ok()?;
        rows["items"].as_array()?.iter().any(|row| row["reason"] == "new rack").then_some(())
    })?;
    Ok(())
}

fn hosts_of_all_roles_say_why_nothing_is_copied(yard: &ConsoleYard, visit: &Visit) -> Result<()> {
    let silent = wait_for("a source that does not answer", &[&yard.node], || {
        let hosts = yard.api("/api/v1/hosts").ok()?;
        let hosts = hosts["items"].as_array()?.clone();
        let is_silent = |host: &Value| host["role"] == "source" && host["health"] == "down";
        hosts.into_iter().find(is_silent)?["host"].as_str().map(str::to_owned)
    })?;
    for (host, role) in [("10.255.0.1:8888", "Source and destination"), (&*silent, "Source")] {
        let path = format!("/console/hosts?q={host}");
        let row = wait_for("the reason", &[&yard.node], || {
            let page = yard.page(visit, &path).ok()?;
            let row = page.split("<tbody").nth(1)?.to_owned();
            let because = row.split("data-l=\"Nothing goes there because\"").nth(1)?;
            because.split("</td>").next()?.contains(">does not answer<").then_some(row)
        })?;
        assert!(row.contains(&format!(">{role}<")), "{host}: {row}");
        let panel = yard.page(visit, &format!("/console/hosts?why={host}"))?;
        let panel = panel.split("id=\"why\"").nth(1).unwrap_or_default();
        assert!(panel.contains("does not answer"), "{panel}");
    }
    Ok(())
}

fn the_audit_shows_reports_of_workers_on_request(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("boss", "admin")?;
    wait_for("a report", &[&yard.node], || {
        let rows = yard.api("/api/v1/audit?operation=takeReports").ok()?;
        (!rows["items"].as_array()?.is_empty()).then_some(())
    })?;
    let shown = |page: &str| -> Result<bool> {
        let page = yard.page(&visit, page)?;
        Ok(page.contains("data-l=\"Action\">takeReports</td>"))
    };
    assert!(!shown("/console/audit")?);
    assert!(shown("/console/audit?reports=true")? && shown("/console/audit?action=takeReports")?);
    let without = yard.api("/api/v1/audit?without=takeReports")?;
    let rows = without["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["operation"] != "takeReports"));
    Ok(())
}
