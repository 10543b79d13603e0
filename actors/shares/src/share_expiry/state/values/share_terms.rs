//! The terms of a share: the optional values that a client chooses, and that only their effect reads. Pure.
//!
//! A term passes from the API to the piece as part of [`ShareTerms`], or as a [`ShareTerm`] that changes. So
//! a new term adds a field and a variant here, and no event and no row changes. The deadline and the owner
//! are separate: the table orders and counts shares by them.

use std::num::NonZeroU32;

use reelyard_replication::stored_form_of_event;
use serde::{Deserialize, Serialize};

use super::value_types::{PasswordHash, ShareNote};

/// The optional values that a client chooses for a share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareTerms {
    /// A note for the managers of the share.
    pub note: Option<ShareNote>,
    /// The hash of its password.
    pub password: Option<PasswordHash>,
    /// How many downloads it allows; any number if none.
    pub max_downloads: Option<NonZeroU32>,
}

/// One term with its new value; none removes it. Postcard numbers the variants in this order: add new ones at
/// the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShareTerm {
    /// A note for the managers of the share.
    Note(Option<ShareNote>),
    /// The hash of its password.
    Password(Option<PasswordHash>),
    /// How many downloads it allows. Downloads before the limit was set do not count.
    MaxDownloads(Option<NonZeroU32>),
}

impl ShareTerms {
    /// A share without terms.
    pub(in crate::share_expiry) const NONE: &ShareTerms =
        &ShareTerms { note: None, password: None, max_downloads: None };

    /// Changes one term. Part of the event version.
    pub fn set(&mut self, term: ShareTerm) {
        match term {
            ShareTerm::Note(note) => self.note = note,
            ShareTerm::Password(password) => self.password = password,
            ShareTerm::MaxDownloads(most) => self.max_downloads = most,
        }
    }

    /// Their approximate size in a row of a snapshot, in bytes. 512 bytes beside it are left for terms of
    /// a few bytes, and for the password.
    pub(in crate::share_expiry) fn stored_bytes(&self) -> usize {
        self.note.as_ref().map_or(0, |note| note.as_str().len())
    }
}

impl FromIterator<ShareTerm> for ShareTerms {
    fn from_iter<I: IntoIterator<Item = ShareTerm>>(given: I) -> Self {
        let mut terms = ShareTerms::default();
        given.into_iter().for_each(|term| terms.set(term));
        terms
    }
}

/// The stored form of the terms: those with a value, each with the number of its variant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::share_expiry) struct StoredShareTerms(Vec<ShareTerm>);

impl From<ShareTerms> for StoredShareTerms {
    fn from(terms: ShareTerms) -> Self {
        let ShareTerms { note, password, max_downloads } = terms;
        let stored = [
            note.map(|note| ShareTerm::Note(Some(note))),
            password.map(|password| ShareTerm::Password(Some(password))),
            max_downloads.map(|most| ShareTerm::MaxDownloads(Some(most))),
        ];
        StoredShareTerms(stored.into_iter().flatten().collect())
    }
}

impl From<StoredShareTerms> for ShareTerms {
    fn from(stored: StoredShareTerms) -> Self {
        stored.0.into_iter().collect()
    }
}

stored_form_of_event! {
    /// Stores the terms of a new share.
    pub(in crate::share_expiry) mod terms_of_event: StoredShareTerms of ShareTerms;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> Option<ShareNote> {
        Some(ShareNote::new(text).unwrap())
    }

    #[test]
    fn only_terms_with_a_value_are_stored() {
        let terms = ShareTerms {
            note: note("a note"),
            password: Some(PasswordHash::new("$argon2id$x").unwrap()),
            max_downloads: NonZeroU32::new(3),
        };
        for (terms, count) in [
            (terms.clone(), 3),
            (ShareTerms { password: None, ..terms }, 2),
            (ShareTerms::NONE.clone(), 0),
        ] {
            let stored = StoredShareTerms::from(terms.clone());
            assert_eq!(stored.0.len(), count);
            assert_eq!(ShareTerms::from(stored), terms);
        }
        assert_eq!(*ShareTerms::NONE, ShareTerms::default());
    }

    #[test]
    fn a_changed_term_gets_its_value_or_none() {
        let mut terms = ShareTerms { note: note("first"), ..ShareTerms::default() };
        terms.set(ShareTerm::MaxDownloads(NonZeroU32::new(2)));
        assert_eq!((&terms.note, terms.max_downloads), (&note("first"), NonZeroU32::new(2)));
        terms.set(ShareTerm::Note(None));
        terms.set(ShareTerm::MaxDownloads(NonZeroU32::new(1)));
        let left = ShareTerms { max_downloads: NonZeroU32::new(1), ..ShareTerms::default() };
        assert_eq!(terms, left);
    }
}
