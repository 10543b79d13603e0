//! The identity of a store, in a small file beside sled: it is written once or twice, and read at each start. The
//! file has a line of JSON, and a line with its CRC-32C.
//!
//! A backup does not contain it. So a restored store is the store of a new cluster, and the members of the
//! former one refuse its calls.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use reelyard_core::cluster_id::{ClusterId, StoreId};
use reelyard_core::secret_id::NoRandomness;
use reelyard_replication::NodeIdentity;
use serde::{Deserialize, Serialize};

use super::checked_line;

const FILE: &str = "identity";

/// A store, and the member of a cluster that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreIdentity {
    /// The id of the store.
    pub store: StoreId,
    /// The cluster, and the number of the node in it. None while the node has asked to join and has no answer.
    pub member: Option<(ClusterId, u64)>,
    /// Whether the node joins a cluster that others have founded.
    pub has_joined: bool,
    /// Whether a node has run on the store. It must not be empty then.
    pub was_used: bool,
}

/// The versions of the stored form.
#[derive(Serialize, Deserialize)]
#[serde(tag = "version")]
enum StoredIdentity {
    #[serde(rename = "1")]
    V1 {
        store: StoreId,
        cluster: Option<ClusterId>,
        node: Option<u64>,
        has_joined: bool,
        was_used: bool,
    },
}

impl StoreIdentity {
    /// The identity of a node that founds a cluster as its member `number`.
    ///
    /// # Errors
    /// When the system provides no random numbers.
    pub fn founder(number: u64) -> Result<Self, NoRandomness> {
        let member = Some((ClusterId::random()?, number));
        Ok(StoreIdentity { store: StoreId::random()?, member, has_joined: false, was_used: false })
    }

    /// The identity of a node that asks to join a cluster.
    ///
    /// # Errors
    /// When the system provides no random numbers.
    pub fn joiner() -> Result<Self, NoRandomness> {
        let store = StoreId::random()?;
        Ok(StoreIdentity { store, member: None, has_joined: true, was_used: false })
    }

    /// How the node is known to others. None while it has no number.
    pub fn node(&self) -> Option<NodeIdentity> {
        let (cluster, number) = self.member?;
        Some(NodeIdentity { cluster, number, store: self.store })
    }

    /// Reads the identity of the store in `dir`. None if the store has none yet.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or is of a later version.
    pub fn read(dir: &Path) -> Result<Option<Self>, BadIdentity> {
        let bytes = match fs::read(dir.join(FILE)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let StoredIdentity::V1 { store, cluster, node, has_joined, was_used } = decode(&bytes)?;
        Ok(Some(StoreIdentity { store, member: cluster.zip(node), has_joined, was_used }))
    }

    /// Writes the identity durably. Another file of this name is replaced.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        let stored = StoredIdentity::V1 {
            store: self.store,
            cluster: self.member.map(|(cluster, _)| cluster),
            node: self.member.map(|(_, number)| number),
            has_joined: self.has_joined,
            was_used: self.was_used,
        };
        let text = encode(&stored)?;
        let partial = dir.join("identity.partial");
        let mut options = OpenOptions::new();
        let mut file =
            options.create(true).truncate(true).write(true).mode(0o600).open(&partial)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, dir.join(FILE))?;
        File::open(dir)?.sync_all()
    }

    /// Removes the identity of a store that becomes the store of another cluster.
    pub(crate) fn remove(dir: &Path) -> io::Result<()> {
        match fs::remove_file(dir.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Why the identity of a store cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BadIdentity {
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Its bytes have changed.
    #[error("its checksum does not match")]
    Damaged,
    /// A later version wrote it.
    #[error("{0}: start the version of reelyard that wrote it")]
    LaterVersion(String),
}

fn encode(stored: &StoredIdentity) -> io::Result<String> {
    Ok(checked_line::write(&serde_json::to_string(stored)?))
}

fn decode(bytes: &[u8]) -> Result<StoredIdentity, BadIdentity> {
    let line = checked_line::read(bytes).ok_or(BadIdentity::Damaged)?;
    serde_json::from_str(line).map_err(|error| BadIdentity::LaterVersion(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_text_of_an_identity_stays_and_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(StoreIdentity::read(dir.path()).unwrap(), None);
        let joiner = StoreIdentity {
            store: StoreId::from(1),
            member: None,
            has_joined: true,
            was_used: false,
        };
        let joined = StoreIdentity { member: Some((ClusterId::from(2), 3)), ..joiner };
        let kept = [
            (
                joiner,
                r#"{"version":"1","store":"00000000000000000000000000000001","cluster":null,"node":null,"has_joined":true,"was_used":false}"#,
            ),
            (
                joined,
                r#"{"version":"1","store":"00000000000000000000000000000001","cluster":"00000000000000000000000000000002","node":3,"has_joined":true,"was_used":false}"#,
            ),
        ];
        for (identity, text) in kept {
            identity.write(dir.path()).unwrap();
            let written = fs::read_to_string(dir.path().join(FILE)).unwrap();
            let line = written.lines().next();
            assert_eq!(line, Some(text), "give it another version");
            assert_eq!(StoreIdentity::read(dir.path()).unwrap(), Some(identity));
        }
    }

    #[test]
    fn a_damaged_identity_or_one_of_a_later_version_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE);
        StoreIdentity::founder(1).unwrap().write(dir.path()).unwrap();
        let whole = fs::read(&file).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            fs::write(&file, damaged).unwrap();
            let refused = StoreIdentity::read(dir.path());
            assert!(matches!(refused, Err(BadIdentity::Damaged)), "bit {bit}: {refused:?}");
        }
        let later = r#"{"version":"2"}"#;
        fs::write(&file, format!("{later}\n{:08x}\n", crc32c::crc32c(later.as_bytes()))).unwrap();
        let refused = StoreIdentity::read(dir.path()).unwrap_err().to_string();
        assert!(refused.contains("start the version of reelyard"), "{refused}");
    }
}
