//! Why a file is or is not planned, as the API shows it.

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileName, NameText};
use reelyard_yard::remover::CopyDecision;
use reelyard_yard::task_manager::{Explanation, MasterState, PlanVerdict, Skip};
use serde::{Deserialize, Serialize};

/// Why a file is or is not planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ExplainView {
    /// Name of the file.
    #[serde(flatten)]
    pub name: NameText,
    /// The verdict as a sentence.
    pub why: String,
    /// Everything that leads to it.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// The plan for each copy on a host of `held_on`, if that host listed it.
    #[serde(default)]
    pub copies: Vec<CopyDecision>,
    /// The demand for the file. Missing while demand is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<DemandView>,
    /// The hosts of `held_on` that do not answer.
    #[serde(default)]
    pub silent_on: Vec<SilentHolder>,
}

/// A host that holds the file and does not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SilentHolder {
    /// The host that holds a copy.
    pub host: HostAddr,
    /// Time since when it does not answer. Missing until its first answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<Millis>,
    /// Time from which it is presumed lost, and the file is copied elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presumed_lost_at: Option<Millis>,
}

/// The demand for a file, and its effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DemandView {
    /// Rank by demand for each byte, 1 = best. Missing for a file without a grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Number of ranked files.
    pub ranked: u64,
    /// Expected requests a day.
    pub requests_a_day: f64,
    /// The same with the longer memory of deletion. This number protects a copy.
    pub kept_requests_a_day: f64,
    /// Half-life of a request in days.
    pub half_life_days: f64,
    /// The numbers behind `requests_a_day`. Missing for a file without a grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<DemandPartsView>,
    /// Whether the demand decides the order of copies and exchanges.
    pub in_force: bool,
    /// The last decision on room for the file, in words. Missing if the file needs no room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
}

/// The numbers behind the expected requests for a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DemandPartsView {
    /// Requests of the event log for the file, each weighted by its age.
    pub remembered_requests: f64,
    /// Days since the file is known. A young file is compared by this time only.
    pub known_days: f64,
    /// Requests a day that its rank in grade.info lets expect. They count as one day of observation for a new file, and
    /// less for an older one: 1 / (1 + `known_days`) days.
    pub prior_requests_a_day: f64,
    /// Size of the file in bytes. Missing if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Score by which files are ordered: expected requests a day for each TiB. Missing without a size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_a_day_per_tib: Option<f64>,
}

impl ExplainView {
    /// An explanation of the file of that name.
    pub fn of(
        name: &FileName,
        explanation: Explanation,
        copies: Vec<CopyDecision>,
        demand: Option<DemandView>,
    ) -> Self {
        let nobody_has_it = explanation.master == MasterState::NotListed;
        let why = match explanation.verdict {
            PlanVerdict::Skipped(Skip::Ungraded) if nobody_has_it => {
                "it is not in grade.info, and no source directory lists it".to_owned()
            }
            PlanVerdict::Skipped(Skip::Ungraded) => "it is not in grade.info".to_owned(),
            verdict => verdict.to_string(),
        };
        let silent_on = Vec::new();
        ExplainView { name: name.to_text(), why, explanation, copies, demand, silent_on }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_protocol::worker::TaskId;

    use super::*;

    #[test]
    fn the_number_of_a_task_is_text_as_everywhere() {
        let explanation = Explanation {
            verdict: PlanVerdict::Skipped(Skip::UnderWay),
            rank: Some(1),
            hits: 0,
            ahead: None,
            master: MasterState::Listed,
            held_on: Vec::new(),
            held_on_left_out: 0,
            listed_on: Vec::new(),
            listed_on_left_out: 0,
            task: Some(TaskId(1_795_240_648_713_846_374)),
            back_off: None,
            sources: Vec::new(),
            sources_left_out: Vec::new(),
            destinations: Vec::new(),
            destinations_left_out: Vec::new(),
        };
        let name = FileName::new(b"a.mpg").unwrap();
        let view = ExplainView::of(&name, explanation, Vec::new(), None);
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!(json["task"], "1795240648713846374");
        assert_eq!(serde_json::from_value::<ExplainView>(json).unwrap(), view);
    }
}
