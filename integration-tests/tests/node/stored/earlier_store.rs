//! Stores of earlier versions, packed by `earlier_stores/make`: this program opens each of them, and shows
//! and continues what its node had decided. The first is a directory, the others are backups.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::binary::run;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, free_addr, wait_for};
use serde_json::{Value, json};

/// The hosts of the packed yard. None of them runs in this test.
const SOURCES: &str = "[\"127.7.0.11:8888\"]";
const DESTINATIONS: &str = "[\"127.7.0.21:8888\", \"127.7.0.22:8888\"]";

/// Every copy and removal of the packed yard, sorted.
const HISTORY: [(&str, &str, &str); 8] = [
    ("copy", "a.mpg", "127.7.0.21:8888"),
    ("copy", "b.mpg", "127.7.0.21:8888"),
    ("copy", "b.mpg", "127.7.0.22:8888"),
    ("copy", "c.mpg", "127.7.0.21:8888"),
    ("copy", "d.mpg", "127.7.0.21:8888"),
    ("copy", "d.mpg", "127.7.0.22:8888"),
    ("removal", "b.mpg", "127.7.0.22:8888"),
    ("removal", "d.mpg", "127.7.0.22:8888"),
];

fn packed_stores() -> Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/node/stored/earlier_stores");
    let paths = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut stores: Vec<PathBuf> = paths.collect::<Result<_>>()?;
    stores.retain(|path| path.extension().is_some_and(|end| end == "xz"));
    stores.sort();
    Ok(stores)
}

/// The first packed store with settings on record. A second node was there for a while.
const FIRST_WITH_SETTINGS: &str = "2026-11-28.tar.xz";

/// The token of the first lease in this store. In earlier ones it is 1.
const FIRST_TOKEN: u64 = 1_795_904_190_979_001;

/// A yard whose node continues from a packed store.
struct ContinuedYard {
    ground: ProcessYard,
    node: RoleProcess,
    /// Whether the store comes from a backup: later decisions may be lost.
    was_restored: bool,
    /// The token of the first lease.
    first_token: u64,
}

impl ContinuedYard {
    /// Unpacks the store, checks it, and starts the node on it.
    fn start(store: &Path) -> Result<Self> {
        let ground = ProcessYard::new(0, 0)?;
        let unpacked =
            Command::new("tar").arg("-xf").arg(store).arg("-C").arg(ground.dir.path()).status()?;
        anyhow::ensure!(unpacked.success(), "tar cannot unpack the store: {unpacked}");
        let (node_dir, backup) = (ground.path("node"), ground.path("node.backup"));
        let node_dir = node_dir.to_str().context("a path")?;
        let was_restored = backup.exists();
        if was_restored {
            let backup = backup.to_str().context("a path")?;
            let restored = run(&["store", "restore", backup, "--data-dir", node_dir]);
            anyhow::ensure!(restored.code == Some(0), "{}{}", restored.out, restored.err);
        }
        let checked = run(&["store", "check", "--data-dir", node_dir]);
        anyhow::ensure!(checked.code == Some(0), "{}{}", checked.out, checked.err);
        ground.grade(&[b"a.mpg", b"b.mpg", b"c.mpg", b"d.mpg"])?;
        let films = ground.path("films");
        std::fs::create_dir_all(films.join("2026"))?;
        std::fs::write(films.join("2026/film.mpg"), "film")?;
        let std::net::SocketAddr::V4(api) = ground.node else { anyhow::bail!("the node is IPv4") };
        // The store is older with every run, and nothing of it may be forgotten.
        let node = ground.start_node(&[
            ("hosts.sources", SOURCES),
            ("hosts.destinations", DESTINATIONS),
            ("share.roots", &format!("{{ films = \"{}\" }}", films.display())),
            ("share.listen", &free_addr(*api.ip())?.to_string()),
            ("share.keep_ended", "3650days"),
            ("task.keep_ended", "3650days"),
            ("box.keep_ended", "3650days"),
            ("box.log_retention", "3650days"),
        ])?;
        let has_settings = store.ends_with(FIRST_WITH_SETTINGS);
        let first_token = if has_settings { FIRST_TOKEN } else { 1 };
        let yard = ContinuedYard { ground, node, was_restored, first_token };
        if has_settings {
            yard.takes_its_file_instead_of_the_record()?;
        }
        yard.until_it_leads()?;
        Ok(yard)
    }

    /// The settings on record are in force, with their pool, until the only node reloads its file.
    fn takes_its_file_instead_of_the_record(&self) -> Result<()> {
        let versions = || -> Option<Vec<u64>> {
            let page = self.ground.get("/api/v1/config/versions")?;
            page["items"].as_array()?.iter().map(|item| item["version"].as_u64()).collect()
        };
        wait_for("the settings of the store are in force", &[&self.node], || {
            let pool = self.ground.get("/api/v1/pools/players")?;
            (versions()? == [2, 1] && pool["spec"]["size"] == 2).then_some(())
        })?;
        self.node.hang_up()?;
        wait_for("its file is on record", &[&self.node], || {
            (versions()? == [3, 2, 1]).then_some(())
        })
    }

    fn until_it_leads(&self) -> Result<()> {
        wait_for("the node leads and has read its inputs", &[&self.node], || {
            let status = self.ground.get("/api/v1/status")?;
            let files = self.ground.get("/api/v1/files")?;
            let is_ready = status["ready"] == true && files["items"].as_array()?.len() == 4;
            is_ready.then_some(())
        })
    }

