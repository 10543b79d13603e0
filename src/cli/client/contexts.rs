//! Contexts: named nodes with the credentials for them, in a file of the person who runs the command.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use reelyard_core::bounded_read::{self, InputSource};
use reelyard_protocol::node_address::NodeAddresses;
use serde::{Deserialize, Serialize};

use crate::cli::support::failure::CommandFailure;

/// Version of the file.
const VERSION: u32 = 1;

/// Longest name of a context, in bytes.
const LONGEST_NAME: usize = 64;

/// The name of a context: letters, digits, dots, dashes and underscores.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContextName(String);

/// A text that is no name of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a context has a name of 1 to 64 letters, digits, dots, dashes and underscores")]
pub struct BadContextName;

impl Default for ContextName {
    /// The context of a login that names none.
    fn default() -> Self {
        ContextName("default".to_owned())
    }
}

impl FromStr for ContextName {
    type Err = BadContextName;

    fn from_str(text: &str) -> Result<Self, BadContextName> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ['.', '-', '_'].contains(&c);
        if text.is_empty() || text.len() > LONGEST_NAME || !text.chars().all(is_plain) {
            return Err(BadContextName);
        }
        Ok(ContextName(text.to_owned()))
    }
}

impl TryFrom<String> for ContextName {
    type Error = BadContextName;

    fn try_from(text: String) -> Result<Self, BadContextName> {
        text.parse()
    }
}

impl From<ContextName> for String {
    fn from(name: ContextName) -> String {
        name.0
    }
}

impl fmt::Display for ContextName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The credential of a context. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextCredential {
    /// The secret of a session, from `reelyard login`.
    Session(String),
    /// A file with a token.
    TokenFile(PathBuf),
}

impl fmt::Debug for ContextCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContextCredential::Session(_) => f.write_str("Session(not shown)"),
            ContextCredential::TokenFile(file) => f.debug_tuple("TokenFile").field(file).finish(),
        }
    }
}

/// A node, and how to reach it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedContext {
    /// URL of the node, or a list of the URLs of several nodes of one cluster.
    pub url: NodeAddresses,
    /// File with certificates of its authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// The credential for it. Without one, a command on its host reads the administrator's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<ContextCredential>,
}

/// All contexts of a person, and the chosen one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextFile {
    /// Version of its form. The first files have none.
    version: u32,
    /// The context that commands use without `--context`.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<ContextName>,
    /// All contexts by name.
    contexts: BTreeMap<ContextName, SavedContext>,
}

impl Default for ContextFile {
    fn default() -> Self {
        ContextFile { version: VERSION, current: None, contexts: BTreeMap::new() }
    }
}

/// The version in a file of any version.
#[derive(Deserialize)]
struct ContextFileVersion {
    #[serde(default = "first_version")]
    version: u32,
}

fn first_version() -> u32 {
    VERSION
}

/// Why a text is no file of contexts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadContexts {
    /// A program of another version wrote it.
    #[error(
        "have version {0}, and this program reads version {VERSION}. Use the newer program that wrote them, or name \
         another file in REELYARD_CONTEXTS."
    )]
    AnotherVersion(u32),
    /// Its text is wrong. The whole error would show the line, which may hold a session.
    #[error("are damaged: {0}. Correct the file, or remove it and log in again.")]
    Damaged(String),
}

impl FromStr for ContextFile {
    type Err = BadContexts;

    fn from_str(text: &str) -> Result<Self, BadContexts> {
        let damaged = |error: toml::de::Error| BadContexts::Damaged(error.message().to_owned());
        let found: ContextFileVersion = toml::from_str(text).map_err(damaged)?;
        if found.version != VERSION {
            return Err(BadContexts::AnotherVersion(found.version));
        }
        toml::from_str(text).map_err(damaged)
    }
}

impl ContextFile {
    /// The path of the file: `$REELYARD_CONTEXTS`, or `reelyard/contexts.toml` in the user's directory for
    /// configurations. None if the user has no such directory.
    fn path() -> Option<PathBuf> {
        let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(file) = of("REELYARD_CONTEXTS") {
            return Some(file.into());
        }
        let dir = of("XDG_CONFIG_HOME").map(PathBuf::from);
        let dir = dir.or_else(|| Some(PathBuf::from(of("HOME")?).join(".config")))?;
        Some(dir.join("reelyard/contexts.toml"))
    }

