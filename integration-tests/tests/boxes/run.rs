//! `reelyard box run` with a real node and real processes. In every case the command ends with its lease, the
//! exit code is reported, and the box is released.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use reelyard_integration_tests::rigs::binary::{ProgramOutput, ended, reelyard};
use reelyard_integration_tests::rigs::boxes::box_node::BoxNode;
use reelyard_integration_tests::rigs::yard::wait_for;
use reelyard_worker::processes::table::processes;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::stub::StubNode;

/// A node with one box, number 7.
fn one_box() -> BoxNode {
    let boxes = BoxNode::start(&[]).unwrap();
    boxes.put("p", json!({ "size": 1, "first_id": 7, "grace": "0s" }));
    boxes
}

/// A command with a token. Without one it waits until a node of this host has written its token.
fn with_token(arguments: &[&str]) -> Command {
    let mut command = reelyard(arguments);
    command.env("REELYARD_TOKEN", "open-sesame-open-now");
    command
}

fn command(boxes: &BoxNode, options: &[&str], run: &[&str]) -> Command {
    let url = format!("http://{}", boxes.ground.node);
    let mut command = reelyard(&["box", "run", "--url", &url, "--pool", "p"]);
    command.args(options).arg("--").args(run).stdin(Stdio::null());
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command
}

fn run(boxes: &BoxNode, options: &[&str], run: &[&str]) -> ProgramOutput {
    ended(&mut command(boxes, options, run))
}

