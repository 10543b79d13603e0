//! A worker with boxes runs their hooks: real programs, over real HTTP.

use std::time::Duration;

use anyhow::Result;
use reelyard_boxes::box_lease::{BoxLinkSettings, LONGEST_CALL};
use reelyard_core::event::Epoch;
use reelyard_integration_tests::fakes::external_program::is_alive;
use reelyard_integration_tests::probes::waiting::{PATIENCE, eventually, eventually_some};
use reelyard_integration_tests::rigs::boxes::box_host_rig::{HostRig, evidence, silence};
use reelyard_protocol::boxes::{HookAnswer, HookKind, HookOutput, HooksName, RunHook};
use reelyard_worker::box_host::{
    HookProgram, HookSet, LONGEST_GRACE, LONGEST_TIMEOUT, Template, TemplateBlank,
};

const DONE: HookAnswer = HookAnswer::Done { output: None };

/// The first user id of boxes in these tests, which no other program on test machines uses.
const FIRST_UID: u32 = 612_000;

/// Hooks of one name: shell scripts with the box as `$1`.
fn hooks(name: &str, init: &str, cleanup: &str, more: &str) -> String {
    let script = |text: &str| format!("[\"/bin/sh\", \"-c\", '''{text}''', \"sh\", \"{{box}}\"]");
    let (init, cleanup) = (script(init), script(cleanup));
    format!("[box.hooks.{name}]\ninit = {init}\ncleanup = {cleanup}\n{more}\n")
}

/// A shell command that waits until the test creates a file.
const UNTIL_GO: &str = "while [ ! -e \"DIR/go\" ]; do sleep 0.01; done";

#[actix::test]
async fn a_hook_is_called_with_its_arguments_and_a_clean_environment() -> Result<()> {
    let script = r#"printf "%s\n" "$@" > DIR/arguments; env > DIR/env; pwd >> DIR/arguments"#;
    let rig = HostRig::start(&format!(
        "[box.hooks.p]\ncleanup = [\"/bin/sh\", \"-c\", '{script}', \"sh\", \"{{box}}\", \"-{{number}}-\", \
         \"{{pool}}\", \"{{token}}\", \"{{holder}}\"]\nenv = {{ COLOUR = \"red $HOME\" }}\n"
    ))
    .await?;
    let hook = RunHook { box_id: 703, ..rig.hook("p", HookKind::Cleanup, 3, 41) };
    assert_eq!(rig.run(hook).await, DONE);
    assert_eq!(rig.text("arguments"), "703\n-3-\np\n41\njudge-7\n/\n");
    let environment = rig.text("env");
    assert!(environment.contains("COLOUR=red $HOME\n"), "{environment}");
    let own = |line: &&str| {
        let name = line.split('=').next().unwrap_or_default();
        ["PATH", "LANG", "COLOUR", "BOX_HOOK_OF_REELYARD", "PWD", "SHLVL", "_", "OLDPWD"]
            .contains(&name)
    };
    assert!(environment.lines().all(|line| own(&line)), "{environment}");
    // A box without an init hook needs no work.
    assert_eq!(rig.run(rig.hook("p", HookKind::Init, 3, 42)).await, DONE);
    let info = rig.get("/info").await?;
    assert!(info.contains("\"box_hooks\":[\"p\"]"), "{info}");
    let metrics = rig.get("/metrics").await?;
    for line in [
        "reelyard_box_hooks_ended_total{kind=\"cleanup\",outcome=\"done\"} 1",
        "reelyard_box_hooks_ended_total{kind=\"init\",outcome=\"done\"} 1",
        "reelyard_box_cleanup_seconds_count 1",
        "reelyard_box_hooks_running 0",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    Ok(())
}

#[actix::test]
async fn a_slow_hook_is_killed_with_all_its_processes() -> Result<()> {
    let hangs = "trap \"\" TERM; echo \"begun $1\"; \
        (trap \"\" TERM; sleep 600) & echo $! > DIR/deaf; \
        setsid sh -c \"trap : TERM; echo \\$\\$ > DIR/away; while :; do sleep 600; done\" & \
        while :; do sleep 600; done";
    let more = "init_timeout = \"3s\"\nstop_grace = \"200ms\"\n";
    let rig = HostRig::start(&hooks("p", hangs, "exit 0", more)).await?;
    let output = evidence(rig.run(rig.hook("p", HookKind::Init, 1, 1)).await);
    assert!(output.starts_with("init did not end within 3s and was ended"), "{output}");
    assert!(output.ends_with("stdout: begun 1"), "{output}");
    for name in ["deaf", "away"] {
        let pid = rig.process(name).await;
        assert!(!is_alive(pid), "{name} lives on");
    }
    Ok(())
}

#[actix::test]
async fn processes_of_a_hook_are_killed_also_after_success() -> Result<()> {
    let leaves = "sleep 600 & echo $! > DIR/left; exit 0";
    let rig = HostRig::start(&hooks("p", leaves, "exit 0", "")).await?;
    assert_eq!(rig.run(rig.hook("p", HookKind::Init, 1, 1)).await, DONE);
    assert!(!is_alive(rig.process("left").await));
    Ok(())
}

#[actix::test]
async fn exit_codes_are_checked_and_output_is_kept() -> Result<()> {
    let init = "echo out; echo err >&2; exit $1";
    let cleanup = "echo >> DIR/cleanups; [ $(wc -l < DIR/cleanups) -gt 1 ] || exit 2";
    let more = "done = [0, 3]\ncleanup_again_on = [2]\nno_directory = [\"DIR/of-{box}\"]";
    let rig = HostRig::start(&hooks("p", init, cleanup, more)).await?;
    let output = evidence(rig.run(rig.hook("p", HookKind::Init, 7, 1)).await);
    assert_eq!(output, "init ended with exit code 7; stderr: err; stdout: out");
    let done = rig.run(rig.hook("p", HookKind::Init, 3, 1)).await;
    assert_eq!(
        done,
        HookAnswer::Done { output: Some(HookOutput::cut("stderr: err; stdout: out")) }
    );
    // It fails once with 2, and the worker tries again at once.
    assert_eq!(rig.run(rig.hook("p", HookKind::Cleanup, 4, 1)).await, DONE);
    assert_eq!(rig.text("cleanups").lines().count(), 2);
    // The hook reports success but leaves a directory.
    std::fs::create_dir(rig.path("of-5"))?;
    let output = evidence(rig.run(rig.hook("p", HookKind::Cleanup, 5, 1)).await);
    let left = rig.path("of-5").display().to_string();
    assert_eq!(output, format!("cleanup ended with exit code 0; {left} is there"));
    let looked = rig.look("p", 6).await.unwrap();
    let dirty: Vec<u32> =
        looked.iter().filter(|one| one.dirt.is_some()).map(|one| one.number.0).collect();
    assert_eq!((looked.len(), dirty), (6, vec![5]));
    Ok(())
}

/// Starts a process as the user of a box. Only root can do that.
fn as_user_of(box_id: u32) -> std::process::Child {
    assert!(
        rustix::process::geteuid().is_root(),
        "this test runs processes as other users: run it as root"
    );
    let user = (FIRST_UID + box_id).to_string();
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "sleep", "600"]);
    command.spawn().unwrap()
}

