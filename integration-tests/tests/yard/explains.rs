//! A real node explains files, and trusts a host again on request.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::binary::{ended, reelyard, run};
use reelyard_integration_tests::rigs::yard::{ProcessYard, holds, wait_for};
use serde_json::Value;

#[test]
fn a_file_is_explained_by_any_name_and_a_host_is_reset() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let name = b"\xff a&b%41.mpg";
    let bytes = ground.master(name, 50_000)?;
    ground.master(b"ungraded.mpg", 10)?;
    ground.grade(&[name, b"no master.mpg"])?;
    let roles =
        [ground.start_source(0, &[])?, ground.start_destination(0, &[])?, ground.start_node(&[])?];
    let roles: Vec<_> = roles.iter().collect();
    wait_for("the copy", &roles, || {
        holds(&ground.copies(0).join(OsStr::from_bytes(name)), &bytes).then_some(())
    })?;
    let path = "/api/v1/files/%FF%20a%26b%2541.mpg/explain";
    let answer = wait_for("it is placed", &roles, || {
        let answer = ground.get(path)?;
        (answer["verdict"] == "placed").then_some(answer)
    })?;
    let host = ground.destination(0).to_string();
    assert_eq!(
        (&answer["name"], &answer["percent_encoded"]),
        (&"%FF%20a%26b%2541.mpg".into(), &true.into())
    );
    assert_eq!(
        (&answer["rank"], &answer["held_on"][0]["host"]),
        (&1.into(), &host.as_str().into())
    );
    assert_eq!(answer["destinations"][0]["says"], "holds");

    let url = format!("http://{}", ground.node);
    let plan =
        |arguments: &[&str]| run(&[&["plan", "--url", &url, "--explain"], arguments].concat());
    // As its bytes, and in the form of the lists.
    let mut command = reelyard(&["plan", "--url", &url, "--explain"]);
    let by_bytes = ended(command.arg(OsStr::from_bytes(name)));
    let by_text = plan(&["%FF%20a%26b%2541.mpg", "--percent-encoded"]);
    assert_eq!((by_bytes.code, by_bytes.out.as_str()), (Some(0), by_text.out.as_str()));
    assert!(by_text.out.contains("a host already holds it"), "{}", by_text.out);
    assert!(by_text.out.contains(&host) && by_text.out.contains("it holds the file"));
    let unknown = plan(&["nobody.mpg"]);
    assert!(unknown.out.contains("not in grade.info, and no source directory"), "{}", unknown.out);
    let missing: Value = serde_json::from_str(&plan(&["no master.mpg", "--json"]).out)?;
    assert_eq!(
        (&missing["verdict"], &missing["master"]["state"]),
        (&"no_master".into(), &"not_listed".into())
    );
    let ungraded = plan(&["ungraded.mpg"]);
    assert!(ungraded.out.contains("it is not in grade.info\n"), "{}", ungraded.out);
    assert_eq!(plan(&["a/b"]).code, Some(2));

    let reset = run(&["hosts", "reset", &host, "--url", &url]);
    assert_eq!(reset.code, Some(0), "{}", reset.err);
    assert!(reset.out.contains(&format!("{host} was reset")), "{}", reset.out);
    let unknown_host = run(&["hosts", "reset", "192.0.2.9:1", "--url", &url]);
    assert_eq!(unknown_host.code, Some(4));
    assert!(unknown_host.err.contains("not a host of this yard"), "{}", unknown_host.err);
    let status = ground.get("/api/v1/status").context("status")?;
    assert_eq!(status["warnings"], Value::Array(Vec::new()));
    Ok(())
}

#[test]
fn files_and_plan_agree_with_an_explanation() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let huge = std::fs::File::create(ground.path("masters").join("huge.mpg"))?;
    // Larger than any disk in a test, and sparse.
    huge.set_len(8 << 40)?;
    ground.grade(&[b"huge.mpg", b"ad 1.mpg", b"ad 2.mpg", b"missing.mpg"])?;
    let roles = [
        ground.start_source(0, &[])?,
        ground.start_destination(0, &[])?,
        ground.start_node(&[("ignore.prefixes", r#"["ad"]"#)])?,
    ];
    let roles: Vec<_> = roles.iter().collect();
    wait_for("the explanation", &roles, || {
        let answer = ground.get("/api/v1/files/huge.mpg/explain")?;
        (answer["verdict"] == "too_big").then_some(())
    })?;
    let reasons = wait_for("the plan shows it too", &roles, || {
        let plan = ground.get("/api/v1/plan")?;
        let skipped = plan["skipped"].as_array()?.iter();
        let reasons: Vec<(String, u64)> = skipped
            .filter_map(|one| Some((one["reason"].as_str()?.to_owned(), one["files"].as_u64()?)))
            .collect();
        reasons.iter().any(|(reason, _)| reason == "too_big").then_some(reasons)
    })?;
    let wanted = [("ignored", 2), ("no_master", 1), ("too_big", 1)];
    let mut reasons: Vec<_> = reasons.iter().map(|(reason, files)| (&**reason, *files)).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, wanted);
    let files = ground.get("/api/v1/files").context("files")?;
    let states = files["items"].as_array().context("items")?.iter();
    let states: Vec<_> = states.map(|file| file["state"].as_str().unwrap_or_default()).collect();
    assert_eq!(states, ["too_big", "ignored", "ignored", "no_master"]);
    Ok(())
}
