//! The pages of links, boxes, records, access and the node itself. The tests of a group share one node.

mod access;
mod dead_host;
mod given_out;
mod records;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::console::console_yard::{ConsoleYard, Visit};

/// The pages of this group, in their usual state and in others.
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
    records::the_history_is_filtered_and_exported(&yard)?;
    records::the_files_are_exported_as_the_filter_has_them(&yard)?;
    the_first_load_is_packed_and_small(&yard)?;
    pages_refuse_visitors_without_their_scopes(&yard)?;
    hosts_pages_and_files_are_found(&yard)?;
    records::the_chain_of_the_audit_is_verified(&yard)?;
    dead_host::a_dead_host_says_which_files_only_it_holds(&mut yard)
}

#[test]
fn links_boxes_and_access_are_changed_by_forms() -> Result<()> {
    let yard = ConsoleYard::start()?;
    given_out::a_link_is_made_extended_and_revoked_by_forms(&yard)?;
    given_out::boxes_are_quarantined_and_leases_revoked(&yard)?;
    access::a_secret_is_shown_once_and_users_are_changed(&yard)
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
    for sought in ["create+link", "new+link"] {
        let elsewhere = yard.page(&operator, &format!("/console/find?q={sought}"))?;
        assert!(elsewhere.contains("/console/shares?new=true"), "{sought}: {elsewhere}");
    }
    let found = yard.page(&operator, "/console/find?q=pin+alpha")?;
    assert!(found.contains("ask=pin") && found.contains("pick=alpha.mpg"), "{found}");
    let found = yard.page(&visit, "/console/find?q=pin+alpha")?;
    assert!(!found.contains("ask=pin"), "a viewer may not pin: {found}");
    assert!(yard.page(&operator, "/console/find?q=cluster")?.contains("href=\"/console/cluster\""));
    let fields = ["path=movies/alpha.mpg", "ttl=1h", "owner=press-office"];
    assert_eq!(yard.post(&operator, "/console/shares/new", &fields)?.status, 200);
    let found = yard.page(&operator, "/console/find?q=press")?;
    assert!(found.contains("movies/alpha.mpg") && found.contains(">press-office<"), "{found}");
    let found = yard.page(&operator, "/console/find?q=movies")?;
    assert!(found.contains("movies/alpha.mpg") && !found.contains("press-office"), "{found}");
    Ok(())
}
