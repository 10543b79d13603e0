//! `/api/v1/tokens`: tokens of people, programs and workers.

use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};
use reelyard_access::access::{CreateToken, NewTokenEnd, RevokeToken, RotateToken};
use reelyard_access::rights::{Rights, TokenName};
use reelyard_access::secrets::{TokenKind, TokenSecret, draw};
use reelyard_api::{
    API, NewTokenInfo, Page, ProblemKind, Rfc3339, TokenInfo, Ttl, WantedRotation, WantedToken,
    refused,
};
use reelyard_core::clock::Millis;

use crate::http::access::{RequestCaller, request_id};
use crate::http::api::call_parts::Body;
use crate::http::api::call_parts::{NamedPageQuery, NoQuery, page};
use crate::http::audit::AuditDetails;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};

type TokenRefusal = Refusal<(
    (refused::NotFound, refused::NameTaken, refused::LimitReached, refused::Terms),
    (refused::NotAllowed, refused::RequestIdReused, refused::Unreadable),
    CommitProblems,
)>;

/// `GET /tokens`.
#[utoipa::path(
    get,
    path = "/tokens",
    tag = "access",
    operation_id = "listTokens",
    summary = "Lists all tokens, without their secrets",
    description = "Expired tokens stay in the list for 30 days.",
    params(NamedPageQuery),
    responses((status = 200, description = "A page of tokens, by name", body = Page<TokenInfo>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    query: web::Query<NamedPageQuery>,
) -> Result<web::Json<Page<TokenInfo>>, Refusal<()>> {
    let paging = query.paging();
    let (limit, after) = (paging.limit()?, paging.position::<String>()?);
    let mut items = matching(&state, &query);
    items.retain(|token| after.as_ref().is_none_or(|after| token.name > *after));
    Ok(web::Json(page(items, limit, |token| token.name.clone())))
}

/// All tokens that the filter lets through, by name.
pub fn matching(state: &NodeHttpState, query: &NamedPageQuery) -> Vec<TokenInfo> {
    let now = state.clock.now();
    let tokens = state.actors.access_views.load().tokens();
    let mut items: Vec<TokenInfo> = tokens.iter().map(|token| TokenInfo::of(token, now)).collect();
    if state.live.now().config.token.is_some() {
        items.push(TokenInfo::legacy());
        items.sort_by(|a, b| a.name.cmp(&b.name));
    }
    items.retain(|token| query.takes(&token.name));
    items
}

/// `POST /tokens`.
#[utoipa::path(
    post,
    path = "/tokens",
    tag = "access",
    operation_id = "createToken",
    summary = "Creates a token; its secret is in this answer only",
    description = "A caller grants only rights that it has itself. A repeated request with the same \
                   `request_id` is refused with `request-id-reused`, because the secret is not stored: \
                   rotate the token.",
    request_body(content = WantedToken, description = "Name and rights of the token"),
    responses((status = 201, description = "The token with its secret", body = NewTokenInfo))
)]
pub async fn create(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    _: web::Query<NoQuery>,
    wanted: Body<WantedToken>,
) -> Result<HttpResponse, TokenRefusal> {
    let created = create_token(&state, caller, &audit, wanted.into_inner().0).await?;
    let name = created.info.name.replace('/', "%2F");
    let place = format!("{}/tokens/{name}", API);
    Ok(HttpResponse::Created().insert_header((LOCATION, place)).json(created))
}

/// Creates a token. The answer has its secret.
pub async fn create_token(
    state: &NodeHttpState,
    caller: RequestCaller,
    audit: &AuditDetails,
    wanted: WantedToken,
) -> Result<NewTokenInfo, ProblemResponse> {
    let (name, rights) =
        wanted.name_and_rights().map_err(|why| ProblemResponse::bad_request(why.to_string()))?;
    audit.subject(format!("token {name}"));
    let before = known(state, &name);
    let kind = match rights {
        Rights::Worker(_) => TokenKind::Worker,
        Rights::Role(_) | Rights::Scopes(_) => TokenKind::General,
    };
    let secret = new_secret(kind)?;
    let request = request_id(&caller, wanted.request_id.as_deref(), &format!("create {wanted:?}"));
    let expires_at = match end(wanted.ttl, wanted.expires_at, state.clock.now())? {
        NewTokenEnd::At(at) => Some(at),
        NewTokenEnd::Same | NewTokenEnd::Never => None,
    };
    let create = CreateToken {
        name,
        hash: secret.hash(),
        rights,
        expires_at,
        addresses: wanted.addresses,
        replace: wanted.replace,
        by: caller.0,
        request,
    };
    let token = state.actors.access.ask(create).await??;
    let info = TokenInfo::of(&token, state.clock.now());
    audit.changed(before.as_ref(), Some(&info));
    Ok(NewTokenInfo { token: secret.reveal().to_owned(), info })
}

