//! Stored forms: types that exist only to be stored, apart from the types that owners work with.
//!
//! Postcard writes fields without names and without lengths. A new field in a stored type would therefore
//! change the meaning of all bytes behind it. So each row of a snapshot consists of stored forms, ids and
//! texts, and a stored form never changes.

use std::ops::RangeInclusive;

use reelyard_core::event::PieceId;
use serde::{Deserialize, Serialize};

use crate::piece::UnreadableEvent;

/// Defines the stored form of a struct or enum: the same fields or variants in the same order, with both
/// conversions.
///
/// A new field of the struct does not compile here until someone decides how older bytes are read. Then a
/// second stored form gets the field, and `From` of the first one sets its value for older stores.
#[macro_export]
macro_rules! stored_form {
    (
        $(#[$doc:meta])*
        $vis:vis struct $stored:ident of $domain:ident { $($field:ident: $type:ty,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
        $vis struct $stored {
            $($field: $type,)*
        }

        impl From<$domain> for $stored {
            fn from(now: $domain) -> Self {
                let $domain { $($field,)* } = now;
                $stored { $($field: $field.into(),)* }
            }
        }

        impl From<$stored> for $domain {
            fn from(stored: $stored) -> Self {
                let $stored { $($field,)* } = stored;
                $domain { $($field: $field.into(),)* }
            }
        }
    };
    (
        $(#[$doc:meta])*
        $vis:vis enum $stored:ident of $domain:ident {
            $($variant:ident $({ $($field:ident: $type:ty,)* })?,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
        $vis enum $stored {
            $($variant $({ $($field: $type,)* })?,)*
        }

        impl From<$domain> for $stored {
            fn from(now: $domain) -> Self {
                match now {
                    $($domain::$variant $({ $($field,)* })? => {
                        $stored::$variant $({ $($field: $field.into(),)* })?
                    })*
                }
            }
        }

        impl From<$stored> for $domain {
            fn from(stored: $stored) -> Self {
                match stored {
                    $($stored::$variant $({ $($field,)* })? => {
                        $domain::$variant $({ $($field: $field.into(),)* })?
                    })*
                }
            }
        }
    };
}

/// Defines a module for `#[serde(with)]`: the field of an event has the type, and stores its form. The field
/// may be boxed.
#[macro_export]
macro_rules! stored_form_of_event {
    ($(#[$doc:meta])* $vis:vis mod $name:ident: $stored:ident of $domain:ident;) => {
        $(#[$doc])*
        $vis mod $name {
            use super::{$domain, $stored};

            $vis fn serialize<S: serde::Serializer>(now: &$domain, to: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(&$stored::from(now.clone()), to)
            }

            $vis fn deserialize<'de, F: From<$domain>, D: serde::Deserializer<'de>>(
                from: D,
            ) -> Result<F, D::Error> {
                let stored = <$stored as serde::Deserialize>::deserialize(from)?;
                Ok(F::from(stored.into()))
            }
        }
    };
}

/// The row versions that a piece reads. It writes the last one. A version adds variants to the rows and
/// changes none, so that one type reads all of them.
pub type RowVersions = RangeInclusive<u8>;

/// The bytes of a snapshot row: its version, and then the row.
#[allow(clippy::expect_used)]
pub fn encode_row<R: Serialize>(versions: &RowVersions, row: &R) -> Vec<u8> {
    // Postcard into a growing vector fails only for sequences of unknown length: rows hold none.
    postcard::to_extend(row, vec![*versions.end()]).expect("rows encode")
}

/// Reads a snapshot row of one of these versions.
///
/// # Errors
///
/// The row has another version, or does not decode.
pub fn read_row<'a, R: Deserialize<'a>>(
    piece: PieceId,
    versions: &RowVersions,
    row: &'a [u8],
) -> Result<R, UnreadableEvent> {
    match row.split_first() {
        Some((version, body)) if versions.contains(version) => postcard::from_bytes(body)
            .map_err(|error| UnreadableEvent::Body { piece, error: error.to_string() }),
        Some((&version, _)) => Err(UnreadableEvent::Version { piece, version }),
        None => Err(UnreadableEvent::Body { piece, error: "an empty row".to_owned() }),
    }
}
