//! The forms that the pages post. Each does what the call of the API with the same name does, and returns to its page.

pub mod access;
pub mod additions;
pub mod audit;
pub mod boxes;
pub mod changed_meanwhile;
pub mod cluster;
pub mod files;
pub mod hosts;
pub mod settings;
pub mod shares;
pub mod tasks;

use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, ResponseError};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reelyard_console::Viewer;
use reelyard_console::format::{count, node_sentence};
use reelyard_console::parts::notice::{ActionOutcome, UndoAction};
use reelyard_console::text::{node_words, outcomes};
use serde::{Deserialize, Serialize};

use super::posted_form::{PostedForm, is_console_path};
use crate::http::problem::ProblemResponse;

/// Cookie with the outcome of the action before. The next page shows it once.
pub const OUTCOME_COOKIE: &str = "reelyard_outcome";

/// Longest text of an outcome in bytes, so that a cookie can hold it.
const LONGEST_TEXT: usize = 800;

/// An outcome as the cookie holds it.
#[derive(Serialize, Deserialize)]
struct KeptOutcome {
    done: bool,
    title: String,
    detail: String,
    /// The action that takes this one back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undo: Option<KeptUndo>,
}

/// An action that takes another one back, as the cookie holds it.
#[derive(Clone, Serialize, Deserialize)]
struct KeptUndo {
    action: String,
    dialog: String,
}

/// Returns to the page of the form, which says that the action was carried out.
pub fn done(form: &PostedForm, title: String) -> HttpResponse {
    back(form, &KeptOutcome { done: true, title, detail: String::new(), undo: None })
}

/// The same for an action that `undo` takes back.
pub fn done_with_undo(form: &PostedForm, title: String, undo: UndoAction) -> HttpResponse {
    let undo = Some(KeptUndo { action: undo.action, dialog: undo.dialog });
    back(form, &KeptOutcome { done: true, title, detail: String::new(), undo })
}

/// Returns to the page of the form, which says why the action was refused after `acted` things.
pub fn refused(
    form: &PostedForm,
    viewer: &Viewer,
    acted: u64,
    refused: &ProblemResponse,
) -> HttpResponse {
    let title = match acted {
        0 => outcomes::NOTHING_DONE.of(viewer.language).to_owned(),
        acted => outcomes::STOPPED_AFTER.fill(viewer.language, &[("n", &count(acted))]),
    };
    let (kind, _) = refusal_words(viewer, refused);
    let why = node_words(viewer.language, &refused.problem().detail);
    let detail = format!("{kind}: {why}");
    let mut answer = back(form, &KeptOutcome { done: false, title, detail, undo: None });
    // For the audit.
    answer.extensions_mut().insert(refused.kind());
    answer
}

/// The kind of a problem, and what it is, in the language of the viewer.
pub fn refusal_words(viewer: &Viewer, why: &ProblemResponse) -> (String, String) {
    let problem = why.problem();
    let title = node_sentence(viewer.language, &problem.title);
    (title.trim_end_matches('.').to_owned(), node_sentence(viewer.language, &problem.detail))
}

/// Gives a page with a refused form the status of the refusal, and its kind for the audit.
pub fn mark_refused(answer: &mut HttpResponse, why: &ProblemResponse) {
    *answer.status_mut() = why.status_code();
    answer.extensions_mut().insert(why.kind());
}

fn back(form: &PostedForm, outcome: &KeptOutcome) -> HttpResponse {
    let cut = |text: &str| text.chars().take(LONGEST_TEXT / 4).collect();
    let kept = KeptOutcome {
        done: outcome.done,
        title: cut(&outcome.title),
        detail: cut(&outcome.detail),
        undo: outcome
            .undo
            .clone()
            .filter(|undo| undo.action.len().max(undo.dialog.len()) <= LONGEST_TEXT),
    };
    // Plain data always serializes.
    let json = serde_json::to_vec(&kept).unwrap_or_default();
    let cookie = Cookie::build(OUTCOME_COOKIE, URL_SAFE_NO_PAD.encode(json))
        .path("/console")
        .http_only(true)
        .same_site(SameSite::Strict)
        .finish();
    HttpResponse::SeeOther().insert_header((LOCATION, form.back())).cookie(cookie).finish()
}

/// The outcome in the cookie of a request.
pub fn outcome_of(cookie: &str) -> Option<ActionOutcome> {
    let json = URL_SAFE_NO_PAD.decode(cookie).ok()?;
    let kept: KeptOutcome = serde_json::from_slice(&json).ok()?;
    let is_safe = |undo: &KeptUndo| is_console_path(&undo.action) && is_console_path(&undo.dialog);
    let undo = kept.undo.filter(is_safe);
    Some(ActionOutcome {
        is_done: kept.done,
        title: kept.title,
        detail: kept.detail,
        next: None,
        undo: undo.map(|undo| UndoAction { action: undo.action, dialog: undo.dialog }),
    })
}

#[cfg(test)]
mod tests {
    use reelyard_api::{Problem, ProblemKind};
    use reelyard_console::text::Language;
    use reelyard_yard::remover::{CopyOutlook, Ending, Spared};

    use super::*;

    #[test]
    fn a_refusal_and_a_decision_are_in_the_language_of_the_viewer() {
        let is_korean = |english: &str| {
            let shown = node_words(Language::Korean, english);
            assert!(
                shown.chars().any(|letter| ('가'..='힣').contains(&letter)),
                "{english}: {shown}"
            );
        };
        for kind in ProblemKind::ALL {
            is_korean(&Problem::new(*kind, String::new()).title);
        }
        for why in
            [Spared::NoMaster, Spared::Hot, Spared::OnlyCopy, Spared::InVain, Spared::MinStay]
        {
            is_korean(why.words());
            is_korean(&CopyOutlook::Stays { why }.words());
        }
        is_korean(&Ending::NotAsked { why: "its host cannot be called now".to_owned() }.words());
    }
}
