//! etcd for comparison: a lock is a key that is created if it is absent and deleted again.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::peers::PeerProcess;

/// A single server that syncs its log with every write.
pub struct Etcd {
    at: SocketAddr,
    _server: PeerProcess,
}

impl Etcd {
    /// Starts a server that is alone, with its files in `dir`.
    pub fn start(dir: &Path) -> Result<Self> {
        let peer = free_url()?;
        let server = EtcdServer { name: "default".to_owned(), peer: peer.clone() };
        server.start(dir, &format!("default={peer}"))?.listening()
    }

    /// The URL of its HTTP gateway.
    pub fn url(&self) -> String {
        format!("http://{}", self.at)
    }

    /// The requests of `wrk`: keys that are created if they are absent and deleted a moment later. A key has
    /// eight digits, which are valid Base64.
    pub fn cycles() -> &'static str {
        r#"
        local threads = 0
        function setup(thread) thread:set('number', threads); threads = threads + 1 end
        local asked = 0
        local put = '{"compare":[{"key":"%s","target":"CREATE","createRevision":"0"}],' ..
            '"success":[{"requestPut":{"key":"%s","value":"%s"}}]}'
        function request()
            asked = asked + 1
            local count = math.floor(asked / 2)
            if asked % 2 == 0 then
                local key = string.format('%02d%06d', number, count)
                return wrk.format('POST', '/v3/kv/txn', nil, string.format(put, key, key, key))
            end
            -- Its put was answered: fewer are under way.
            local key = string.format('%02d%06d', number, math.max(count - 128, 0))
            return wrk.format('POST', '/v3/kv/deleterange', nil, '{"key":"' .. key .. '"}')
        end
        "#
    }
}

/// Servers that elect one leader.
pub struct EtcdCluster {
    servers: Vec<Etcd>,
}

impl EtcdCluster {
    /// Starts the servers, each with its own directory in `dir`, and waits until all listen.
    pub fn start(dir: &Path, members: usize) -> Result<Self> {
        let members = (0..members).map(|number| -> Result<EtcdServer> {
            Ok(EtcdServer { name: format!("e{number}"), peer: free_url()? })
        });
        let members = members.collect::<Result<Vec<_>>>()?;
        let all: Vec<String> =
            members.iter().map(|member| format!("{}={}", member.name, member.peer)).collect();
        // A server listens only when a majority has elected a leader, so all start before the first wait.
        let starting =
            members.iter().map(|member| member.start(&dir.join(&member.name), &all.join(",")));
        let starting = starting.collect::<Result<Vec<_>>>()?;
        let servers = starting.into_iter().map(StartingEtcd::listening).collect::<Result<_>>()?;
        Ok(EtcdCluster { servers })
    }

    /// The server that leads.
    pub fn leader(&self) -> Result<&Etcd> {
        for server in &self.servers {
            let url = format!("{}/v3/maintenance/status", server.url());
            let answer = Command::new("curl").args(["-fsS", "-d", "{}", &url]).output()?;
            let status: Value =
                serde_json::from_slice(&answer.stdout).context("the status of etcd")?;
            if status["leader"].is_string() && status["leader"] == status["header"]["member_id"] {
                return Ok(server);
            }
        }
        bail!("no server of etcd leads")
    }
}

/// One member before its start.
struct EtcdServer {
    name: String,
    /// The URL for the other members.
    peer: String,
}

/// A server that may not listen yet.
struct StartingEtcd {
    at: SocketAddr,
    child: Child,
}

impl EtcdServer {
    /// Starts the server. `all` names every member with its URL.
    fn start(&self, dir: &Path, all: &str) -> Result<StartingEtcd> {
        let at = free_addr()?;
        let (url, peer) = (format!("http://{at}"), &self.peer);
        let child = Command::new("etcd")
            .args(["--name", &self.name, "--data-dir"])
            .arg(dir)
            .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer])
            .args(["--initial-cluster", all, "--log-level", "error"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("etcd")?;
        Ok(StartingEtcd { at, child })
    }
}

impl StartingEtcd {
    fn listening(self) -> Result<Etcd> {
        Ok(Etcd { at: self.at, _server: PeerProcess::listening(self.child, self.at)? })
    }
}

fn free_addr() -> Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr().context("a free port")
}

fn free_url() -> Result<String> {
    Ok(format!("http://{}", free_addr()?))
}