/// A running command and its output.
struct BoxRunProcess {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl BoxRunProcess {
    fn start(boxes: &BoxNode, options: &[&str], run: &[&str]) -> BoxRunProcess {
        let mut process = command(boxes, options, run).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        BoxRunProcess { process, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// A process id that the command prints.
    fn pid(&mut self) -> Pid {
        Pid::from_raw(self.line().parse().unwrap()).unwrap()
    }

    fn trace(&self, signal: Signal) {
        kill_process(self.own_pid(), signal).unwrap();
    }

    fn own_pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    fn end(&mut self) -> ExitStatus {
        self.process.wait().unwrap()
    }
}

impl Drop for BoxRunProcess {
    fn drop(&mut self) {
        // The process may have ended by itself; the command dies with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits until a process is stopped, or continues.
fn until_stopped(pid: Pid, is_stopped: bool) {
    let stands_so = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        (stat.contains(") T ") == is_stopped).then_some(())
    };
    wait_for(&format!("stopped is {is_stopped}"), &[], stands_so).unwrap();
}

/// Waits until a process has ended.
fn until_gone(pid: Pid) {
    let has_ended = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The first thread of a process may end before other threads.
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        let is_gone = test_kill_process(pid).is_err() || (stat.contains(") Z ") && threads <= 1);
        is_gone.then_some(())
    };
    wait_for("the process ends", &[], has_ended).unwrap();
}

fn until_given_back(boxes: &BoxNode) {
    wait_for("the box is free", &[&boxes.node], || {
        (boxes.get("/pools/p").body["boxes"]["free"] == 1).then_some(())
    })
    .unwrap();
}

fn how_it_ended(boxes: &BoxNode) -> String {
    let audit = boxes.get("/pools/p/boxes/7/audit").body;
    audit["items"].to_string()
}

#[test]
fn the_command_knows_its_box_and_its_exit_code_is_returned() {
    let boxes = one_box();
    let script = "echo $0 $1 $REELYARD_BOX $REELYARD_BOX_TOKEN $REELYARD_BOX_POOL; exit 3";
    let output =
        run(&boxes, &["--holder", "me"], &["sh", "-c", script, "box-{box}", "{pool}/{token}"]);
    assert_eq!(output.code, Some(3), "{}", output.err);
    let leases = boxes.get("/pools/p/audit").body;
    let token = &leases["items"][0]["token"];
    assert_eq!(output.out, format!("box-7 p/{token} 7 {token} p\n"));
    assert_eq!(run(&boxes, &[], &["true"]).code, Some(0));
    assert_eq!(run(&boxes, &[], &["sh", "-c", "kill -TERM $$"]).code, Some(128 + 15));
    assert_eq!(boxes.get("/pools/p").body["totals"]["released"], 3);
    assert!(how_it_ended(&boxes).contains("\"holder\":\"me\""), "{}", how_it_ended(&boxes));
}

#[test]
fn failures_before_the_command_runs_have_their_own_exit_codes() {
    let boxes = one_box();
    let missing = run(&boxes, &[], &["/nowhere/such-a-command"]);
    assert_eq!(missing.code, Some(127), "{}", missing.err);
    assert!(missing.err.contains("/nowhere/such-a-command"), "{}", missing.err);
    let no_program = boxes.ground.path("no-program");
    std::fs::write(&no_program, "text").unwrap();
    assert_eq!(run(&boxes, &[], &[no_program.to_str().unwrap()]).code, Some(126));
    let lease = boxes.take("p", json!({ "holder": "another" }));
    let taken = run(&boxes, &["--wait", "50ms"], &["true"]);
    assert_eq!(taken.code, Some(123), "{}", taken.err);
    assert_eq!(boxes.with(&lease, "release").status, 200);
    let refused = run(&boxes, &["--pool", "none"], &["true"]);
    // An option given twice is an error.
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    let url = format!("http://{}", boxes.ground.node);
    let refused = ended(&mut reelyard(&["box", "run", "--url", &url, "--pool", "q", "--", "true"]));
    assert_eq!(refused.code, Some(125));
    assert!(refused.err.contains("no pool is named q"), "{}", refused.err);
    let nobody = ["box", "run", "--url", "http://127.0.0.1:9", "--pool", "p", "--", "true"];
    let nobody = ended(&mut with_token(&nobody));
    assert!(nobody.code == Some(125) && nobody.err.contains("cannot be reached"), "{}", nobody.err);
}

#[test]
fn a_lost_lease_ends_everything_that_was_started() {
    let boxes = one_box();
    // One process ignores SIGTERM, and one left the process group.
    let script = "trap '' TERM; (trap '' TERM; echo $BASHPID; exec sleep 1000) & \
                  setsid sh -c 'echo $$; exec sleep 1000' & wait";
    let options = ["--ttl", "6s", "--grace", "100ms"];
    let mut running = BoxRunProcess::start(&boxes, &options, &["bash", "-c", script]);
    let left = [running.pid(), running.pid()];
    revoke(&boxes);
    assert_eq!(running.end().code(), Some(124));
    left.into_iter().for_each(until_gone);
    until_given_back(&boxes);
}

#[test]
fn a_command_at_a_terminal_that_shows_no_mark_is_ended_too() {
    let boxes = one_box();
    let url = format!("http://{}", boxes.ground.node);
    let program = reelyard_integration_tests::rigs::binary::path();
    // `script` provides a terminal; the command gets its own environment.
    let line = format!(
        "{} box run --url {url} --pool p --ttl 6s --grace 100ms -- env -i sh -c 'echo $$; exec sleep 1000'",
        program.display()
    );
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let output = BufReader::new(process.stdout.take().unwrap());
    let mut running = BoxRunProcess { process, output };
    let command = running.pid();
    revoke(&boxes);
    until_gone(command);
    assert_eq!(running.end().code(), Some(124));
}

#[test]
fn remaining_processes_are_killed_before_the_release() {
    let boxes = one_box();
    let script = "sleep 1000 & echo $!";
    let output = run(&boxes, &[], &["sh", "-c", script]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    until_gone(Pid::from_raw(output.out.trim().parse().unwrap()).unwrap());
    assert_eq!(boxes.get("/pools/p").body["totals"]["released"], 1);
}

#[test]
fn signals_are_passed_on() {
    let boxes = one_box();
    for (signal, number) in [(Signal::TERM, 15), (Signal::INT, 2), (Signal::HUP, 1)] {
        let script =
            format!("trap 'exit {number}' {number}; echo up; while :; do sleep 0.01; done");
        let mut running = BoxRunProcess::start(&boxes, &[], &["bash", "-c", &script]);
        assert_eq!(running.line(), "up");
        running.trace(signal);
        assert_eq!(running.end().code(), Some(number));
        assert_eq!(boxes.get("/pools/p").body["boxes"]["free"], 1);
    }
}

#[test]
fn signals_that_are_ignored_at_the_start_stay_ignored() {
    let boxes = one_box();
    let url = format!("http://{}", boxes.ground.node);
    let script = "trap '' HUP QUIT; exec \"$@\"";
    let program = reelyard_integration_tests::rigs::binary::path();
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(program).args(["box", "run", "--url", &url]);
    // A signal that the command handles again is not passed on.
    let command_script = "import signal, sys\n\
                          signal.signal(signal.SIGHUP, lambda *_: sys.exit(1))\n\
                          signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))\n\
                          print('up', flush=True)\n\
                          while True: signal.pause()";
    command.args(["--pool", "p", "--", "python3", "-c", command_script]);
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(process.stdout.take().unwrap());
    let mut running = BoxRunProcess { process, output };
    assert_eq!(running.line(), "up");
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.own_pid())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(mask.trim(), 16).unwrap();
    let is_ignored = |signal: Signal| ignored & (1 << (signal.as_raw() - 1)) != 0;
    assert!(is_ignored(Signal::HUP) && is_ignored(Signal::QUIT), "{status}");
    assert!(!is_ignored(Signal::INT) && !is_ignored(Signal::TERM), "{status}");
    running.trace(Signal::HUP);
    running.trace(Signal::TERM);
    assert_eq!(running.end().code(), Some(3));
}

/// Revokes the only lease.
fn revoke(boxes: &BoxNode) {
    let leases = boxes.get("/pools/p/leases").body;
    let path = format!("/leases/{}/revoke", leases["items"][0]["lease_id"].as_str().unwrap());
    assert_eq!(boxes.post(&path, json!({ "reason": "maintenance" })).status, 200);
}

#[test]
fn a_command_stops_with_its_runner_and_continues_after_the_renewal() {
    let boxes = one_box();
    // The script waits without starting processes, because a process that just forked cannot be seen as
    // stopped.
    let script = "echo $$; read line < $0; exit 5";
    let stop = boxes.ground.path("stop");
    assert!(Command::new("mkfifo").arg(&stop).status().unwrap().success());
    let run = ["sh", "-c", script, stop.to_str().unwrap()];
    let mut running = BoxRunProcess::start(&boxes, &["--ttl", "10m"], &run);
    let command = running.pid();
    running.trace(Signal::TSTP);
    until_stopped(running.own_pid(), true);
    until_stopped(command, true);
    running.trace(Signal::CONT);
    until_stopped(command, false);
    // The renewal was not due yet.
    assert_eq!(boxes.get("/pools/p/leases").body["items"][0]["renewals"], 1);
    std::fs::write(stop, "").unwrap();
    assert_eq!(running.end().code(), Some(5));
    assert_eq!(boxes.get("/pools/p").body["totals"]["released"], 1);
}

#[test]
fn a_command_that_was_stopped_does_not_continue_without_its_lease() {
    let boxes = one_box();
    let script = "echo $$; exec sleep 1000";
    let mut running = BoxRunProcess::start(&boxes, &["--ttl", "10m"], &["sh", "-c", script]);
    let command = running.pid();
    running.trace(Signal::TSTP);
    until_stopped(running.own_pid(), true);
    until_stopped(command, true);
    revoke(&boxes);
    running.trace(Signal::CONT);
    assert_eq!(running.end().code(), Some(124));
    until_gone(command);
}

#[test]
fn a_runner_that_wakes_after_its_lease_kills_the_command_at_once() {
    let boxes = one_box();
    // The process would not end by itself, and has no time left.
    let script = "trap '' TERM; echo $$; exec sleep 1000";
    let mut running = BoxRunProcess::start(&boxes, &["--ttl", "4s"], &["sh", "-c", script]);
    let command = running.pid();
    kill_process(running.runner(), Signal::STOP).unwrap();
    until_stopped(running.own_pid(), true);
    until_given_back(&boxes);
    assert!(test_kill_process(command).is_ok(), "it runs on alone");
    running.trace(Signal::CONT);
    assert_eq!(running.end().code(), Some(124));
    until_gone(command);
}

#[test]
fn a_lease_after_a_wait_is_renewed_before_the_command_runs() {
    let stub = StubNode::start();
    let url = format!("http://{}", stub.addr);
    let run = ["box", "run", "--url", &url, "--pool", "p", "--wait", "10m", "--", "true"];
    let mut process = with_token(&run).stdin(Stdio::null()).spawn().unwrap();
    let asked = stub.next();
    let began = Instant::now();
    let passed = |time: Duration| (began.elapsed() > time).then_some(());
    // More than a tenth of the term: it may be over if a waiting process was stopped meanwhile.
    wait_for("it has waited long", &[], || passed(Duration::from_millis(2200))).unwrap();
    asked.answer_lease(201, "20s");
    let renewal = stub.next();
    assert!(renewal.path.ends_with("/renew"), "{}", renewal.path);
    // A command that ran already would have ended, and its box would be released.
    wait_for("it could have run", &[], || passed(Duration::from_millis(3200))).unwrap();
    assert!(stub.already().is_none());
    renewal.answer_lease(200, "10m");
    let release = stub.next();
    assert!(release.path.ends_with("/release"), "{}", release.path);
    let end = json!({ "lease_id": "AAAAAAAAAAAAAAAAAAAAAA", "state": "released" });
    release.answer(200, &end);
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn a_runner_that_is_terminated_while_it_waits_leaves_the_queue() {
    let boxes = one_box();
    let lease = boxes.take("p", json!({ "holder": "another" }));
    let mut running = BoxRunProcess::start(&boxes, &["--wait", "10m"], &["true"]);
    boxes.until_waiting("p", 1).unwrap();
    running.trace(Signal::TERM);
    assert_eq!(running.end().code(), Some(128 + 15));
    boxes.until_waiting("p", 0).unwrap();
    assert_eq!(boxes.with(&lease, "release").status, 200);
    assert_eq!(boxes.get("/pools/p").body["totals"]["granted"], 1);
}

#[test]
fn a_grant_during_a_signal_is_released() {
    let stub = StubNode::start();
    let url = format!("http://{}", stub.addr);
    let run = ["box", "run", "--url", &url, "--pool", "p", "--wait", "10m", "--", "true"];
    let mut process = with_token(&run).stdin(Stdio::null()).spawn().unwrap();
    // From the node's view its answer is on the way.
    let first = stub.next();
    kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
    let again = stub.next();
    assert_eq!((&again.path, &again.body["wait"]), (&first.path, &json!("0s")));
    assert_eq!(again.body["request_id"], first.body["request_id"]);
    again.answer_lease(201, "10m");
    let release = stub.next();
    assert_eq!(release.path, "leases/AAAAAAAAAAAAAAAAAAAAAA/release");
    let end = json!({ "lease_id": "AAAAAAAAAAAAAAAAAAAAAA", "state": "released" });
    release.answer(200, &end);
    assert_eq!(process.wait().unwrap().code(), Some(128 + 15));
}

/// Starts processes that are hard to find. One has its own session, one has no environment, one lost its
/// parent, and one lost its first thread. Each prints its id.
const SCATTERED: &str = r#"
    sleep 1000 & echo $!
    setsid sh -c 'trap "" TERM HUP; echo $$; while :; do sleep 1000; done' &
    (setsid env -i sh -c 'echo $$; exec sleep 1000' &)
    setsid env -i python3 -c '
import ctypes, os, threading, time
print(os.getpid(), flush=True)
threading.Thread(target=time.sleep, args=(1000,)).start()
ctypes.CDLL(None).syscall(60, 0)' &
    echo $$
    exec sleep 1000"#;

impl BoxRunProcess {
    fn scattered(boxes: &BoxNode, options: &[&str]) -> (BoxRunProcess, [Pid; 5]) {
        let mut running = BoxRunProcess::start(boxes, options, &["bash", "-c", SCATTERED]);
        let all = std::array::from_fn(|_| running.pid());
        (running, all)
    }

    /// The process that `box run` started to run the command.
    fn runner(&self) -> Pid {
        children(self.own_pid()).next().unwrap()
    }
}

fn children(parent: Pid) -> impl Iterator<Item = Pid> {
    let is_child = move |pid: &Pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat.rsplit(") ").next().unwrap_or_default();
        after_name.split(' ').nth(1) == Some(parent.to_string().as_str())
    };
    processes().filter(is_child)
}

#[test]
fn killed_it_leaves_nothing_running_and_the_box_is_given_back() {
    let boxes = one_box();
    let options = ["--ttl", "10m", "--grace", "100ms"];
    let (mut running, left) = BoxRunProcess::scattered(&boxes, &options);
    running.trace(Signal::KILL);
    assert_eq!(running.end().signal(), Some(9));
    left.into_iter().for_each(until_gone);
    until_given_back(&boxes);
    assert_eq!(boxes.get("/pools/p").body["totals"]["released"], 1);
}

#[test]
fn killed_while_it_is_stopped_it_leaves_nothing_behind() {
    let boxes = one_box();
    let options = ["--ttl", "10m", "--grace", "100ms"];
    let (mut running, left) = BoxRunProcess::scattered(&boxes, &options);
    running.trace(Signal::TSTP);
    until_stopped(running.own_pid(), true);
    running.trace(Signal::KILL);
    assert_eq!(running.end().signal(), Some(9));
    left.into_iter().for_each(until_gone);
    until_given_back(&boxes);
}

#[test]
fn a_lost_lease_also_kills_hidden_processes() {
    let boxes = one_box();
    let (mut running, left) =
        BoxRunProcess::scattered(&boxes, &["--ttl", "6s", "--grace", "100ms"]);
    revoke(&boxes);
    assert_eq!(running.end().code(), Some(124));
    left.into_iter().for_each(until_gone);
    until_given_back(&boxes);
}

#[test]
fn after_a_kill_of_the_guard_no_process_is_left() {
    let boxes = one_box();
    let (mut running, left) = BoxRunProcess::scattered(&boxes, &["--ttl", "4s"]);
    kill_process(running.runner(), Signal::KILL).unwrap();
    assert_eq!(running.end().code(), Some(125));
    left.into_iter().for_each(until_gone);
    until_given_back(&boxes);
    assert_eq!(boxes.get("/pools/p").body["totals"]["expired"], 1);
}

#[test]
fn orphaned_processes_are_reaped() {
    let boxes = one_box();
    let script = "for i in 1 2 3; do (sh -c : &); done; echo up; exec sleep 1000";
    let mut running = BoxRunProcess::start(&boxes, &[], &["sh", "-c", script]);
    assert_eq!(running.line(), "up");
    let runner = running.runner();
    let only_the_command = || (children(runner).count() == 1).then_some(());
    wait_for("no ended process remains", &[], only_the_command).unwrap();
    running.trace(Signal::TERM);
    assert_eq!(running.end().code(), Some(128 + 15));
}

#[test]
fn a_restart_of_the_node_does_not_end_the_lease() {
    let mut boxes = one_box();
    let stop: PathBuf = boxes.ground.path("stop");
    let script = format!("echo up; while ! [ -e {} ]; do sleep 0.01; done; exit 5", stop.display());
    // The renewal is due after ten seconds; the node has twice that time to answer.
    let mut running = BoxRunProcess::start(&boxes, &["--ttl", "30s"], &["sh", "-c", &script]);
    assert_eq!(running.line(), "up");
    boxes.node.kill();
    boxes.node.start_again().unwrap();
    boxes.until_it_decides().unwrap();
    wait_for("the lease is renewed", &[&boxes.node], || {
        let lease = &boxes.get("/pools/p/leases").body["items"][0];
        (lease["renewals"].as_u64()? > 0).then_some(())
    })
    .unwrap();
    std::fs::write(stop, "").unwrap();
    assert_eq!(running.end().code(), Some(5));
    assert_eq!(boxes.get("/pools/p").body["boxes"]["free"], 1);
}
