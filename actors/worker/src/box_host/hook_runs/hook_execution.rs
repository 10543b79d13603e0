//! Making a box ready, and cleaning it: which programs run, run again, and are ended, and the checks in
//! between.

use std::path::Path;
use std::time::Instant;

use reelyard_protocol::boxes::{HookAnswer, HookKind, HookOutput, RunHook};

use super::program::{HookCancellation, HookRunEnding, HookRunResult};
use crate::box_host::hooks::{CLEANUPS_AGAIN, HookProgram, HookSet};
use crate::box_host::inspection::box_probe::{ProcessSnapshot, kill_left};
use crate::box_host::inspection::checks::{LeftProcess, LeftoverTargets, named};
use crate::box_host::template::TemplateValues;

/// How much of a program's output an answer contains, in bytes of each stream.
const OUTPUT_IN_ANSWER: usize = 300;

/// Why a cancelled run has no outcome.
pub(in crate::box_host) const GIVEN_UP: &str =
    "the hook was cancelled: the box has a newer request, or the worker is stopping";

/// One box, and its hook.
pub(in crate::box_host) struct HookExecution<'a> {
    /// The request of the node.
    pub hook: &'a RunHook,
    /// The configured hooks.
    pub hooks: &'a HookSet,
    /// The path that identifies the box on this worker.
    pub mark: &'a Path,
    /// Cancels the run when its sender is dropped.
    pub give_up: &'a HookCancellation,
    /// Called whenever a cleanup is run again at once.
    pub again: &'a dyn Fn(),
}

impl HookExecution<'_> {
    /// Runs the hook. Blocks until the run has ended.
    pub fn execute(&self) -> HookAnswer {
        let subject = TemplateValues::of(self.hook);
        let sought = match self.hooks.checks.of(&subject) {
            Ok(sought) => sought,
            Err(not_served) => {
                return HookAnswer::Failed { output: HookOutput::cut(&not_served.to_string()) };
            }
        };
        match self.hook.kind {
            HookKind::Init => self.make_ready(&subject),
            HookKind::Cleanup => self.clean(&subject, &sought),
        }
    }

    fn make_ready(&self, subject: &TemplateValues) -> HookAnswer {
        let Some(program) = &self.hooks.init else { return HookAnswer::Done { output: None } };
        let ran = self.run(program, subject);
        if matches!(ran.ending, HookRunEnding::GivenUp) {
            return HookAnswer::Silent { why: GIVEN_UP.to_owned() };
        }
        let output = output(&ran);
        if self.is_done(&ran) {
            let output = (!output.is_empty()).then(|| HookOutput::cut(&output));
            return HookAnswer::Done { output };
        }
        let parts = [format!("init {}", ran.ending()), output];
        HookAnswer::Failed { output: evidence_of(parts) }
    }

    fn clean(&self, subject: &TemplateValues, sought: &LeftoverTargets) -> HookAnswer {
        let mut ran = self.run_cleanup(subject);
        let mut found = ProcessSnapshot::read().inspect(sought);
        let mut killed = Vec::new();
        if self.hooks.checks.kill_left && found.has_processes() && !is_given_up(&ran) {
            killed = kill_left(sought);
            // These traces could not be removed because of running processes.
            ran = self.run_cleanup(subject);
            found = ProcessSnapshot::read().inspect(sought);
        }
        if is_given_up(&ran) {
            return HookAnswer::Silent { why: GIVEN_UP.to_owned() };
        }
        let is_done = ran.as_ref().is_none_or(|ran| self.is_done(ran));
        let killed = killed_text(&killed);
        let output = ran.as_ref().map(output).unwrap_or_default();
        if is_done && found.is_clean() {
            let has_output = !killed.is_empty() || !output.is_empty();
            return HookAnswer::Done { output: has_output.then(|| evidence_of([killed, output])) };
        }
        let ending = ran.as_ref().map(|ran| format!("cleanup {}", ran.ending()));
        // The most important part comes first, because the end may be cut.
        HookAnswer::Failed {
            output: evidence_of([ending.unwrap_or_default(), found.to_string(), killed, output]),
        }
    }

    /// Runs the cleanup, and repeats it at once while its exit code requests that.
    fn run_cleanup(&self, subject: &TemplateValues) -> Option<HookRunResult> {
        let program = self.hooks.cleanup.as_ref()?;
        let began = Instant::now();
        let mut ran = self.run(program, subject);
        for _ in 0..CLEANUPS_AGAIN {
            let asks_again =
                ran.code().is_some_and(|code| self.hooks.cleanup_again_on.contains(&code));
            // Every step has a time limit that is known beforehand.
            if !asks_again || began.elapsed() >= program.timeout {
                break;
            }
            (self.again)();
            ran = self.run(program, subject);
        }
        Some(ran)
    }

    fn run(&self, program: &HookProgram, subject: &TemplateValues) -> HookRunResult {
        let ran = self.hooks.run(program, subject, self.mark, self.give_up);
        if !self.is_done(&ran) && !matches!(ran.ending, HookRunEnding::GivenUp) {
            let RunHook { place, number, kind, token, .. } = self.hook;
            let token = token.map(|token| token.0);
            tracing::warn!(
                pool = %place.pool, %number, token, hook = kind.word(), how = ran.ending(),
                stdout = ran.stdout, stderr = ran.stderr, "hook failed"
            );
        }
        ran
    }

    fn is_done(&self, ran: &HookRunResult) -> bool {
        !ran.lives_on && ran.code().is_some_and(|code| self.hooks.done.contains(&code))
    }
}

