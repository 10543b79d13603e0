//! Actions on files: pin and unpin them, and copy them now.

use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_console::address::{QueryPairs, ROOT};
use reelyard_console::format::{count, counted};
use reelyard_console::pages::files::FilesPageQuery;
use reelyard_console::parts::notice::UndoAction;
use reelyard_console::text::{Text, common, outcomes};
use reelyard_core::names::FileName;
use reelyard_yard::task_manager::CopyFile;
use serde::Deserialize;

use super::{acted_on, refused};
use crate::http::api::yard_calls::explain::file_in_path;
use crate::http::api::yard_calls::pins;
use crate::http::audit::AuditDetails;
use crate::http::computing::computed;
use crate::http::console::chosen;
use crate::http::console::pages::storage::dialogs::file_dialogs;
use crate::http::console::pages::storage::files::matching_files;
use crate::http::console::posted_form::PostedForm;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// An action on a file, by its word in addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// Protects its copies from removal.
    Pin,
    /// Ends the protection.
    Unpin,
    /// Copies it to the destination with the most room now.
    Copy,
    /// Pins it, and copies it once more: an unpinned file gets no second copy.
    PinCopy,
}

impl FileAction {
    /// The word in addresses.
    const fn word(self) -> &'static str {
        match self {
            FileAction::Pin => "pin",
            FileAction::Unpin => "unpin",
            FileAction::Copy => "copy",
            FileAction::PinCopy => "pin_copy",
        }
    }

    /// The sentence about the files that the action did not change, with their number as `{files}`.
    const fn left_out(self) -> Text {
        match self {
            FileAction::Pin => outcomes::LEFT_OUT_PINNED,
            FileAction::Unpin => outcomes::LEFT_OUT_UNPINNED,
            FileAction::Copy | FileAction::PinCopy => outcomes::LEFT_OUT_PLACED,
        }
    }

    /// The sentence after the action, with the number of files as `{n}`.
    fn outcome(self) -> Text {
        match self {
            FileAction::Pin => outcomes::FILES_PINNED,
            FileAction::Unpin => outcomes::FILES_UNPINNED,
            FileAction::Copy | FileAction::PinCopy => outcomes::COPIES_BEGUN,
        }
    }
}

/// `POST /console/files/{name}/{action}`. The name is percent-encoded.
pub async fn act_on_one(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    path: Path<(String, FileAction)>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let (_, action) = path.into_inner();
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::YardWrite)?;
    // The router has decoded the name, and a name that is no UTF-8 became another one.
    let name = file_in_path(&request, &format!("/{}", action.word()))?;
    Ok(act(&visitor, &state, &audit, (vec![name], 0), action, &form).await)
}

/// `POST /console/file-actions/{action}`: on all files in the fields `pick`, each percent-encoded, or on all that
/// match the filter of the form.
pub async fn act_on_picked(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    action: Path<FileAction>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::YardWrite)?;
    let action = action.into_inner();
    let files = if let Some(filter) = chosen::filter_of(&form) {
        let query =
            FilesPageQuery { ask: action.word().to_owned(), ..FilesPageQuery::parse(filter) };
        let files = computed(&state, move |state| {
            file_dialogs::suited(state, &query, matching_files(state, &query)).rows
        });
        let files = files.await?;
        match chosen::gone_since(&form, files.iter().map(FileName::to_percent)) {
            Ok(gone) => (files, gone),
            Err(why) => return Ok(refused(&form, &visitor.viewer, 0, &why)),
        }
    } else {
        // The way back of an action on several files has them in its address.
        let in_address = QueryPairs::parse(request.query_string()).all("pick");
        let read =
            |picked: &str| FileName::from_percent(picked).map_err(|bad| bad_name(picked, &bad));
        let picked = form.all("pick").chain(in_address.iter().map(String::as_str));
        (picked.map(read).collect::<Result<_, _>>()?, 0)
    };
    Ok(act(&visitor, &state, &audit, files, action, &form).await)
}

