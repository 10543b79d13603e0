//! One line of the access log.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use reelyard_core::clock::Millis;
use reelyard_shares::share_expiry::ShareId;
use serde::Serialize;

/// Longest logged user agent, in characters.
const LONGEST_AGENT: usize = 300;

/// A request for a file or an archive.
#[derive(Clone, Debug)]
pub(crate) struct LinkAccess {
    pub(crate) at: Millis,
    pub(crate) share: ShareId,
    pub(crate) address: IpAddr,
    pub(crate) user_agent: Option<String>,
    /// "file" or "zip".
    pub(crate) part: &'static str,
    pub(crate) status: u16,
    pub(crate) bytes: u64,
}

/// The answer to a request, as far as it was sent.
#[derive(Debug, Default)]
pub(crate) struct SentAnswer {
    status: AtomicU16,
    bytes: AtomicU64,
}

/// Version 1 of a line.
#[derive(Serialize)]
struct StoredLinkAccess<'a> {
    v: u32,
    at: String,
    share: String,
    address: IpAddr,
    part: &'a str,
    status: u16,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<&'a str>,
}

impl SentAnswer {
    /// The answer begins with this status.
    pub(crate) fn begin(&self, status: u16) {
        self.status.store(status, Ordering::Relaxed);
    }

    /// More bytes of the body were sent.
    pub(crate) fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Status and bytes.
    pub(crate) fn so_far(&self) -> (u16, u64) {
        (self.status.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

impl LinkAccess {
    /// The user agent as it is logged.
    pub(crate) fn agent(header: &[u8]) -> String {
        String::from_utf8_lossy(header).chars().take(LONGEST_AGENT).collect()
    }

    /// Appends the line.
    pub(super) fn write(&self, lines: &mut Vec<u8>) {
        let stored = StoredLinkAccess {
            v: 1,
            at: self.at.to_string(),
            share: self.share.to_string(),
            address: self.address,
            part: self.part,
            status: self.status,
            bytes: self.bytes,
            user_agent: self.user_agent.as_deref(),
        };
        let start = lines.len();
        // Plain data always serializes.
        if serde_json::to_writer(&mut *lines, &stored).is_err() {
            lines.truncate(start);
            return;
        }
        lines.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_version_1_stay_the_same() {
        let access = LinkAccess {
            at: Millis(1_800_000_000_000),
            share: ShareId(7),
            address: "192.0.2.0".parse().unwrap(),
            user_agent: Some(LinkAccess::agent(b"curl/8 \"x\"\xff")),
            part: "file",
            status: 206,
            bytes: 4711,
        };
        let mut lines = Vec::new();
        access.write(&mut lines);
        let kept = format!(
            "{{\"v\":1,\"at\":\"2027-01-15T08:00:00.000Z\",\"share\":\"{}\",\"address\":\"192.0.2.0\",\
             \"part\":\"file\",\"status\":206,\"bytes\":4711,\"user_agent\":\"curl/8 \\\"x\\\"\u{fffd}\"}}\n",
            ShareId(7)
        );
        assert_eq!(String::from_utf8(lines).unwrap(), kept);
    }
}
