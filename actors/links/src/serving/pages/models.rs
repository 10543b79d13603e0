//! Models of the pages, from the state of a link.

use reelyard_console::Moment;
use reelyard_console::card::{LinkContents, LinkRefusalKind, LinkRefusalModel, LinkedEntry};
use reelyard_core::clock::Millis;
use reelyard_protocol::cluster::shared_files::{DirectoryEntry, SharedContents};
use reelyard_shares::share_expiry::{ShareEnding, ShareKind};

use crate::access::refusal::LinkRefusal;

/// An instant as pages show it.
pub(super) fn moment(at: Millis) -> Moment {
    Moment(at.0)
}

/// The contents of a share as its page shows them.
pub(super) fn linked_contents(contents: SharedContents) -> LinkContents {
    match contents {
        SharedContents::File(size) => LinkContents::File(size),
        SharedContents::Directory(listing) => {
            let entry = |entry: DirectoryEntry| LinkedEntry { name: entry.name, size: entry.size };
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
        LinkRefusal::Exhausted => LinkRefusalKind::Used,
        LinkRefusal::Held => LinkRefusalKind::Held,
        LinkRefusal::Replaced => LinkRefusalKind::Replaced,
        LinkRefusal::Throttled(wait) => LinkRefusalKind::TooMany(wait.as_secs() + 1),
        LinkRefusal::TooManyArchives => {
            LinkRefusalKind::TooManyArchives(refusal.retry_after().unwrap_or_default())
        }
        LinkRefusal::NotNow(_) => LinkRefusalKind::NotNow,
        LinkRefusal::Absent => LinkRefusalKind::Absent,
        LinkRefusal::OtherKind { instead: ShareKind::Directory } => LinkRefusalKind::IsDirectory,
        LinkRefusal::OtherKind { instead: ShareKind::File } => LinkRefusalKind::IsFile,
        LinkRefusal::Failed => LinkRefusalKind::Unreadable,
        LinkRefusal::NoArchive(_) => LinkRefusalKind::NoArchive,
        LinkRefusal::Unknown | LinkRefusal::Password { .. } => LinkRefusalKind::Unknown,
    };
    let at = match refusal {
        LinkRefusal::Ended { at, .. } => Some(moment(*at)),
        _ => None,
    };
    let detail = match refusal {
        LinkRefusal::NotNow(why) => format!("Not now: {why}."),
        LinkRefusal::NoArchive(why) => format!("The reason: {why}."),
        _ => String::new(),
    };
    LinkRefusalModel { kind, at, detail }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_refusal_has_a_reason_of_its_own() {
        let refusals = [
            LinkRefusal::Exhausted,
            LinkRefusal::Held,
            LinkRefusal::Replaced,
            LinkRefusal::Throttled(Duration::from_secs(9)),
            LinkRefusal::TooManyArchives,
            LinkRefusal::Absent,
            LinkRefusal::OtherKind { instead: ShareKind::File },
            LinkRefusal::OtherKind { instead: ShareKind::Directory },
            LinkRefusal::NotNow("try again".to_owned()),
            LinkRefusal::Failed,
            LinkRefusal::NoArchive("a path in it is too long".to_owned()),
        ];
        let models: Vec<LinkRefusalModel> = refusals.iter().map(refusal_model).collect();
        for (index, model) in models.iter().enumerate() {
            let others = models.iter().skip(index + 1);
            assert!(others.into_iter().all(|other| other.kind != model.kind), "{:?}", model.kind);
        }
        assert_eq!(models[4].kind, LinkRefusalKind::TooManyArchives(10));
        assert_eq!(models[10].detail, "The reason: a path in it is too long.");
    }
}
