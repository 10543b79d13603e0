//! The clients of three nodes while the node that they use is paused, and while it is killed: commands, `box run`, the
//! Python package and streams. They know only one address, or two, and learn the others.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::binary::{self, ProgramOutput};
use reelyard_integration_tests::rigs::node_cluster::NodeCluster;
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::Value;

use crate::stub::{StubCall, StubNode};

/// Term of the leases. A renewal is due after a third of it.
const TTL: &str = "15s";

/// A silent node is noticed within this time; the rest is for a loaded machine.
const NOTICED: Duration = Duration::from_secs(10);

/// A client that runs during the whole test, with its output in files.
struct LongClient {
    name: &'static str,
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl LongClient {
    fn start(name: &'static str, dir: &Path, command: &mut Command) -> Result<Self> {
        let (out, err) = (dir.join(format!("{name}.out")), dir.join(format!("{name}.err")));
        command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
        Ok(LongClient { name, child: command.spawn()?, out, err })
    }

    fn out(&self) -> String {
        std::fs::read_to_string(&self.out).unwrap_or_default()
    }

    fn err(&self) -> String {
        std::fs::read_to_string(&self.err).unwrap_or_default()
    }

    fn wait_for(&self, what: &str, holds: impl Fn(&LongClient) -> bool) -> Result<()> {
        let found = wait_for(what, &[], || holds(self).then_some(()));
        found.with_context(|| format!("{}: {}\n{}", self.name, self.out(), self.err()))
    }

    fn ends_well(&mut self) -> Result<()> {
        let status = self.child.wait()?;
        ensure!(status.success(), "{}: {status}\n{}\n{}", self.name, self.out(), self.err());
        Ok(())
    }
}

impl Drop for LongClient {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Three nodes with a pool and a file to share.
struct ClusterOfClients {
    cluster: NodeCluster,
}

impl ClusterOfClients {
    fn form() -> Result<Self> {
        let mut cluster = NodeCluster::three()?;
        let root = cluster.path().join("films");
        std::fs::create_dir(&root)?;
        std::fs::write(root.join("film"), "film")?;
        cluster.share_films(&root)?;
        let put = cluster.call(0, &["box", "pools", "put", "judge", "--size", "3"]);
        ensure!(put.code == Some(0), "{}", put.err);
        Ok(ClusterOfClients { cluster })
    }

    fn dir(&self) -> &Path {
        self.cluster.path()
    }

    fn url(&self, index: usize) -> String {
        format!("http://{}", self.cluster.nodes[index].api)
    }

    /// A command for these nodes only.
    fn command(&self, nodes: &[usize], arguments: &[&str]) -> Command {
        let urls: Vec<String> = nodes.iter().map(|index| self.url(*index)).collect();
        let mut command = binary::reelyard(arguments);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("REELYARD_URL", urls.join(","));
        command.env("REELYARD_TOKEN_FILE", self.cluster.nodes[0].data_dir.join("admin.token"));
        command
    }

    fn run(&self, nodes: &[usize], arguments: &[&str]) -> ProgramOutput {
        binary::ended(&mut self.command(nodes, arguments))
    }

    /// A program that holds a box until the file `stop` is there.
    fn box_run(&self, node: usize) -> Result<LongClient> {
        let stop = self.dir().join("stop").display().to_string();
        let job = format!(
            "echo $REELYARD_BOX_TOKEN; while [ ! -e {stop} ]; do sleep 0.1; done; echo done"
        );
        let arguments =
            ["box", "run", "--pool", "judge", "--ttl", TTL, "--holder", "command", "--"];
        let mut command = self.command(&[node], &arguments);
        LongClient::start("box run", self.dir(), command.args(["sh", "-c", &job]))
    }

    /// The same with the Python package.
    fn python(&self, node: usize) -> Result<LongClient> {
        let stop = self.dir().join("stop").display().to_string();
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/clients/python/src");
        let text = format!(
            "import os, time\nfrom reelyard_boxes import Boxes\n\
             with Boxes(holder='python').hold('judge', ttl=15) as held:\n\
             \x20   print(held.token)\n\
             \x20   while not os.path.exists('{stop}'): held.check(); time.sleep(0.1)\n\
             print('done')"
        );
        let token = std::fs::read_to_string(self.cluster.nodes[0].data_dir.join("admin.token"))?;
        let mut python = Command::new("python3");
        python.args(["-u", "-c", &text]).env("PYTHONPATH", package);
        python.env("PYTHONDONTWRITEBYTECODE", "1").env("REELYARD_TOKEN", token.trim());
        LongClient::start("python", self.dir(), python.env("REELYARD_URL", self.url(node)))
    }

