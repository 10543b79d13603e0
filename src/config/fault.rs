//! What is wrong with a configuration, and where.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// Nobody set it.
    Default,
    /// A line of the configuration file.
    File {
        /// The file, as it was named on the command line.
        path: Arc<Path>,
        /// The line, from 1.
        line: usize,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// A `--set` argument. Its value is not kept: it may be a secret.
    Argument {
        /// The key it sets.
        key: String,
    },
}

impl SettingOrigin {
    /// Where this stands among others when they are told: as an operator would go through them.
    pub fn order(&self) -> (u8, usize) {
        match self {
            SettingOrigin::File { line, .. } => (0, *line),
            SettingOrigin::Environment { .. } => (1, 0),
            SettingOrigin::Argument { .. } => (2, 0),
            SettingOrigin::Default => (3, 0),
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingOrigin::Default => f.write_str("default"),
            SettingOrigin::File { path, line } => write!(f, "{}:{line}", path.display()),
            SettingOrigin::Environment { variable } => f.write_str(variable),
            SettingOrigin::Argument { key } => write!(f, "--set {key}"),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// Where it was made.
    pub origin: SettingOrigin,
    /// The setting it is about; none when the file as a whole cannot be read.
    pub key: Option<String>,
    /// What is wrong and what is wanted.
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

/// Everything that is wrong with a configuration. Never empty.
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
