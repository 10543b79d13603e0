//! `/api/v1/shares`: links with deadlines.

use actix_web::{HttpResponse, web};
use reelyard_api::{
    Cursor, HookInfo, Page, ReclaimView, Rfc3339, ShareInfo, WantedReclaim, WantedRevocation,
    WantedTerms, place, refused, term,
};
use reelyard_core::event::RequestId;
use reelyard_shares::share_expiry::{
    ChangeShare, ConfirmClock, LARGEST_PAGE, NewTerms, PauseReclaim, RevokeShares, Revoked,
    ShareFilter, ShareId, ShareLookup, ShareOwner, SharePage, ShareState,
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::share_password::{hashed, is_the_same};
use crate::http::access::RequestCaller;
use crate::http::api::call_parts::Body;
use crate::http::api::call_parts::NoQuery;
use crate::http::api::call_parts::PageQuery;
use crate::http::audit::AuditDetails;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};

/// Filter of the shares.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ShareListQuery {
    /// Only shares of this owner.
    pub owner: Option<String>,
    /// Only shares of this path and below it: "root/path".
    pub path: Option<String>,
    /// Only shares with this text in their path or owner.
    pub contains: Option<String>,
    /// Only shares in this state.
    pub state: Option<ShareState>,
    /// Only shares with a deadline before this time, in RFC 3339.
    pub due_before: Option<String>,
    /// Only shares with a deadline at this time or later, in RFC 3339.
    pub due_after: Option<String>,
    /// Largest number of items; above 1000 counts as 1000.
    #[param(value_type = Option<u32>, minimum = 1, default = 100)]
    pub limit: Option<String>,
    /// Cursor to continue a list: `next` of the previous page.
    pub cursor: Option<String>,
}

impl ShareListQuery {
    fn filter(&self) -> Result<ShareFilter, ProblemResponse> {
        let wrong =
            |what: &str, why: String| ProblemResponse::bad_request(format!("{what}: {why}"));
        // A "+" in a query is decoded as a space.
        let is_cut =
            |due: &str| due.contains(' ') && due.replace(' ', "+").parse::<Rfc3339>().is_ok();
        let instant = |name: &str, given: Option<&str>| {
            if given.is_some_and(is_cut) {
                let why = "a \"+\" in a query stands for a space: write it as %2B".to_owned();
                return Err(wrong(name, why));
            }
            let read = given.map(str::parse::<Rfc3339>).transpose();
            Ok(read.map_err(|bad| wrong(name, bad.to_string()))?.map(|Rfc3339(at)| at))
        };
        let owner = self.owner.as_deref().map(ShareOwner::new).transpose();
        let within = self.path.as_deref().map(place).transpose();
        Ok(ShareFilter {
            owner: owner.map_err(|bad| wrong("owner", bad.to_string()))?,
            within: within.map_err(|bad| wrong("path", bad.to_string()))?,
            contains: self.contains.clone(),
            state: self.state,
            due_before: instant("due_before", self.due_before.as_deref())?,
            due_after: instant("due_after", self.due_after.as_deref())?,
        })
    }

    fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit.clone(), cursor: self.cursor.clone() }
    }
}