    /// The answer of a node that answers. It costs less than a command, because it is asked for often.
    fn get(&self, index: usize, path: &str) -> Option<Value> {
        let answer = self.cluster.request(index, "GET", &format!("/api/v1/{path}"), "")?;
        if answer.status == 200 { serde_json::from_str(&answer.body).ok() } else { None }
    }

    /// The renewals of each holder. None while no node leads.
    fn renewals(&self, index: usize) -> Option<[u64; 2]> {
        let leases = self.get(index, "pools/judge/leases")?;
        let leases = leases["items"].as_array()?.clone();
        let of = |holder: &str| {
            leases.iter().find(|lease| lease["holder"] == holder)?["renewals"].as_u64()
        };
        Some([of("command")?, of("python")?])
    }

    /// Waits until each holder has renewed its lease twice more.
    fn wait_for_renewals(&self, index: usize, when: &str) -> Result<()> {
        let process = self.cluster.process(index)?;
        let before = wait_for("the leases are listed", &[process], || self.renewals(index))?;
        wait_for(&format!("both leases are renewed {when}"), &[process], || {
            let now = self.renewals(index)?;
            // Renewals are seconds apart.
            std::thread::sleep(Duration::from_millis(200));
            (now[0] >= before[0] + 2 && now[1] >= before[1] + 2).then_some(())
        })
    }

    fn shares(&self, index: usize) -> Option<usize> {
        Some(self.get(index, "shares")?["items"].as_array()?.len())
    }
}

/// Runs a command for two nodes. The second one is not called again after `second`.
fn with_two_nodes(
    arguments: &[&str],
    first: impl FnOnce(StubCall),
    second: impl FnOnce(&StubNode, (Value, Option<String>)),
) -> ProgramOutput {
    let nodes = [StubNode::start(), StubNode::start()];
    let urls = format!("{},{}", nodes[0].addr, nodes[1].addr);
    let more = ["--url", &urls, "--token", "open-sesame-open-now"];
    let mut command = binary::reelyard(&[arguments, &more].concat());
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| binary::ended(&mut command));
        let call = nodes[0].next();
        let request = (call.body.clone(), call.id.clone());
        first(call);
        second(&nodes[1], request);
        let ended = ended.join().unwrap();
        assert!(nodes[1].already().is_none(), "the second node is asked again: {}", ended.err);
        ended
    })
}

/// The request at the second node is the same. It is refused.
fn has_the_same(second: &StubNode, request: (Value, Option<String>)) {
    let again = second.next();
    assert_eq!((&again.body, &again.id), (&request.0, &request.1));
    again.refuse(409, "limit-reached");
}

const REFUSED: &str = "reelyard: the node refused: no\n";

const TOKEN: [&str; 5] = ["token", "create", "ci", "--role", "viewer"];

const QUARANTINE: [&str; 6] = ["box", "quarantine", "p", "3", "--reason", "slow"];

#[test]
fn a_lost_answer_is_asked_for_under_the_same_id_only() {
    let has_id = |lost: &(Value, Option<String>)| {
        let id = lost.0["request_id"].as_str().or(lost.1.as_deref());
        assert_eq!(id.map(str::is_empty), Some(false), "{lost:?}");
    };
    for arguments in [&SHARE[..], &QUARANTINE] {
        let refused = with_two_nodes(arguments, drop, |second, lost| {
            has_id(&lost);
            has_the_same(second, lost);
        });
        assert_eq!((refused.code, refused.err.as_str()), (Some(4), REFUSED));
    }
    // The secret of the first one is lost.
    let unknown = with_two_nodes(&TOKEN, drop, |_, _| ());
    assert_eq!(unknown.code, Some(3), "{}", unknown.err);
    let expected = "It may have been carried out: look at the present state before you repeat it";
    assert!(unknown.err.contains(expected), "{}", unknown.err);
}

#[test]
fn a_node_that_did_nothing_is_left_for_the_next() {
    for arguments in [&SHARE[..], &QUARANTINE, &TOKEN] {
        let refused =
            with_two_nodes(arguments, |first| first.refuse(503, "not-leader"), has_the_same);
        assert_eq!((refused.code, refused.err.as_str()), (Some(4), REFUSED));
    }
    let busy = with_two_nodes(&QUARANTINE, |first| first.refuse(503, "busy"), |_, _| ());
    assert_eq!(busy.code, Some(1), "{}", busy.err);
}

#[test]
fn a_wait_for_a_box_goes_on_at_another_node() {
    let acquire = ["box", "acquire", "p", "--holder", "me", "--wait", "60s"];
    let waited = with_two_nodes(&acquire, StubCall::begin_events, |second, (lost, _)| {
        let again = second.next();
        assert_eq!(again.body["request_id"], lost["request_id"]);
        assert_ne!(again.body["wait"], lost["wait"], "less time is left");
        again.refuse(409, "limit-reached");
    });
    assert_eq!(waited.code, Some(4), "{}", waited.err);
    assert!(waited.err.contains("; waiting at another node\n"), "{}", waited.err);
}

