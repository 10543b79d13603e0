//! Moves of shared paths on a real node that is killed meanwhile.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use anyhow::Result;
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, free_addr, wait_for};
use serde_json::{Value, json};

/// The status and body of curl's answer; status 0 without an answer.
fn curl(arguments: &[&str]) -> (u16, String) {
    let mut curl = Command::new("curl");
    let output = curl.args(["-s", "-m", "20", "-w", "\n%{http_code}"]).args(arguments).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').unwrap();
    (status.parse().unwrap(), body.to_owned())
}

fn ask(ground: &ProcessYard, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let (body, url) = (body.to_string(), format!("http://{}/api/v1{path}", ground.node));
    let bearer = ground.bearer();
    let mut arguments = vec!["-X", method, "-H", &bearer, &url];
    if body != "null" {
        arguments.extend(["-H", "content-type: application/json", "-d", &body]);
    }
    let (status, body) = curl(&arguments);
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

/// A shared path that is moved between two places.
#[derive(Clone, Debug)]
struct Shuttle {
    /// Its two paths below the root, and the index of the present one.
    paths: [&'static str; 2],
    at: usize,
    /// The shared path below it, and the content of that file.
    below: &'static str,
    bytes: &'static str,
    id: String,
    url: String,
}

/// A client that moves, and its request without an answer.
#[derive(Clone, Debug)]
struct Mover {
    shuttles: [Shuttle; 2],
    made: usize,
    open: Option<(usize, Value)>,
}

impl Mover {
    /// Moves repeatedly until one request gets no answer.
    fn work(&mut self, ground: &ProcessYard) {
        while self.open.is_none() {
            let moved = self.made % 2;
            let Shuttle { paths, at, .. } = self.shuttles[moved];
            let [from, to] = [paths[at], paths[1 - at]].map(|path| format!("films/{path}"));
            let name = format!("move {}", self.made);
            let body = json!({ "from": from, "to": to, "request_id": name });
            match ask(ground, "POST", "/files/move", &body) {
                (200, _) => self.shuttles[moved].at = 1 - at,
                (0, _) => self.open = Some((moved, body)),
                entry => panic!("{body}: {entry:?}"),
            }
            self.made += 1;
        }
    }

    /// Repeats the request under the same name: the move was done, is done now, or is refused permanently.
    fn repeat_open_request(&mut self, ground: &ProcessYard) {
        let Some((moved, body)) = self.open.take() else { return };
        match ask(ground, "POST", "/files/move", &body) {
            (200, _) => self.shuttles[moved].at = 1 - self.shuttles[moved].at,
            (409, entry) => {
                assert_eq!(entry["type"], "urn:reelyard:problem:changed-meanwhile", "{entry}");
            }
            entry => panic!("{body}: {entry:?}"),
        }
    }
}

struct ShareMoveYard {
    ground: Arc<ProcessYard>,
    node: RoleProcess,
    mover: Mover,
}

impl ShareMoveYard {
    fn start() -> Result<Self> {
        let ground = Arc::new(ProcessYard::new(1, 0)?);
        let root = ground.path("films");
        std::fs::create_dir_all(root.join("new"))?;
        std::fs::write(root.join("a.mpg"), b"0123456789")?;
        std::fs::write(root.join("new/b.mpg"), b"abc")?;
        let links = free_addr(Ipv4Addr::LOCALHOST)?.to_string();
        let roots = format!("{{ films = \"{}\" }}", root.display());
        let node = ground.start_node(&[("share.roots", &roots), ("share.listen", &links)])?;
        wait_for("the node leads", &[&node], || {
            (ask(&ground, "PUT", "/shares/reclaim", &json!({ "paused": false })).0 == 200)
                .then_some(())
        })?;
        let shared = |paths: [&'static str; 2], below: &'static str, bytes| {
            let wanted = json!({ "path": format!("films/{}{below}", paths[0]) });
            let (status, share) = ask(&ground, "POST", "/shares", &wanted);
            assert_eq!(status, 201, "{share}");
            let word = |name: &str| share[name].as_str().unwrap().to_owned();
            Shuttle { paths, at: 0, below, bytes, id: word("id"), url: word("url") }
        };
        let shuttles =
            [shared(["new", "old"], "/b.mpg", "abc"), shared(["a.mpg", "c.mpg"], "", "0123456789")];
        let mover = Mover { shuttles, made: 0, open: None };
        Ok(ShareMoveYard { ground, node, mover })
    }

    fn root(&self) -> PathBuf {
        self.ground.path("films")
    }

    /// Starts moves, and kills the node after `moves` of them.
    fn kill_while_it_moves(&mut self, moves: u64) -> Result<()> {
        let (ground, mut mover) = (Arc::clone(&self.ground), self.mover.clone());
        let node = ground.node;
        let handled = || {
            let metrics = curl(&[&format!("http://{node}/metrics")]).1;
            let line = "reelyard_actor_messages_handled_total{actor=\"share_files\"} ";
            metrics.lines().find_map(|entry| entry.strip_prefix(line))?.parse::<u64>().ok()
        };
        let before = wait_for("it counts", &[&self.node], handled)?;
        let moving = std::thread::spawn(move || {
            mover.work(&ground);
            mover
        });
        wait_for("moves are made", &[&self.node], || {
            (handled()? >= before + 2 * moves).then_some(())
        })?;
        self.node.kill();
        self.mover = moving.join().unwrap();
        Ok(())
    }

    /// Checks that the first relevant answer of each link is the shared content.
    fn links_answer(&self) -> Result<()> {
        for Shuttle { url, bytes, .. } in &self.mover.shuttles {
            let message = wait_for("the link is answered", &[&self.node], || {
                let message = curl(&[&format!("{url}/file")]);
                Some(message).filter(|(status, _)| ![0, 503].contains(status))
            })?;
            assert_eq!(message, (200, (*bytes).to_owned()), "{:?}", self.mover);
        }
        Ok(())
    }

    /// Checks that every file is at its reported path, and that its share agrees.
    fn every_file_is_at_its_reported_place(&self) {
        for Shuttle { paths, at, below, bytes, id, .. } in &self.mover.shuttles {
            let (here, there) = (self.root().join(paths[*at]), self.root().join(paths[1 - at]));
            assert!(here.exists() && !there.exists(), "{:?}", self.mover);
            let (_, shown) = ask(&self.ground, "GET", &format!("/shares/{id}"), &Value::Null);
            assert_eq!(shown["path"], format!("films/{}{below}", paths[*at]), "{:?}", self.mover);
            let file = self.root().join(format!("{}{below}", paths[*at]));
            assert_eq!(std::fs::read_to_string(file).unwrap(), **bytes);
        }
    }

    fn unsettled(&self) -> Vec<Value> {
        let (status, moves) = ask(&self.ground, "GET", "/files/moves", &Value::Null);
        let items = moves["items"].as_array().cloned();
        items.filter(|_| status == 200).unwrap_or_default()
    }

    fn until_it_leads(&self) -> Result<()> {
        wait_for("the node leads", &[&self.node], || {
            let body = json!({ "paused": false });
            (ask(&self.ground, "PUT", "/shares/reclaim", &body).0 == 200).then_some(())
        })
    }
}

#[test]
fn every_answer_holds_and_every_link_works() -> Result<()> {
    let mut place = ShareMoveYard::start()?;
    for round in 0..6 {
        // At another time in each round.
        place.kill_while_it_moves(2 + round)?;
        place.node.start_again()?;
        place.links_answer()?;
        place.until_it_leads()?;
        place.mover.repeat_open_request(&place.ground);
        place.every_file_is_at_its_reported_place();
    }
    assert!(place.mover.made > 20, "{:?}", place.mover);
    Ok(())
}

#[test]
fn a_move_that_cannot_be_settled_is_shown() -> Result<()> {
    let mut place = ShareMoveYard::start()?;
    let (root, aside) = (place.root(), place.ground.path("aside"));
    // Repeats until the kill falls between the record of a move and its answer.
    let seen = wait_for("a move is found begun", &[], || {
        place.kill_while_it_moves(1).unwrap();
        std::fs::rename(&root, &aside).unwrap();
        std::fs::create_dir(&root).unwrap();
        place.node.start_again().unwrap();
        place.until_it_leads().unwrap();
        let seen = wait_for("the pass has checked it", &[&place.node], || {
            let moves = place.unsettled();
            moves.iter().all(|one| one["why"].is_string()).then_some(moves)
        });
        let seen = seen.unwrap().into_iter().next();
        if seen.is_none() {
            place.node.kill();
            std::fs::remove_dir(&root).unwrap();
            std::fs::rename(&aside, &root).unwrap();
            place.node.start_again().unwrap();
            place.until_it_leads().unwrap();
            place.mover.repeat_open_request(&place.ground);
        }
        seen
    })?;
    assert!(seen["why"].as_str().unwrap().contains("films: it is empty"), "{seen}");
    let listed =
        binary::run(&["share", "moves", "--url", &format!("http://{}", place.ground.node)]);
    let from = seen["from"].as_str().unwrap();
    assert!(
        listed.out.contains(from) && listed.out.contains("empty"),
        "{}{}",
        listed.out,
        listed.err
    );
    let metrics = curl(&[&format!("http://{}/metrics", place.ground.node)]).1;
    assert!(metrics.lines().any(|line| line == "reelyard_share_moves_unsettled 1"), "{metrics}");
    assert!(metrics.contains("\nreelyard_share_moves_unsettled_oldest_seconds "), "{metrics}");
    place.node.kill();
    std::fs::remove_dir(&root)?;
    std::fs::rename(&aside, &root)?;
    place.node.start_again()?;
    place.links_answer()?;
    place.until_it_leads()?;
    place.mover.repeat_open_request(&place.ground);
    place.every_file_is_at_its_reported_place();
    assert!(place.unsettled().is_empty());
    Ok(())
}
