//! The throughput of share links, in comparison with nginx, and the rate of new links over HTTP. `wrk`
//! measures both.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::tls::certificate::Pem;
use reelyard_integration_tests::rigs::yard::{RoleProcess, bearer_in, free_addr, wait_for};
use serde_json::{Value, json};

use crate::figure::{BenchFigure, FigureTarget};
use crate::peers::Nginx;
use crate::peers::wrk;

/// The number of shared files. All of them are in the page cache.
const FILES: usize = 16;
const FILE: usize = 64 << 20;

/// The size of a range in bytes.
const RANGE: usize = 1 << 20;

/// The number of clients that request ranges.
const READERS: usize = 16;

/// The number of clients that create links.
const MAKERS: usize = 64;

/// The duration of each measurement.
const SPAN: Duration = Duration::from_secs(8);

/// The number of alternating runs. The best one counts, because noise only slows a run down.
const TIMES: usize = 3;

/// Measures the throughput of downloads and the rate of new links.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let dir = tempfile::tempdir()?;
    let films = dir.path().join("films");
    std::fs::create_dir(&films)?;
    let mut contents = vec![0; FILE];
    for number in 0..FILES {
        fastrand::Rng::with_seed(number as u64).fill(&mut contents);
        std::fs::write(films.join(format!("{number}.mpg")), &contents)?;
    }
    let node = ShareLinkBenchNode::start(dir.path(), "node", &films, None)?;
    let nginx = Nginx::start(&films, dir.path())?;
    let (ours, theirs) = sent(dir.path(), &node, &nginx)?;
    drop(nginx);
    let pem = Pem::make(dir.path(), "links");
    let node_tls = ShareLinkBenchNode::start(dir.path(), "node-tls", &films, Some(&pem))?;
    let nginx = Nginx::start_tls(&films, dir.path(), &pem)?;
    let (ours_tls, theirs_tls) = sent(dir.path(), &node_tls, &nginx)?;
    drop((nginx, node_tls));
    let made = wrk::answers_per_second(
        &node.api_url(),
        &makes(dir.path(), &node.authorization(), FILES)?,
        MAKERS,
        SPAN,
    )?;
    Ok(vec![
        BenchFigure::new(
            format!("ranges of 1 MiB of shared files, {READERS} connections"),
            ours,
            "MB/s",
            FigureTarget::TimesPeer(0.6),
        )
        .beside("nginx, sendfile", theirs),
        BenchFigure::new(
            format!("ranges of 1 MiB of shared files under TLS, {READERS} connections"),
            ours_tls,
            "MB/s",
            FigureTarget::TimesPeer(1.0),
        )
        .beside("nginx, TLS", theirs_tls),
        BenchFigure::new(
            format!("shares created over HTTP, durable, {MAKERS} connections"),
            made,
            "/s",
            FigureTarget::AtLeast(10_000.0),
        ),
    ])
}

/// The megabytes per second of a node's links, and of nginx with the same files.
fn sent(dir: &Path, node: &ShareLinkBenchNode, nginx: &Nginx) -> Result<(f64, f64)> {
    let links: Vec<String> = (0..FILES).map(|number| node.share(number)).collect::<Result<_>>()?;
    let names: Vec<String> = (0..FILES).map(|number| format!("/{number}.mpg")).collect();
    let (mut ours, mut theirs): (f64, f64) = (0.0, 0.0);
    for _ in 0..TIMES {
        let script = ranges(dir, &links)?;
        ours = ours.max(wrk::answers_per_second(&node.links_url(), &script, READERS, SPAN)?);
        let script = ranges(dir, &names)?;
        theirs = theirs.max(wrk::answers_per_second(&nginx.url(), &script, READERS, SPAN)?);
    }
    let rate = |answers: f64| answers * RANGE as f64 / 1e6;
    Ok((rate(ours), rate(theirs)))
}

/// A node with a share root and its API.
struct ShareLinkBenchNode {
    role: RoleProcess,
    data_dir: PathBuf,
    api: SocketAddr,
    links: SocketAddr,
    scheme: &'static str,
}

impl ShareLinkBenchNode {
    /// Starts a node with its files in `dir/name`. With a certificate its links use TLS.
    fn start(dir: &Path, name: &str, films: &Path, pem: Option<&Pem>) -> Result<Self> {
        let (api, links) = (free_addr(Ipv4Addr::LOCALHOST)?, free_addr(Ipv4Addr::LOCALHOST)?);
        let mut settings = vec![
            ("listen", api.to_string()),
            ("data_dir", dir.join(name).display().to_string()),
            ("share.roots", format!("{{ films = \"{}\" }}", films.display())),
            ("share.listen", links.to_string()),
        ];
        if let Some(Pem { certificate, key }) = pem {
            settings.push(("share.tls.certificate", certificate.display().to_string()));
            settings.push(("share.tls.key", key.display().to_string()));
        }
        let settings: Vec<_> =
            settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let role = RoleProcess::start("node", &settings, dir.join(format!("{name}.log")))?;
        let scheme = if pem.is_some() { "https" } else { "http" };
        let node = ShareLinkBenchNode { role, data_dir: dir.join(name), api, links, scheme };
        wait_for("the node answers", &[&node.role], || node.ask("/shares/reclaim", None).ok())?;
        Ok(node)
    }

    /// Calls the API and waits for the answer.
    fn ask(&self, path: &str, body: Option<Value>) -> Result<Value> {
        let mut curl = Command::new("curl");
        curl.args(["-sf", "-m", "20", "-H", &bearer_in(&self.data_dir)]);
        if let Some(body) = body {
            curl.args(["-H", "content-type: application/json", "-d", &body.to_string()]);
        }
        let output = curl.arg(format!("{}/api/v1{path}", self.api_url())).output()?;
        ensure!(output.status.success(), "{path} was not answered");
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Shares a file. Returns the path of its download.
    fn share(&self, number: usize) -> Result<String> {
        let share = self.ask("/shares", Some(json!({ "path": format!("films/{number}.mpg") })))?;
        let id = share["id"].as_str().context("a share without an id")?;
        Ok(format!("/s/{id}/file"))
    }

    fn authorization(&self) -> String {
        bearer_in(&self.data_dir).replace("Authorization: ", "")
    }

    fn api_url(&self) -> String {
        format!("http://{}", self.api)
    }

    fn links_url(&self) -> String {
        format!("{}://{}", self.scheme, self.links)
    }
}

/// A script that requests random ranges of these paths.
fn ranges(dir: &Path, paths: &[String]) -> Result<String> {
    let paths: String = paths.iter().map(|path| format!("\"{path}\", ")).collect();
    let pieces = FILE / RANGE;
    wrk::script(
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

/// A script that creates a link to one of `files` files with each request.
pub fn makes(dir: &Path, authorization: &str, files: usize) -> Result<String> {
    let script = format!(
        "wrk.headers['Content-Type'] = 'application/json'\n\
         function request()\n\
           local minutes = math.random(60, 40000)\n\
           local body = string.format('{{\"path\":\"films/%d.mpg\",\"ttl\":\"%dm\"}}', math.random(0, {files} - 1), minutes)\n\
           return wrk.format(\"POST\", \"/api/v1/shares\", nil, body)\n\
         end\n"
    );
    wrk::script(dir, &wrk::authorized(authorization, &script))
}