/// `POST /tokens/{name}/rotate`.
#[utoipa::path(
    post,
    path = "/tokens/{name}/rotate",
    tag = "access",
    operation_id = "rotateToken",
    summary = "Gives a token another secret; the former one is refused at once",
    params(("name" = String, Path, description = "Name of the token")),
    request_body(content = WantedRotation, description = "The end of the new secret"),
    responses((status = 200, description = "The token with its secret", body = NewTokenInfo))
)]
pub async fn rotate(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    name: web::Path<String>,
    _: web::Query<NoQuery>,
    wanted: Body<WantedRotation>,
) -> Result<web::Json<NewTokenInfo>, TokenRefusal> {
    let (name, wanted) = (token_name(&name)?, wanted.into_inner().0);
    refuse_legacy(&name)?;
    let before = known(&state, &name);
    let known = state.actors.access_views.load().token(&name);
    let kind = match known.as_ref().map(|token| &token.rights) {
        Some(Rights::Worker(_)) => TokenKind::Worker,
        Some(Rights::Role(_) | Rights::Scopes(_)) | None => TokenKind::General,
    };
    let secret = new_secret(kind)?;
    let content = format!("rotate {name} {wanted:?}");
    let request = request_id(&caller, wanted.request_id.as_deref(), &content);
    let end = end(wanted.ttl, wanted.expires_at, state.clock.now())?;
    let rotate = RotateToken { name, hash: secret.hash(), end, by: caller.0, request };
    let token = state.actors.access.ask(rotate).await??;
    let info = TokenInfo::of(&token, state.clock.now());
    audit.changed(before.as_ref(), Some(&info));
    Ok(web::Json(NewTokenInfo { token: secret.reveal().to_owned(), info }))
}

/// `DELETE /tokens/{name}`.
#[utoipa::path(
    delete,
    path = "/tokens/{name}",
    tag = "access",
    operation_id = "revokeToken",
    summary = "Revokes a token; it is refused at once",
    params(("name" = String, Path, description = "Name of the token")),
    responses((status = 204, description = "The token is revoked"))
)]
pub async fn revoke(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    name: web::Path<String>,
    _: web::Query<NoQuery>,
) -> Result<HttpResponse, TokenRefusal> {
    let name = token_name(&name)?;
    refuse_legacy(&name)?;
    audit.changed(known(&state, &name).as_ref(), None);
    let request = caller.request(&format!("revoke token {name}"));
    state.actors.access.ask(RevokeToken { name, by: caller.0, request }).await??;
    Ok(HttpResponse::NoContent().finish())
}

/// The token as it is now, without its secret.
fn known(state: &NodeHttpState, name: &TokenName) -> Option<TokenInfo> {
    let token = state.actors.access_views.load().token(name)?;
    Some(TokenInfo::of(&token, state.clock.now()))
}

fn token_name(text: &str) -> Result<TokenName, ProblemResponse> {
    text.parse().map_err(|_| ProblemResponse::not_found("no token has such a name"))
}

/// The configured token is not in the journal.
fn refuse_legacy(name: &TokenName) -> Result<(), ProblemResponse> {
    if name.as_str() != TokenName::LEGACY {
        return Ok(());
    }
    let detail =
        "the token legacy is in the configuration: remove token or token_file there, and reload";
    Err(ProblemResponse::new(ProblemKind::NotAllowed, detail))
}

fn new_secret(kind: TokenKind) -> Result<TokenSecret, ProblemResponse> {
    match draw() {
        Ok(random) => Ok(TokenSecret::new(kind, &random)),
        Err(error) => {
            let detail = format!("the system has no random bytes for a token: {error}");
            Err(ProblemResponse::new(ProblemKind::Unreadable, detail))
        }
    }
}

/// The end that a request sets. Without one, a new token has no end, and a rotated one keeps its end.
fn end(ttl: Option<Ttl>, at: Option<Rfc3339>, now: Millis) -> Result<NewTokenEnd, ProblemResponse> {
    match (ttl, at) {
        (Some(_), Some(_)) => Err(ProblemResponse::bad_request("set ttl or expires_at, not both")),
        (Some(Ttl::For(ttl)), None) => Ok(NewTokenEnd::At(now.after(ttl))),
        (Some(Ttl::Never), None) => Ok(NewTokenEnd::Never),
        (None, Some(Rfc3339(at))) => Ok(NewTokenEnd::At(at)),
        (None, None) => Ok(NewTokenEnd::Same),
    }
}
