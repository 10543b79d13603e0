//! etcd for comparison: a lock is a key that is created if it is absent and deleted again.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::peers::PeerProcess;

/// A single server that syncs its log with every write.
pub struct Etcd {
    at: SocketAddr,
    _server: PeerProcess,
}

impl Etcd {
    /// Starts a server with its files in `dir`.
    pub fn start(dir: &Path) -> Result<Self> {
        let free = || TcpListener::bind("127.0.0.1:0")?.local_addr().context("a free port");
        let (at, peer) = (free()?, free()?);
        let (url, peer) = (format!("http://{at}"), format!("http://{peer}"));
        let server = Command::new("etcd")
            .arg("--data-dir")
            .arg(dir)
            .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("default={peer}"), "--log-level", "error"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("etcd")?;
        Ok(Etcd { at, _server: PeerProcess::listening(server, at)? })
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
