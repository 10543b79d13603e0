//! The name of a shared file: a root in the configuration, and a path below it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::share_expiry::state::values::text::SharedText;

/// The longest name of a root, in bytes. Part of the event version.
pub const LONGEST_ROOT: usize = 64;

/// The longest path, in bytes. Part of the event version.
pub const LONGEST_PATH: usize = 4096;

/// The name of a share root: lowercase letters, digits, `-` and `_`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RootName(pub(in crate::share_expiry) SharedText);

/// A path below a root: relative, UTF-8, no empty, `.` or `..` component, no NUL, no `/` at either end.
/// The empty path is the root itself. It can therefore never lead out of the root.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct SharePath(Box<str>);

/// Why a text is no [`RootName`] or no [`SharePath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
pub enum BadPath {
    /// The text is no name of a root.
    #[error("the name of a root has 1 to 64 lowercase letters, digits, \"-\" and \"_\"")]
    Root,
    /// Two `/` in a row, or one at an end.
    #[error("the path begins or ends with \"/\", or has two of them in a row")]
    Slash,
    /// A component is `.` or `..`.
    #[error("the path has a component \".\" or \"..\"")]
    Dots,
    /// The text contains a NUL byte.
    #[error("the path contains a NUL byte")]
    Nul,
    /// It is too long for a file system.
    #[error("the path is longer than 4096 bytes")]
    TooLong,
}

impl RootName {
    /// Checks and keeps `text`.
    pub fn new(text: &str) -> Result<Self, BadPath> {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        let good = (1..=LONGEST_ROOT).contains(&text.len()) && text.bytes().all(fits);
        if good { Ok(RootName(SharedText::new(text))) } else { Err(BadPath::Root) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl SharePath {
    /// Checks and keeps `text`.
    pub fn new(text: impl Into<Box<str>>) -> Result<Self, BadPath> {
        let text = text.into();
        if text.len() > LONGEST_PATH {
            return Err(BadPath::TooLong);
        }
        if text.contains('\0') {
            return Err(BadPath::Nul);
        }
        if !text.is_empty() {
            for component in text.split('/') {
                match component {
                    "" => return Err(BadPath::Slash),
                    "." | ".." => return Err(BadPath::Dots),
                    _ => {}
                }
            }
        }
        Ok(SharePath(text))
    }

    /// The empty path: the root itself.
    pub fn root() -> Self {
        SharePath(Box::default())
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its last component; none of the root itself.
    pub fn file_name(&self) -> Option<&str> {
        self.0.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// Whether this is `directory` or something below it.
    pub fn is_within(&self, directory: &SharePath) -> bool {
        self.below(directory).is_some()
    }

    /// The part of this path below `directory`, with its `/`; none if it is not within it.
    pub(in crate::share_expiry) fn below(&self, directory: &SharePath) -> Option<&str> {
        if directory.0.is_empty() {
            return Some(&self.0);
        }
        let rest = self.0.strip_prefix(&*directory.0)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    }

    /// The new path of this path after the move of `from` to `to`. This path is within `from`.
    pub(in crate::share_expiry) fn moved(
        &self,
        from: &SharePath,
        to: &SharePath,
    ) -> Result<SharePath, BadPath> {
        let rest = self.below(from).unwrap_or_default().trim_start_matches('/');
        let between = if rest.is_empty() || to.0.is_empty() { "" } else { "/" };
        let moved = format!("{}{between}{rest}", to.0);
        if moved.len() > LONGEST_PATH {
            return Err(BadPath::TooLong);
        }
        Ok(SharePath(moved.into()))
    }
}

impl fmt::Display for RootName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for RootName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for SharePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for SharePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl FromStr for RootName {
    type Err = BadPath;

    fn from_str(text: &str) -> Result<Self, BadPath> {
        RootName::new(text)
    }
}

impl FromStr for SharePath {
    type Err = BadPath;

    fn from_str(text: &str) -> Result<Self, BadPath> {
        SharePath::new(text)
    }
}

impl<'de> Deserialize<'de> for RootName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        RootName::new(&text).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for SharePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<str>::deserialize(deserializer)?;
        SharePath::new(text).map_err(de::Error::custom)
    }
}

impl utoipa::PartialSchema for RootName {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        String::schema()
    }
}

impl utoipa::ToSchema for RootName {}

impl utoipa::PartialSchema for SharePath {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        String::schema()
    }
}

impl utoipa::ToSchema for SharePath {}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> SharePath {
        SharePath::new(text).unwrap()
    }

    #[test]
    fn a_path_that_could_lead_out_of_its_root_is_refused() {
        for (bad, why) in [
            ("/a", BadPath::Slash),
            ("a/", BadPath::Slash),
            ("a//b", BadPath::Slash),
            ("/", BadPath::Slash),
            ("..", BadPath::Dots),
            ("a/../b", BadPath::Dots),
            ("./a", BadPath::Dots),
            ("a\0b", BadPath::Nul),
        ] {
            assert_eq!(SharePath::new(bad), Err(why), "{bad:?}");
        }
        assert_eq!(SharePath::new("a".repeat(LONGEST_PATH + 1)), Err(BadPath::TooLong));
        for good in ["", "a", "a/b", "...", "a/..b", "ä b/\u{1f39e}.mkv"] {
            assert_eq!(path(good).as_str(), good);
        }
        assert!(serde_json::from_str::<SharePath>("\"a/..\"").is_err());
    }

    #[test]
    fn a_root_has_a_plain_name() {
        for bad in ["", "Films", "a/b", "a.b", "ä", &"a".repeat(65)] {
            assert_eq!(RootName::new(bad), Err(BadPath::Root), "{bad:?}");
        }
        assert_eq!(RootName::new("films-4_k").unwrap().as_str(), "films-4_k");
    }

    #[test]
    fn a_path_is_within_itself_and_its_ancestors() {
        assert!(path("a/b").is_within(&path("a")) && path("a").is_within(&path("a")));
        assert!(path("a").is_within(&SharePath::root()));
        assert!(!path("ab").is_within(&path("a")) && !path("a").is_within(&path("a/b")));
    }

    #[test]
    fn a_move_takes_descendants_along() {
        let moved = |what, from, to| path(what).moved(&path(from), &path(to)).unwrap();
        assert_eq!(moved("a/b/c", "a/b", "x"), path("x/c"));
        assert_eq!(moved("a", "a", "x/y"), path("x/y"));
        assert_eq!(moved("a/b", "a", ""), path("b"));
        assert_eq!(moved("a/b", "", "x"), path("x/a/b"));
        let long = path(&"a".repeat(4000));
        assert_eq!(long.moved(&SharePath::root(), &path(&"b".repeat(96))), Err(BadPath::TooLong));
    }

    #[test]
    fn the_name_of_a_path_is_its_last_component() {
        assert_eq!(path("a/b.mkv").file_name(), Some("b.mkv"));
        assert_eq!(path("a").file_name(), Some("a"));
        assert_eq!(path("").file_name(), None);
    }
}
