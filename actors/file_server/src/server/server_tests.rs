//! A server with a small service, over real sockets.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{
    Answered, ConnectionCounts, FileServer, FileServerSettings, FileService, ServedRequest,
    ServerLifetime, ServerThreads,
};
use crate::connection::limiter::ConnectionLimits;
use crate::connection::sending::{FileBody, SendFailure, SendLimits};
use crate::http::request_head::{BadHead, HostRule};
use crate::http::response_head::{BodyLength, ResponseHead};

/// More bytes than the kernel buffers for a connection.
const SIZE: u64 = 64 << 20;

const HEAD_ONLY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

/// Answers every request with the same file; `/slow` and `/quick` with a head only. `/panic` panics.
struct OneFileService {
    file: File,
    slow_disk: Mutex<BlockingDisk>,
}

/// A disk that blocks its reader until the test lets it answer.
struct BlockingDisk {
    reads: Sender<()>,
    answers: Receiver<()>,
}

impl FileService for OneFileService {
    async fn answer(&self, request: &ServedRequest<'_>) -> Result<Answered, SendFailure> {
        if request.head.path == "/slow" {
            let disk = self.slow_disk.lock().unwrap();
            disk.reads.send(()).unwrap();
            disk.answers.recv().unwrap();
        }
        assert_ne!(request.head.path, "/panic", "this request panics");
        if request.head.path != "/" {
            request.send(HEAD_ONLY).await?;
            return Ok(Answered::Sent { keep_alive: true, watch: None });
        }
        let head = ResponseHead::new((200, "OK"), true).finish(BodyLength::Bytes(SIZE));
        let mut sending = request.sending(None);
        sending.bytes(&head, true).await?;
        sending.file(self, 0..SIZE).await?;
        Ok(Answered::Sent { keep_alive: true, watch: None })
    }

    fn refuse_unread(&self, bad: BadHead) -> Vec<u8> {
        ResponseHead::new(bad.status(), false).finish_with(b"bad\n", false)
    }

    fn limited_client(&self, _: IpAddr) -> Option<IpAddr> {
        None
    }
}

impl FileBody for OneFileService {
    fn file(&self) -> &File {
        &self.file
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn record_sent(&self, _: u64, _: u64) {}
}

struct ServerFixture {
    server: FileServer,
    counts: Arc<ConnectionCounts>,
    /// Gets each read of the slow disk.
    reads: Receiver<()>,
    /// Lets the slow disk answer.
    answers: Sender<()>,
}

impl ServerFixture {
    fn new(connections: usize, slow_reader: Option<Duration>) -> Self {
        ServerFixture::with(ServerThreads::PerConnection, connections, slow_reader)
    }

    fn with(threads: ServerThreads, connections: usize, slow_reader: Option<Duration>) -> Self {
        let file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        let long = Duration::from_secs(60);
        let settings = FileServerSettings {
            name: "one-file",
            threads,
            blocking_threads: 1,
            connections: ConnectionLimits { connections, per_client: connections, slow_reader },
            request_timeout: long,
            send: SendLimits { send_timeout: long, minimum_rate: 0 },
            hosts: HostRule::Any,
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (begins, reads) = mpsc::channel();
        let (answers, ends) = mpsc::channel();
        let slow_disk = Mutex::new(BlockingDisk { reads: begins, answers: ends });
        let service = Arc::new(OneFileService { file, slow_disk });
        let counts = Arc::default();
        let (of_server, lifetime) = (Arc::clone(&counts), ServerLifetime::default());
        let server = FileServer::start(listener, settings, service, of_server, lifetime);
        ServerFixture { server: server.unwrap(), counts, reads, answers }
    }

    fn addr(&self) -> SocketAddr {
        self.server.addr()
    }
}

/// A client whose request was sent, and the status of its answer.
fn request(addr: SocketAddr) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.write_all(REQUEST).unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).unwrap();
    (stream, String::from_utf8(status.to_vec()).unwrap())
}

