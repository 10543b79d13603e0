//! Faults of a configuration, with their origins.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The source of the value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// The default: no layer sets it.
    Default,
    /// A line of the configuration file.
    File {
        /// Path as given on the command line.
        path: Arc<Path>,
        /// Line number, from 1. 0 is the whole file.
        line: usize,
    },
    /// An environment variable.
    Environment {
        /// Name of the variable.
        variable: String,
    },
    /// A line of the settings that the cluster has on record.
    Record {
        /// Number of the version.
        version: u64,
        /// Line number, from 1.
        line: usize,
    },
    /// A line of a text that a caller sent.
    Given {
        /// Line number, from 1.
        line: usize,
    },
    /// A `--set` argument. Its value is not stored, because it may be a secret.
    Argument {
        /// Key that the argument sets.
        key: String,
    },
}

impl SettingOrigin {
    /// Position in a list of faults: by file line, then by layer.
    pub fn order(&self) -> (u8, usize) {
        match self {
            SettingOrigin::File { line, .. } => (0, *line),
            SettingOrigin::Environment { .. } => (1, 0),
            SettingOrigin::Argument { .. } => (2, 0),
            SettingOrigin::Record { line, .. } | SettingOrigin::Given { line } => (3, *line),
            SettingOrigin::Default => (4, 0),
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingOrigin::Default => f.write_str("default"),
            SettingOrigin::File { path, line: 0 } => write!(f, "{}", path.display()),
            SettingOrigin::File { path, line } => write!(f, "{}:{line}", path.display()),
            SettingOrigin::Environment { variable } => f.write_str(variable),
            SettingOrigin::Record { version, .. } => write!(f, "version {version} on record"),
            SettingOrigin::Given { line } => write!(f, "line {line}"),
            SettingOrigin::Argument { key } => write!(f, "--set {key}"),
        }
    }
}

/// One fault of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// Origin of the faulty value.
    pub origin: SettingOrigin,
    /// Key of the setting; none if the file as a whole cannot be read.
    pub key: Option<String>,
    /// The fault, and the expected value.
    pub what: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.origin, &self.key) {
            (SettingOrigin::Default, Some(key)) => write!(f, "{key}: {}", self.what),
            (SettingOrigin::Argument { .. }, _) | (_, None) => {
                write!(f, "{}: {}", self.origin, self.what)
            }
            (origin, Some(key)) => write!(f, "{origin}: {key}: {}", self.what),
        }
    }
}

/// All faults of a configuration. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigFaults(pub Vec<ConfigFault>);

impl fmt::Display for ConfigFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.len();
        let noun = if count == 1 { "fault" } else { "faults" };
        write!(f, "the configuration has {count} {noun}:")?;
        self.0.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
    }
}