fn is_given_up(ran: &Option<HookRunResult>) -> bool {
    ran.as_ref().is_some_and(|ran| matches!(ran.ending, HookRunEnding::GivenUp))
}

fn killed_text(killed: &[LeftProcess]) -> String {
    match killed.len() {
        0 => String::new(),
        1 => format!("{} was killed", named(killed)),
        _ => format!("{} were killed", named(killed)),
    }
}

/// A part of a program's output.
fn output(ran: &HookRunResult) -> String {
    let streams = [("stderr", &ran.stderr), ("stdout", &ran.stdout)];
    let written = streams.into_iter().filter(|(_, text)| !text.is_empty());
    let written = written.map(|(stream, text)| format!("{stream}: {}", ends_of(text)));
    written.collect::<Vec<_>>().join("; ")
}

/// The beginning and the end of a text.
fn ends_of(text: &str) -> String {
    if text.len() <= OUTPUT_IN_ANSWER {
        return text.to_owned();
    }
    let half = OUTPUT_IN_ANSWER / 2;
    let head = (0..=half).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0);
    let tail = (text.len() - half..).find(|place| text.is_char_boundary(*place));
    format!("{} ... {}", &text[..head], &text[tail.unwrap_or(text.len())..])
}

fn evidence_of(parts: impl IntoIterator<Item = String>) -> HookOutput {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    HookOutput::cut(&parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_keeps_both_ends() {
        assert_eq!(ends_of("short"), "short");
        let long = format!("first {} last", "\u{e4}".repeat(400));
        let result = ends_of(&long);
        assert!(result.len() <= OUTPUT_IN_ANSWER + " ... ".len(), "{result}");
        assert!(
            result.starts_with("first ") && result.contains(" ... ") && result.ends_with(" last")
        );
    }

    #[test]
    fn the_evidence_has_no_empty_parts() {
        let parts = ["one", "", "two"].map(str::to_owned);
        assert_eq!(evidence_of(parts).as_str(), "one; two");
        let process = |pid| LeftProcess { pid, name: "x".to_owned() };
        assert_eq!(killed_text(&[]), "");
        assert_eq!(killed_text(&[process(7)]), "process 7 (x) was killed");
        assert_eq!(killed_text(&[process(7), process(8)]), "processes 7 (x), 8 (x) were killed");
    }
}
