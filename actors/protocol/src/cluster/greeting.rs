//! The first frame of a connection in each direction: a hello or a refusal, behind the range of versions.
//!
//! | Bytes | Content |
//! |---|---|
//! | 4 | `RYCL` |
//! | 1, 1 | the lowest and the highest version of the calls between nodes that the sender knows |
//! | 1 | 0: a hello follows; 1: a refusal follows |
//! | rest | postcard |
//!
//! A later version appends members to the hello. A reader of an earlier version ignores them.

use std::fmt;

use reelyard_core::call_version::CALL_VERSIONS;
use serde::Serialize;

use super::hello::NodeHello;
use super::refusal::ConnectionRefusal;

/// The longest greeting that is read, in bytes.
pub const LARGEST_GREETING: usize = 4096;

/// The versions of the calls between nodes that this program knows.
pub const PROTOCOL_VERSIONS: ProtocolVersions =
    ProtocolVersions { min: *CALL_VERSIONS.start(), max: *CALL_VERSIONS.end() };

/// Begins each greeting.
const MARK: [u8; 4] = *b"RYCL";
/// Number of bytes before the hello or the refusal.
const HEAD: usize = 7;

/// From this version on the skipped entries follow a hello.
const SKIPS_SINCE: u8 = 8;

const HELLO: u8 = 0;
const REFUSED: u8 = 1;

/// Versions of the calls between nodes, from the lowest to the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolVersions {
    /// The lowest version.
    pub min: u8,
    /// The highest version.
    pub max: u8,
}

impl ProtocolVersions {
    /// The highest version that both sides know.
    pub fn common(self, other: ProtocolVersions) -> Option<u8> {
        let highest = self.max.min(other.max);
        (highest >= self.min.max(other.min)).then_some(highest)
    }
}

impl fmt::Display for ProtocolVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

/// The content of a greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// The sender accepts the connection, as far as it knows the other side.
    Hello(Box<NodeHello>),
    /// The sender closes the connection.
    Refused(ConnectionRefusal),
}

/// A greeting of the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadGreeting {
    /// The versions that the other program knows.
    pub versions: ProtocolVersions,
    /// None if no version is common, and so the hello may have an unknown form.
    pub greeting: Option<Greeting>,
}

/// Bytes that are no greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the first bytes are no greeting of a node")]
pub struct BadGreeting;

impl Greeting {
    /// The bytes of the frame, without its length.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Greeting::Hello(hello) => bytes(HELLO, &(hello, &hello.skips)),
            Greeting::Refused(refusal) => bytes(REFUSED, refusal),
        }
    }

    /// Reads a frame without its length.
    ///
    /// # Errors
    /// When the bytes are no greeting.
    pub fn read(frame: &[u8]) -> Result<ReadGreeting, BadGreeting> {
        let (head, body) = frame.split_at_checked(HEAD).ok_or(BadGreeting)?;
        let (mark, head) = head.split_at(MARK.len());
        let &[min, max, kind] = head else { return Err(BadGreeting) };
        if mark != MARK || min > max {
            return Err(BadGreeting);
        }
        let versions = ProtocolVersions { min, max };
        let greeting = match kind {
            REFUSED => Some(postcard::take_from_bytes(body).map(|(it, _)| Greeting::Refused(it))),
            HELLO if PROTOCOL_VERSIONS.common(versions).is_none() => None,
            HELLO => Some(read_hello(versions, body).map(Greeting::Hello)),
            _ => return Err(BadGreeting),
        };
        let greeting = greeting.transpose().map_err(|_| BadGreeting)?;
        Ok(ReadGreeting { versions, greeting })
    }
}

fn read_hello(versions: ProtocolVersions, body: &[u8]) -> postcard::Result<Box<NodeHello>> {
    let (mut hello, rest): (Box<NodeHello>, _) = postcard::take_from_bytes(body)?;
    if versions.max >= SKIPS_SINCE {
        (hello.skips, _) = postcard::take_from_bytes(rest)?;
    }
    Ok(hello)
}

fn bytes(kind: u8, body: &impl Serialize) -> Vec<u8> {
    let ProtocolVersions { min, max } = PROTOCOL_VERSIONS;
    let mut bytes = MARK.to_vec();
    bytes.extend([min, max, kind]);
    // Encoding into a growing vector fails only for values that no greeting contains. The receiver refuses
    // an empty body.
    bytes.extend(postcard::to_stdvec(body).unwrap_or_default());
    bytes
}
