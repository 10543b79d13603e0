//! Requests of a node to a worker that hosts boxes.
//!
//! - `POST /boxes/run` (worker): [`HookRunRequest`], answered by [`HookRunResponse`] when the hook
//!   has ended. The worker has a time-out for every program that it runs; the connection stays open
//!   meanwhile.
//! - `POST /boxes/look` (worker): [`BoxInspectionRequest`], answered by [`BoxInspectionResponse`].
//! - `POST /boxes/adopt` (worker): [`BoxAdoptionRequest`], answered by [`BoxAdoptionResponse`]: an
//!   operator gives boxes to a pool, although the worker knows them as boxes of another pool or
//!   cluster.
//!
//! All are signed with the token that node and workers share, and carry the epoch of the decision.
//! The worker answers a refusal with 200 and the reason. It answers 400 with the reason as text
//! only to a body that it cannot read. It ignores unknown fields.

use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_core::manager::YardId;
use serde::{Deserialize, Serialize};

use super::{
    AdoptBoxes, BoxInspection, BoxNumber, FenceToken, Holder, HookAnswer, HookKind, HookOutput,
    HookTarget, HooksName, IdRange, InspectBoxes, InspectedBox, PoolName, RunHook,
};

/// The place of a hook run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxRunTarget {
    /// The epoch in which it was decided.
    pub epoch: Epoch,
    /// Pool of the boxes.
    pub pool: PoolName,
    /// Name of the hooks in the worker's configuration; by default the pool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HooksName>,
    /// The cluster of the request; none from a node of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<YardId>,
    /// All ids of the pool: no other pool has them. Empty from a node of an older version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<IdRange>,
}

/// Request to run a hook for a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoxHookKind {
    /// Prepares a box for use.
    Init,
    /// Cleans the box after a lease.
    Cleanup,
}

/// A request to run a hook for a box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRunRequest {
    /// Epoch, pool and cluster that the order belongs to.
    #[serde(flatten)]
    pub place: BoxRunTarget,
    /// Command to run.
    pub kind: BoxHookKind,
    /// Number of the box in its pool, counted from 1.
    pub number: BoxNumber,
    /// The id of the box as its holder sees it.
    #[serde(rename = "box")]
    pub box_id: u32,
    /// The token of its current or last lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<FenceToken>,
    /// Current or last holder of the box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    /// The number of the attempt, counted from one.
    #[serde(default = "first")]
    pub attempt: u32,
}

fn first() -> u32 {
    1
}

/// Result of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum HookRunResponse {
    /// The hook succeeded.
    Done {
        /// Output of the hook, if there is any.
        #[serde(rename = "said", default, skip_serializing_if = "Option::is_none")]
        output: Option<HookOutput>,
    },
    /// The hook failed.
    Failed {
        /// Output of the hook, as evidence.
        #[serde(rename = "said")]
        output: HookOutput,
    },
    /// The run was refused or given up: the state of the box is unknown.
    Silent {
        /// Reason, for the log.
        why: String,
    },
}

/// A request to inspect boxes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxInspectionRequest {
    /// Epoch, pool and cluster that the order belongs to.
    #[serde(flatten)]
    pub place: BoxRunTarget,
    /// Numbers of the boxes to inspect.
    pub boxes: Vec<BoxNumber>,
    /// The last token of the pool, if the node knows it.
    #[serde(default)]
    pub last_token: FenceToken,
}

/// A request to give boxes to a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxAdoptionRequest {
    /// Epoch, cluster and pool of the request.
    #[serde(flatten)]
    pub place: BoxRunTarget,
}

/// Result of an adoption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoxAdoptionResponse {
    /// The boxes were given to the pool, and these pools lost some.
    Adopted(Vec<PoolName>),
    /// They were not, for this reason.
    Refused(String),
}

/// Result of an inspection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoxInspectionResponse {
    /// Findings, one per inspected box.
    LookedAt(Vec<BoxFinding>),
    /// No box was inspected, for this reason.
    Refused(String),
    /// The same as `InspectedBox`, for a node that names its cluster.
    Seen {
        /// The inspected boxes.
        boxes: Vec<BoxFinding>,
        /// The highest token for which the boxes were served, if the node does not know it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        highest_token: Option<FenceToken>,
    },
}

