//! Aborts of running downloads of public links: by a hard revoke, and by a change of the file.

use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Bytes;
use reelyard_integration_tests::probes::waiting::{PATIENCE, eventually};
use reelyard_integration_tests::rigs::share_links::{A_DAY, ManualLinks, curl};
use reelyard_links::{OtherNodes, PassedBytes, PassedFile, Passing};
use reelyard_protocol::cluster::shared_files::{NotPassed, SharedContents, SharedFileFacts};
use reelyard_shares::share_expiry::{
    RootName, ShareEnding, ShareError, ShareEvent, ShareId, TakeDownload,
};
use rustls::pki_types::pem::PemObject;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc;

/// More bytes than the kernel buffers for a connection.
const LARGE: usize = 24 << 20;

/// The largest number of bytes that a client with a small buffer can read after a reset: the data that had
/// arrived.
const ARRIVED: usize = 1 << 20;

/// Another node with a file that is sent as fast as it is read.
struct FastSource;

/// The size of that file. No test reads all of it.
const ENDLESS: u64 = 1 << 40;

impl OtherNodes for FastSource {
    fn find(&self, _: ShareId, _: RootName) -> Passing<'_, Result<Box<dyn PassedFile>, NotPassed>> {
        let facts = SharedFileFacts { size: ENDLESS, etag: "\"1\"".to_owned(), modified: 0 };
        let file: Box<dyn PassedFile> = Box::new(EndlessFile(facts));
        Box::pin(std::future::ready(Ok(file)))
    }

    fn contents(&self, _: ShareId, _: RootName) -> Passing<'_, Result<SharedContents, NotPassed>> {
        unreachable!("no page is asked for")
    }

    fn archive(
        &self,
        _: ShareId,
        _: RootName,
        _: bool,
    ) -> Passing<'_, Result<PassedBytes, NotPassed>> {
        unreachable!("it is a file")
    }

    fn take(&self, _: TakeDownload) -> Passing<'_, Result<(), ShareError>> {
        unreachable!("the share has no limit")
    }
}

struct EndlessFile(SharedFileFacts);

impl PassedFile for EndlessFile {
    fn facts(&self) -> &SharedFileFacts {
        &self.0
    }

    fn fetch(&mut self, _: Range<u64>) -> Passing<'_, std::io::Result<PassedBytes>> {
        let (sender, bytes) = mpsc::channel(2);
        tokio::spawn(async move {
            while sender.send(Ok(Bytes::from_static(&[7; 64 << 10]))).await.is_ok() {}
        });
        Box::pin(std::future::ready(Ok(bytes)))
    }
}

#[actix::test]
async fn a_download_from_another_node_ends_exactly_at_its_deadline() {
    let links =
        ManualLinks::start_away(Arc::new(FastSource), |settings| settings.cut_at_deadline = true);
    let id = links.share("a", |_| {});
    let mut client = begin(&links, &format!("/s/{id}/file")).await;
    links.clock.advance(A_DAY - Duration::from_millis(1));
    // Far more than what was on its way.
    let mut read = vec![0; 1 << 20];
    for _ in 0..32 {
        client.read_exact(&mut read).await.unwrap();
    }
    assert_eq!(links.server.counters().cut, 0);
    links.clock.advance(Duration::from_millis(1));
    eventually("it is cut", || links.server.counters().cut == 1).await;
    let (got, _) = drain(client).await;
    assert!(got < LARGE, "{got} bytes after the deadline");
    links.stop().await;
}

fn revoke(links: &ManualLinks, id: ShareId) {
    let (ids, why, by) = (vec![id], ShareEnding::Revoked, "test".to_owned());
    links.apply(&ShareEvent::Ended { ids, why, cut: true, by });
}

/// A connection whose client has a small buffer.
async fn connect(links: &ManualLinks) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 << 10).unwrap();
    socket.connect(links.addr()).await.unwrap()
}

/// A client whose download has begun.
async fn begin(links: &ManualLinks, path: &str) -> TcpStream {
    let mut client = connect(links).await;
    let asked = format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n");
    client.write_all(asked.as_bytes()).await.unwrap();
    client.read_exact(&mut [0; 12]).await.unwrap();
    client
}

/// The number of remaining bytes, and the error at the end.
async fn drain(mut client: TcpStream) -> (usize, Option<ErrorKind>) {
    let (mut got, mut buffer) = (0, vec![0; 64 << 10]);
    loop {
        match tokio::time::timeout(PATIENCE, client.read(&mut buffer)).await.unwrap() {
            Ok(0) => return (got, None),
            Ok(count) => got += count,
            Err(error) => return (got, Some(error.kind())),
        }
    }
}

#[actix::test]
async fn a_hard_revoke_drops_data_that_the_kernel_has_not_sent() {
    let links = ManualLinks::start(|_| {});
    links.write("a", &vec![7; LARGE]);
    links.write("dir/a", &vec![7; LARGE]);
    for (at, part) in [("a", "file"), ("dir", "zip")] {
        let id = links.share(at, |_| {});
        let cut = links.server.counters().cut;
        let client = begin(&links, &format!("/s/{id}/{part}")).await;
        // Waits until the kernel takes no more data. If this is too short, the test has less to check.
        tokio::time::sleep(Duration::from_millis(300)).await;
        revoke(&links, id);
        eventually("it is cut", || links.server.counters().cut > cut).await;
        let (got, end) = drain(client).await;
        assert_eq!(end, Some(ErrorKind::ConnectionReset), "{part}: after {got} bytes");
        assert!(got < ARRIVED, "{part}: {got}");
    }
    links.stop().await;
}

