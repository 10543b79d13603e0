//! The Python client, on a real Python and a real node.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use reelyard_integration_tests::box_node::BoxNode;
use serde_json::json;

/// Fewer tests than there are: not all were run.
const TESTS: usize = 32;

/// Python in the directory of the client, for the node.
fn python(boxes: &BoxNode, arguments: &[&str]) -> Command {
    let mut python = Command::new("python3");
    python.args(arguments).current_dir(client());
    python.env("REELYARD_URL", format!("http://{}", boxes.ground.node));
    // The tests leave nothing in the sources.
    python.env("PYTHONDONTWRITEBYTECODE", "1").env_remove("REELYARD_TOKEN");
    python
}

fn script(boxes: &BoxNode, text: &str) -> Child {
    python(boxes, &["-u", "-c", text]).stdout(Stdio::piped()).spawn().unwrap()
}

fn client() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/python")
}

fn lines(process: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap)
}

#[test]
fn its_own_tests_pass() {
    let boxes = BoxNode::start(&[]).unwrap();
    let output = python(&boxes, &["-m", "unittest", "test_reelyard_boxes"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{}", boxes.node.log_text());
    let ran = told.lines().find_map(|line| line.strip_prefix("Ran ")).unwrap();
    let count: usize = ran.split(' ').next().unwrap().parse().unwrap();
    assert!(count >= TESTS && !told.contains("skipped"), "{told}");
}

#[test]
fn who_waits_is_served_by_a_node_that_was_killed_meanwhile() {
    let mut boxes = BoxNode::start(&[]).unwrap();
    boxes.put("judge", json!({ "size": 1, "first_id": 7 }));
    let other = boxes.take("judge", json!({ "holder": "another", "ttl": "10m" }));
    let text = "from reelyard_boxes import Boxes\n\
                with Boxes().hold('judge', wait=120) as held: print(held.box, held.token)";
    let mut waiter = script(&boxes, text);
    boxes.until_waiting("judge", 1).unwrap();
    boxes.node.kill();
    boxes.node.start_again().unwrap();
    boxes.until_it_decides().unwrap();
    boxes.until_waiting("judge", 1).unwrap();
    assert_eq!(boxes.with(&other, "release").status, 200);
    let told: Vec<String> = lines(&mut waiter).collect();
    assert!(waiter.wait().unwrap().success());
    assert_eq!(told, [format!("7 {}", other["token"].as_u64().unwrap() + 1)]);
    assert_eq!(boxes.get("/pools/judge/leases").body["items"], json!([]));
}

#[test]
fn a_box_is_held_over_a_restart_of_the_node() {
    let mut boxes = BoxNode::start(&[]).unwrap();
    boxes.put("judge", json!({ "size": 1 }));
    // It is renewed after ten seconds, for which the node has twice as long.
    let text = "from reelyard_boxes import Boxes\n\
                import time\n\
                with Boxes().hold('judge', ttl=30) as held:\n\
                \x20   print(held.token)\n\
                \x20   before = held.leases[0].until\n\
                \x20   while held.leases[0].until == before:\n\
                \x20       held.check()\n\
                \x20       time.sleep(0.01)\n\
                \x20   print('renewed')";
    let mut holder = script(&boxes, text);
    let mut told = lines(&mut holder);
    assert_eq!(told.next().as_deref(), Some("1"), "the first token of a pool");
    boxes.node.kill();
    boxes.node.start_again().unwrap();
    assert_eq!(told.next().as_deref(), Some("renewed"));
    assert!(holder.wait().unwrap().success());
    boxes.until_it_decides().unwrap();
    assert_eq!(boxes.get("/pools/judge/leases").body["items"], json!([]), "it is given back");
}
