//! The end of a data port, over real sockets.

use std::fs::File;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reelyard_core::clock::{Clock, Millis};
use reelyard_core::names::FileName;
use reelyard_protocol::worker::ContentHash;

use super::{
    DataPort, DataPortLimits, DataPortRoutes, FileHashes, Hashed, SendProgress, master_path,
};
use crate::file_fingerprint::FileFingerprint;

/// Hashes that no file ever gets. A request for one waits until they are stopped.
struct EndlessHashes {
    /// Gets each wait.
    waits: Sender<()>,
    /// Ends the wait; none once they are stopped.
    running: Mutex<Option<Sender<()>>>,
    stopped: Mutex<Receiver<()>>,
    is_ended_by_stop: Arc<AtomicBool>,
}

impl FileHashes for EndlessHashes {
    fn hash_of(&self, _: &File, _: FileFingerprint, patience: Duration) -> Hashed {
        self.waits.send(()).unwrap();
        let waited = self.stopped.lock().unwrap().recv_timeout(patience);
        let is_ended_by_stop = waited == Err(mpsc::RecvTimeoutError::Disconnected);
        self.is_ended_by_stop.store(is_ended_by_stop, Ordering::SeqCst);
        Hashed::UnderWay
    }

    fn known(&self, _: &FileFingerprint) -> Option<ContentHash> {
        None
    }

    fn start_hashing(&self, _: &File, _: FileFingerprint) -> Option<Box<dyn SendProgress>> {
        None
    }

    fn stop(&self) {
        self.running.lock().unwrap().take();
    }
}

#[test]
fn a_data_port_stops_while_a_client_waits_for_a_hash() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), b"a").unwrap();
    let routes = DataPortRoutes::new(vec![dir.path().to_owned()], None);
    let (waits, waiting) = mpsc::channel();
    let (running, stopped) = mpsc::channel();
    let is_ended_by_stop = Arc::new(AtomicBool::new(false));
    let hashes = EndlessHashes {
        waits,
        running: Mutex::new(Some(running)),
        stopped: Mutex::new(stopped),
        is_ended_by_stop: Arc::clone(&is_ended_by_stop),
    };
    let (addr, clock) = ("127.0.0.1:0".parse().unwrap(), Clock::manual(Millis(0)));
    let limits = DataPortLimits::default();
    let mut port = DataPort::start(addr, routes, hashes, None, None, clock, limits).unwrap();
    let mut client = TcpStream::connect(port.addr()).unwrap();
    let path = master_path(dir.path().to_str().unwrap(), &FileName::new("a").unwrap(), true);
    client.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
    waiting.recv().unwrap();
    port.stop();
    assert!(is_ended_by_stop.load(Ordering::SeqCst), "the client waited until its time was over");
}
