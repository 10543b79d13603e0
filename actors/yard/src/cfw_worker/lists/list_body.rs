//! The fingerprint of a list as it was sent. A list with the same fingerprint has the same files, so its
//! names need not be looked up again. Pure.

/// The length and the hash of the body of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListFingerprint {
    length: u64,
    hash: blake3::Hash,
}

impl ListFingerprint {
    /// The number of bytes of the body.
    pub fn length(&self) -> u64 {
        self.length
    }
}

/// Hashes the body of a list while it arrives.
#[derive(Default)]
pub struct ListHasher {
    length: u64,
    hasher: blake3::Hasher,
}

impl ListHasher {
    /// Takes the next bytes of the body.
    pub fn push(&mut self, piece: &[u8]) {
        self.length += piece.len() as u64;
        self.hasher.update(piece);
    }

    /// The fingerprint of all bytes.
    pub fn finish(&self) -> ListFingerprint {
        ListFingerprint { length: self.length, hash: self.hasher.finalize() }
    }
}