/// An inspected box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxFinding {
    /// Number of the box in its pool, counted from 1.
    pub number: BoxNumber,
    /// The finding; none if the box is clean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirt: Option<HookOutput>,
}

impl BoxRunTarget {
    fn of(place: HookTarget) -> Self {
        let HookTarget { host: _, epoch, pool, hooks, cluster, ids } = place;
        BoxRunTarget { epoch, pool, hooks, cluster, ids }
    }

    fn on(self, host: HostAddr) -> HookTarget {
        let BoxRunTarget { epoch, pool, hooks, cluster, ids } = self;
        HookTarget { host, epoch, pool, hooks, cluster, ids }
    }
}

impl From<RunHook> for HookRunRequest {
    fn from(hook: RunHook) -> Self {
        let RunHook { place, kind, number, box_id, token, holder, attempt } = hook;
        let kind = match kind {
            HookKind::Init => BoxHookKind::Init,
            HookKind::Cleanup => BoxHookKind::Cleanup,
        };
        HookRunRequest {
            place: BoxRunTarget::of(place),
            kind,
            number,
            box_id,
            token,
            holder,
            attempt,
        }
    }
}

impl HookRunRequest {
    /// The request to run this on the worker `host`.
    pub fn on(self, host: HostAddr) -> RunHook {
        let HookRunRequest { place, kind, number, box_id, token, holder, attempt } = self;
        let kind = match kind {
            BoxHookKind::Init => HookKind::Init,
            BoxHookKind::Cleanup => HookKind::Cleanup,
        };
        RunHook { place: place.on(host), kind, number, box_id, token, holder, attempt }
    }
}

impl From<HookAnswer> for HookRunResponse {
    fn from(answer: HookAnswer) -> Self {
        match answer {
            HookAnswer::Done { output } => HookRunResponse::Done { output },
            HookAnswer::Failed { output } => HookRunResponse::Failed { output },
            HookAnswer::Silent { why } => HookRunResponse::Silent { why },
        }
    }
}

impl From<HookRunResponse> for HookAnswer {
    fn from(answered: HookRunResponse) -> Self {
        match answered {
            HookRunResponse::Done { output } => HookAnswer::Done { output },
            HookRunResponse::Failed { output } => HookAnswer::Failed { output },
            HookRunResponse::Silent { why } => HookAnswer::Silent { why },
        }
    }
}

impl BoxInspectionRequest {
    /// A request to inspect these boxes of a place.
    pub fn at(place: HookTarget, boxes: Vec<BoxNumber>, last_token: FenceToken) -> Self {
        BoxInspectionRequest { place: BoxRunTarget::of(place), boxes, last_token }
    }

    /// The request to inspect these boxes on the worker `host`.
    pub fn on(self, host: HostAddr) -> InspectBoxes {
        let BoxInspectionRequest { place, boxes, last_token } = self;
        InspectBoxes { place: place.on(host), boxes, last_token }
    }

    /// Chooses the form of the answer: a node of an older version does not know `Seen`.
    pub fn answered(&self, answer: Result<BoxInspection, String>) -> BoxInspectionResponse {
        let looked = |InspectedBox { number, dirt }| BoxFinding { number, dirt };
        match answer {
            Ok(BoxInspection { boxes, highest }) => {
                let boxes = boxes.into_iter().map(looked).collect();
                match self.place.cluster {
                    Some(_) => BoxInspectionResponse::Seen { boxes, highest_token: highest },
                    None => BoxInspectionResponse::LookedAt(boxes),
                }
            }
            Err(why) => BoxInspectionResponse::Refused(why),
        }
    }
}

impl BoxAdoptionRequest {
    /// Requests that boxes of a place belong to its pool.
    pub fn of(adopt: AdoptBoxes) -> Self {
        BoxAdoptionRequest { place: BoxRunTarget::of(adopt.place) }
    }

