//! Ids of shares: the secret part of a link.

use reelyard_core::secret_id;
use serde::{Deserialize, Deserializer, Serializer, de};

secret_id! {
    /// The id of a share: 128 random bits. The id alone gives access to the link.
    ShareId,
    /// A text that is no id of a share.
    BadShareId = "a share"
}

/// Lists of ids as the bytes of all of them, for `#[serde(with)]`. One event holds thousands. If each
/// byte were encoded separately, it would cost as much as the reclaim of its share.
pub(in crate::share_expiry) mod packed {
    use super::*;

    pub(in crate::share_expiry) fn serialize<S: Serializer>(
        ids: &[ShareId],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(size_of_val(ids));
        for id in ids {
            bytes.extend_from_slice(&id.0.to_be_bytes());
        }
        serializer.serialize_bytes(&bytes)
    }

    pub(in crate::share_expiry) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<ShareId>, D::Error> {
        let bytes = <&serde_bytes::Bytes>::deserialize(deserializer)?;
        let (ids, rest) = bytes.as_chunks();
        if !rest.is_empty() {
            return Err(de::Error::invalid_length(bytes.len(), &"a multiple of 16 bytes"));
        }
        Ok(ids.iter().map(|id| ShareId(u128::from_be_bytes(*id))).collect())
    }
}