/// The number of bytes until the connection ends.
fn read_rest(mut stream: TcpStream) -> u64 {
    let (mut count, mut buffer) = (0, vec![0; 64 << 10]);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return count,
            Ok(read) => count += read as u64,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                return count;
            }
        }
    }
}

#[test]
fn a_client_that_takes_nothing_loses_its_slot_to_a_new_one() {
    let fixture = ServerFixture::new(1, Some(Duration::from_millis(100)));
    let (slow, _) = request(fixture.addr());
    let quick = loop {
        match request(fixture.addr()) {
            (quick, status) if status == "HTTP/1.1 200" => break quick,
            (_, status) => assert_eq!(status, "HTTP/1.1 503"),
        }
    };
    assert!(read_rest(slow) < SIZE);
    drop(quick);
    fixture.server.stop_blocking();
}

#[test]
fn a_slow_reader_keeps_its_slot_without_a_limit() {
    let fixture = ServerFixture::new(1, None);
    let (slow, _) = request(fixture.addr());
    assert_eq!(request(fixture.addr()).1, "HTTP/1.1 503");
    assert_eq!(fixture.counts.refused_busy.so_far(), 1);
    assert_eq!(fixture.counts.connections.so_far(), 1);
    fixture.server.stop_blocking();
    assert!(read_rest(slow) < SIZE);
}

#[tokio::test]
async fn a_server_can_be_stopped_on_a_thread_of_another_runtime() {
    let fixture = ServerFixture::new(2, None);
    let (running, _) = request(fixture.addr());
    let (idle, counts) = (TcpStream::connect(fixture.addr()).unwrap(), fixture.counts);
    fixture.server.stop_blocking();
    assert_eq!(counts.connections.so_far(), 0);
    assert!(read_rest(running) < SIZE);
    assert_eq!(read_rest(idle), 0);
}

#[tokio::test]
async fn a_draining_server_finishes_its_answers_and_accepts_no_connection() {
    let mut fixture = ServerFixture::new(2, None);
    let addr = fixture.addr();
    let (running, _) = request(addr);
    let reading = std::thread::spawn(move || read_rest(running));
    assert!(fixture.server.drain(std::future::pending()).await);
    let received = reading.join().unwrap();
    assert!(received > SIZE, "the head and the whole body: {received}");
    assert_eq!(TcpStream::connect(addr).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_slow_disk_stalls_no_other_connection() {
    for threads in [ServerThreads::PerConnection, ServerThreads::Shared(2)] {
        let fixture = ServerFixture::with(threads, 2, None);
        let [mut slow, mut quick] = [0, 1].map(|_| TcpStream::connect(fixture.addr()).unwrap());
        quick.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut answer = [0; HEAD_ONLY.len()];
        // Some of many reads block the only thread that is awake.
        for _ in 0..30 {
            slow.write_all(b"GET /slow HTTP/1.1\r\n\r\n").unwrap();
            fixture.reads.recv().unwrap();
            quick.write_all(b"GET /quick HTTP/1.1\r\n\r\n").unwrap();
            quick.read_exact(&mut answer).unwrap();
            fixture.answers.send(()).unwrap();
            slow.read_exact(&mut answer).unwrap();
        }
        fixture.server.stop_blocking();
    }
}

#[test]
fn a_panic_of_the_service_ends_only_its_connection() {
    for threads in [ServerThreads::PerConnection, ServerThreads::Shared(1)] {
        let fixture = ServerFixture::with(threads, 1, None);
        let mut stream = TcpStream::connect(fixture.addr()).unwrap();
        stream.write_all(b"GET /panic HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        // The connection is closed or reset.
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty(), "{answer:?}");
        let deadline = Instant::now() + Duration::from_secs(20);
        while fixture.counts.connections.so_far() > 0 {
            assert!(Instant::now() < deadline, "the gauge of connections stays too high");
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut next = TcpStream::connect(fixture.addr()).unwrap();
        next.write_all(b"GET /quick HTTP/1.1\r\n\r\n").unwrap();
        let mut head = [0; HEAD_ONLY.len()];
        next.read_exact(&mut head).unwrap();
        assert_eq!(head, HEAD_ONLY);
    }
}
