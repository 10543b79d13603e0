//! History, audit, and exports.

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::{Value, json};

use crate::console::console_yard::{ConsoleYard, FILES};

/// A changed byte in the log of a node breaks its chain, and the page says where.
pub(super) fn the_chain_of_the_audit_is_verified(yard: &ConsoleYard) -> Result<()> {
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

pub(super) fn the_history_is_filtered_and_exported(yard: &ConsoleYard) -> Result<()> {
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

pub(super) fn the_files_are_exported_as_the_filter_has_them(yard: &ConsoleYard) -> Result<()> {
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
