//! Models of the pages, from the state of a link.

use reelyard_console::Moment;
use reelyard_console::card::{LinkContents, LinkRefusalKind, LinkRefusalModel, LinkedEntry};
use reelyard_core::clock::Millis;
use reelyard_shares::share_expiry::ShareEnding;

use super::listing::Contents;
use crate::access::refusal::LinkRefusal;

/// An instant as pages show it.
pub(super) fn moment(at: Millis) -> Moment {
    Moment(at.0)
}

/// The contents of a share as its page shows them.
pub(super) fn linked_contents(contents: Contents) -> LinkContents {
    match contents {
        Contents::File(size) => LinkContents::File(size),
        Contents::Directory(listing) => {
            let entry = |entry: super::listing::DirectoryEntry| LinkedEntry {
                name: entry.name,
                size: entry.size,
            };
            LinkContents::Directory {
                entries: listing.entries.into_iter().map(entry).collect(),
                others: listing.others,
                goes_on: listing.goes_on,
            }
        }
    }
}

/// The page of a refusal.
pub(super) fn refusal_model(refusal: &LinkRefusal) -> LinkRefusalModel {
    let kind = match refusal {
        LinkRefusal::Ended { why, .. } => match why {
            ShareEnding::Expired => LinkRefusalKind::Expired,
            ShareEnding::Exhausted => LinkRefusalKind::Used,
            ShareEnding::Revoked => LinkRefusalKind::Revoked,
            ShareEnding::Removed => LinkRefusalKind::Removed,
            ShareEnding::RootGone => LinkRefusalKind::NotShared,
            ShareEnding::Evicted => LinkRefusalKind::Evicted,
        },
        LinkRefusal::Exhausted | LinkRefusal::Held | LinkRefusal::Replaced => LinkRefusalKind::Used,
        LinkRefusal::Throttled(wait) => LinkRefusalKind::TooMany(wait.as_secs() + 1),
        LinkRefusal::TooManyArchives | LinkRefusal::NotNow(_) => LinkRefusalKind::NotNow,
        LinkRefusal::Absent | LinkRefusal::OtherKind { .. } => LinkRefusalKind::Absent,
        LinkRefusal::Failed | LinkRefusal::NoArchive(_) => LinkRefusalKind::Unreadable,
        LinkRefusal::Unknown | LinkRefusal::Password { .. } => LinkRefusalKind::Unknown,
    };
    let at = match refusal {
        LinkRefusal::Ended { at, .. } => Some(moment(*at)),
        _ => None,
    };
    let detail = match refusal {
        LinkRefusal::NotNow(why) => format!("Not now: {why}."),
        _ => String::new(),
    };
    LinkRefusalModel { kind, at, detail }
}
