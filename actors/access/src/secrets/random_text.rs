//! 32 random bytes, and their text: 43 characters of base64url.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reelyard_core::secret_id::{IdSource, NoRandomness};

/// Number of characters of 32 bytes.
pub(super) const CHARACTERS: usize = 43;

/// 32 random bytes of the system, for a new secret.
///
/// # Errors
/// The system provides none.
pub fn draw() -> Result<[u8; 32], NoRandomness> {
    IdSource::system().draw_secret()
}

pub(super) fn written(bytes: &[u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The bytes of a text; none if it is not exactly the text of 32 bytes.
pub(super) fn read(text: &str) -> Option<[u8; 32]> {
    if text.len() != CHARACTERS {
        return None;
    }
    // Some decoders need more room than the text contains.
    let mut bytes = [0; 34];
    match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
        Ok(32) => {
            let mut read = [0; 32];
            read.copy_from_slice(&bytes[..32]);
            Some(read)
        }
        _ => None,
    }
}