#[actix::test]
async fn a_remaining_process_of_the_box_is_found_or_killed() -> Result<()> {
    let uid = format!("first_uid = {FIRST_UID}");
    let kills = format!("{uid}\nkill_left = true");
    let both =
        hooks("keeps", "exit 0", "exit 0", &uid) + &hooks("kills", "exit 0", "exit 0", &kills);
    let rig = HostRig::start(&both).await?;
    let mut orphan = as_user_of(4);
    let (pid, user) = (orphan.id(), FIRST_UID + 4);
    let keeps = async || rig.run(rig.hook("keeps", HookKind::Cleanup, 4, 1)).await;
    // The process has the user of the box before its program is loaded.
    eventually("it runs as the box' user", || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.contains(&format!("Uid:\t{user}\t{user}")) && status.contains("Name:\tsleep")
    })
    .await;
    let left = format!("process {pid} (sleep) of user {user} is left");
    assert_eq!(evidence(keeps().await), format!("cleanup ended with exit code 0; {left}"));
    let looked = rig.look("keeps", 6).await.unwrap();
    assert_eq!(looked[4].dirt, Some(HookOutput::cut(&left)));
    assert!(looked.iter().filter(|one| one.dirt.is_none()).count() == 5);
    let killed = rig.run(rig.hook("kills", HookKind::Cleanup, 4, 1)).await;
    let output = HookOutput::cut(&format!("process {pid} (sleep) was killed"));
    assert_eq!(killed, HookAnswer::Done { output: Some(output) });
    assert!(!orphan.wait()?.success());
    assert_eq!(keeps().await, DONE);
    Ok(())
}

