//! TCP sockets between nodes.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

/// Time limit for the addresses of a name.
const LOOKUP_TIME: Duration = Duration::from_secs(2);
/// Time limit for the connection to one address.
const CONNECT_TIME: Duration = Duration::from_millis(500);
/// How many addresses of a name are tried.
const ADDRESSES: usize = 4;
/// A connection ends if the other machine confirms nothing for this long.
const SILENCE: Duration = Duration::from_millis(2500);
/// The same for a stream whose reader may pause, because a slow client reads the answer.
const PAUSE_OF_READER: Duration = Duration::from_secs(60);
/// A connection without data is probed at this interval.
const PROBE: Duration = Duration::from_secs(1);
const PROBES: u32 = 2;

/// An address of a member that is not `host:port`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not an address of a node: expected host:port, such as 10.0.0.1:8082")]
pub(super) struct BadMemberAddress(String);

/// Splits `host:port`. An IPv6 address loses its brackets.
pub(super) fn split_address(address: &str) -> Result<(&str, u16), BadMemberAddress> {
    let bad = || BadMemberAddress(address.to_owned());
    let (host, port) = address.rsplit_once(':').ok_or_else(bad)?;
    let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(bad)?;
    let plain = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = plain.unwrap_or(host);
    let is_plain_name = plain.is_some() || !host.contains(':');
    if host.is_empty() || !is_plain_name { Err(bad()) } else { Ok((host, port)) }
}

/// Connects to the first address of `host` that answers.
///
/// `admits` decides which addresses may be called.
pub(super) async fn connect(
    host: &str,
    port: u16,
    admits: impl Fn(SocketAddr) -> io::Result<()>,
) -> io::Result<TcpStream> {
    let no_address = || io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    let mut failure = no_address();
    let found = timeout(LOOKUP_TIME, lookup_host((host, port))).await;
    let late = |_| {
        let why = format!("no address of {host} was found within {} s", LOOKUP_TIME.as_secs());
        io::Error::new(io::ErrorKind::TimedOut, why)
    };
    for address in found.map_err(late)??.take(ADDRESSES) {
        admits(address)?;
        match timeout(CONNECT_TIME, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                prepare(&stream)?;
                return Ok(stream);
            }
            Ok(Err(error)) => failure = error,
            Err(_) => {
                let why = format!("no answer within {} ms", CONNECT_TIME.as_millis());
                failure = io::Error::new(io::ErrorKind::TimedOut, why);
            }
        }
    }
    Err(failure)
}

/// Sends small messages at once, and notices a machine that has vanished.
pub(super) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    limit_silence(stream, SILENCE)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, PROBE)?;
    sockopt::set_tcp_keepintvl(stream, PROBE)?;
    Ok(sockopt::set_tcp_keepcnt(stream, PROBES)?)
}

/// Lets the other side read nothing for a while. The kernel counts that as silence, although the machine answers.
pub(super) fn let_reader_pause(stream: &TcpStream) -> io::Result<()> {
    limit_silence(stream, PAUSE_OF_READER)
}

fn limit_silence(stream: &TcpStream, limit: Duration) -> io::Result<()> {
    let milliseconds = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
    Ok(sockopt::set_tcp_user_timeout(stream, milliseconds)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        assert_eq!(split_address("10.0.0.1:8082"), Ok(("10.0.0.1", 8082)));
        assert_eq!(split_address("[::1]:8082"), Ok(("::1", 8082)));
        assert_eq!(split_address("a.example:1"), Ok(("a.example", 1)));
        for bad in ["", "a", "a:", "a:0", ":1", "::1:8082", "a:99999", "[]:1"] {
            assert_eq!(split_address(bad), Err(BadMemberAddress(bad.to_owned())));
        }
    }

    #[tokio::test]
    async fn a_machine_that_vanishes_is_noticed_within_three_seconds() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stream = connect("127.0.0.1", address.port(), |_| Ok(())).await.unwrap();
        assert!(stream.nodelay().unwrap());
        assert_eq!(sockopt::tcp_user_timeout(&stream).unwrap(), 2500);
        assert!(sockopt::socket_keepalive(&stream).unwrap());
        let probes = PROBE * (1 + sockopt::tcp_keepcnt(&stream).unwrap());
        assert!(probes <= Duration::from_secs(3), "{probes:?}");
        assert_eq!(sockopt::tcp_keepidle(&stream).unwrap(), PROBE);
        assert_eq!(sockopt::tcp_keepintvl(&stream).unwrap(), PROBE);
    }

    #[tokio::test]
    async fn a_refused_connection_is_reported_with_its_reason() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let error = connect("127.0.0.1", port, |_| Ok(())).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
