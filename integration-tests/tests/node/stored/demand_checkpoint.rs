//! The demand of a node survives its restart, and a damaged checkpoint costs nothing else.

use std::fs;
use std::os::unix::fs::MetadataExt;

use anyhow::Result;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, wait_for};

/// The demand ranks of the two files, once the node shows them.
fn demand_ranks(yard: &ProcessYard, node: &RoleProcess) -> Result<Vec<(String, u64)>> {
    wait_for("the demand is shown", &[node], || {
        let files = yard.get("/api/v1/files")?;
        let shown = files["items"].as_array()?.iter();
        let rank = |file: &serde_json::Value| {
            Some((file["name"].as_str()?.to_owned(), file["demand_rank"].as_u64()?))
        };
        let ranks: Option<Vec<_>> = shown.map(rank).collect();
        ranks.filter(|ranks| ranks.len() == 2)
    })
}

#[test]
fn demand_survives_a_restart_and_a_damaged_checkpoint_is_reported() -> Result<()> {
    let yard = ProcessYard::new(0, 1)?;
    yard.grade(&[b"first.mpg", b"second.mpg"])?;
    yard.hit(b"second.mpg", 9)?;
    let watching = yard.watching();
    let settings: Vec<(&str, &str)> =
        watching.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let mut node = yard.start_node(&settings)?;
    let by_log = demand_ranks(&yard, &node)?;
    assert!(by_log.contains(&("second.mpg".to_owned(), 1)), "{by_log:?}");
    let plan = yard.get("/api/v1/plan").unwrap();
    assert_eq!(plan["served"]["last_hour"], 0.0, "the centre served all requests: {plan}");
    assert!(node.terminate()?.success());
    let checkpoint = yard.path("node/demand-checkpoint");
    assert_eq!(fs::metadata(&checkpoint)?.mode() & 0o777, 0o600);

    // Without the log, only the checkpoint has the requests.
    fs::remove_dir_all(yard.path("event-log"))?;
    fs::create_dir(yard.path("event-log"))?;
    node.start_again()?;
    assert_eq!(demand_ranks(&yard, &node)?, by_log);
    assert!(node.log_text().contains("the demand continues from its checkpoint"));
    assert!(node.terminate()?.success());

    fs::write(&checkpoint, "reelyard demand\n\u{1}")?;
    yard.hit(b"first.mpg", 9)?;
    node.start_again()?;
    let by_new_log = demand_ranks(&yard, &node)?;
    assert!(by_new_log.contains(&("first.mpg".to_owned(), 1)), "{by_new_log:?}");
    assert!(node.log_text().contains("it is damaged: it is cut short"), "{}", node.log_text());
    assert!(node.terminate()?.success());
    Ok(())
}
