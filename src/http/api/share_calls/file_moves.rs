//! `POST /api/v1/files/move` moves a shared file with its shares. `GET /api/v1/files/moves` lists
//! the moves.

use std::time::Duration;

use actix_web::web;
use reelyard_api::{FileMoveInfo, Page, ProblemKind, WantedMove, place, refused};
use reelyard_core::event::RequestId;
use reelyard_replication::CommitError;
use reelyard_shares::share_expiry::{MoveRefused, Moved, ShareLocation};
use reelyard_shares::share_files::{MoveError, MoveFile};

use crate::http::access::RequestCaller;
use crate::http::api::call_parts::Body;
use crate::http::api::call_parts::NoQuery;
use crate::http::api::call_parts::{LeaderProblems, require_leader};
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};

/// Value of Retry-After when too many moves are in progress.
const SOON: Duration = Duration::from_secs(1);

type MoveRefusal = Refusal<(
    (refused::NotFound, refused::NotAllowed, refused::TargetExists, refused::OtherFileSystem),
    (refused::BeingMoved, refused::ChangedMeanwhile, refused::RequestIdReused, refused::Unreadable),
    CommitProblems,
)>;

/// `POST /files/move`.
#[utoipa::path(
    post,
    path = "/files/move",
    tag = "shares",
    operation_id = "moveFile",
    summary = "Moves or renames a shared file or directory; all links to it keep working",
    request_body(content = WantedMove, description = "Old path and new path"),
    responses((status = 200, description = "The number of shares that follow", body = Moved))
)]
pub async fn make(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    _: web::Query<NoQuery>,
    wanted: Body<WantedMove>,
) -> Result<web::Json<Moved>, MoveRefusal> {
    let WantedMove { from, to, overwrite, request_id } = wanted.into_inner().0;
    let read = |what: &str, text: &str| match place(text) {
        Ok((root, path)) => Ok(ShareLocation { root, path }),
        Err(bad) => Err(ProblemResponse::bad_request(format!("{what}: {bad}"))),
    };
    // Other programs read a trailing slash as "into this directory".
    if to.ends_with('/') {
        let wrong = "to: expected the new path including the new name";
        return Err(ProblemResponse::bad_request(wrong).into());
    }
    let (from, to) = (read("from", &from)?, read("to", &to)?);
    let content = format!("move {from} to {to} overwrite {overwrite}");
    let request = match request_id {
        Some(name) => RequestId::of(&name, content.as_bytes()),
        None => caller.request(&content),
    };
    let roots = [from.root.clone(), to.root.clone()];
    let asked = MoveFile { from, to, overwrite, asked_by: caller.name(), request };
    match state.actors.share_files.ask(asked).await? {
        Err(MoveError::Refused(MoveRefused::NoRoot)) => {
            let known = state.share_links.roots.names();
            let unknown = roots.iter().find(|root| !known.contains(root));
            let unknown = unknown.unwrap_or(&roots[0]);
            Err(ProblemResponse::not_found(state.share_links.no_root(unknown)).into())
        }
        answer => Ok(web::Json(answer?)),
    }
}

/// `GET /files/moves`: all moves on one page.
#[utoipa::path(
    get,
    path = "/files/moves",
    tag = "shares",
    operation_id = "listMoves",
    summary = "Lists moves in progress and moves with an unknown outcome, on the leader",
    responses((status = 200, description = "The moves, oldest first", body = Page<FileMoveInfo>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<Page<FileMoveInfo>>, Refusal<LeaderProblems>> {
    let (shares, leadership) = (&state.actors.share_views, state.journal.leadership());
    require_leader(shares.is_up(), shares.view().epoch, *leadership.borrow())?;
    let view = state.actors.share_files_views.load();
    let items = view.unsettled.values().map(FileMoveInfo::from).collect();
    Ok(web::Json(Page { items, next: None }))
}

impl From<MoveRefused> for ProblemResponse {
    fn from(refused: MoveRefused) -> Self {
        let detail = refused.to_string();
        let conflict = |kind| ProblemResponse::new(kind, detail.clone());
        match refused {
            MoveRefused::NoRoot | MoveRefused::NoSource | MoveRefused::NoDirectory => {
                ProblemResponse::not_found(detail)
            }
            MoveRefused::TargetExists | MoveRefused::TargetNotEmpty => {
                conflict(ProblemKind::TargetExists)
            }
            MoveRefused::OtherFileSystem => conflict(ProblemKind::OtherFileSystem),
            MoveRefused::BeingMoved => conflict(ProblemKind::BeingMoved),
            MoveRefused::Interrupted => conflict(ProblemKind::ChangedMeanwhile),
            MoveRefused::TooMany => CommitError::Busy { retry_after: SOON }.into(),
            MoveRefused::Failed(_) | MoveRefused::RootAway => {
                ProblemResponse::new(ProblemKind::Unreadable, detail)
            }
            MoveRefused::Root
            | MoveRefused::Same
            | MoveRefused::IntoItself
            | MoveRefused::OntoItsHolder
            | MoveRefused::OtherKind
            | MoveRefused::Special
            | MoveRefused::Symlink
            | MoveRefused::Denied
            | MoveRefused::NoSafeRename
            | MoveRefused::HoldsRoot
            | MoveRefused::TooLong => conflict(ProblemKind::NotAllowed),
        }
    }
}

impl From<MoveError> for ProblemResponse {
    fn from(error: MoveError) -> Self {
        match error {
            MoveError::Refused(why) => why.into(),
            MoveError::Share(error) => error.into(),
            MoveError::Unsettled { .. } => {
                ProblemResponse::new(ProblemKind::OutcomeUnknown, error.to_string())
            }
        }
    }
}
