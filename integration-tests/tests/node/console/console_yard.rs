//! A yard with a console, and visitors with sessions.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::small_disk::SmallDisk;
use reelyard_integration_tests::rigs::yard::{
    ProcessYard, RoleProcess, free_addr, holds, wait_for, wait_until_up,
};
use serde_json::{Value, json};

/// Names of the files in the yard. One is hostile.
pub const FILES: [&str; 3] = ["alpha.mpg", "beta gamma.mpg", "<script>alert(1)<b>.mpg"];

/// A node, a source and a destination that has copied all files.
pub struct ConsoleYard {
    pub ground: ProcessYard,
    pub node: RoleProcess,
    workers: Vec<RoleProcess>,
    /// The tokens of visitors, by their names.
    tokens: RefCell<BTreeMap<String, Value>>,
}

/// A session of a browser.
pub struct Visit {
    /// The header with its cookie.
    pub cookie: String,
    /// The token of its forms.
    pub csrf: String,
}

/// The answer to a request.
pub struct PageAnswer {
    pub status: u16,
    /// The head in lower case.
    pub head: String,
    pub body: String,
}

/// An answer as it was sent.
pub struct PackedLength {
    /// Length of the body on the wire.
    pub bytes: usize,
    pub is_gzip: bool,
}

impl PageAnswer {
    /// The value of a header of the answer.
    pub fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")))?;
        Some(line.trim())
    }
}

impl ConsoleYard {
    pub fn start() -> Result<Self> {
        ConsoleYard::start_with(ProcessYard::new(1, 1)?, &[])
    }

    /// The same with an event log.
    pub fn start_watching() -> Result<Self> {
        let ground = ProcessYard::new(1, 1)?;
        let watching = ground.watching();
        let watching = watching.each_ref().map(|(key, value)| (*key, value.as_str()));
        ConsoleYard::start_with(ground, &watching)
    }

    fn start_with(ground: ProcessYard, more: &[(&str, &str)]) -> Result<Self> {
        let mut masters = Vec::new();
        for name in FILES {
            masters.push(ground.master(name.as_bytes(), 10_000)?);
        }
        ground.grade(&FILES.map(str::as_bytes))?;
        let roots = format!("{{ movies = \"{}\" }}", ground.path("masters").display());
        let links = free_addr(Ipv4Addr::LOCALHOST)?.to_string();
        let shared = [("share.roots", roots.as_str()), ("share.listen", &links)];
        let node = ground.start_node(&[&shared, more].concat())?;
        let source = ground.start_source(0, &[])?;
        let destination = ground.start_destination(0, &[])?;
        wait_until_up(ground.destination(0), &destination)?;
        for (name, bytes) in FILES.iter().zip(&masters) {
            let copy = ground.copies(0).join(name);
            let roles = [&node, &source, &destination];
            wait_for(name, &roles, || holds(&copy, bytes).then_some(()))?;
        }
        Ok(ConsoleYard {
            ground,
            node,
            workers: vec![source, destination],
            tokens: RefCell::default(),
        })
    }

    /// A node without hosts that reads its settings from the file `node.toml`.
    pub fn start_by_file() -> Result<Self> {
        let ground = ProcessYard::new(0, 0)?;
        ConsoleYard::write_settings(&ground, "")?;
        let file = ground.path("node.toml");
        let node = RoleProcess::start_by_file("node", &file, ground.path("node.log"))?;
        wait_for("the node answers", &[&node], || ground.get("/api/v1/whoami"))?;
        Ok(ConsoleYard { ground, node, workers: Vec::new(), tokens: RefCell::default() })
    }

    /// Writes the file of such a node, with these lines besides its address and its data directory.
    pub fn write_settings(ground: &ProcessYard, more: &str) -> Result<()> {
        let data_dir = ground.path("node").display().to_string();
        let own = format!("listen = \"{}\"\ndata_dir = \"{data_dir}\"\n", ground.node);
        Ok(std::fs::write(ground.path("node.toml"), format!("{own}{more}"))?)
    }

    /// A yard with two empty destinations, each with a disk of its own. Nothing is planned; people order copies.
    pub fn start_empty(
        files: &[&str],
        size: usize,
        more: &[(&str, &str)],
    ) -> Result<(Self, [SmallDisk; 2])> {
        let ground = ProcessYard::new(1, 2)?;
        for name in files {
            ground.master(name.as_bytes(), size)?;
        }
        let names: Vec<&[u8]> = files.iter().map(|name| name.as_bytes()).collect();
        ground.grade(&names)?;
        let disks = [0, 1].map(|number| {
            let copies = ground.copies(number);
            std::fs::create_dir(&copies).unwrap();
            SmallDisk::mount(&copies, 64)
        });
        let settings = [("task.mode", "off"), ("task.copies_per_source", "8")];
        let node = ground.start_node(&[&settings[..], more].concat())?;
        let workers = vec![
            ground.start_source(0, &[])?,
            ground.start_destination(0, &[])?,
            ground.start_destination(1, &[])?,
        ];
        for number in [0, 1] {
            wait_until_up(ground.destination(number), &workers[number + 1])?;
            let path = format!("/api/v1/hosts/{}", ground.destination(number));
            let roles = [&node, &workers[number + 1]];
            wait_for("the files and the disk of a destination", &roles, || {
                let host = ground.get(&path)?;
                (host["files"] == 0 && host["room"].is_number()).then_some(())
            })?;
        }
        wait_for("the ranking", &[&node], || {
            let listed = ground.get("/api/v1/files")?;
            (listed["items"].as_array()?.len() == files.len()).then_some(())
        })?;
        Ok((ConsoleYard { ground, node, workers, tokens: RefCell::default() }, disks))
    }

