//! What a node asks of a worker that hosts boxes.
//!
//! - `POST /boxes/run` (worker): [`RunAsked`], answered by [`RunAnswered`] when the hook has ended. The
//!   worker has a time-out for every program that it runs; the connection is held open meanwhile.
//! - `POST /boxes/look` (worker): [`LookAsked`], answered by [`LookAnswered`].
//!
//! Both are guarded by the token that node and workers share, and carry the epoch in which they were
//! decided. What is refused is answered with 200 and why; only a body that cannot be read is answered
//! with 400, and why as text. Fields that are not known are passed over.

use serde::{Deserialize, Serialize};

use crate::box_lease::{
    BoxNumber, FenceToken, Holder, HookAnswer, HookKind, HookPlace, HooksName, LookAtBoxes,
    LookedAt, PoolName, RunHook, Said,
};
use crate::event::Epoch;
use crate::host::HostAddr;

/// Where something is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The epoch in which it was decided.
    pub epoch: Epoch,
    /// The pool.
    pub pool: PoolName,
    /// The name under which the worker's configuration says what is run; the pool's own if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HooksName>,
}

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What makes a box ready.
    Init,
    /// What cleans it.
    Cleanup,
}

/// Something is to be run for a box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAsked {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// What.
    pub kind: Kind,
    /// The box.
    pub number: BoxNumber,
    /// The id by which its holder calls it.
    #[serde(rename = "box")]
    pub box_id: u32,
    /// The token of its lease, or of its last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<FenceToken>,
    /// Who has it or had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    /// Which attempt it is, counted from one.
    #[serde(default = "first")]
    pub attempt: u32,
}

fn first() -> u32 {
    1
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RunAnswered {
    /// It was done.
    Done {
        /// What was said, if anything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Said>,
    },
    /// It failed.
    Failed {
        /// The evidence.
        said: Said,
    },
    /// It was refused, or given up: nothing is known of the box.
    Silent {
        /// Why.
        why: String,
    },
}

/// Boxes are to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookAsked {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// The boxes.
    pub boxes: Vec<BoxNumber>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookAnswered {
    /// These were looked at.
    LookedAt(Vec<Looked>),
    /// Nothing was looked at, for this reason.
    Refused(String),
}

/// A box that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// The box.
    pub number: BoxNumber,
    /// What was found, unless it is clean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirt: Option<Said>,
}

impl Place {
    fn of(place: HookPlace) -> Self {
        Place { epoch: place.epoch, pool: place.pool, hooks: place.hooks }
    }

    fn on(self, host: HostAddr) -> HookPlace {
        HookPlace { host, epoch: self.epoch, pool: self.pool, hooks: self.hooks }
    }
}

impl From<RunHook> for RunAsked {
    fn from(hook: RunHook) -> Self {
        let RunHook { place, kind, number, box_id, token, holder, attempt } = hook;
        let kind = match kind {
            HookKind::Init => Kind::Init,
            HookKind::Cleanup => Kind::Cleanup,
        };
        RunAsked { place: Place::of(place), kind, number, box_id, token, holder, attempt }
    }
}

impl RunAsked {
    /// What the worker `host` is to run.
    pub fn on(self, host: HostAddr) -> RunHook {
        let RunAsked { place, kind, number, box_id, token, holder, attempt } = self;
        let kind = match kind {
            Kind::Init => HookKind::Init,
            Kind::Cleanup => HookKind::Cleanup,
        };
        RunHook { place: place.on(host), kind, number, box_id, token, holder, attempt }
    }
}

impl From<HookAnswer> for RunAnswered {
    fn from(answer: HookAnswer) -> Self {
        match answer {
            HookAnswer::Done { said } => RunAnswered::Done { said },
            HookAnswer::Failed { said } => RunAnswered::Failed { said },
            HookAnswer::Silent { why } => RunAnswered::Silent { why },
        }
    }
}

impl From<RunAnswered> for HookAnswer {
    fn from(answered: RunAnswered) -> Self {
        match answered {
            RunAnswered::Done { said } => HookAnswer::Done { said },
            RunAnswered::Failed { said } => HookAnswer::Failed { said },
            RunAnswered::Silent { why } => HookAnswer::Silent { why },
        }
    }
}

impl LookAsked {
    /// A look at these boxes of a place.
    pub fn at(place: HookPlace, boxes: Vec<BoxNumber>) -> Self {
        LookAsked { place: Place::of(place), boxes }
    }

    /// What the worker `host` is to look at.
    pub fn on(self, host: HostAddr) -> LookAtBoxes {
        LookAtBoxes { place: self.place.on(host), boxes: self.boxes }
    }
}

impl From<Result<Vec<LookedAt>, String>> for LookAnswered {
    fn from(answer: Result<Vec<LookedAt>, String>) -> Self {
        let looked = |LookedAt { number, dirt }| Looked { number, dirt };
        match answer {
            Ok(all) => LookAnswered::LookedAt(all.into_iter().map(looked).collect()),
            Err(why) => LookAnswered::Refused(why),
        }
    }
}

impl From<LookAnswered> for Result<Vec<LookedAt>, String> {
    fn from(answered: LookAnswered) -> Self {
        let looked = |Looked { number, dirt }| LookedAt { number, dirt };
        match answered {
            LookAnswered::LookedAt(all) => Ok(all.into_iter().map(looked).collect()),
            LookAnswered::Refused(why) => Err(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_comes_back_as_it_was() {
        let text = r#"{"epoch":3,"pool":"p","kind":"cleanup","number":2,"box":702}"#;
        let asked: RunAsked = serde_json::from_str(text).unwrap();
        assert_eq!((asked.box_id, asked.attempt, asked.token), (702, 1, None));
        let more = text.replace("\"kind\"", "\"colour\":\"red\",\"kind\"");
        assert_eq!(serde_json::from_str::<RunAsked>(&more).unwrap(), asked);
        let host: HostAddr = "10.0.0.1:8888".parse().unwrap();
        let hook = RunHook { token: Some(FenceToken(9)), ..asked.on(host) };
        let again = serde_json::to_string(&RunAsked::from(hook.clone())).unwrap();
        assert_eq!(serde_json::from_str::<RunAsked>(&again).unwrap().on(host), hook);
    }

    #[test]
    fn answers_are_as_they_are_documented() {
        let said = |answer: HookAnswer| serde_json::to_string(&RunAnswered::from(answer)).unwrap();
        assert_eq!(said(HookAnswer::Done { said: None }), r#"{"outcome":"done"}"#);
        let failed = HookAnswer::Failed { said: Said::cut("exit code 1") };
        assert_eq!(said(failed), r#"{"outcome":"failed","said":"exit code 1"}"#);
        let silent = HookAnswer::Silent { why: "x".to_owned() };
        assert_eq!(said(silent), r#"{"outcome":"silent","why":"x"}"#);
        let looked = vec![LookedAt { number: BoxNumber(1), dirt: None }];
        let answered = serde_json::to_string(&LookAnswered::from(Ok(looked.clone()))).unwrap();
        assert_eq!(answered, r#"{"looked_at":[{"number":1}]}"#);
        let read: LookAnswered = serde_json::from_str(&answered).unwrap();
        assert_eq!(Result::from(read), Ok(looked));
    }
}