#[actix::test]
async fn a_process_hidden_from_its_hook_is_found_by_its_user() -> Result<()> {
    assert!(rustix::process::geteuid().is_root(), "another user's process takes root: run it so");
    let user = FIRST_UID + 19;
    // The process leaves its group and clears its environment, which removes the mark of the hook.
    let init = format!(
        "setsid env -i setpriv --reuid {user} --regid {user} --clear-groups \
         sh -c \"echo \\$\\$; exec sleep 600\" > DIR/hidden & while [ ! -s DIR/hidden ]; do sleep 0.01; done"
    );
    let checks = format!("first_uid = {FIRST_UID}\nkill_left = true");
    let rig = HostRig::start(&hooks("p", &init, "exit 0", &checks)).await?;
    assert_eq!(rig.run(rig.hook("p", HookKind::Init, 19, 1)).await, DONE);
    let hidden = rig.process("hidden").await;
    assert!(is_alive(hidden), "the hook's process looks like any other");
    let HookAnswer::Done { output: Some(output) } =
        rig.run(rig.hook("p", HookKind::Cleanup, 19, 1)).await
    else {
        panic!("it is not clean")
    };
    assert!(output.as_str().ends_with("was killed") && !is_alive(hidden), "{output:?}");
    Ok(())
}

/// Whether the worker's actor has handled `count` messages.
async fn handled(rig: &HostRig, count: u64) -> Option<()> {
    let metrics = rig.get("/metrics").await.ok()?;
    let name = "reelyard_actor_messages_handled_total{actor=\"box-host\"} ";
    let handled = metrics.lines().find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok())?;
    (handled >= count).then_some(())
}

#[actix::test]
async fn the_same_asked_again_joins_and_a_cleanup_ends_an_init() -> Result<()> {
    let init = format!("echo >> DIR/inits; echo $$ > DIR/init; {UNTIL_GO}");
    let cleanup = format!("echo >> DIR/cleanups; {UNTIL_GO}");
    let rig = HostRig::start(&hooks("p", &init, &cleanup, "")).await?;
    let hook = |kind, token| rig.hook("p", kind, 1, token);
    let first = rig.run(hook(HookKind::Init, 1));
    let cleaned = async {
        let init = rig.process("init").await;
        let cleaned = rig.run(hook(HookKind::Cleanup, 1));
        let again = async {
            rig.has("cleanups").await;
            assert!(!is_alive(init), "the cleanup begins when the init has ended");
            // The inspection reports only the other box of the pool, because this one is in use.
            assert_eq!(rig.look("p", 2).await.unwrap().len(), 1);
            let late = rig.run(hook(HookKind::Init, 1)).await;
            assert!(silence(late).contains("too late"));
            let joined = rig.run(hook(HookKind::Cleanup, 1));
            let go = async {
                // Four hooks, one inspection, and the end of the init.
                eventually_some("it was asked for", || handled(&rig, 6)).await;
                std::fs::write(rig.path("go"), "").unwrap();
            };
            futures::join!(joined, go).0
        };
        futures::join!(cleaned, again)
    };
    let (first, (cleaned, joined)) = futures::join!(first, cleaned);
    assert!(silence(first).contains("the hook was cancelled: the box has a newer request"));
    assert_eq!((cleaned, joined), (DONE, DONE));
    assert_eq!((rig.text("inits").as_str(), rig.text("cleanups").as_str()), ("\n", "\n"));
    Ok(())
}

#[actix::test]
async fn a_pool_that_hangs_delays_no_other() -> Result<()> {
    let slow = hooks("slow", &format!("echo >> DIR/slow; {UNTIL_GO}"), "exit 0", "");
    let quick = hooks("quick", "exit 0", "exit 0", "");
    let rig = HostRig::start(&format!("box.hooks_at_once = 1\n{slow}{quick}")).await?;
    let hang = (0..5).map(|number| rig.run(rig.hook("slow", HookKind::Init, number, 1)));
    let hang = futures::future::join_all(hang);
    let others = async {
        rig.has("slow").await;
        for number in 0..3 {
            assert_eq!(rig.run(rig.hook("quick", HookKind::Init, number, 1)).await, DONE);
        }
        assert_eq!(rig.text("slow").lines().count(), 1, "one at a time");
        std::fs::write(rig.path("go"), "").unwrap();
    };
    let (hung, ()) = futures::join!(hang, others);
    assert!(hung.iter().all(|answer| *answer == DONE));
    Ok(())
}

#[actix::test]
async fn a_refusal_has_a_reason() -> Result<()> {
    let rig = HostRig::start(&hooks("p", "exit 0", "exit 0", "")).await?;
    let init = || rig.hook("p", HookKind::Init, 1, 9);
    assert_eq!(rig.run(init()).await, DONE);
    let mut deposed = init();
    deposed.place.epoch = Epoch(4);
    let why = silence(rig.run(deposed).await);
    assert!(
        why.starts_with("epoch 4 is out of date: this worker knows a leader of epoch 5"),
        "{why}"
    );
    let mut unknown = init();
    unknown.place.hooks = HooksName::new("other").ok();
    let why = silence(rig.run(unknown).await);
    assert!(why.contains("has no hooks named \"other\"") && why.ends_with("has p"), "{why}");
    assert!(rig.look("q", 1).await.unwrap_err().contains("no hooks named \"q\""));
    let http = reelyard_protocol::http_client::without_tls().build()?;
    let url = format!("http://{}/boxes/run", rig.host);
    assert_eq!(http.post(&url).body("{}").send().await?.status(), 401);
    let answer = http.post(&url).bearer_auth("opensesame-0123456789").body("{").send().await?;
    assert_eq!(answer.status(), 400);
    assert!(answer.text().await?.starts_with("the body is not valid: "));
    rig.link.change_settings(BoxLinkSettings::new(None, PATIENCE))?;
    assert!(silence(rig.run(init()).await).contains("expects another token"));
    Ok(())
}

