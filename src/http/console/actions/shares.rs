//! Actions on share links: a new one, a later end, a revocation.

use std::num::NonZeroU32;
use std::str::FromStr;

use actix_web::web::{Data, Json, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_api::{
    Password, ProblemKind, ShareInfo, Ttl, WantedRevocation, WantedShare, WantedTerms,
};
use reelyard_console::Moment;
use reelyard_console::format::count;
use reelyard_console::pages::shares::{NewLink, SharesPageModel, SharesPageQuery};
use reelyard_console::parts::dialog::TYPED_FROM;
use reelyard_console::text::{outcomes, shares as words};
use reelyard_links::qr_picture;
use reelyard_shares::share_expiry::{OnlyIf, ShareId, ShareNote, ShareOwner};
use serde::Deserialize;

use super::{acted_on, done, mark_refused, refusal_words, refused};
use crate::http::api::call_parts::{NoQuery, Objects};
use crate::http::api::share_calls::new_share::create_share;
use crate::http::api::share_calls::shares;
use crate::http::audit::AuditDetails;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::chosen;
use crate::http::console::pages::given_out::share_dialogs::link_of;
use crate::http::console::pages::given_out::shares as page;
use crate::http::console::posted_form::PostedForm;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// An action on links, by its word in addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareAction {
    /// Gives them a later end.
    Extend,
    /// Ends them now, with their running downloads.
    Revoke,
}

/// `POST /console/shares/new`: answers with the page, because the link and its code are shown at once. A
/// refused form keeps what was typed, without the password.
pub async fn create(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::SharesWrite)?;
    audit.of_form(&visitor.caller.0.subject, None);
    let default_ttl = state.live.now().config.share.rules.default_ttl;
    let link = link_of(default_ttl, &|name| form.first(name).map(str::to_owned));
    let created = match wanted(&form) {
        Ok(wanted) => create_share(&state, &visitor.caller, &audit, wanted).await,
        Err(refused) => Err(refused),
    };
    let (link, refused) = match created {
        Ok(share) => (made(link, &share), None),
        Err(why) => {
            let refused = Some(refusal_words(&visitor.viewer, &why));
            // The outcome of a request may be unknown: the same form asks again for the same link. A link that has
            // ended is made again by another request.
            let typed = form.first("request_id").filter(|_| why.kind() != ProblemKind::Gone);
            let request_id = typed.map_or(link.request_id, str::to_owned);
            (NewLink { refused, request_id, ..link }, Some(why))
        }
    };
    let query = SharesPageQuery { new: true, ..SharesPageQuery::default() };
    let model = page::model(&state, &query, &visitor.viewer).await?;
    let model = SharesPageModel { new: Some(link), ..model };
    let parts = page::parts(&query, &model, &visitor.viewer);
    let here = SharesPageQuery::path();
    let mut answer = answer::page_at(here, &request, &state, &visitor, &parts);
    if let Some(why) = refused {
        mark_refused(&mut answer, &why);
    }
    Ok(answer)
}

/// The terms in the form.
fn wanted(form: &PostedForm) -> Result<WantedShare, ProblemResponse> {
    Ok(WantedShare {
        path: form.first("path").unwrap_or_default().to_owned(),
        // The field replaces the choice above it.
        ttl: match parsed::<Ttl>(form, "ttl")? {
            Some(ttl) => Some(ttl),
            None => parsed::<Ttl>(form, "preset")?,
        },
        expires_at: None,
        password: form.first("password").map(|password| Password(password.to_owned())),
        max_downloads: most_downloads(form)?,
        owner: form
            .first("owner")
            .map(ShareOwner::new)
            .transpose()
            .map_err(|bad| wrong("owner", bad))?,
        note: form
            .first("note")
            .map(ShareNote::new)
            .transpose()
            .map_err(|bad| wrong("note", bad))?,
        request_id: form.first("request_id").map(str::to_owned),
    })
}

fn most_downloads(form: &PostedForm) -> Result<Option<NonZeroU32>, ProblemResponse> {
    let most = form.number(("max_downloads", words::NEW_MOST), 1..=u32::MAX)?;
    Ok(most.and_then(NonZeroU32::new))
}

fn parsed<T: FromStr<Err: std::fmt::Display>>(
    form: &PostedForm,
    name: &str,
) -> Result<Option<T>, ProblemResponse> {
    let read = form.first(name).map(|text| text.trim().parse()).transpose();
    read.map_err(|bad| wrong(name, bad))
}

fn wrong(name: &str, bad: impl std::fmt::Display) -> ProblemResponse {
    ProblemResponse::bad_request(format!("{name}: {bad}"))
}

fn made(link: NewLink, share: &ShareInfo) -> NewLink {
    NewLink {
        path: share.path.clone(),
        qr: qr_picture(&share.url).map(|code| (code.path, code.side)),
        ends: share.expires_at.map(|at| Moment(at.0.0)),
        made: Some(share.url.clone()),
        ..link
    }
}