const SHARE: [&str; 5] = ["share", "create", "films/film", "--ttl", "1h"];

#[test]
fn clients_go_on_at_another_node_and_nothing_is_done_twice() -> Result<()> {
    let mut yard = ClusterOfClients::form()?;
    let (leader, _) = yard.cluster.leader(0)?;
    let (used, third) = ((leader + 1) % 3, (leader + 2) % 3);
    let mut holders = [yard.box_run(used)?, yard.python(used)?];
    let events = ["events", "--kinds", "share,configuration", "-o", "json"];
    let events = LongClient::start("events", yard.dir(), &mut yard.command(&[used], &events))?;
    let watch = ["box", "leases", "judge", "--watch=1s"];
    let watch = LongClient::start("watch", yard.dir(), &mut yard.command(&[used], &watch))?;
    for holder in &holders {
        holder.wait_for("it has a box", |holder| holder.out().ends_with('\n'))?;
    }
    watch.wait_for("it prints", |watch| watch.out().contains("python"))?;
    // The first event shows that the stream has begun.
    let created = yard.run(&[used], &SHARE);
    ensure!(created.code == Some(0), "{}", created.err);
    wait_for("an event arrives", &[], || {
        let reloaded = yard.cluster.call(used, &["config", "reload"]);
        (reloaded.code == Some(0) && !events.out().is_empty()).then_some(())
    })?;

    // The node that they use is paused: it accepts connections, and answers nothing.
    yard.cluster.process(used)?.pause()?;
    let began = Instant::now();
    let created = yard.run(&[used, leader], &SHARE);
    ensure!(created.code == Some(0), "{}", created.err);
    ensure!(began.elapsed() < NOTICED, "it took {:?}", began.elapsed());
    // A change without a request id is not even sent to a silent node.
    let token = ["token", "create", "by-a-client", "--role", "viewer"];
    let made = yard.run(&[used, leader], &token);
    ensure!(made.code == Some(0), "{}", made.err);
    yard.wait_for_renewals(leader, "while their node is paused")?;
    events.wait_for("it goes on", |events| events.err().contains("going on at another node"))?;
    watch.wait_for("it goes on", |watch| watch.err().contains("going on at"))?;
    yard.cluster.process(used)?.wake()?;
    wait_for("the node reads what it got during the pause", &[], || {
        (!yard.cluster.has_waiting_request(used)).then_some(())
    })?;
    wait_for("the node is up to date", &[yard.cluster.process(used)?], || {
        (yard.shares(used)? == 2).then_some(())
    })?;

    // The leader is killed with a request that it has not answered.
    yard.cluster.process(leader)?.pause()?;
    let mut command = yard.command(&[leader, third], &SHARE);
    let mut late = LongClient::start("late", yard.dir(), &mut command)?;
    wait_for("the leader has the request", &[], || {
        yard.cluster.has_waiting_request(leader).then_some(())
    })?;
    if let Some(process) = &mut yard.cluster.nodes[leader].process {
        process.kill();
    }
    late.ends_well()?;
    yard.wait_for_renewals(third, "after their node was killed")?;
    let shares = yard.shares(third);
    assert_eq!(shares, Some(3), "one for each command");
    let last = yard.run(&[leader, third], &[&SHARE[..], &["--owner", "last"]].concat());
    ensure!(last.code == Some(0), "{}", last.err);
    events.wait_for("a later event arrives", |events| events.out().contains("\"last\""))?;

    std::fs::write(yard.dir().join("stop"), "")?;
    for holder in &mut holders {
        holder.ends_well()?;
        let out = holder.out();
        assert!(out.lines().count() == 2 && out.ends_with("done\n"), "{}: {out}", holder.name);
    }
    let pools = yard.get(third, "pools").context("no pools")?;
    let totals = &pools["items"][0]["totals"];
    let ends =
        ["granted", "released", "expired", "revoked", "not_taken"].map(|end| totals[end].as_u64());
    assert_eq!(ends, [2, 2, 0, 0, 0].map(Some), "{totals}");

    // Nobody answers: each address has its failure.
    for index in [used, third] {
        if let Some(process) = &mut yard.cluster.nodes[index].process {
            process.kill();
        }
    }
    let nobody = yard.run(&[0, 1, 2], &["hosts"]);
    assert_eq!(nobody.code, Some(3), "{}", nobody.err);
    for index in 0..3 {
        assert!(nobody.err.contains(&format!("{}/: ", yard.url(index))), "{}", nobody.err);
    }
    Ok(())
}