/// `GET /shares`: sorted by id. A page can be short or empty and still have a next page.
#[utoipa::path(
    get,
    path = "/shares",
    tag = "shares",
    operation_id = "listShares",
    summary = "Lists the shares that have not ended, in no special order",
    params(ShareListQuery),
    responses((status = 200, description = "A page of shares", body = Page<ShareInfo>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    query: web::Query<ShareListQuery>,
) -> Result<web::Json<Page<ShareInfo>>, Refusal<refused::Starting>> {
    let (filter, page) = (query.filter()?, query.page());
    knows_its_shares(&state)?;
    let (limit, from) = (page.limit()?, page.position::<ShareId>()?);
    let now = state.share_time();
    let SharePage { shares, next } = state.actors.share_views.list(&filter, from, limit, now);
    let items = shares.iter().map(|share| state.share_info(share, now)).collect();
    Ok(web::Json(Page { items, next: next.map(|id| Cursor(id.to_string())) }))
}

/// `GET /shares/{id}`.
#[utoipa::path(
    get,
    path = "/shares/{id}",
    tag = "shares",
    operation_id = "showShare",
    summary = "Shows a share; for an ended one also when and why it ended",
    params(("id" = String, Path, description = "Id of the share")),
    responses((status = 200, description = "The share", body = ShareInfo))
)]
pub async fn one(
    state: web::Data<NodeHttpState>,
    id: web::Path<String>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<ShareInfo>, Refusal<(refused::NotFound, refused::Gone, refused::Starting)>> {
    knows_its_shares(&state)?;
    match state.actors.share_views.find(share_id(&id)?) {
        ShareLookup::Live(share) => Ok(web::Json(state.share_info(&share, state.share_time()))),
        ShareLookup::Ended(tombstone) => {
            let (why, at) = (tombstone.why.word(), tombstone.refused_since());
            Err(ProblemResponse::gone(format!("the share has ended: {why} at {at}")).into())
        }
        ShareLookup::Unknown => Err(ProblemResponse::not_found("the share does not exist").into()),
    }
}

type TermsRefusal = Refusal<(
    (refused::NotFound, refused::Gone, refused::Terms, refused::ConditionFailed),
    (refused::NotAllowed, refused::LimitReached, refused::ClockUnconfirmed),
    (refused::ChangedMeanwhile, refused::RequestIdReused),
    CommitProblems,
)>;

/// `PATCH /shares/{id}`.
#[utoipa::path(
    patch,
    path = "/shares/{id}",
    tag = "shares",
    operation_id = "changeShare",
    summary = "Changes the terms of a share; an ended one never comes back",
    params(("id" = String, Path, description = "Id of the share")),
    request_body(content = WantedTerms, description = "The changed terms"),
    responses((status = 200, description = "The share after the change", body = ShareInfo))
)]
pub async fn change(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    id: web::Path<String>,
    _: web::Query<NoQuery>,
    wanted: Body<WantedTerms>,
) -> Result<web::Json<ShareInfo>, TermsRefusal> {
    let (id, wanted) = (share_id(&id)?, wanted.into_inner().0);
    let (request, is_named) = (named(&caller, id, &wanted), wanted.request_id.is_some());
    let lifetime = term(wanted.ttl, wanted.expires_at)
        .map_err(|why| ProblemResponse::bad_request(why.to_string()))?;
    if wanted.only_if.is_some() && lifetime.is_none() {
        return Err(ProblemResponse::bad_request(
            "if: the condition needs a new deadline: set ttl or expires_at",
        )
        .into());
    }
    let given = wanted.password.clone().flatten();
    let password = match wanted.password.clone() {
        None => None,
        Some(password) => Some(hashed(password).await?),
    };
    let terms = wanted.terms(password);
    let change = NewTerms { lifetime, only_if: wanted.only_if, owner: wanted.owner, terms };
    let before = known(&state, id);
    let change = ChangeShare { id, change, asked_by: caller.name(), request };
    let share = state.actors.share_expiry.ask(change).await??;
    let info = state.share_info(&share, state.share_time());
    audit.changed(before.as_ref(), Some(&info));
    if is_named {
        is_the_same(given, &share).await?;
    }
    Ok(web::Json(info))
}

/// Options of the revocation.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RevokeQuery {
    /// Also cut running downloads, within a second. Data that was handed over completely, on a
    /// connection that ended normally, may still arrive. This also cuts downloads of a share that
    /// ended earlier, or that is already forgotten (then the answer is 404).
    #[serde(default)]
    pub hard: bool,
}

/// `DELETE /shares/{id}`.
#[utoipa::path(
    delete,
    path = "/shares/{id}",
    tag = "shares",
    operation_id = "revokeShare",
    summary = "Revokes a share",
    params(("id" = String, Path, description = "Id of the share"), RevokeQuery),
    responses((status = 204, description = "The share has ended"))
)]
pub async fn revoke(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    id: web::Path<String>,
    query: web::Query<RevokeQuery>,
) -> Result<HttpResponse, Refusal<(refused::NotFound, refused::Starting, CommitProblems)>> {
    let id = share_id(&id)?;
    knows_its_shares(&state)?;
    let is_known = !matches!(state.actors.share_views.find(id), ShareLookup::Unknown);
    audit.changed(known(&state, id).as_ref(), None);
    // A download may outlive its ended share, and even the record of the share.
    if is_known || query.hard {
        revoke_all(&state, &caller, vec![id], query.hard).await?;
    }
    match (is_known, query.hard) {
        (true, _) => Ok(HttpResponse::NoContent().finish()),
        (false, false) => Err(ProblemResponse::not_found("the share does not exist").into()),
        (false, true) => Err(ProblemResponse::not_found(
            "the share does not exist; running downloads of it are cut",
        )
        .into()),
    }
}

