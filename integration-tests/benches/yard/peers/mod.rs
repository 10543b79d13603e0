//! Programs that run beside Reelyard, most of them for comparison, and the API of a node.

pub mod etcd;
pub mod many_hosts;
pub mod node_api;
pub mod redis;
pub mod wrk;

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::tls::certificate::Pem;

use crate::usage::cpu_of;

/// The longest time until a program listens.
const PATIENCE: Duration = Duration::from_secs(20);

/// A program for comparison. Dropping it kills the process.
pub struct PeerProcess {
    child: Child,
}

impl PeerProcess {
    /// Waits until `child` accepts connections at `at`.
    pub fn listening(child: Child, at: SocketAddr) -> Result<Self> {
        let mut running = PeerProcess { child };
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(at).is_err() {
            ensure!(running.child.try_wait()?.is_none(), "the program for {at} ended");
            ensure!(Instant::now() < until, "nothing listens at {at}");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }

    /// The process id, to measure processor time and memory.
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        // The program may have ended by itself; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// nginx with one process that serves a directory with sendfile.
pub struct Nginx {
    at: SocketAddr,
    scheme: &'static str,
    running: PeerProcess,
}

impl Nginx {
    /// Serves `masters`, with its own files in `dir`.
    pub fn start(masters: &Path, dir: &Path) -> Result<Self> {
        Nginx::serve(masters, dir, None)
    }

    /// Serves `masters` over TLS.
    pub fn start_tls(masters: &Path, dir: &Path, pem: &Pem) -> Result<Self> {
        Nginx::serve(masters, dir, Some(pem))
    }

    fn serve(masters: &Path, dir: &Path, pem: Option<&Pem>) -> Result<Self> {
        let (scheme, ssl, tls) = match pem {
            None => ("http", "", String::new()),
            Some(Pem { certificate, key }) => {
                let (certificate, key) = (certificate.display(), key.display());
                let tls = format!(
                    "ssl_protocols TLSv1.2 TLSv1.3; \
                     ssl_certificate {certificate}; ssl_certificate_key {key};"
                );
                ("https", " ssl", tls)
            }
        };
        let at = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let config = dir.join("nginx.conf");
        let (dir_shown, masters) = (dir.display(), masters.display());
        std::fs::write(
            &config,
            format!(
                "daemon off; master_process off; pid {dir_shown}/nginx.pid;\n\
                 error_log {dir_shown}/nginx.log;\n\
                 events {{ worker_connections 256; }}\n\
                 http {{ access_log off; sendfile on; tcp_nopush on; open_file_cache max=1000;\n\
                 keepalive_requests 1000000;\n\
                 server {{ listen {at}{ssl}; {tls} root {masters}; }} }}\n"
            ),
        )?;
        let child = Command::new("nginx")
            .arg("-c")
            .arg(&config)
            .arg("-p")
            .arg(dir)
            .stderr(Stdio::null())
            .spawn()
            .context("nginx")?;
        Ok(Nginx { at, scheme, running: PeerProcess::listening(child, at)? })
    }

    /// The base URL of the server.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.at)
    }

    /// The processor time of the server so far.
    pub fn cpu(&self) -> Result<Duration> {
        cpu_of(self.running.process())
    }
}
