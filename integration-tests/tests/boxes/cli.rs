//! `reelyard box` with a real node: its output and its exit codes.

use anyhow::Result;
use reelyard_integration_tests::rigs::binary::ProgramOutput;
use reelyard_integration_tests::rigs::boxes::box_node::BoxNode;
use serde_json::{Value, json};

fn done(ended: ProgramOutput) -> String {
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    ended.out
}

fn read(ended: ProgramOutput) -> Value {
    serde_json::from_str(&done(ended)).unwrap()
}

/// The cells of the row that begins with `first`, separated by blanks.
fn row(table: &str, first: &str) -> Vec<String> {
    let rows = table.lines().map(|line| line.split_whitespace().map(str::to_owned).collect());
    let mut rows = rows.filter(|row: &Vec<String>| row.first().is_some_and(|cell| cell == first));
    rows.next().unwrap_or_else(|| panic!("no {first} in\n{table}"))
}

#[test]
fn pools_are_created_changed_and_removed() -> Result<()> {
    let node = BoxNode::start(&[])?;
    let nameless = node.cli(&["pools", "put", "judges"]);
    assert_eq!(nameless.code, Some(2));
    assert!(
        nameless.err.contains("--size is required: pool judges does not exist yet"),
        "{}",
        nameless.err
    );
    let created = done(node.cli(&[
        "pools",
        "put",
        "judges",
        "--size",
        "4",
        "--ttl-default",
        "9s",
        "--max-hold",
        "2h",
        "--slots",
        "100..200",
        "--slots-rest",
        "1m",
        "--label",
        "site=a",
    ]));
    for words in
        ["boxes", "4, numbered from 0", "100..200", "1 min", "2 h", "site=a", "9 s by default"]
    {
        assert!(created.contains(words), "{words}: {created}");
    }
    // Options that are missing keep their values.
    let changed =
        read(node.cli(&["pools", "put", "judges", "--size", "2", "--max-hold", "none", "--json"]));
    let spec = &changed["spec"];
    assert_eq!((&spec["size"], &spec["ttl_default"]), (&json!(2), &json!("9s")));
    assert_eq!((&spec["slots"]["count"], spec.get("max_hold")), (&json!(100), None));
    let bad = node.cli(&["pools", "put", "judges", "--clean-attempts", "0"]);
    assert_eq!(bad.code, Some(4));
    assert!(bad.err.contains("a cleanup needs at least 1 try"), "{}", bad.err);
    for (wrong, words) in [
        (["--slots", "200..100"], "is not a range"),
        (["--label", "site"], "is not a label"),
        (["--grace", "soon"], "is not a duration"),
        (["--host", "nowhere"], "--host"),
    ] {
        let refused = node.cli(&[&["pools", "put", "judges"][..], &wrong].concat());
        assert!(refused.code == Some(2) && refused.err.contains(words), "{}", refused.err);
    }
    done(node.cli(&[
        "pools",
        "put",
        "hosted",
        "--size",
        "1",
        "--host",
        "127.0.0.1:9",
        "--hooks",
        "x",
    ]));
    done(node.cli(&["pools", "recheck", "hosted"]));

    let listed = done(node.cli(&["pools"]));
    assert_eq!(row(&listed, "judges")[1..4], ["2", "2", "0"], "{listed}");
    assert_eq!(row(&listed, "hosted")[7], "127.0.0.1:9", "{listed}");
    assert_eq!(
        read(node.cli(&["pools", "--limit", "9", "--json"]))["items"].as_array().unwrap().len(),
        2
    );
    assert_eq!(done(node.cli(&["pools", "remove", "hosted"])), "the pool was removed\n");
    let absent = node.cli(&["pools", "show", "hosted"]);
    assert_eq!(absent.code, Some(4));
    assert!(absent.err.contains("no pool is named hosted"), "{}", absent.err);
    Ok(())
}