/// `POST /shares/revoke`.
#[utoipa::path(
    post,
    path = "/shares/revoke",
    tag = "shares",
    operation_id = "revokeShares",
    summary = "Revokes many shares: the named ones, or all of an owner, a path, or both",
    description = "With both `owner` and `path`, shares of the owner below the path are revoked. \
                   If no share matches, 0 have ended; this is not an error.",
    request_body(content = WantedRevocation, description = "Shares to revoke"),
    responses((status = 200, description = "Number of shares that ended", body = Revoked))
)]
pub async fn revoke_many(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    _: web::Query<NoQuery>,
    wanted: Body<WantedRevocation>,
) -> Result<web::Json<Revoked>, Refusal<(refused::Starting, CommitProblems)>> {
    let WantedRevocation { ids, owner, path, hard } = wanted.into_inner().0;
    knows_its_shares(&state)?;
    if let Some(ids) = ids {
        if owner.is_some() || path.is_some() {
            return Err(
                ProblemResponse::bad_request("expected ids, or owner and path, not both").into()
            );
        }
        let named: Vec<String> = ids.iter().take(NAMED).map(ToString::to_string).collect();
        audit.subject(format!("share {}", named.join(" ")));
        let before = ids.first().filter(|_| ids.len() == 1).and_then(|id| known(&state, *id));
        audit.changed(before.as_ref(), None);
        let revoked = revoke_all(&state, &caller, ids, hard).await?;
        audit.after(serde_json::json!({ "ended": revoked.ended }));
        return Ok(web::Json(revoked));
    }
    let of_owner = owner.iter().map(|owner| format!("owner {}", owner.as_str()));
    let selection = of_owner.chain(path.iter().map(|path| format!("path {path}")));
    audit.subject(selection.collect::<Vec<_>>().join(" "));
    if owner.is_none() && path.is_none() {
        return Err(ProblemResponse::bad_request(
            "expected ids, owner or path: they select the shares",
        )
        .into());
    }
    let within = path.as_deref().map(place).transpose();
    let within = within.map_err(|bad| ProblemResponse::bad_request(format!("path: {bad}")))?;
    let filter = ShareFilter { owner, within, ..ShareFilter::default() };
    let (mut from, mut revoked) = (None, Revoked::default());
    loop {
        let now = state.share_time();
        let page = state.actors.share_views.list(&filter, from, LARGEST_PAGE, now);
        let ids: Vec<ShareId> = page.shares.iter().map(|share| share.id()).collect();
        if !ids.is_empty() {
            let Revoked { ended, others } = revoke_all(&state, &caller, ids, hard).await?;
            revoked.ended += ended;
            revoked.others += others;
        }
        from = page.next;
        if from.is_none() {
            audit.after(serde_json::json!({ "ended": revoked.ended }));
            return Ok(web::Json(revoked));
        }
    }
}

/// `GET /shares/reclaim`.
#[utoipa::path(
    get,
    path = "/shares/reclaim",
    tag = "shares",
    operation_id = "showReclaim",
    summary = "Shows counts of shares and the state of the reclaim",
    responses((status = 200, description = "State of the reclaim", body = ReclaimView))
)]
pub async fn show_reclaim(
    state: web::Data<NodeHttpState>,
    _: web::Query<NoQuery>,
) -> web::Json<ReclaimView> {
    let views = &state.actors.share_views;
    let view = views.view();
    web::Json(ReclaimView {
        paused_by: view.paused.clone(),
        clock: view.trouble.map(|trouble| trouble.to_string()),
        shares: view.shares,
        backlog: view.backlog,
        tombstones: view.tombstones,
        refused_by_time: views.refusals_by_time(),
        totals: view.totals,
        counters: view.counters,
    })
}

