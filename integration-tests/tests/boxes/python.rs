//! The Python package with a real Python and a real node.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use reelyard_integration_tests::rigs::boxes::box_node::BoxNode;
use serde_json::json;

/// The files with the tests of the package.
const MODULES: [&str; 3] = ["test_aio", "test_blocking", "test_cluster"];

/// The least number of tests: with fewer, the run was incomplete.
const TESTS: usize = 57;

/// A Python process in the directory of the package's tests, with the settings of the node.
fn python(boxes: &BoxNode, program: &Path, arguments: &[&str]) -> Command {
    let mut python = Command::new(program);
    python.args(arguments).current_dir(package().join("tests"));
    python.env("REELYARD_URL", format!("http://{}", boxes.ground.node));
    // The tests must not write into the source directory.
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    python.env("REELYARD_TOKEN", boxes.ground.admin_token().unwrap().reveal());
    python
}

/// Runs a script with the package in the source directory.
fn script(boxes: &BoxNode, text: &str) -> Child {
    let mut python = python(boxes, Path::new("python3"), &["-u", "-c", text]);
    python.env("PYTHONPATH", package().join("src")).stdout(Stdio::piped()).spawn().unwrap()
}

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/clients/python")
}

/// Builds a wheel of the package in `dir` and installs it into a virtual environment. Returns its Python.
fn installed(dir: &Path) -> PathBuf {
    let done = |command: &mut Command| {
        let output = command.env_remove("PYTHONPATH").output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {message}");
    };
    let (environment, wheels) = (dir.join("environment"), dir.join("wheels"));
    done(Command::new("python3").args(["-m", "venv"]).arg(&environment));
    let python = environment.join("bin/python");
    let pip = || {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "--disable-pip-version-check", "--quiet"]);
        pip
    };
    done(pip().args(["wheel", "--no-deps", "--wheel-dir"]).arg(&wheels).arg(package()));
    let names: Vec<_> = std::fs::read_dir(&wheels).unwrap().map(|wheel| wheel.unwrap()).collect();
    let [wheel] = names.as_slice() else { panic!("one wheel is built, not {names:?}") };
    let name = wheel.file_name();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(name.to_str(), Some(&*format!("reelyard_boxes-{version}-py3-none-any.whl")));
    done(pip().args(["install", "--no-index"]).arg(wheel.path()));
    python
}

fn lines(process: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap)
}

#[test]
fn it_is_installed_from_a_wheel_and_its_own_tests_pass() {
    let dir = tempfile::tempdir().unwrap();
    let program = installed(dir.path());
    let boxes = BoxNode::start(&[]).unwrap();
    // Type checkers use this file to find the types of the installed package.
    let typed = "import importlib.resources as r, reelyard_boxes as b; \
                 print(b.__version__, b.__file__, r.files(b).joinpath('py.typed').is_file())";
    let message = python(&boxes, &program, &["-c", typed]).output().unwrap().stdout;
    let message = String::from_utf8_lossy(&message);
    assert!(
        message.starts_with(env!("CARGO_PKG_VERSION")) && message.trim_end().ends_with("True"),
        "{message}"
    );
    assert!(message.contains(dir.path().to_str().unwrap()), "the sources are used: {message}");
    // Each test has a pool of its own. Most of the time they wait.
    let running = MODULES.map(|module| {
        let mut tests = python(&boxes, &program, &["-m", "unittest", module]);
        tests.stderr(Stdio::piped()).spawn().unwrap()
    });
    let mut count = 0;
    for tests in running {
        let output = tests.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{message}\n{}", boxes.node.log_text());
        assert!(!message.contains("skipped"), "{message}");
        let ran = message.lines().find_map(|line| line.strip_prefix("Ran ")).unwrap();
        count += ran.split(' ').next().unwrap().parse::<usize>().unwrap();
    }
    assert!(count >= TESTS, "only {count} tests ran");
}

#[test]
fn a_waiting_client_is_served_after_a_kill_of_the_node() {
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
    let message: Vec<String> = lines(&mut waiter).collect();
    assert!(waiter.wait().unwrap().success());
    assert_eq!(message, [format!("7 {}", other["token"].as_u64().unwrap() + 1)]);
    assert_eq!(boxes.get("/pools/judge/leases").body["items"], json!([]));
}

#[test]
fn a_box_is_held_over_a_restart_of_the_node() {
    let mut boxes = BoxNode::start(&[]).unwrap();
    boxes.put("judge", json!({ "size": 1 }));
    // The renewal is due after ten seconds; the node has twice that time to answer.
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
    let mut result = lines(&mut holder);
    let token = result.next().unwrap();
    assert_eq!(boxes.get("/pools/judge/leases").body["items"][0]["token"].to_string(), token);
    boxes.node.kill();
    boxes.node.start_again().unwrap();
    assert_eq!(result.next().as_deref(), Some("renewed"));
    assert!(holder.wait().unwrap().success());
    boxes.until_it_decides().unwrap();
    assert_eq!(boxes.get("/pools/judge/leases").body["items"], json!([]), "it is released");
}