#[test]
fn a_box_is_leased_used_and_given_back() -> Result<()> {
    let node = BoxNode::start(&[])?;
    done(node.cli(&["pools", "put", "p", "--size", "2", "--grace", "0s"]));
    let acquire = |holder: &str, more: &[&str]| {
        node.cli(&[&["acquire", "p", "--holder", holder, "--ttl", "10m"], more].concat())
    };
    let lease = read(acquire("a", &["--json", "--request-id", "job", "--priority", "-5"]));
    let (id, token) = (lease["lease_id"].as_str().unwrap(), lease["token"].to_string());
    let again = done(acquire("a", &["--request-id", "job", "--priority", "-5", "--wait", "9s"]));
    assert_eq!(row(&again, id)[1..3], ["0", token.as_str()], "{again}");
    let both = acquire("b", &["--count", "2", "--wait", "100ms"]);
    assert_eq!(both.code, Some(123), "{}", both.err);
    assert!(both.err.contains("no box of pool p was free within 100 ms"), "{}", both.err);
    let absent = node.cli(&["acquire", "none", "--holder", "a"]);
    assert_eq!(absent.code, Some(4), "{}", absent.err);
    assert_eq!(node.cli(&["acquire", "p", "--holder", "a", "--priority", "200"]).code, Some(2));

    let listed = done(node.cli(&["leases", "p"]));
    assert_eq!(row(&listed, id)[3..5], ["a", "held"], "{listed}");
    assert!(done(node.cli(&["lease", id])).contains("held"));
    assert!(
        done(node.cli(&["verify", id, &token]))
            .starts_with(&format!("valid: a has box p/0, token {token}"))
    );
    let foreign = node.cli(&["verify", id, "99"]);
    assert_eq!(foreign.code, Some(4));
    assert!(foreign.err.contains("the fencing token belongs to another lease"), "{}", foreign.err);
    assert!(done(node.cli(&["renew", id, &token, "--ttl", "20m"])).starts_with("box 0 until 2"));
    let boxes = done(node.cli(&["list", "p"]));
    assert_eq!(row(&boxes, "0")[1], "leased", "{boxes}");
    assert_eq!(done(node.cli(&["release", id, &token])), "released\n");
    let late = node.cli(&["release", id, &token]);
    assert!(late.code == Some(4) && late.err.contains("already released"), "{}", late.err);

    let lease = read(acquire("c", &["--json"]));
    let id = lease["lease_id"].as_str().unwrap();
    assert_eq!(done(node.cli(&["revoke", id, "--reason", "a test"])), "revoked\n");
    let out = done(node.cli(&["quarantine", "p", "0", "--reason", "smells"]));
    assert!(out.contains("quarantined") && out.contains("smells"), "{out}");
    assert!(done(node.cli(&["show", "p", "0"])).contains("smells"));
    assert_eq!(
        row(&done(node.cli(&["list", "p", "--state", "quarantined"])), "0")[1],
        "quarantined"
    );
    assert!(done(node.cli(&["unquarantine", "p", "0"])).contains("free"));
    let audit = done(node.cli(&["audit", "p"]));
    // The attempt with a wrong token is on record within a second.
    let others = audit.lines().skip(1).filter(|line| !line.contains("wrong_token"));
    let lines: Vec<&str> = others.collect();
    assert_eq!(lines.len(), 4, "{audit}");
    for (line, words) in lines.iter().zip([
        "unquarantined",
        "quarantined",
        "revoked by token admin after",
        "released after",
    ]) {
        assert!(line.contains(words), "{words}: {audit}");
    }
    let of_one = done(node.cli(&["audit", "p", "0", "--what", "released", "--fence", &token]));
    assert_eq!(of_one.lines().count(), 2, "{of_one}");
    let refused = node.cli(&["audit", "p", "--what", "xyz"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    for word in ["released", "init_failed", "wrong_token"] {
        assert_eq!(refused.err.matches(word).count(), 1, "{word}: {}", refused.err);
    }
    let page = read(node.cli(&["audit", "p", "--limit", "1", "--json"]));
    assert!(page["next"].is_string() && page["items"].as_array().unwrap().len() == 1, "{page}");
    Ok(())
}
