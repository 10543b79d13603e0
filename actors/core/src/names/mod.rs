//! Names of files, and the table that turns each into a small number once.

mod by_file;
mod hash;
mod segments;
mod table;

use std::borrow::Cow;
use std::fmt;

pub use by_file::ByFile;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};
use serde::{Deserialize, Serialize};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

pub use hash::{HashedName, NameHash, NameHasher};
pub use table::{NameInterner, NameLookup, NamePin, NameTable, Swept};

/// The longest name of a file system, in bytes. Part of the event version.
pub const LONGEST_NAME: usize = 255;

/// The name of a file without any directory: bytes, as on disk. Never empty, `.` or `..`, no `/`,
/// no NUL, at most [`LONGEST_NAME`] bytes: a name can therefore never leave its directory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(Box<[u8]>);

/// Why some bytes are not a [`FileName`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
pub enum BadFileName {
    /// The name is empty.
    #[error("the name is empty")]
    Empty,
    /// The name is `.` or `..`.
    #[error("\".\" and \"..\" are directories, not file names")]
    Dots,
    /// The name contains a `/`.
    #[error("the name contains a \"/\": it would leave its directory")]
    Slash,
    /// The name contains a NUL byte.
    #[error("the name contains a NUL byte")]
    Nul,
    /// It is longer than a file system allows.
    #[error("the name is longer than 255 bytes")]
    TooLong,
    /// The name is valid, but the process has numbered as many names as it can.
    #[error("the process has no free number for another name: restart it")]
    TooManyNames,
}

impl FileName {
    /// Checks and keeps `bytes`.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, BadFileName> {
        let bytes = bytes.into();
        FileName::check(&bytes)?;
        Ok(FileName(bytes.into_boxed_slice()))
    }

    /// Whether `bytes` can be a name, without making one.
    pub fn check(bytes: &[u8]) -> Result<(), BadFileName> {
        match bytes {
            [] => Err(BadFileName::Empty),
            b"." | b".." => Err(BadFileName::Dots),
            _ if bytes.len() > LONGEST_NAME => Err(BadFileName::TooLong),
            _ if bytes.contains(&b'/') => Err(BadFileName::Slash),
            _ if bytes.contains(&0) => Err(BadFileName::Nul),
            _ => Ok(()),
        }
    }

    /// Reads the percent-encoded form of URLs.
    pub fn from_percent(text: &str) -> Result<Self, BadFileName> {
        FileName::new(percent_decode(text.as_bytes()).collect::<Vec<u8>>())
    }

    /// The bytes of the name, as on disk.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The name as text, if it is UTF-8.
    pub fn as_utf8(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The form for URLs: every byte outside `A-Z a-z 0-9 - . _ ~` percent-encoded.
    pub fn to_percent(&self) -> String {
        percent_encode(&self.0, UNRESERVED_KEPT).to_string()
    }

    /// The form for people and JSON: the text itself, or percent-encoded when it is not UTF-8.
    pub fn to_text(&self) -> NameText {
        match self.as_utf8() {
            Some(text) => NameText { name: text.to_owned(), percent_encoded: false },
            None => NameText { name: self.to_percent(), percent_encoded: true },
        }
    }
}

/// The characters that RFC 3986 does not require to be encoded in a path segment.
const UNRESERVED_KEPT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A name as JSON shows it: bytes that are not UTF-8 percent-encoded, beside a flag that says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct NameText {
    /// The text, or the percent-encoded bytes.
    pub name: String,
    /// Whether `name` is percent-encoded because the bytes are not UTF-8. An absent field means no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub percent_encoded: bool,
}

// In JSON a name is written in its text form.
impl PartialSchema for FileName {
    fn schema() -> RefOr<Schema> {
        NameText::schema()
    }
}

impl ToSchema for FileName {
    fn name() -> Cow<'static, str> {
        NameText::name()
    }
}

impl TryFrom<NameText> for FileName {
    type Error = BadFileName;

    fn try_from(text: NameText) -> Result<Self, BadFileName> {
        if text.percent_encoded {
            FileName::from_percent(&text.name)
        } else {
            FileName::new(text.name)
        }
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text().name)
    }
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_text().name)
    }
}

// Compact formats carry the bytes; JSON goes through `NameText` and says when it had to encode.
impl Serialize for FileName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.to_text().serialize(serializer)
        } else {
            serializer.serialize_newtype_struct("FileName", serde_bytes::Bytes::new(&self.0))
        }
    }
}

/// A name in compact formats.
#[derive(Deserialize)]
#[serde(rename = "FileName")]
struct FileNameBytes(#[serde(with = "serde_bytes")] Vec<u8>);

impl<'de> Deserialize<'de> for FileName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = if deserializer.is_human_readable() {
            FileName::try_from(NameText::deserialize(deserializer)?)
        } else {
            let FileNameBytes(bytes) = FileNameBytes::deserialize(deserializer)?;
            FileName::new(bytes)
        };
        name.map_err(serde::de::Error::custom)
    }
}

/// The number of a name within one run of the process. It is never stored, sent or reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_directory() {
        use BadFileName::*;
        let long = vec![b'x'; 256];
        let refused: [(&[u8], BadFileName); 7] = [
            (b"", Empty),
            (b".", Dots),
            (b"..", Dots),
            (b"../x.mpg", Slash),
            (b"/etc/passwd", Slash),
            (b"a\0b", Nul),
            (&long, TooLong),
        ];
        for (bytes, why) in refused {
            assert_eq!(FileName::new(bytes), Err(why), "{bytes:?}");
        }
        assert!(FileName::new("..x").is_ok());
        assert!(FileName::new(vec![b'x'; 255]).is_ok());
    }

    #[test]
    fn hostile_names_survive_the_percent_form() {
        for bytes in [&b"a#b.mpg"[..], b"c?d.mpg", b"%411.mpg", b" sp ace ", b"\xff\xfe", b"a\nb"] {
            let name = FileName::new(bytes).unwrap();
            assert_eq!(FileName::from_percent(&name.to_percent()).unwrap(), name);
        }
        assert_eq!(FileName::new("%41").unwrap().to_percent(), "%2541");
    }

    #[test]
    fn json_shows_text_or_says_that_it_encoded() {
        let json = |bytes: &[u8]| serde_json::to_string(&FileName::new(bytes).unwrap()).unwrap();
        assert_eq!(json(b"%41"), r#"{"name":"%41"}"#);
        assert_eq!(json(b"\xff"), r#"{"name":"%FF","percent_encoded":true}"#);
        for bytes in [&b"%41"[..], b"\xff", b"plain.mpg"] {
            let name = FileName::new(bytes).unwrap();
            let json = serde_json::to_string(&name).unwrap();
            assert_eq!(serde_json::from_str::<FileName>(&json).unwrap(), name);
            let compact = postcard::to_stdvec(&name).unwrap();
            assert_eq!(postcard::from_bytes::<FileName>(&compact).unwrap(), name);
        }
    }
}
