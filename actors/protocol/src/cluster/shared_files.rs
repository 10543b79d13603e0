//! Files of shares, on their way from a node that sees their root to one that does not.
//!
//! A call is a GET on a stream between the two nodes, and its answer is JSON or the bytes themselves. The forms are part
//! of the version of the calls between nodes.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};

/// The address in the first line of a stream that a node opens for itself, and not for a client.
pub const NO_CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// The first line of a stream to another node: the address of the client whose requests follow.
pub fn client_line(client: &str) -> String {
    format!("{client}\n")
}

/// The header with the address of the client of one request. A stream can carry requests of several clients.
pub const CLIENT_HEADER: &str = "reelyard-client";

/// A call about a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedFileCall {
    /// The state of the file: `Result<SharedFileFacts, NotPassed>`.
    Facts,
    /// These bytes of the state that `If-Match` names.
    Bytes(BytesAsked),
    /// The contents of the share: `Result<SharedContents, NotPassed>`.
    Contents,
    /// The bytes of an archive, or [`NotPassed`] with status 409.
    Archive(ArchiveAsked),
    /// Counts a download: [`CountedThere`].
    Count(CountAsked),
}

impl SharedFileCall {
    /// The path and query of the call about this share.
    pub fn target(&self, id: &str) -> String {
        match self {
            SharedFileCall::Facts => format!("/shared-files/{id}"),
            SharedFileCall::Bytes(BytesAsked { from, to }) => {
                format!("/shared-files/{id}?from={from}&to={to}")
            }
            SharedFileCall::Contents => format!("/shared-files/{id}/contents"),
            SharedFileCall::Archive(ArchiveAsked { checked }) => {
                format!("/shared-files/{id}/archive?checked={checked}")
            }
            SharedFileCall::Count(CountAsked { client, ranged, request }) => {
                format!(
                    "/shared-files/{id}/count?client={client}&ranged={ranged}&request={request}"
                )
            }
        }
    }
}

/// A range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct BytesAsked {
    /// The first byte.
    pub from: u64,
    /// The byte after the last one.
    pub to: u64,
}

/// An archive of a shared directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct ArchiveAsked {
    /// Whether all files are opened first.
    pub checked: bool,
}

/// A download that the leader counts for another node.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CountAsked {
    /// The number of the client.
    pub client: u64,
    /// Whether it asks for a part of the file.
    pub ranged: bool,
    /// The request id as a decimal number. It is a text, because a query has no numbers of 128 bits.
    pub request: String,
}

/// The answer of a leader that was asked to count a download. Without a refusal it may or may not be counted.
pub type CountedThere = Result<(), Option<CountRefused>>;

/// Why a leader counts no download.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CountRefused {
    /// There is no such share.
    Unknown,
    /// The share has ended.
    Ended {
        /// The word of its ending.
        why: String,
    },
    /// The last download was taken.
    Exhausted,
}

/// The state of a file, as the node that has it describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedFileFacts {
    /// Size in bytes.
    pub size: u64,
    /// The entity tag, with its quotes.
    pub etag: String,
    /// Seconds since 1970 of the last change.
    pub modified: u64,
}

/// Why another node has no file of a share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotPassed {
    /// It sees the root, and there is no such file.
    Absent,
    /// It does not see the root either.
    Away,
    /// It does not answer, does not know the share yet, or its disk failed. Nothing is known about the root.
    Unknown,
    /// It sees the directory, and cannot make an archive of it, for this reason.
    NoArchive(String),
}

/// The contents of a share, as its page shows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedContents {
    /// A file with its size in bytes.
    File(u64),
    /// A directory with its listed entries.
    Directory(DirectoryListing),
}

/// The listed entries of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryListing {
    /// The first entries: directories before files, each sorted by name.
    pub entries: Vec<DirectoryEntry>,
    /// Number of further entries that were read.
    pub others: usize,
    /// Whether the directory has more entries than were read.
    pub goes_on: bool,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryEntry {
    /// Name for display, not necessarily valid on disk.
    pub name: String,
    /// Size of a file in bytes; none for a directory.
    pub size: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &impl Serialize) -> String {
        serde_json::to_string(value).unwrap()
    }

    #[test]
    fn sent_forms_of_shared_files_stay() {
        let (bytes, archive) = (BytesAsked { from: 3, to: 9 }, ArchiveAsked { checked: true });
        let count = CountAsked { client: 7, ranged: false, request: "11".to_owned() };
        let file = DirectoryEntry { name: "a".to_owned(), size: Some(5) };
        let directory = DirectoryEntry { name: "d".to_owned(), size: None };
        let listing = DirectoryListing { entries: vec![directory, file], others: 2, goes_on: true };
        let facts = SharedFileFacts { size: 5, etag: "\"x\"".to_owned(), modified: 1_795_000_000 };
        let unlisted: Result<SharedContents, NotPassed> = Ok(SharedContents::File(5));
        let listed: Result<_, NotPassed> = Ok(SharedContents::Directory(listing));
        let found: Result<_, NotPassed> = Ok(facts);
        let refused = |why: NotPassed| text(&Err::<SharedFileFacts, _>(why));
        let count_refused = |why| text(&CountedThere::Err(why));
        let kept = [
            (client_line(&NO_CLIENT.to_string()), "0.0.0.0:0\n"),
            (client_line("[2001:db8::1]:99"), "[2001:db8::1]:99\n"),
            (SharedFileCall::Facts.target("I"), "/shared-files/I"),
            (SharedFileCall::Bytes(bytes).target("I"), "/shared-files/I?from=3&to=9"),
            (SharedFileCall::Contents.target("I"), "/shared-files/I/contents"),
            (SharedFileCall::Archive(archive).target("I"), "/shared-files/I/archive?checked=true"),
            (
                SharedFileCall::Count(count).target("I"),
                "/shared-files/I/count?client=7&ranged=false&request=11",
            ),
            (text(&found), r#"{"Ok":{"size":5,"etag":"\"x\"","modified":1795000000}}"#),
            (refused(NotPassed::Absent), r#"{"Err":"absent"}"#),
            (refused(NotPassed::Away), r#"{"Err":"away"}"#),
            (refused(NotPassed::Unknown), r#"{"Err":"unknown"}"#),
            (text(&NotPassed::NoArchive("no".to_owned())), r#"{"no_archive":"no"}"#),
            (text(&unlisted), r#"{"Ok":{"file":5}}"#),
            (
                text(&listed),
                r#"{"Ok":{"directory":{"entries":[{"name":"d","size":null},{"name":"a","size":5}],"others":2,"goes_on":true}}}"#,
            ),
            (text(&CountedThere::Ok(())), r#"{"Ok":null}"#),
            (count_refused(None), r#"{"Err":null}"#),
            (count_refused(Some(CountRefused::Unknown)), r#"{"Err":"Unknown"}"#),
            (
                count_refused(Some(CountRefused::Ended { why: "expired".to_owned() })),
                r#"{"Err":{"Ended":{"why":"expired"}}}"#,
            ),
            (count_refused(Some(CountRefused::Exhausted)), r#"{"Err":"Exhausted"}"#),
        ];
        for (sent, kept) in kept {
            assert_eq!(sent, kept, "raise CALL_VERSION, and keep the new form here");
        }
    }
}