#[actix::test]
async fn a_worker_that_was_killed_ends_its_hooks_when_it_starts_again() -> Result<()> {
    let init =
        "mkdir DIR/of-$1; setsid sleep 600 & echo $! > DIR/away; echo $$ > DIR/init; sleep 600";
    let more = "no_directory = [\"DIR/of-{box}\"]";
    let mut rig = HostRig::start(&hooks("p", init, "rmdir DIR/of-$1", more)).await?;
    let answer = rig.run(rig.hook("p", HookKind::Init, 1, 1));
    let (init, away) = {
        let killed = async { (rig.process("init").await, rig.process("away").await) };
        futures::pin_mut!(answer);
        match futures::future::select(answer, Box::pin(killed)).await {
            futures::future::Either::Right((pids, _)) => pids,
            futures::future::Either::Left((answer, _)) => panic!("it ended: {answer:?}"),
        }
    };
    rig.worker.kill();
    let gone = silence(rig.run(rig.hook("p", HookKind::Cleanup, 1, 1)).await);
    assert!(gone.contains("cannot be reached"), "{gone}");
    assert!(is_alive(init) && is_alive(away), "they still run");
    rig.worker.start_again()?;
    rig.is_up().await;
    assert!(!is_alive(init) && !is_alive(away));
    assert!(rig.worker.log_text().contains("hooks of an earlier run ended"));
    let looked = rig.look("p", 2).await.unwrap();
    assert!(looked[0].dirt.is_none() && looked[1].dirt.is_some());
    assert_eq!(rig.run(rig.hook("p", HookKind::Cleanup, 1, 1)).await, DONE);
    // A worker that stops in order ends the hooks itself.
    let answer = rig.run(rig.hook("p", HookKind::Init, 1, 2));
    std::fs::remove_file(rig.path("init"))?;
    let running = async {
        let init = rig.process("init").await;
        (init, rustix::process::Pid::from_raw(rig.worker.process().unwrap() as i32).unwrap())
    };
    let stopped = async {
        let (init, worker) = running.await;
        rustix::process::kill_process(worker, rustix::process::Signal::TERM).unwrap();
        init
    };
    let (answer, init) = futures::join!(answer, stopped);
    assert!(silence(answer).contains("the worker is stopping"));
    rig.ended(init).await;
    Ok(())
}

#[actix::test]
async fn a_new_configuration_applies_to_later_hooks() -> Result<()> {
    let before = format!("echo > DIR/begun; {UNTIL_GO}");
    let rig = HostRig::start(&hooks("p", &before, "exit 0", "")).await?;
    let running = rig.run(rig.hook("p", HookKind::Init, 1, 1));
    let changed = async {
        rig.has("begun").await;
        rig.reload(&hooks("q", "exit 9", "exit 0", "")).unwrap();
        eventually("it is read", || rig.worker.log_text().contains("setting changed: box.hooks"))
            .await;
        let why = silence(rig.run(rig.hook("p", HookKind::Init, 2, 1)).await);
        assert!(why.ends_with("has q"), "{why}");
        let output = evidence(rig.run(rig.hook("q", HookKind::Init, 2, 1)).await);
        assert_eq!(output, "init ended with exit code 9");
        std::fs::write(rig.path("go"), "").unwrap();
    };
    let (ran, ()) = futures::join!(running, changed);
    assert_eq!(ran, DONE);
    Ok(())
}

#[test]
fn a_worker_ends_a_hook_before_a_node_stops_waiting() {
    let template = Template::parse("true", TemplateBlank::IN_ARGUMENTS).unwrap();
    let program =
        HookProgram { path: "/bin/sh".into(), arguments: vec![template], timeout: LONGEST_TIMEOUT };
    let hooks = HookSet {
        init: Some(program.clone()),
        cleanup: Some(program),
        grace: LONGEST_GRACE,
        environment: Default::default(),
        done: vec![0],
        cleanup_again_on: Vec::new(),
        checks: Default::default(),
    };
    for kind in [HookKind::Init, HookKind::Cleanup] {
        assert!(hooks.longest(kind) + Duration::from_secs(60) < LONGEST_CALL);
    }
}