#[actix::test]
async fn a_node_that_hears_no_leader_ends_downloads_and_refuses_others() {
    let links = ManualLinks::start(|_| {});
    links.write("a", &vec![7; LARGE]);
    links.write("dir/a", &vec![7; LARGE]);
    for (at, part) in [("a", "file"), ("dir", "zip")] {
        let id = links.share(at, |_| {});
        let cut = links.server.counters().cut;
        let client = begin(&links, &format!("/s/{id}/{part}")).await;
        links.hinder(Some("this node has not heard the leader for 2 s"));
        eventually("it is cut", || links.server.counters().cut > cut).await;
        let (got, _) = drain(client).await;
        assert!(got < LARGE, "{part}: {got}");
        let refused = links.get(id, &format!("/{part}"), &[]).await;
        let words = String::from_utf8_lossy(&refused.body);
        assert!(refused.status == 503 && words.contains("leader"), "{part}: {words}");
        assert!(refused.head.to_lowercase().contains("retry-after: 1"), "{}", refused.head);
        links.hinder(None);
    }
    links.stop().await;
}

#[actix::test]
async fn a_hard_revoke_drops_a_file_that_the_kernel_buffered_completely() {
    let links = ManualLinks::start(|settings| settings.request_timeout = PATIENCE);
    links.write("a", &vec![7; 2 * ARRIVED]);
    let id = links.share("a", |_| {});
    let mut client = connect(&links).await;
    client
        .write_all(format!("GET /s/{id}/file HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes())
        .await
        .unwrap();
    eventually("all of it is handed over", || links.server.counters().bytes > 0).await;
    revoke(&links, id);
    eventually("its connection is closed", || links.server.counters().connections == 0).await;
    let (got, end) = drain(client).await;
    assert_eq!(end, Some(ErrorKind::ConnectionReset), "after {got} bytes");
    assert!(got < ARRIVED, "{got}");

    let mut client = connect(&links).await;
    for status in [410, 410] {
        let asked = format!("HEAD /s/{id}/file HTTP/1.1\r\nHost: h\r\n\r\n");
        client.write_all(asked.as_bytes()).await.unwrap();
        let mut answer = vec![0; 4096];
        let count = client.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..count]);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        // Longer than the interval of checks of a running download.
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    links.stop().await;
}

#[actix::test]
async fn a_hard_revoke_drops_data_under_tls() {
    let links = ManualLinks::start(|_| {});
    let pem = links.speak_tls("links");
    links.write("a", &vec![7; LARGE]);
    let id = links.share("a", |_| {});
    let mut roots = rustls::RootCertStore::empty();
    let shown = rustls::pki_types::CertificateDer::from_pem_file(&pem.certificate).unwrap();
    roots.add(shown).unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = rustls::ClientConfig::builder().with_root_certificates(roots);
    let config = Arc::new(config.with_no_client_auth());
    let name = "127.0.0.1".try_into().unwrap();
    let mut tls = rustls::ClientConnection::new(config, name).unwrap();
    let client = connect(&links).await.into_std().unwrap();
    client.set_nonblocking(false).unwrap();
    let client = tokio::task::spawn_blocking(move || {
        let mut client = client;
        let mut stream = rustls::Stream::new(&mut tls, &mut client);
        write!(stream, "GET /s/{id}/file HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
        stream.read_exact(&mut [0; 12]).unwrap();
        client.set_nonblocking(true).unwrap();
        client
    });
    let client = TcpStream::from_std(client.await.unwrap()).unwrap();
    // As without TLS: if this is too short, the test has less to check.
    tokio::time::sleep(Duration::from_millis(300)).await;
    revoke(&links, id);
    eventually("it is cut", || links.server.counters().cut == 1).await;
    let (got, end) = drain(client).await;
    assert_eq!(end, Some(ErrorKind::ConnectionReset), "after {got} bytes");
    assert!(got < ARRIVED, "{got}");
    links.stop().await;
}

#[actix::test]
async fn a_file_overwritten_during_its_download_does_not_count_as_complete() {
    let links = ManualLinks::start(|_| {});
    for speaks_tls in [false, true] {
        links.write("a", &vec![7; LARGE]);
        let id = links.share("a", |_| {});
        let trusted = speaks_tls.then(|| links.speak_tls("links").certificate);
        let (url, before) = (links.url(id, "/file"), links.server.counters());
        let download = tokio::spawn(async move {
            let slow = ["--no-include", "--limit-rate", "8M", "-o", "/dev/null", &url];
            let trusted = trusted.iter().flat_map(|path| ["--cacert", path.to_str().unwrap()]);
            curl(&[&trusted.collect::<Vec<_>>()[..], &slow].concat()).await.exit
        });
        let begun = || links.server.counters().downloads > before.downloads;
        eventually("the download runs", begun).await;
        let mut file = std::fs::File::options().write(true).open(links.below("a")).unwrap();
        file.seek(SeekFrom::Start(LARGE as u64 / 2)).unwrap();
        file.write_all(b"something else").unwrap();
        let exit = download.await.unwrap();
        assert!(matches!(exit, 18 | 56), "curl noticed that it is not whole: {exit}");
        assert_eq!(links.server.counters().broken_off, before.broken_off + 1);
    }
    links.stop().await;
}