    /// The request to record this on the worker `host`.
    pub fn on(self, host: HostAddr) -> AdoptBoxes {
        AdoptBoxes { place: self.place.on(host) }
    }
}

impl From<Result<Vec<PoolName>, String>> for BoxAdoptionResponse {
    fn from(answer: Result<Vec<PoolName>, String>) -> Self {
        answer.map_or_else(BoxAdoptionResponse::Refused, BoxAdoptionResponse::Adopted)
    }
}

impl From<BoxAdoptionResponse> for Result<Vec<PoolName>, String> {
    fn from(answered: BoxAdoptionResponse) -> Self {
        match answered {
            BoxAdoptionResponse::Adopted(losers) => Ok(losers),
            BoxAdoptionResponse::Refused(why) => Err(why),
        }
    }
}

impl From<BoxInspectionResponse> for Result<BoxInspection, String> {
    fn from(answered: BoxInspectionResponse) -> Self {
        let looked = |BoxFinding { number, dirt }| InspectedBox { number, dirt };
        let (boxes, highest) = match answered {
            BoxInspectionResponse::LookedAt(boxes) => (boxes, None),
            BoxInspectionResponse::Seen { boxes, highest_token } => (boxes, highest_token),
            BoxInspectionResponse::Refused(why) => return Err(why),
        };
        Ok(BoxInspection { boxes: boxes.into_iter().map(looked).collect(), highest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_request_survives_encoding() {
        let text = r#"{"epoch":3,"pool":"p","kind":"cleanup","number":2,"box":702}"#;
        let asked: HookRunRequest = serde_json::from_str(text).unwrap();
        assert_eq!((asked.box_id, asked.attempt, asked.token), (702, 1, None));
        let more = text.replace("\"kind\"", "\"colour\":\"red\",\"kind\"");
        assert_eq!(serde_json::from_str::<HookRunRequest>(&more).unwrap(), asked);
        let host: HostAddr = "10.0.0.1:8888".parse().unwrap();
        let hook = RunHook { token: Some(FenceToken(9)), ..asked.on(host) };
        let again = serde_json::to_string(&HookRunRequest::from(hook.clone())).unwrap();
        assert_eq!(serde_json::from_str::<HookRunRequest>(&again).unwrap().on(host), hook);
    }

    #[test]
    fn answers_are_as_they_are_documented() {
        let output =
            |answer: HookAnswer| serde_json::to_string(&HookRunResponse::from(answer)).unwrap();
        assert_eq!(output(HookAnswer::Done { output: None }), r#"{"outcome":"done"}"#);
        let failed = HookAnswer::Failed { output: HookOutput::cut("exit code 1") };
        assert_eq!(output(failed), r#"{"outcome":"failed","said":"exit code 1"}"#);
        let silent = HookAnswer::Silent { why: "x".to_owned() };
        assert_eq!(output(silent), r#"{"outcome":"silent","why":"x"}"#);
        let looked = vec![InspectedBox { number: BoxNumber(1), dirt: None }];
        let found = BoxInspection { boxes: looked, highest: Some(FenceToken(9)) };
        let old: BoxInspectionRequest =
            serde_json::from_str(r#"{"epoch":3,"pool":"p","boxes":[1]}"#).unwrap();
        let answered = serde_json::to_string(&old.answered(Ok(found.clone()))).unwrap();
        assert_eq!(answered, r#"{"looked_at":[{"number":1}]}"#);
        let place = BoxRunTarget { cluster: Some(YardId(7)), ..old.place.clone() };
        let new = BoxInspectionRequest { place, ..old };
        let asked = serde_json::to_string(&new).unwrap();
        assert_eq!(serde_json::from_str::<BoxInspectionRequest>(&asked).unwrap(), new);
        let answered = serde_json::to_string(&new.answered(Ok(found.clone()))).unwrap();
        assert_eq!(answered, r#"{"seen":{"boxes":[{"number":1}],"highest_token":9}}"#);
        let read: BoxInspectionResponse = serde_json::from_str(&answered).unwrap();
        assert_eq!(Result::from(read), Ok(found));
    }
}
