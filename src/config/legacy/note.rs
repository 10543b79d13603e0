//! Notes about the keys of an old configuration.

use std::fmt;

/// A note about one key of the old file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportNote {
    /// Line number, from 1; none for a key that is not in the file.
    pub line: Option<usize>,
    /// The key in lower case, as viper stores it.
    pub key: String,
    /// Result of the conversion.
    pub kind: ImportNoteKind,
    /// The reason, or the new value.
    pub what: String,
}

/// The result of the conversion of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImportNoteKind {
    /// Obsolete and left out.
    Meaningless,
    /// Kept in another form: an older key, or a value that the old program read as another one.
    Translated,
    /// An ignored or repeated entry of the old program; left out.
    LeftOut,
    /// An invalid value; left out.
    Bad,
    /// A key that no version of the program knew.
    Unknown,
}

impl fmt::Display for ImportNoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ImportNoteKind::Meaningless => "obsolete",
            ImportNoteKind::Translated => "translated",
            ImportNoteKind::LeftOut => "left out",
            ImportNoteKind::Bad => "bad value",
            ImportNoteKind::Unknown => "unknown key",
        })
    }
}

impl fmt::Display for ImportNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.key, self.kind, self.what)
    }
}