/// `PUT /shares/reclaim`.
#[utoipa::path(
    put,
    path = "/shares/reclaim",
    tag = "shares",
    operation_id = "pauseReclaim",
    summary = "Pauses or resumes the reclaim of ended shares",
    request_body(content = WantedReclaim, description = "true pauses, false resumes"),
    responses((status = 200, description = "State of the reclaim", body = ReclaimView))
)]
pub async fn pause(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    query: web::Query<NoQuery>,
    wanted: Body<WantedReclaim>,
) -> Result<web::Json<ReclaimView>, Refusal<CommitProblems>> {
    let request = caller.request(&format!("pause {}", wanted.paused));
    let asked_by = caller.name();
    let pause = PauseReclaim { paused: wanted.paused, asked_by, request };
    state.actors.share_expiry.ask(pause).await??;
    Ok(show_reclaim(state, query).await)
}

/// `POST /shares/clock/confirm`.
#[utoipa::path(
    post,
    path = "/shares/clock/confirm",
    tag = "shares",
    operation_id = "confirmClock",
    summary = "Confirms that the wall clock is right; shares use it at once",
    description = "A wall clock that is more than an hour ahead is confirmed by itself after \
                   `share.clock_confirm_after`. A clock that is behind is not used: ended links stay \
                   ended. After you confirm it, ended links that were not reclaimed may come back.",
    responses((status = 200, description = "State of the reclaim", body = ReclaimView))
)]
pub async fn confirm_clock(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    query: web::Query<NoQuery>,
) -> Result<web::Json<ReclaimView>, Refusal<CommitProblems>> {
    let (asked_by, request) = (caller.name(), caller.request("confirm the clock"));
    state.actors.share_expiry.ask(ConfirmClock { asked_by, request }).await??;
    Ok(show_reclaim(state, query).await)
}

/// `GET /shares/hooks`: all webhooks on one page.
#[utoipa::path(
    get,
    path = "/shares/hooks",
    tag = "shares",
    operation_id = "listHooks",
    summary = "Shows the state of the webhooks",
    responses((status = 200, description = "The webhooks, by name", body = Page<HookInfo>))
)]
pub async fn hooks(
    state: web::Data<NodeHttpState>,
    _: web::Query<NoQuery>,
) -> web::Json<Page<HookInfo>> {
    let hooks = state.actors.hooks.views();
    let items = hooks.iter().map(|view| HookInfo::from(&**view)).collect();
    web::Json(Page { items, next: None })
}

/// Refuses while the journal is being read, because an unknown share may exist in it.
pub(in crate::http) fn knows_its_shares(state: &NodeHttpState) -> Result<(), ProblemResponse> {
    if state.actors.share_views.is_up() { Ok(()) } else { Err(ProblemResponse::starting()) }
}

/// Number of shares that a row of the audit names.
const NAMED: usize = 8;

/// The share as it is now, unless it has ended.
fn known(state: &NodeHttpState, id: ShareId) -> Option<ShareInfo> {
    match state.actors.share_views.find(id) {
        ShareLookup::Live(share) => Some(state.share_info(&share, state.share_time())),
        ShareLookup::Ended(_) | ShareLookup::Unknown => None,
    }
}

async fn revoke_all(
    state: &NodeHttpState,
    caller: &RequestCaller,
    ids: Vec<ShareId>,
    hard: bool,
) -> Result<Revoked, ProblemResponse> {
    let named: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let request = caller.request(&format!("revoke {} {hard}", named.join(" ")));
    let asked_by = caller.name();
    let revoke = RevokeShares { ids, hard, asked_by, request };
    Ok(state.actors.share_expiry.ask(revoke).await??)
}

fn share_id(text: &str) -> Result<ShareId, ProblemResponse> {
    // An invalid id gets the same answer as an unknown share, so that the answer does not help to
    // guess ids.
    text.parse().map_err(|_| ProblemResponse::not_found("the share does not exist"))
}

/// The request id of a change. It depends on whether a password is set, but not on the password.
fn named(caller: &RequestCaller, id: ShareId, wanted: &WantedTerms) -> RequestId {
    let password = wanted.password.as_ref().map(Option::is_some);
    let rest = WantedTerms { password: None, request_id: None, ..wanted.clone() };
    let content = format!("change {id} {rest:?} password {password:?}");
    match &wanted.request_id {
        Some(name) => RequestId::of(name, content.as_bytes()),
        None => caller.request(&content),
    }
}
