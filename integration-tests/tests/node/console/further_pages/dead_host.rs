//! A host that is down, and what stays on record of it.

use anyhow::Result;
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::json;

use crate::console::console_yard::ConsoleYard;

pub(super) fn a_dead_host_says_which_files_only_it_holds(yard: &mut ConsoleYard) -> Result<()> {
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