    /// Reads the file. Without one there are no contexts.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or has another version.
    pub fn read() -> Result<Self, CommandFailure> {
        let Some(path) = Self::path() else { return Ok(ContextFile::default()) };
        let text = match bounded_read::read_text(&path, InputSource::File) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ContextFile::default()),
            Err(error) => {
                let detail = format!("the contexts in {} cannot be read: {error}", path.display());
                return Err(CommandFailure::Usage(detail));
            }
        };
        let wrong = |why: BadContexts| format!("the contexts in {} {why}", path.display());
        text.parse().map_err(|why| CommandFailure::Usage(wrong(why)))
    }

    /// Writes the file, which only its owner can read, in place of the former one.
    ///
    /// # Errors
    /// The directory or the file cannot be written.
    pub fn write(&self) -> Result<(), CommandFailure> {
        let Some(path) = Self::path() else {
            let detail =
                "no directory for contexts: set HOME, XDG_CONFIG_HOME or REELYARD_CONTEXTS";
            return Err(CommandFailure::Usage(detail.to_owned()));
        };
        let text = toml::to_string(self).map_err(anyhow::Error::from)?;
        write_private(&path, &text).map_err(|error| {
            let path = path.display();
            CommandFailure::Failed(anyhow::anyhow!("{path} cannot be written: {error}"))
        })
    }

    /// The context of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, name: &ContextName) -> Result<(&ContextName, &SavedContext), CommandFailure> {
        self.contexts.get_key_value(name).ok_or_else(|| {
            let known: Vec<String> = self.contexts.keys().map(ToString::to_string).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let detail = format!(
                "no context is named {name}. Contexts: {known}. Add it by \"reelyard context add {name} --url URL\"."
            );
            CommandFailure::Usage(detail)
        })
    }

    /// The current context. None if no context is chosen.
    pub fn current(&self) -> Option<(&ContextName, &SavedContext)> {
        self.contexts.get_key_value(self.current.as_ref()?)
    }

    /// All contexts by name.
    pub fn all(&self) -> impl Iterator<Item = (&ContextName, &SavedContext)> {
        self.contexts.iter()
    }

    /// Adds a context, or replaces that of this name. The first one becomes the current one.
    pub fn set(&mut self, name: ContextName, context: SavedContext) {
        if self.current.is_none() {
            self.current = Some(name.clone());
        }
        self.contexts.insert(name, context);
    }

    /// Makes a context the current one.
    ///
    /// # Errors
    /// There is no such context.
    pub fn choose(&mut self, name: &ContextName) -> Result<(), CommandFailure> {
        self.get(name)?;
        self.current = Some(name.clone());
        Ok(())
    }

    /// Removes a context. If it was the current one, none is.
    ///
    /// # Errors
    /// There is no such context.
    pub fn remove(&mut self, name: &ContextName) -> Result<SavedContext, CommandFailure> {
        self.get(name)?;
        if self.current.as_ref() == Some(name) {
            self.current = None;
        }
        let removed = self.contexts.remove(name);
        removed.ok_or_else(|| CommandFailure::Usage(format!("no context is named {name}")))
    }
}

/// Replaces a file atomically, so that a reader never sees half of it.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let new = path.with_extension("toml.new");
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_contexts_has_this_form() {
        let mut file = ContextFile::default();
        let (prod, test): (ContextName, ContextName) =
            ("prod".parse().unwrap(), "test".parse().unwrap());
        let session = Some(ContextCredential::Session("s3".to_owned()));
        let ca_file = Some(PathBuf::from("/etc/ca.pem"));
        file.set(
            prod.clone(),
            SavedContext {
                url: "https://yard:8080/".parse().unwrap(),
                ca_file,
                credential: session,
            },
        );
        let credential = Some(ContextCredential::TokenFile("/t".into()));
        file.set(
            test.clone(),
            SavedContext {
                url: "http://127.0.0.1/,http://127.0.0.2/".parse().unwrap(),
                ca_file: None,
                credential,
            },
        );
        let text = toml::to_string(&file).unwrap();
        let expected = "version = 1\ncurrent = \"prod\"\n\n[contexts.prod]\nurl = \"https://yard:8080/\"\nca_file = \"/etc/ca.pem\"\n\n\
             [contexts.prod.credential]\nsession = \"s3\"\n\n[contexts.test]\nurl = [\"http://127.0.0.1/\", \"http://127.0.0.2/\"]\n\n\
             [contexts.test.credential]\ntoken_file = \"/t\"\n";
        assert_eq!(text, expected);
        assert_eq!(text.parse(), Ok(file.clone()));
        let first = text.strip_prefix("version = 1\n").unwrap();
        assert_eq!(first.parse(), Ok(file.clone()), "the first files have no version");
        let later = text.replace("version = 1", "version = 2\nlater = true");
        assert_eq!(later.parse::<ContextFile>(), Err(BadContexts::AnotherVersion(2)));
        assert!(!format!("{file:?}").contains("s3"), "{file:?}");
        assert_eq!(file.current().map(|(name, _)| name), Some(&prod));
        file.choose(&test).unwrap();
        file.remove(&test).unwrap();
        assert_eq!(file.current(), None);
        assert!(file.get(&test).is_err() && file.choose(&test).is_err());
    }

    #[test]
    fn a_bad_name_is_refused() {
        for bad in ["", "a b", "a/b", "\u{e9}", &"x".repeat(65)] {
            assert_eq!(bad.parse::<ContextName>(), Err(BadContextName), "{bad}");
        }
    }
}