/// `POST /console/share-actions/{action}`: on all links in the fields `pick`.
pub async fn act_on_picked(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    action: Path<ShareAction>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::SharesWrite)?;
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    let (mut ids, mut gone): (Vec<ShareId>, u64) = (Vec::new(), 0);
    for picked in form.all("pick") {
        // The id of a link is its secret, so the refusal does not repeat it.
        let id =
            picked.parse().map_err(|_| ProblemResponse::bad_request("pick: no id of a link"))?;
        ids.push(id);
    }
    if let Some(filter) = chosen::filter_of(&form) {
        let query = SharesPageQuery::parse(filter);
        let lines = computed(&state, move |state| page::matching(state, &query).rows).await?;
        let keys = lines.iter().map(|line| line.id.clone());
        match chosen::gone_since(&form, keys) {
            Ok(left) => gone = left,
            Err(why) => return Ok(refused(&form, &visitor.viewer, 0, &why)),
        }
        ids = lines.iter().filter_map(|line| line.id.parse().ok()).collect();
    }
    let (action, links) = (action.into_inner(), ids.len() as u64);
    let typed = form.first("typed").and_then(|typed| typed.parse::<u64>().ok());
    // The dialog counted those too that have ended since.
    if action == ShareAction::Revoke && links >= TYPED_FROM && typed != Some(links + gone) {
        let detail = format!("typed: expected {links}, the number of links that end");
        let wrong = ProblemResponse::bad_request(detail);
        return Ok(refused(&form, &visitor.viewer, 0, &wrong));
    }
    Ok(match action {
        ShareAction::Extend => extend(&state, &visitor, &audit, (ids, gone), &form).await,
        ShareAction::Revoke => revoke(&state, &visitor, &audit, (ids, gone), &form).await,
    })
}

async fn extend(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    audit: &AuditDetails,
    (ids, gone): (Vec<ShareId>, u64),
    form: &PostedForm,
) -> HttpResponse {
    let ttl = match parsed::<Ttl>(form, "ttl") {
        Ok(Some(ttl)) => ttl,
        Ok(None) => {
            let missing = ProblemResponse::bad_request("ttl: a lifetime is needed, such as 7d");
            return refused(form, &visitor.viewer, 0, &missing);
        }
        Err(why) => return refused(form, &visitor.viewer, 0, &why),
    };
    let named: Vec<String> = ids.iter().map(ToString::to_string).collect();
    // Whether the link got a later end.
    let extend_one = |id: String| async {
        let only_if = Some(OnlyIf::Greater);
        let body = Json(Objects(WantedTerms { ttl: Some(ttl), only_if, ..WantedTerms::default() }));
        let (state, caller, path) = (state.clone(), visitor.caller.clone(), Path::from(id));
        let changed =
            shares::change(state, caller, audit.clone(), path, Query(NoQuery {}), body).await;
        match changed.map_err(Refusal::into_response) {
            Ok(_) => Ok(true),
            Err(why) if why.kind() == ProblemKind::ConditionFailed => Ok(false),
            Err(why) => Err(why),
        }
    };
    let all = chosen::act_on_all(named.clone(), chosen::AT_ONCE, extend_one).await;
    let extended = all.done.iter().filter(|extended| **extended).count() as u64;
    let kept = all.done.len() as u64 - extended;
    audit.subjects("share", &named);
    let values = [("n", count(extended)), ("kept", count(kept))];
    let values = [("n", values[0].1.as_str()), ("kept", values[1].1.as_str())];
    let outcome = outcomes::LINKS_EXTENDED.fill(visitor.viewer.language, &values);
    let outcome = chosen::with_gone(&visitor.viewer, outcome, gone);
    acted_on(form, &visitor.viewer, (extended, &all), outcome, None)
}

async fn revoke(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    audit: &AuditDetails,
    (ids, gone): (Vec<ShareId>, u64),
    form: &PostedForm,
) -> HttpResponse {
    let links = ids.len();
    let wanted = WantedRevocation { ids: Some(ids), hard: true, ..WantedRevocation::default() };
    let (state, caller) = (state.clone(), visitor.caller.clone());
    let body = Json(Objects(wanted));
    let revoked = shares::revoke_many(state, caller, audit.clone(), Query(NoQuery {}), body).await;
    match revoked.map_err(Refusal::into_response) {
        Ok(revoked) if revoked.ended == 0 => {
            let detail = format!(
                "links that had ended before, by their time or by another person: {links}. Nothing was revoked. Load \
                 the page again for the links that work"
            );
            refused(form, &visitor.viewer, 0, &ProblemResponse::new(ProblemKind::Gone, detail))
        }
        Ok(revoked) => {
            let n = count(revoked.ended);
            let outcome = outcomes::LINKS_REVOKED.fill(visitor.viewer.language, &[("n", &n)]);
            done(form, chosen::with_gone(&visitor.viewer, outcome, gone))
        }
        Err(why) => refused(form, &visitor.viewer, 0, &why),
    }
}
