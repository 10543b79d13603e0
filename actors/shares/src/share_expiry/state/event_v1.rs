//! Events of version 1. Stores from before 22 November 2026 have them. Pure.

use reelyard_core::clock::Millis;

use super::event::ShareEvent;
use super::event_v2;
use super::values::id::ShareId;
use super::values::value_types::ShareEnding;

/// The variants with a list of ids, by number. Version 2 writes such a list as one text of bytes.
const RECLAIMED: u32 = 2;
const ENDED: u32 = 3;
const NOTICED: u32 = 7;

/// Reads an event of version 1. All other variants are as in version 2.
///
/// # Errors
///
/// The body does not decode.
pub(in crate::share_expiry) fn read(body: &[u8]) -> Result<ShareEvent, postcard::Error> {
    let (variant, fields) = postcard::take_from_bytes::<u32>(body)?;
    match variant {
        RECLAIMED => {
            let ids: Vec<ShareId> = postcard::from_bytes(fields)?;
            Ok(ShareEvent::Reclaimed { ids })
        }
        ENDED => {
            let (ids, why, cut, by): (Vec<ShareId>, ShareEnding, bool, String) =
                postcard::from_bytes(fields)?;
            Ok(ShareEvent::Ended { ids, why, cut, by })
        }
        NOTICED => {
            let (ids, until): (Vec<ShareId>, Millis) = postcard::from_bytes(fields)?;
            Ok(ShareEvent::Noticed { ids, until })
        }
        _ => event_v2::read(body),
    }
}
