//! Links and boxes.

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::{Value, json};

use crate::console::console_yard::ConsoleYard;

pub(super) fn a_link_is_made_extended_and_revoked_by_forms(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("ops", "operator")?;
    let new = "/console/shares/new";
    let refused =
        yard.post(&visit, new, &["path=movies/absent.mpg", "owner=press", "request_id=one"])?;
    assert_eq!(refused.status, 404, "{}", refused.body);
    assert!(refused.body.contains("value=\"movies/absent.mpg\""), "{}", refused.body);
    assert!(refused.body.contains("value=\"press\""), "{}", refused.body);
    assert!(refused.body.contains("name=\"request_id\" value=\"one\""), "{}", refused.body);

    // The form names its request, so that a page that is loaded again makes no second link.
    let form = yard.page(&visit, "/console/shares?new=true")?;
    let name = form.split("name=\"request_id\" value=\"").nth(1).context("no name")?;
    let name = format!("request_id={}", name.split('"').next().unwrap_or_default());
    let fields = ["path=movies/alpha.mpg", "ttl=1h", "password=opensesame", name.as_str()];
    let made = yard.post(&visit, new, &fields)?;
    assert_eq!(made.status, 200, "{}", made.body);
    assert_eq!(yard.post(&visit, new, &fields)?.status, 200);
    assert_eq!(yard.read("/shares")?["items"].as_array().map(Vec::len), Some(1));
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

pub(super) fn boxes_are_quarantined_and_leases_revoked(yard: &ConsoleYard) -> Result<()> {
    let visit = yard.visit("ops", "operator")?;
    yard.call("PUT", "/pools/judges", &json!({ "size": 3 }))?;
    let wanted = json!({ "holder": "job-1", "ttl": "1h" });
    let lease = yard.call("POST", "/pools/judges/leases", &wanted)?;
    let id = lease["lease_id"].as_str().context("no lease")?.to_owned();
    let page = yard.page(&visit, "/console/boxes")?;
    assert!(page.contains("judges") && page.contains("job-1"), "{page}");
    let found = yard.page(&visit, "/console/find?q=judge")?;
    assert!(found.contains("/console/boxes?pool=judges"), "{found}");
    let absent = yard.page(&visit, "/console/boxes?pool=judges&number=77&ask=quarantine")?;
    assert!(absent.contains("Pool judges has no box 77. Its boxes are 0 to 2."), "{absent}");
    assert!(!absent.contains("name=\"reason\""), "{absent}");

    let sorted = yard.page(&visit, "/console/boxes?pool=judges&leases_sort=-holder")?;
    assert!(sorted.contains("1, sorted by: ") && sorted.contains("job-1"), "{sorted}");
    let asked = yard.page(&visit, &format!("/console/boxes?pool=judges&ask=revoke&lease={id}"))?;
    assert!(asked.contains("Revoke the lease of box") && asked.contains("job-1"), "{asked}");
    let revoke = format!("/console/leases/{id}/revoke");
    assert_eq!(yard.post(&visit, &revoke, &["reason=it hangs"])?.status, 303);
    assert_eq!(yard.read(&format!("/leases/{id}"))?["state"], "revoked");
    let late = yard.page(&visit, &format!("/console/boxes?pool=judges&ask=revoke&lease={id}"))?;
    let gone = format!("A lease that has ended or does not exist: {id}");
    assert!(late.contains(&gone) && !late.contains("data-dialog"), "{late}");

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