    /// Ends the worker that was started last: a destination.
    pub fn stop_destination(&mut self) {
        self.workers.pop();
    }

    /// Stops the workers of both destinations with a signal, or lets them go on.
    pub fn pause_destinations(&self, is_paused: bool) -> Result<()> {
        for worker in self.workers.iter().rev().take(2) {
            if is_paused { worker.pause()? } else { worker.wake()? }
        }
        Ok(())
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.ground.node)
    }

    /// A visitor with a token of this name and role. Each visit has a session of its own.
    pub fn visit(&self, name: &str, role: &str) -> Result<Visit> {
        let known = self.tokens.borrow().get(name).cloned();
        let token = match known {
            Some(token) => token,
            None => self.token(name, role)?,
        };
        self.tokens.borrow_mut().insert(name.to_owned(), token.clone());
        self.visit_with(&token)
    }

    /// A new token with this name and role.
    pub fn token(&self, name: &str, role: &str) -> Result<Value> {
        let wanted = json!({ "name": name, "role": role });
        let token = self.post_api("/api/v1/tokens", &self.ground.bearer(), &wanted)?;
        Ok(token["token"].clone())
    }

    /// A new session with this token.
    pub fn visit_with(&self, token: &Value) -> Result<Visit> {
        let proof = json!({ "token": token });
        let session = self.post_api("/api/v1/sessions", "X-None: 1", &proof)?;
        let text = |key: &str| session[key].as_str().map(str::to_owned).context("no session");
        Ok(Visit {
            cookie: format!("Cookie: reelyard_session={}", text("secret")?),
            csrf: text("csrf_token")?,
        })
    }

    pub fn post_api(&self, path: &str, header: &str, body: &Value) -> Result<Value> {
        let body = body.to_string();
        let arguments = ["-H", header, "-H", "content-type: application/json", "-d", &body, path];
        let answer = self.curl(&arguments)?;
        ensure!(answer.status == 201, "{path}: {} {}", answer.status, answer.body);
        Ok(serde_json::from_str(&answer.body)?)
    }

    /// The answer to a request of curl. The last argument is the path.
    pub fn curl(&self, arguments: &[&str]) -> Result<PageAnswer> {
        let (path, arguments) = arguments.split_last().context("no path")?;
        let mut curl = Command::new("curl");
        curl.args(["-s", "-i", "-m", "30"]).args(arguments).arg(format!("{}{path}", self.url()));
        let text = String::from_utf8(curl.output()?.stdout)?;
        let (head, body) =
            text.split_once("\r\n\r\n").with_context(|| format!("{path}: {text}"))?;
        let status = head.split(' ').nth(1).context("no status")?.parse()?;
        Ok(PageAnswer { status, head: head.to_lowercase(), body: body.to_owned() })
    }

    /// A page as this visitor sees it.
    pub fn page(&self, visit: &Visit, path: &str) -> Result<String> {
        let answer = self.curl(&["-H", &visit.cookie, path])?;
        ensure!(answer.status == 200, "{path}: {} {}", answer.status, answer.body);
        Ok(answer.body)
    }

    /// The size of an answer on the wire to a browser that unpacks gzip.
    pub fn packed_length(&self, visit: &Visit, path: &str) -> Result<PackedLength> {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-m", "30", "-o", "/dev/null", "-H", "Accept-Encoding: gzip, br"]);
        curl.args(["-H", &visit.cookie, "-w", "%{size_download} %header{content-encoding}"]);
        let text = String::from_utf8(curl.arg(format!("{}{path}", self.url())).output()?.stdout)?;
        let (bytes, coding) = text.split_once(' ').with_context(|| format!("{path}: {text}"))?;
        Ok(PackedLength { bytes: bytes.parse()?, is_gzip: coding == "gzip" })
    }

    /// Posts the fields of a form, besides the CSRF token.
    pub fn post(&self, visit: &Visit, path: &str, fields: &[&str]) -> Result<PageAnswer> {
        let csrf = format!("csrf_token={}", visit.csrf);
        let mut arguments = vec!["-H", &visit.cookie, "--data-urlencode", &csrf];
        for field in fields {
            arguments.extend(["--data-urlencode", field]);
        }
        arguments.push(path);
        self.curl(&arguments)
    }
}
