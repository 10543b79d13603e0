//! Hashes that are equal in every run.

use std::hash::{DefaultHasher, Hasher};

use reelyard_replication::CommitAnswer;

/// A hash of bytes that does not depend on the process.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// A hash of the answers to the commits of an entry.
pub(super) fn hash_answers(answers: &[CommitAnswer]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for answer in answers {
        match answer {
            CommitAnswer::Deposed => hasher.write_u8(0),
            CommitAnswer::Applied(answers) => {
                hasher.write_usize(answers.len());
                for answer in answers {
                    let (kind, bytes) = match answer {
                        Ok(bytes) => (1, bytes),
                        Err(bytes) => (2, bytes),
                    };
                    hasher.write_u8(kind);
                    hasher.write(bytes);
                }
            }
        }
    }
    hasher.finish()
}
