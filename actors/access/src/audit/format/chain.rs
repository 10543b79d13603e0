//! The chain of hashes: each row's hash covers the hash of the row before it. Pure.

use std::fmt;
use std::str::FromStr;

/// The hash of a row and of everything before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainHash([u8; 32]);

/// A text is not a hash of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a hash of 64 hexadecimal digits in lower case")]
pub struct BadChainHash;

impl ChainHash {
    /// The hash before the first row of a log.
    pub const START: ChainHash = ChainHash([0; 32]);

    /// The hash of a row with these bytes, which follows the row of this hash.
    pub(in crate::audit) fn next(&self, row: &[u8]) -> ChainHash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0);
        hasher.update(row);
        ChainHash(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl FromStr for ChainHash {
    type Err = BadChainHash;

    fn from_str(text: &str) -> Result<Self, BadChainHash> {
        // Only one text per hash, so that a changed letter is noticed.
        let is_lower = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let hash = blake3::Hash::from_hex(text).ok().filter(|_| is_lower).ok_or(BadChainHash)?;
        Ok(ChainHash(*hash.as_bytes()))
    }
}

/// A row in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditPosition {
    /// Number of the row. The first row has 1.
    pub seq: u64,
    /// Hash of the row.
    pub hash: ChainHash,
}

impl AuditPosition {
    /// The position before the first row of a log.
    pub const START: AuditPosition = AuditPosition { seq: 0, hash: ChainHash::START };
}

impl fmt::Display for AuditPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl FromStr for AuditPosition {
    type Err = BadChainHash;

    fn from_str(text: &str) -> Result<Self, BadChainHash> {
        let (seq, hash) = text.split_once(':').ok_or(BadChainHash)?;
        Ok(AuditPosition { seq: seq.parse().map_err(|_| BadChainHash)?, hash: hash.parse()? })
    }
}
