//! What links send, beside nginx, and how many are made over HTTP; both asked by `wrk`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::yard::{Role, free_addr, wait_for};
use serde_json::{Value, json};

use crate::figure::{Figure, Wanted};
use crate::peers::Nginx;

/// What is shared: so many files of so many bytes, all in the page cache.
const FILES: usize = 16;
const FILE: usize = 64 << 20;

/// Bytes of a range.
const RANGE: usize = 1 << 20;

/// How many clients ask for ranges.
const READERS: u32 = 16;

/// How many clients make links.
const MAKERS: u32 = 64;

/// How long each is asked, in seconds.
const SPAN: u32 = 8;

/// How often, in turns; the best counts, as noise only slows.
const TIMES: usize = 3;

/// Measures both.
pub fn measure() -> Result<Vec<Figure>> {
    let dir = tempfile::tempdir()?;
    let films = dir.path().join("films");
    std::fs::create_dir(&films)?;
    let mut contents = vec![0; FILE];
    for number in 0..FILES {
        fastrand::Rng::with_seed(number as u64).fill(&mut contents);
        std::fs::write(films.join(format!("{number}.mpg")), &contents)?;
    }
    let node = Node::start(dir.path(), &films)?;
    let links: Vec<String> = (0..FILES).map(|number| node.share(number)).collect::<Result<_>>()?;
    let nginx = Nginx::start(&films, dir.path())?;
    let names: Vec<String> = (0..FILES).map(|number| format!("/{number}.mpg")).collect();
    let (mut ours, mut theirs): (f64, f64) = (0.0, 0.0);
    for _ in 0..TIMES {
        let script = ranges(dir.path(), &links)?;
        ours = ours.max(answers_per_second(&node.links_url(), &script, READERS)?);
        let script = ranges(dir.path(), &names)?;
        theirs = theirs.max(answers_per_second(&nginx.url(), &script, READERS)?);
    }
    drop(nginx);
    let made = answers_per_second(&node.api_url(), &makes(dir.path())?, MAKERS)?;
    let rate = |answers: f64| answers * RANGE as f64 / 1e6;
    Ok(vec![
        Figure::new(
            format!("ranges of 1 MiB of shared files, {READERS} connections"),
            rate(ours),
            "MB/s",
            Wanted::TimesPeer(0.6),
        )
        .beside("nginx, sendfile", rate(theirs)),
        Figure::new(
            format!("shares created over HTTP, durable, {MAKERS} connections"),
            made,
            "/s",
            Wanted::AtLeast(10_000.0),
        ),
    ])
}

/// A node that shares a directory.
struct Node {
    role: Role,
    api: SocketAddr,
    links: SocketAddr,
}

impl Node {
    fn start(dir: &Path, films: &Path) -> Result<Self> {
        let (api, links) = (free_addr(Ipv4Addr::LOCALHOST)?, free_addr(Ipv4Addr::LOCALHOST)?);
        let settings = [
            ("listen", api.to_string()),
            ("data_dir", dir.join("node").display().to_string()),
            ("share.roots", format!("{{ films = \"{}\" }}", films.display())),
            ("share.listen", links.to_string()),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value));
        let role = Role::start("node", &settings, dir.join("node.log"))?;
        let node = Node { role, api, links };
        wait_for("the node answers", &[&node.role], || node.ask("/shares/reclaim", None).ok())?;
        Ok(node)
    }

    /// A call of the API.
    fn ask(&self, path: &str, body: Option<Value>) -> Result<Value> {
        let mut curl = Command::new("curl");
        curl.args(["-sf", "-m", "20"]);
        if let Some(body) = body {
            curl.args(["-H", "content-type: application/json", "-d", &body.to_string()]);
        }
        let output = curl.arg(format!("{}/api/v1{path}", self.api_url())).output()?;
        ensure!(output.status.success(), "{path} was not answered");
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Shares a file; answers the path of its link's bytes.
    fn share(&self, number: usize) -> Result<String> {
        let share = self.ask("/shares", Some(json!({ "path": format!("films/{number}.mpg") })))?;
        let id = share["id"].as_str().context("a share without an id")?;
        Ok(format!("/s/{id}/file"))
    }

    fn api_url(&self) -> String {
        format!("http://{}", self.api)
    }

    fn links_url(&self) -> String {
        format!("http://{}", self.links)
    }
}

/// A script that asks for ranges of these paths at random.
fn ranges(dir: &Path, paths: &[String]) -> Result<String> {
    let paths: String = paths.iter().map(|path| format!("\"{path}\", ")).collect();
    let pieces = FILE / RANGE;
    written(
        dir,
        &format!(
            "local paths = {{ {paths} }}\n\
             function request()\n\
               local from = math.random(0, {pieces} - 1) * {RANGE}\n\
               local range = string.format(\"bytes=%d-%d\", from, from + {RANGE} - 1)\n\
               return wrk.format(\"GET\", paths[math.random(#paths)], {{ Range = range }})\n\
             end\n"
        ),
    )
}

/// A script that makes a link with each request.
fn makes(dir: &Path) -> Result<String> {
    written(
        dir,
        &format!(
            "function request()\n\
               local body = string.format('{{\"path\":\"films/%d.mpg\",\"ttl\":\"1h\"}}', math.random(0, {FILES} - 1))\n\
               return wrk.format(\"POST\", \"/api/v1/shares\", {{ [\"Content-Type\"] = \"application/json\" }}, body)\n\
             end\n"
        ),
    )
}

fn written(dir: &Path, script: &str) -> Result<String> {
    let path = dir.join("wrk.lua");
    std::fs::write(&path, script)?;
    Ok(path.display().to_string())
}

fn answers_per_second(url: &str, script: &str, clients: u32) -> Result<f64> {
    let output = Command::new("wrk")
        .args(["-t", "2", "-c", &clients.to_string(), "-d", &format!("{SPAN}s"), "-s", script, url])
        .output()
        .context("wrk")?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(output.status.success() && !text.contains("Non-2xx"), "wrk says: {text}");
    let rate = text.lines().find_map(|line| line.strip_prefix("Requests/sec:"));
    rate.with_context(|| format!("wrk says: {text}"))?.trim().parse().context("its rate")
}
