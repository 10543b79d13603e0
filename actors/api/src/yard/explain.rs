//! Why a file is or is not planned, as the API shows it.

use reelyard_core::names::{FileName, NameText};
use reelyard_yard::remover::CopyDecision;
use reelyard_yard::task_manager::plan::{Explanation, MasterState, PlanVerdict, Skip};
use serde::{Deserialize, Serialize};

/// Why a file is or is not planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ExplainView {
    /// Name of the file.
    #[serde(flatten)]
    pub name: NameText,
    /// The verdict as a sentence.
    pub why: String,
    /// Everything that leads to it.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// The plan for each copy that a destination listed.
    #[serde(default)]
    pub copies: Vec<CopyDecision>,
}

impl ExplainView {
    /// An explanation of the file of that name.
    pub fn of(name: &FileName, explanation: Explanation, copies: Vec<CopyDecision>) -> Self {
        let nobody_has_it = explanation.master == MasterState::NotListed;
        let why = match explanation.verdict {
            PlanVerdict::Skipped(Skip::Ungraded) if nobody_has_it => {
                "it is not in grade.info, and no source directory lists it".to_owned()
            }
            PlanVerdict::Skipped(Skip::Ungraded) => "it is not in grade.info".to_owned(),
            verdict => verdict.to_string(),
        };
        ExplainView { name: name.to_text(), why, explanation, copies }
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
            listed_on: Vec::new(),
            task: Some(TaskId(1_795_240_648_713_846_374)),
            back_off: None,
            sources: Vec::new(),
            destinations: Vec::new(),
        };
        let view = ExplainView::of(&FileName::new(b"a.mpg").unwrap(), explanation, Vec::new());
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!(json["task"], "1795240648713846374");
        assert_eq!(serde_json::from_value::<ExplainView>(json).unwrap(), view);
    }
}