    fn items(&self, path: &str) -> Result<Vec<Value>> {
        let answer = self.ground.get(&format!("/api/v1/{path}")).context(path.to_owned())?;
        Ok(answer["items"].as_array().context("no items")?.clone())
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let url = format!("http://{}/api/v1/{path}", self.ground.node);
        let body = body.to_string();
        let answer = self
            .ground
            .curl()
            .args(["-H", "content-type: application/json", "-d", &body, &url])
            .output()?;
        serde_json::from_slice(&answer.stdout).with_context(|| format!("POST {path}"))
    }

    fn shows_copies(&self) -> Result<()> {
        let history = self.items("history")?;
        let mut lines: Vec<(&str, &str, &str)> = history
            .iter()
            .map(|line| (text(line, "what"), text(line, "name"), text(line, "host")))
            .collect();
        lines.sort_unstable();
        assert_eq!(lines, HISTORY);
        let tasks = self.items("tasks")?;
        assert_eq!(tasks.len(), 6);
        for task in tasks {
            assert_eq!(
                (text(&task, "state"), task["size"].as_u64()),
                ("done", Some(204_800)),
                "{task}"
            );
            assert_eq!(text(&task, "hash").len(), 64, "{task}");
        }
        for file in self.items("files")? {
            assert_eq!(file["placed_on"], json!(["127.7.0.21:8888"]), "{file}");
        }
        let pins = self.items("pins")?;
        assert_eq!((pins.len(), text(&pins[0], "name")), (1, "a.mpg"));
        Ok(())
    }

    fn shows_shares(&self) -> Result<()> {
        let mut shares = self.items("shares")?;
        // Shares with one deadline come in the order of their random ids.
        shares.sort_by_key(|share| share["kind"] == "directory");
        let paths: Vec<&str> = shares.iter().map(|share| text(share, "path")).collect();
        assert_eq!(paths, ["films/2026/film.mpg", "films/2026"]);
        let (file, directory) = (&shares[0], &shares[1]);
        assert_eq!((text(file, "note"), text(file, "state")), ("first", "live"));
        assert_eq!(
            (text(directory, "owner"), directory["max_downloads"].as_u64()),
            ("editor", Some(3))
        );
        for share in &shares {
            assert_eq!(text(share, "expires_at"), "2099-12-31T18:00:00.000Z");
        }
        let link = format!("{}/file", text(file, "url"));
        let read = Command::new("curl").args(["-sf", "-m", "30", &link]).output()?;
        assert_eq!(read.stdout, b"film", "{link}");
        // The third one was revoked.
        let metrics = format!("http://{}/metrics", self.ground.node);
        let metrics = Command::new("curl").args(["-sf", "-m", "30", &metrics]).output()?.stdout;
        let metrics = String::from_utf8(metrics)?;
        assert!(metrics.contains("\nreelyard_share_tombstones 1\n"), "{metrics}");
        Ok(())
    }

    fn shows_boxes(&self) -> Result<()> {
        let pool = self.ground.get("/api/v1/pools/judges").context("the pool")?;
        assert_eq!(pool["spec"]["labels"], json!({ "site": "test" }));
        assert_eq!(pool["totals"]["granted"], 2);
        let boxes = self.items("pools/judges/boxes")?;
        let states: Vec<&str> = boxes.iter().map(|one| text(one, "state")).collect();
        let is_given_back = matches!(states[1], "draining" | "free");
        assert!(is_given_back && [states[0], states[2]] == ["free"; 2], "{states:?}");
        assert_eq!((states[3], states.len()), ("quarantined", 4));
        let audit = self.items("pools/judges/audit")?;
        let has = |of: &[(&str, Value)]| {
            audit.iter().any(|row| of.iter().all(|(field, value)| row[field] == *value))
        };
        assert!(
            has(&[("what", json!("quarantined")), ("output", json!("slow disk"))]),
            "{audit:?}"
        );
        for (holder, behind, state) in [("job-1", 0, "released"), ("job-2", 1, "expired")] {
            let token = json!(self.first_token + behind);
            let ended = [("holder", json!(holder)), ("token", token), ("state", json!(state))];
            assert!(has(&ended), "{holder}: {audit:?}");
        }
        Ok(())
    }

    /// Waits for the end of the lease that was live when the earlier version stopped. Its holder knew that end, which
    /// has passed since then.
    fn until_the_lease_has_ended(&self) -> Result<()> {
        wait_for("the lease has ended", &[&self.node], || {
            self.items("pools/judges/leases").ok().filter(Vec::is_empty).map(drop)
        })
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[test]
fn stores_of_earlier_versions_open() -> Result<()> {
    let stores = packed_stores()?;
    anyhow::ensure!(!stores.is_empty(), "there is no packed store");
    for store in stores {
        let mut yard = ContinuedYard::start(&store)?;
        // The second round reads what this version has written behind the earlier records.
        for _ in 0..2 {
            yard.shows_copies()?;
            yard.shows_shares()?;
            yard.until_the_lease_has_ended()?;
            yard.shows_boxes()?;
            yard.node.terminate()?;
            yard.node.start_again()?;
            yard.until_it_leads()?;
        }
        // Tokens go on.
        let next = yard.post("pools/judges/leases", &json!({ "holder": "job-3" }))?;
        match yard.was_restored {
            true => {
                let lost = yard.first_token + 1000;
                assert!(next["token"].as_u64() > Some(lost), "beyond lost tokens: {next}");
            }
            false => assert_eq!(next["token"], 3, "{next}"),
        }
    }
    Ok(())
}
