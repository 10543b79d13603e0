//! The byte stream to a source: a blocking socket, with or without TLS.

use std::fmt;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use reelyard_protocol::tls::ClientTls;
use rustls::ClientConnection;

/// Size of the read buffer below TLS. rustls itself reads 4 KiB with each system call.
const BELOW_TLS: usize = 128 << 10;

/// The port of a source: its address, and whether it uses TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourcePort {
    /// Its address.
    pub addr: SocketAddr,
    /// Whether it uses TLS.
    pub tls: bool,
}

impl fmt::Display for SourcePort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.addr.fmt(f)
    }
}

/// A connection after its handshake, if it has one.
pub(super) enum SourceStream {
    /// Without TLS.
    Plain(Arc<TcpStream>),
    /// With TLS.
    Tls(Box<TlsSourceStream>),
}

/// A stream with TLS.
pub(super) struct TlsSourceStream {
    tls: ClientConnection,
    socket: BufReader<SharedSocket>,
}

/// A socket that the cancellation of a copy can close.
struct SharedSocket(Arc<TcpStream>);

impl Read for SharedSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl Write for SharedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SourceStream {
    /// Continues with TLS on a new connection: completes the handshake, which checks the certificate of the source.
    pub(super) fn with_tls(
        stream: Arc<TcpStream>,
        addr: SocketAddr,
        tls: &ClientTls,
    ) -> io::Result<Self> {
        let mut tls = tls.connection(addr.ip()).map_err(io::Error::other)?;
        let mut socket = BufReader::with_capacity(BELOW_TLS, SharedSocket(stream));
        while tls.is_handshaking() {
            while tls.wants_write() {
                tls.write_tls(socket.get_mut())?;
            }
            if tls.is_handshaking() {
                read_records(&mut tls, &mut socket)?;
            }
        }
        Ok(SourceStream::Tls(Box::new(TlsSourceStream { tls, socket })))
    }

    /// Below TLS, for its options and for the cancellation.
    pub(super) fn socket(&self) -> &Arc<TcpStream> {
        match self {
            SourceStream::Plain(stream) => stream,
            SourceStream::Tls(stream) => &stream.socket.get_ref().0,
        }
    }

    /// Sends all of `bytes`.
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            SourceStream::Plain(stream) => (&**stream).write_all(bytes),
            SourceStream::Tls(stream) => stream.send(bytes),
        }
    }

    /// Reads the next bytes. Zero bytes mean the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            SourceStream::Plain(stream) => (&**stream).read(buffer),
            SourceStream::Tls(stream) => stream.read(buffer),
        }
    }
}

impl TlsSourceStream {
    fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        loop {
            while self.tls.wants_write() {
                self.tls.write_tls(self.socket.get_mut())?;
            }
            if bytes.is_empty() {
                return Ok(());
            }
            // Takes as many bytes as its buffer has space for.
            let taken = self.tls.writer().write(bytes)?;
            bytes = &bytes[taken..];
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    read_records(&mut self.tls, &mut self.socket)?;
                }
                other => return other,
            }
        }
    }
}

/// Reads from the socket, and processes the complete records.
fn read_records(
    tls: &mut ClientConnection,
    socket: &mut BufReader<SharedSocket>,
) -> io::Result<()> {
    let read = tls.read_tls(socket)?;
    if let Err(error) = tls.process_new_packets() {
        // The alert names the cause; its failure does not matter.
        let _ = tls.write_tls(socket.get_mut());
        return Err(io::Error::new(ErrorKind::InvalidData, error));
    }
    if read == 0 && tls.is_handshaking() {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}