fn bad_name(given: &str, why: &dyn std::fmt::Display) -> ProblemResponse {
    ProblemResponse::bad_request(format!("\"{given}\" is no name of a file: {why}"))
}

async fn act(
    visitor: &Visitor,
    state: &Data<NodeHttpState>,
    audit: &AuditDetails,
    (files, gone): (Vec<FileName>, u64),
    action: FileAction,
    form: &PostedForm,
) -> HttpResponse {
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    let names: Vec<String> = files.iter().map(|name| name.to_text().name).collect();
    audit.subjects("file", &names);
    let at_once = match action {
        FileAction::Pin | FileAction::Unpin => chosen::AT_ONCE,
        // Each copy takes room at its destination.
        FileAction::Copy | FileAction::PinCopy => chosen::ONE_AFTER_ANOTHER,
    };
    // The file, if the action changed anything.
    let carry_out = |name: FileName| async {
        let changed = carry_out(state, visitor, name.clone(), action).await?;
        Ok(changed.then_some(name))
    };
    let all = chosen::act_on_all(files, at_once, carry_out).await;
    // Nothing was done, and is to be taken back, where the file was pinned, or not pinned, before.
    let changed: Vec<FileName> = all.done.iter().flatten().cloned().collect();
    let acted = changed.len() as u64;
    let language = visitor.viewer.language;
    let mut outcome = action.outcome().fill(language, &[("n", &count(acted))]);
    let unchanged = all.done.len() as u64 - acted;
    if unchanged > 0 {
        let files = counted(language, common::FILES, unchanged);
        let left_out = action.left_out().fill(language, &[("files", &files)]);
        outcome = format!("{outcome}. {left_out}");
    }
    let outcome = chosen::with_gone(&visitor.viewer, outcome, gone);
    let undo = undo(&changed, action);
    acted_on(form, &visitor.viewer, (acted, &all), outcome, undo)
}

/// Whether the action changed anything.
async fn carry_out(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    name: FileName,
    action: FileAction,
) -> Result<bool, ProblemResponse> {
    match action {
        FileAction::Pin => pin(state, visitor, name).await,
        FileAction::Unpin => {
            pins::set(name, state, &visitor.caller, false).await.map(|set| set.changed)
        }
        FileAction::Copy => copy(state, visitor, name).await.map(|()| true),
        FileAction::PinCopy => {
            pin(state, visitor, name.clone()).await?;
            copy(state, visitor, name).await.map(|()| true)
        }
    }
}

/// Pins a file that the node knows. Another name is probably a mistake.
async fn pin(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    name: FileName,
) -> Result<bool, ProblemResponse> {
    pins::require_known(state, &name)?;
    pins::set(name, state, &visitor.caller, true).await.map(|set| set.changed)
}

/// The action that takes this one on these files back. None for a copy.
fn undo(files: &[FileName], action: FileAction) -> Option<UndoAction> {
    let opposite = match action {
        FileAction::Pin => FileAction::Unpin,
        FileAction::Unpin => FileAction::Pin,
        FileAction::Copy | FileAction::PinCopy => return None,
    };
    let ask = opposite.word().to_owned();
    let pick: Vec<String> = files.iter().map(FileName::to_percent).collect();
    let dialog = FilesPageQuery { ask, pick, ..FilesPageQuery::default() }.address();
    let action = match files {
        [] => return None,
        [file] => format!("{ROOT}/files/{}/{}", file.to_percent(), opposite.word()),
        files => {
            let mut picked = QueryPairs::default();
            files.iter().for_each(|file| picked.add("pick", file.to_percent()));
            format!("{ROOT}/file-actions/{}?{}", opposite.word(), picked.print())
        }
    };
    Some(UndoAction { action, dialog })
}

/// Copies a file to the destination with the most room.
async fn copy(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    name: FileName,
) -> Result<(), ProblemResponse> {
    let content = format!("copy {}", name.to_percent());
    let (asked_by, request) = (visitor.caller.name(), visitor.caller.request(&content));
    let copy = CopyFile { name, destination: None, source: None, asked_by, request };
    state.actors.task_manager.ask(copy).await??;
    Ok(())
}
