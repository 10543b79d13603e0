//! Events of version 2, with a field for each term. Stores from before 27 November 2026 have them. Pure.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::event::{NewDeadline, NewOwner, NewShare, ShareChanges, ShareEvent, ShareLimits};
use super::values::id::ShareId;
use super::values::path::{RootName, SharePath};
use super::values::share_terms::ShareTerm;
use super::values::value_types::{Deadline, PasswordHash, ShareKind, ShareNote, ShareOwner};

/// The variants with terms, by number.
const CREATED: u32 = 0;
const CHANGED: u32 = 1;

/// A share at its creation.
#[derive(Serialize, Deserialize)]
pub(in crate::share_expiry) struct NewShareV2 {
    id: ShareId,
    root: RootName,
    path: SharePath,
    kind: ShareKind,
    deadline: Deadline,
    noticed: bool,
    owner: Option<ShareOwner>,
    note: Option<ShareNote>,
    password: Option<PasswordHash>,
    max_downloads: Option<NonZeroU32>,
    room: ShareLimits,
}

/// New values for the terms of a share. A field without a value does not change.
#[derive(Serialize, Deserialize)]
pub(in crate::share_expiry) struct ShareChangesV2 {
    deadline: Option<NewDeadline>,
    max_downloads: Option<Option<NonZeroU32>>,
    password: Option<Option<PasswordHash>>,
    owner: Option<NewOwner>,
    note: Option<Option<ShareNote>>,
}

/// Reads an event of version 2. All other variants are as in version 3.
///
/// # Errors
///
/// The body does not decode.
pub(in crate::share_expiry) fn read(body: &[u8]) -> Result<ShareEvent, postcard::Error> {
    let (variant, fields) = postcard::take_from_bytes::<u32>(body)?;
    match variant {
        CREATED => {
            let new: NewShareV2 = postcard::from_bytes(fields)?;
            Ok(ShareEvent::Created(Box::new(new.into())))
        }
        CHANGED => {
            let (id, generation, changes): (ShareId, u32, ShareChangesV2) =
                postcard::from_bytes(fields)?;
            Ok(ShareEvent::Changed { id, generation, changes: Box::new(changes.into()) })
        }
        _ => postcard::from_bytes(body),
    }
}

impl From<NewShareV2> for NewShare {
    fn from(new: NewShareV2) -> Self {
        let NewShareV2 { id, root, path, kind, deadline, noticed, owner, room, .. } = new;
        let terms = [
            ShareTerm::Note(new.note),
            ShareTerm::Password(new.password),
            ShareTerm::MaxDownloads(new.max_downloads),
        ];
        let terms = terms.into_iter().collect();
        NewShare { id, root, path, kind, deadline, noticed, owner, terms, room }
    }
}

impl From<ShareChangesV2> for ShareChanges {
    fn from(changes: ShareChangesV2) -> Self {
        let ShareChangesV2 { deadline, max_downloads, password, owner, note } = changes;
        let terms = [
            max_downloads.map(ShareTerm::MaxDownloads),
            password.map(ShareTerm::Password),
            note.map(ShareTerm::Note),
        ];
        ShareChanges { deadline, owner, terms: terms.into_iter().flatten().collect() }
    }
}
