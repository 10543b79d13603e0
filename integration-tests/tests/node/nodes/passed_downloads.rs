//! Share links at nodes that do not see the directory: the bytes come from the node that does.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::node_cluster::NodeCluster;
use reelyard_integration_tests::rigs::running_download::RunningDownload;
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::Value;

/// Larger than all buffers between two nodes and a client.
const FILM_BYTES: u64 = 256 << 20;

/// The bytes of the clip.
fn clip() -> Vec<u8> {
    let mut bytes = vec![0; 5 << 20];
    fastrand::Rng::with_seed(7).fill(&mut bytes);
    bytes
}

/// Three nodes with mutual TLS between them. Only the first one sees the directory: the second has none, and the third
/// has an empty one.
struct OneDirectory {
    cluster: NodeCluster,
    links: Vec<SocketAddr>,
}

/// The head without its empty line, and the body.
struct CurledLink {
    head: String,
    body: Vec<u8>,
}

impl CurledLink {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    fn is(&self, status: u16) -> bool {
        self.head.starts_with(&format!("HTTP/1.1 {status} "))
    }
}

impl OneDirectory {
    fn form() -> Result<Self> {
        let mut cluster = NodeCluster::three_with_certificates()?;
        let films = cluster.working_dir(0).join("films");
        std::fs::create_dir(&films)?;
        std::fs::create_dir(cluster.working_dir(2).join("films"))?;
        std::fs::write(films.join("clip.mpg"), clip())?;
        std::fs::create_dir_all(films.join("set/extras"))?;
        for name in ["one.mpg", "extras/two.mpg"] {
            std::fs::write(films.join("set").join(name), clip())?;
        }
        std::fs::File::create(films.join("film.mpg"))?.set_len(FILM_BYTES)?;
        cluster.make_lead(0)?;
        let links = cluster.share_films(Path::new("/proc/self/cwd/films"))?;
        let yard = OneDirectory { cluster, links };
        yard.wait_until_named()?;
        Ok(yard)
    }

    /// Waits until the directory has its id.
    fn wait_until_named(&self) -> Result<()> {
        let file = self.cluster.working_dir(0).join("films/.reelyard-root");
        wait_for("the root has an id", &[self.cluster.process(0)?], || file.exists().then_some(()))
    }

    /// The path of a new link, once each node answers it.
    fn share(&self, path: &str, more: &[&str]) -> Result<String> {
        let arguments = [&["share", "create", path, "--ttl", "1h"], more].concat();
        let created = self.cluster.call(0, &arguments);
        let link = created.out.trim().split_once("/s/").map(|(_, id)| format!("/s/{id}"));
        let link = link.with_context(|| format!("{}{}", created.out, created.err))?;
        let part = if path.ends_with(".mpg") { "file" } else { "zip" };
        for index in 0..3 {
            self.wait_for(index, &format!("{link}/{part}"), 200)?;
        }
        Ok(link)
    }

    /// Sends one request with curl.
    fn get(&self, index: usize, path: &str, more: &[&str]) -> Result<CurledLink> {
        let url = format!("http://{}{path}", self.links[index]);
        let output =
            Command::new("curl").args(["-s", "-i", "-m", "60"]).args(more).arg(&url).output()?;
        let end = output.stdout.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        let end = end.with_context(|| format!("no answer to {path}"))?;
        let head = String::from_utf8(output.stdout[..end].to_vec())?;
        Ok(CurledLink { head, body: output.stdout[end + 4..].to_vec() })
    }

    /// Waits until a node answers HEAD with this status.
    fn wait_for(&self, index: usize, path: &str, status: u16) -> Result<CurledLink> {
        let what = format!("node {index} answers {path} with {status}");
        wait_for(&what, &[self.cluster.process(index)?], || {
            self.get(index, path, &["-I"]).ok().filter(|answer| answer.is(status))
        })
    }

    /// How many downloads of a share are counted.
    fn counted(&self, link: &str) -> Result<u64> {
        let path = format!("/api/v1/shares/{}", link.trim_start_matches("/s/"));
        let answer = self.cluster.request(0, "GET", &path, "").context("an answer")?;
        let share: Value = serde_json::from_str(&answer.body)?;
        share["downloads"].as_u64().with_context(|| answer.body)
    }
}

