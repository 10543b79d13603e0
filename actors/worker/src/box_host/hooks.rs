//! The hooks that a worker runs for boxes, by its configuration. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reelyard_protocol::boxes::{HookKind, HookTarget, HooksName};

use super::inspection::checks::CleanBoxChecks;
use super::template::{Template, TemplateValues};

/// How often a cleanup is run again at once.
pub const CLEANUPS_AGAIN: u32 = 3;

/// The longest that a program may take. The longest cleanup of a box, with all repetitions, stays below
/// the time that a node waits for an answer.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The longest time for the end of a process after SIGTERM, or for a check of the leftovers.
const ENDING: Duration = Duration::from_secs(10);

/// The longest grace after SIGTERM.
pub const LONGEST_GRACE: Duration = Duration::from_secs(60);

/// A program, and how it is called: never with a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookProgram {
    /// Its absolute path on the worker.
    pub path: PathBuf,
    /// Its arguments, with placeholders.
    pub arguments: Vec<Template>,
    /// The time limit of one run.
    pub timeout: Duration,
}

/// A set of hooks under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSet {
    /// The program that makes a box ready; none if no program must run.
    pub init: Option<HookProgram>,
    /// The program that cleans a box; none if no program must run.
    pub cleanup: Option<HookProgram>,
    /// How long processes may take to end after SIGTERM, before SIGKILL.
    pub grace: Duration,
    /// Variables of their environment, in addition to `PATH` and `LANG`.
    pub environment: BTreeMap<String, String>,
    /// The exit codes that mean success.
    pub done: Vec<u8>,
    /// The exit codes of a cleanup after which it is run again at once.
    pub cleanup_again_on: Vec<u8>,
    /// The traces that a clean box must not have.
    pub checks: CleanBoxChecks,
}

impl HookSet {
    /// The longest total time of a hook of a box, with every repetition.
    pub fn longest(&self, kind: HookKind) -> Duration {
        let Some(program) = self.program(kind) else { return ENDING };
        let once = program.timeout + self.grace + ENDING;
        match kind {
            HookKind::Init => once,
            // A cleanup may run again within its time-out, and once more after processes were killed.
            HookKind::Cleanup => 2 * (program.timeout + once),
        }
    }

    /// The program of this kind.
    pub fn program(&self, kind: HookKind) -> Option<&HookProgram> {
        match kind {
            HookKind::Init => self.init.as_ref(),
            HookKind::Cleanup => self.cleanup.as_ref(),
        }
    }
}

impl HookProgram {
    /// Its arguments with the placeholders replaced.
    pub fn arguments_for(&self, subject: &TemplateValues) -> Vec<String> {
        self.arguments.iter().map(|argument| argument.fill(subject)).collect()
    }
}

/// All hooks of a worker, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookSets(pub BTreeMap<HooksName, Arc<HookSet>>);

/// Why no hooks run here for a pool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoHooks {
    /// This worker hosts no boxes.
    #[error("this worker hosts no boxes: box.hooks of its configuration is empty")]
    None,
    /// The worker has other sets of hooks.
    #[error(
        "this worker has no hooks named \"{name}\": box.hooks of its configuration has {known}"
    )]
    Unknown {
        /// The requested name.
        name: String,
        /// The configured names.
        known: String,
    },
}

impl HookSets {
    /// The hooks for the boxes of a pool.
    ///
    /// # Errors
    /// No hooks have that name.
    pub fn find(&self, place: &HookTarget) -> Result<Arc<HookSet>, NoHooks> {
        let name = place.hooks_name();
        let known = || self.0.keys().map(HooksName::as_str);
        match self.0.iter().find(|(known, _)| known.as_str() == name) {
            Some((_, hooks)) => Ok(Arc::clone(hooks)),
            None if self.0.is_empty() => Err(NoHooks::None),
            None => {
                let known = known().collect::<Vec<_>>().join(", ");
                Err(NoHooks::Unknown { name: name.to_owned(), known })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{hook_set, place};
    use super::*;

    #[test]
    fn hooks_are_found_by_their_name_or_by_that_of_the_pool() {
        let name = |text: &str| HooksName::new(text).unwrap();
        let mut sets = HookSets::default();
        assert_eq!(sets.find(&place("a")), Err(NoHooks::None));
        sets.0.insert(name("a"), Arc::new(hook_set()));
        sets.0.insert(name("b"), Arc::new(HookSet { init: None, ..hook_set() }));
        assert!(sets.find(&place("a")).is_ok_and(|hooks| hooks.init.is_some()));
        let by_name = HookTarget { hooks: Some(name("b")), ..place("a") };
        assert!(sets.find(&by_name).is_ok_and(|hooks| hooks.init.is_none()));
        let error = sets.find(&place("c")).unwrap_err().to_string();
        assert!(error.contains("no hooks named \"c\"") && error.ends_with("has a, b"), "{error}");
    }
}
