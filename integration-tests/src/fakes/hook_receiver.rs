//! A small receiver of webhooks that accepts, refuses or delays requests, or is offline, as a test selects.
//! It checks every signature with openssl, as the README describes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use reelyard_file_server::certificate::Certificate;
use rustls::StreamOwned;
use serde_json::Value;

use crate::rigs::tls::certificate::Pem;

/// The key of the signatures.
pub const SECRET: &str = "whsec-0123456789abcdef";

/// The response of the receiver to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverMode {
    /// Accepts the request.
    Takes,
    /// Answers with this status and this optional `Retry-After` in seconds.
    Refuses(u16, Option<u32>),
    /// Reads the request and never answers.
    Hangs,
}

/// One webhook request that arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// The JSON body of the request.
    pub body: Value,
    /// The mode of the receiver for this request.
    pub manner: ReceiverMode,
    /// The request line and headers, in lower case.
    pub head: String,
}

impl Received {
    /// The number of the notification.
    pub fn number(&self) -> u64 {
        self.body["number"].as_u64().unwrap_or(u64::MAX)
    }
}

#[derive(Default)]
struct HookReceiverState {
    manner: Option<ReceiverMode>,
    received: Vec<Received>,
    /// The errors in requests, such as a wrong signature.
    faults: Vec<String>,
}

/// A receiver of webhooks. Dropping it stops it.
pub struct HookReceiver {
    addr: SocketAddr,
    scheme: &'static str,
    state: Arc<Mutex<HookReceiverState>>,
    stopping: Arc<AtomicBool>,
}

impl HookReceiver {
    /// Starts a receiver on a free port that accepts everything.
    pub fn start() -> Result<Self> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Starts a receiver at this address.
    pub fn start_at(addr: SocketAddr) -> Result<Self> {
        Self::listen(addr, None)
    }

    /// Starts a receiver that accepts everything over TLS.
    pub fn start_tls(pem: &Pem) -> Result<Self> {
        let certificate = Certificate::read(&pem.certificate, &pem.key)?;
        Self::listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), Some(certificate))
    }

    fn listen(addr: SocketAddr, certificate: Option<Certificate>) -> Result<Self> {
        let scheme = if certificate.is_some() { "https" } else { "http" };
        let listener = TcpListener::bind(addr)?;
        let addr = listener.local_addr()?;
        let (state, stopping) =
            (Arc::<Mutex<HookReceiverState>>::default(), Arc::<AtomicBool>::default());
        let (shared, stop) = (Arc::clone(&state), Arc::clone(&stopping));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (shared, stop) = (Arc::clone(&shared), Arc::clone(&stop));
                let session = certificate.as_ref().map(Certificate::session);
                std::thread::spawn(move || {
                    // The node must handle a broken connection; the receiver ignores it.
                    let _ = match session {
                        None => serve(stream, &shared, &stop),
                        Some(Ok(tls)) => serve(StreamOwned::new(tls, stream), &shared, &stop),
                        Some(Err(_)) => return,
                    };
                });
            }
        });
        Ok(HookReceiver { addr, scheme, state, stopping })
    }

    /// The address of the receiver.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The webhook settings of a node for this receiver.
    pub fn hook(&self, more: &str) -> String {
        let (scheme, addr) = (self.scheme, self.addr);
        format!("{{ url = \"{scheme}://{addr}/shares\", secret = \"{SECRET}\"{more} }}")
    }

    /// Sets the mode for all later requests.
    pub fn is_to(&self, manner: ReceiverMode) {
        lock(&self.state).manner = Some(manner);
    }

    /// Every request, in the order of arrival.
    ///
    /// # Panics
    /// Panics when a request had an error.
    pub fn received(&self) -> Vec<Received> {
        let state = lock(&self.state);
        assert!(state.faults.is_empty(), "{:?}", state.faults);
        state.received.clone()
    }

    /// The requests that the receiver accepted.
    ///
    /// # Panics
    /// Panics when a request had an error.
    pub fn taken(&self) -> Vec<Received> {
        self.received().into_iter().filter(|one| one.manner == ReceiverMode::Takes).collect()
    }
}

impl Drop for HookReceiver {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts connections. An error means that the thread has ended.
        let _ = TcpStream::connect(self.addr);
    }
}

fn lock(state: &Mutex<HookReceiverState>) -> MutexGuard<'_, HookReceiverState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(
    stream: impl Read + Write,
    state: &Mutex<HookReceiverState>,
    stopping: &AtomicBool,
) -> Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (head, body) = read_request(&mut reader)?;
        if stopping.load(Ordering::SeqCst) {
            return Ok(());
        }
        let checked = check(&head, &body);
        let manner = {
            let mut state = lock(state);
            let manner = state.manner.unwrap_or(ReceiverMode::Takes);
            match checked {
                Ok(body) => state.received.push(Received { body, manner, head }),
                Err(fault) => state.faults.push(format!("{fault:#}\n{head}")),
            }
            manner
        };
        let stream = reader.get_mut();
        match manner {
            ReceiverMode::Takes => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?
            }
            ReceiverMode::Refuses(status, retry_after) => {
                let more = retry_after.map(|after| format!("retry-after: {after}\r\n"));
                let more = more.unwrap_or_default();
                let answer = format!("HTTP/1.1 {status} No\r\n{more}content-length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes())?;
            }
            ReceiverMode::Hangs => {
                // Waits until the node gives up.
                let _ = reader.read(&mut [0]);
                return Ok(());
            }
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Result<(String, Vec<u8>)> {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        ensure!(reader.read_line(&mut line)? > 0, "the connection ended");
        if line == "\r\n" {
            break;
        }
        head.push_str(&line.to_lowercase());
    }
    let length = value(&head, "content-length").context("no length")?.parse()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((head, body))
}

fn value<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(other, _)| *other == name).map(|(_, value)| value)
}

fn check(head: &str, body: &[u8]) -> Result<Value> {
    ensure!(head.starts_with("post /shares http/1.1"), "no POST");
    ensure!(value(head, "content-type") == Some("application/json"), "no JSON");
    let agent = value(head, "user-agent").unwrap_or_default();
    ensure!(agent.starts_with("reelyard/"), "user agent {agent}");
    let signature = value(head, "reelyard-signature").context("no signature")?;
    let (t, v1) = signature.split_once(',').context("one part only")?;
    let (t, v1) = (t.strip_prefix("t=").context("t")?, v1.strip_prefix("v1=").context("v1")?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let sent = Duration::from_secs(t.parse()?);
    ensure!(now.abs_diff(sent) < Duration::from_secs(3600), "signed at {t}");
    let mut openssl = Command::new("openssl")
        .args(["dgst", "-sha256", "-hmac", SECRET])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = openssl.stdin.take().context("stdin")?;
    stdin.write_all(&[t.as_bytes(), b".", body].concat())?;
    drop(stdin);
    let message = String::from_utf8(openssl.wait_with_output()?.stdout)?;
    ensure!(
        message.trim().ends_with(v1) && v1.len() == 64,
        "signature {v1}, openssl says {message}"
    );
    Ok(serde_json::from_slice(body)?)
}
