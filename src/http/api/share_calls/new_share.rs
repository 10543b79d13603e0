//! `POST /api/v1/shares`: creates links.

use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};
use reelyard_api::{API, Password, ProblemKind, ShareInfo, WantedShare, place, refused, term};
use reelyard_core::event::RequestId;
use reelyard_links::{NotOpened, Roots};
use reelyard_shares::share_expiry::{
    CreateShare, RecallShare, RootName, Share, ShareError, ShareKind, SharePath, ShareRefusal,
};

use super::share_password::{hashed, is_the_same};
use crate::http::access::RequestCaller;
use crate::http::api::call_parts::Body;
use crate::http::api::call_parts::NoQuery;
use crate::http::audit::AuditDetails;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};

/// Largest number of looks at the path while concurrent moves change it.
const LOOKS: usize = 20;

type NewShareRefusal = Refusal<(
    (refused::NotFound, refused::NotAllowed, refused::Unreadable, refused::BeingMoved),
    (refused::Terms, refused::LimitReached, refused::ClockUnconfirmed),
    (refused::RequestIdReused, refused::ChangedMeanwhile, refused::Gone),
    CommitProblems,
)>;

/// `POST /shares`.
#[utoipa::path(
    post,
    path = "/shares",
    tag = "shares",
    operation_id = "createShare",
    summary = "Creates a link to a file or directory",
    description = "With a `request_id` the request can be repeated: it returns the same share, or 410 \
                   after the share has ended. A move of the file changes nothing. Without one, a \
                   repeated request creates a second link; after a lost answer or a 504 look at the \
                   list instead.",
    request_body(content = WantedShare, description = "Path and terms of the share"),
    responses((status = 201, description = "The share", body = ShareInfo))
)]
pub async fn create(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    _: web::Query<NoQuery>,
    wanted: Body<WantedShare>,
) -> Result<HttpResponse, NewShareRefusal> {
    let share_info = create_share(&state, &caller, &audit, wanted.into_inner().0).await?;
    let location = format!("{}/shares/{}", API, share_info.id);
    Ok(HttpResponse::Created().insert_header((LOCATION, location)).json(share_info))
}

/// Creates a link.
pub async fn create_share(
    state: &NodeHttpState,
    caller: &RequestCaller,
    audit: &AuditDetails,
    wanted: WantedShare,
) -> Result<ShareInfo, ProblemResponse> {
    audit.subject(format!("path {}", wanted.path));
    let bad = |why: &dyn std::fmt::Display| ProblemResponse::bad_request(why.to_string());
    let given = wanted.password.clone();
    let content = asked_for(&wanted);
    let request = match wanted.request_id.as_deref() {
        Some(name) => Some(RequestId::of(name, content.as_bytes())),
        None => caller.named_request(&content),
    };
    // Before the disk is read: the file of an earlier request may have moved since.
    if let Some(request) = request
        && let Some(share) = state.actors.share_expiry.ask(RecallShare { request }).await??
    {
        return created(state, &share, given, audit).await;
    }
    let (root, path) = placed(&wanted.path)?;
    let lifetime =
        term(wanted.ttl, wanted.expires_at).map_err(|why| bad(&why))?.unwrap_or_default();
    // Before the disk is read: hashing is slow, and the file could move meanwhile.
    let terms = wanted.terms(hashed(wanted.password.clone()).await?);
    let mut looks = 0;
    loop {
        looks += 1;
        let (kind, looked) = look(state, &root, &path, &wanted.path).await?;
        let create = CreateShare {
            root: root.clone(),
            path: path.clone(),
            kind,
            looked: Some(looked),
            lifetime,
            owner: wanted.owner.clone(),
            terms: terms.clone(),
            asked_by: caller.name(),
            request,
        };
        match state.actors.share_expiry.ask(create).await? {
            Err(ShareError::Refused(ShareRefusal::BeingMoved)) if looks < LOOKS => {}
            answer => {
                let share = answer?;
                let given = given.filter(|_| request.is_some());
                return created(state, &share, given, audit).await;
            }
        }
    }
}

/// The root and the path of a typed path.
///
/// # Errors
/// No link can lead to it, whatever is on the disk.
pub fn placed(text: &str) -> Result<(RootName, SharePath), ProblemResponse> {
    place(text).map_err(|why| {
        ProblemResponse::bad_request(format!(
            "no link can lead to \"{text}\": {why}. Write a root and a path below it, such as movies/new/a.mpg"
        ))
    })
}

/// Looks at a path. Also returns the number of moves that had started before.
async fn look(
    state: &NodeHttpState,
    root: &RootName,
    path: &SharePath,
    path_text: &str,
) -> Result<(ShareKind, u64), ProblemResponse> {
    let Some(looked) = state.actors.share_views.moves_begun(root, path) else {
        return Err(ShareError::from(ShareRefusal::BeingMoved).into());
    };
    let roots: Roots = state.share_links.roots.clone();
    let (of, path) = (root.clone(), path.clone());
    let opened = web::block(move || roots.open_at(&of, &path)).await;
    let opened = opened.map_err(|_| ProblemResponse::stopped())?.map_err(|why| match why {
        NotOpened::NoRoot => ProblemResponse::not_found(state.share_links.no_root(root)),
        why => no_such(path_text, why),
    })?;
    Ok((opened.kind, looked))
}

/// Answers a request that may be a repetition. `given` is its password.
async fn created(
    state: &NodeHttpState,
    share: &Share,
    given: Option<Password>,
    audit: &AuditDetails,
) -> Result<ShareInfo, ProblemResponse> {
    // The password may have been changed since the share was created.
    if share.generation() == 0 {
        is_the_same(given, share).await?;
    }
    let share_info = state.share_info(share, state.share_time());
    audit.subject(format!("share {}", share_info.id));
    audit.changed(None, Some(&share_info));
    Ok(share_info)
}

/// The request without the password. Its hash becomes part of the request id, which must not reveal
/// anything about the password.
fn asked_for(wanted: &WantedShare) -> String {
    let password = wanted.password.is_some();
    let rest = WantedShare { password: None, request_id: None, ..wanted.clone() };
    format!("create {rest:?} password {password}")
}

/// The refusal for a path that cannot be shared.
pub fn no_such(path: &str, why: NotOpened) -> ProblemResponse {
    let detail = format!("no link can lead to \"{path}\": {why}");
    match why {
        NotOpened::NoRoot | NotOpened::Absent => ProblemResponse::not_found(detail),
        NotOpened::Outside | NotOpened::Special | NotOpened::Denied => {
            ProblemResponse::new(ProblemKind::NotAllowed, detail)
        }
        NotOpened::Failed(_) | NotOpened::Away(_) => {
            ProblemResponse::new(ProblemKind::Unreadable, detail)
        }
    }
}