#[test]
fn nodes_without_the_directory_answer_as_the_one_that_has_it() -> Result<()> {
    let yard = OneDirectory::form()?;
    let (link, clip) = (yard.share("films/clip.mpg", &[])?, clip());
    let file = format!("{link}/file");
    let home = yard.get(0, &file, &["-I"])?;
    let etag = home.header("etag").context("an entity tag")?.to_owned();
    let tag = format!("If-None-Match: {etag}");
    for index in 0..3 {
        let whole = yard.get(index, &file, &[])?;
        ensure!(whole.is(200) && whole.body == clip, "{index}: {}", whole.head);
        for header in ["etag", "last-modified", "content-length", "content-disposition"] {
            ensure!(whole.header(header) == home.header(header), "{header}: {}", whole.head);
        }
        let part = yard.get(index, &file, &["-r", "1000000-2999999"])?;
        ensure!(part.is(206) && part.body == clip[1_000_000..3_000_000], "{}", part.head);
        let range = format!("bytes 1000000-2999999/{}", clip.len());
        ensure!(part.header("content-range") == Some(&range), "{}", part.head);
        let last = yard.get(index, &file, &["-r", "-5"])?;
        ensure!(last.is(206) && last.body == clip[clip.len() - 5..], "{}", last.head);
        let outside = yard.get(index, &file, &["-r", "9999999-"])?;
        ensure!(outside.is(416), "{}", outside.head);
        let same = yard.get(index, &file, &["-H", &tag])?;
        ensure!(same.is(304) && same.body.is_empty(), "{}", same.head);
        let head = yard.get(index, &file, &["-I"])?;
        ensure!(head.is(200) && head.body.is_empty() && head.header("etag") == Some(&etag));
        let page = yard.get(index, &link, &[])?;
        ensure!(page.is(200) && String::from_utf8_lossy(&page.body).contains("clip.mpg"));
    }
    // Nobody but a node gets files this way.
    let id = link.trim_start_matches("/s/");
    let asked = yard.cluster.fetch(0, &format!("/shared-files/{id}")).context("an answer")?;
    ensure!(asked.0 == 404, "{asked:?}");
    for path in [format!("/tasks/../shared-files/{id}"), format!("/tasks/%2e%2e/shared-files/{id}")]
    {
        let url = format!("http://{}{path}", yard.cluster.nodes[1].api);
        let asked = Command::new("curl").args(["-s", "--path-as-is", &url]).output()?;
        ensure!(!String::from_utf8_lossy(&asked.stdout).contains("etag"), "{path}: {asked:?}");
    }

    // Each download counts once, wherever it arrives.
    let counted = yard.share("films/clip.mpg", &["--max-downloads", "2"])?;
    let file = format!("{counted}/file");
    for (index, taken) in [(1, 1), (2, 2)] {
        let whole = yard.get(index, &file, &[])?;
        ensure!(whole.is(200) && whole.body == clip, "{index} counted: {}", whole.head);
        ensure!(yard.counted(&counted)? == taken, "{}", yard.counted(&counted)?);
    }
    let refused = yard.get(1, &file, &[])?;
    ensure!(refused.is(410), "{}", refused.head);

    // A directory has the same page and the same archive at each node, and counts as well.
    for limit in [&[][..], &["--max-downloads", "3"]] {
        let set = yard.share("films/set", limit)?;
        let archive = format!("{set}/zip");
        let home = yard.get(0, &archive, &[])?;
        ensure!(home.is(200) && home.body.len() > 2 * clip.len(), "{}", home.head);
        for index in 1..3 {
            let page = yard.get(index, &set, &[])?;
            let text = String::from_utf8_lossy(&page.body);
            ensure!(page.is(200) && text.contains("one.mpg") && text.contains("extras"), "{text}");
            let passed = yard.get(index, &archive, &[])?;
            ensure!(passed.is(200) && passed.body == home.body, "{index}: {}", passed.head);
        }
        if !limit.is_empty() {
            ensure!(yard.counted(&set)? == 3, "{}", yard.counted(&set)?);
            let refused = yard.get(2, &archive, &[])?;
            ensure!(refused.is(410), "{}", refused.head);
        }
    }

    // A refused archive has the same reason.
    let counted = yard.share("films/set", &["--max-downloads", "3"])?;
    let deep = yard.cluster.working_dir(0).join("films/set").join("d/".repeat(200));
    std::fs::create_dir_all(&deep)?;
    for index in 0..2 {
        let refused = yard.get(index, &format!("{counted}/zip"), &[])?;
        let text = String::from_utf8_lossy(&refused.body);
        ensure!(refused.is(500) && text.contains("nested too deeply"), "{}{text}", refused.head);
    }

    // A file that is not there is missed as at home.
    std::fs::remove_file(yard.cluster.working_dir(0).join("films/clip.mpg"))?;
    yard.wait_for(1, &format!("{link}/file"), 404)?;
    Ok(())
}

#[test]
fn a_passed_download_ends_with_its_share_and_with_its_source() -> Result<()> {
    let mut yard = OneDirectory::form()?;
    let link = yard.share("films/film.mpg", &[])?;
    let file = format!("{link}/file");
    let running = RunningDownload::begin(yard.links[1], "GET", &file)?;
    ensure!(running.head()?.starts_with("HTTP/1.1 200"));
    let path = format!("/api/v1/shares/{}?hard=true", link.trim_start_matches("/s/"));
    let revoked = yard.cluster.request(0, "DELETE", &path, "").context("no answer")?;
    ensure!(revoked.status < 300, "{revoked:?}");
    let sent = running.rest();
    ensure!(sent < FILM_BYTES, "the download went on to its end");
    yard.wait_for(1, &file, 410)?;

    let file = format!("{}/file", yard.share("films/film.mpg", &[])?);
    let running = RunningDownload::begin(yard.links[2], "GET", &file)?;
    ensure!(running.head()?.starts_with("HTTP/1.1 200"));
    yard.cluster.nodes[0].process.as_mut().context("it runs")?.kill();
    let sent = running.rest();
    ensure!(sent < FILM_BYTES, "the download went on to its end");
    // The others elect a leader, and say that nobody has the file.
    for index in [1, 2] {
        let absent = wait_for("no node has the file", &[yard.cluster.process(index)?], || {
            let answer = yard.get(index, &file, &[]).ok()?;
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            text.contains("the directory of the file is not available").then_some(answer)
        })?;
        ensure!(absent.is(503) && absent.header("retry-after").is_some(), "{}", absent.head);
    }
    yard.cluster.start(0)?;
    for index in 0..3 {
        yard.wait_for(index, &file, 200)?;
    }
    Ok(())
}
