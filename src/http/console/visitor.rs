//! The person behind a request to the console: rights, and the choices that cookies keep.

use actix_web::{HttpMessage, HttpRequest, web};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::tz::TimeZone;
use reelyard_access::rights::{AccessScope, Caller};
use reelyard_access::secrets::draw;
use reelyard_api::ProblemKind;
use reelyard_console::{
    BrowserChoices, Density, Moment, ReadableAreas, Viewer, ViewerRights, ViewerRole,
};

use super::choices::choices_of;
use super::posted_form::PostedForm;
use super::refusal::ConsoleRefusal;
use crate::http::access::{self, CheckedScope, RequestCaller, RequestCredential};
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Cookie with the height of rows.
pub const DENSITY_COOKIE: &str = "reelyard_density";

/// Cookie with the time zone of the browser, such as `Asia/Seoul`. The script of the pages sets it.
pub const ZONE_COOKIE: &str = "reelyard_zone";
/// Longest name of a time zone in bytes.
const LONGEST_ZONE: usize = 64;

/// The caller of a page, and how pages are rendered for it.
pub struct Visitor {
    /// The caller, for rights and for the record of changes.
    pub caller: RequestCaller,
    /// The choices that the pages follow.
    pub viewer: Viewer,
}

impl Visitor {
    /// The visitor of a page that needs this scope.
    ///
    /// # Errors
    /// Without a session the visitor must log in. The visitor lacks the scope.
    pub fn of(
        request: &HttpRequest,
        state: &web::Data<NodeHttpState>,
        needed: &AccessScope,
    ) -> Result<Self, ConsoleRefusal> {
        let (caller, credential) = access::authenticate(request, state)
            .map_err(|refused| ConsoleRefusal::of_caller(refused, request))?;
        Visitor::new(request, state, caller, &credential, needed)
    }

    /// The visitor who posts a form that needs this scope.
    ///
    /// # Errors
    /// As with [`Visitor::of`]; or the form lacks the CSRF token of the session.
    pub fn posting(
        request: &HttpRequest,
        state: &web::Data<NodeHttpState>,
        form: &PostedForm,
        needed: &AccessScope,
    ) -> Result<Self, ConsoleRefusal> {
        let token = form.first("csrf_token");
        let (caller, credential) =
            access::authenticate_form(request, state, token).map_err(|refused| {
                let refused = if refused.kind() == ProblemKind::Forbidden {
                    of_other_session()
                } else {
                    refused
                };
                ConsoleRefusal::of_caller(refused, request)
            })?;
        Visitor::new(request, state, caller, &credential, needed)
    }

    fn new(
        request: &HttpRequest,
        state: &web::Data<NodeHttpState>,
        caller: RequestCaller,
        credential: &RequestCredential,
        needed: &AccessScope,
    ) -> Result<Self, ConsoleRefusal> {
        access::require(&caller.0, needed)?;
        request.extensions_mut().insert(credential.clone());
        request.extensions_mut().insert(CheckedScope(needed.clone()));
        let csrf = csrf_token(credential);
        let random = draw().map_err(|error| {
            let detail = format!("the system has no random bytes for a page: {error}");
            ProblemResponse::new(ProblemKind::Unreadable, detail)
        })?;
        let cookie = |name| request.cookie(name).map(|cookie| cookie.value().to_owned());
        let BrowserChoices { language, theme } = choices_of(request);
        let called = request.connection_info();
        let origin = format!("{}://{}", called.scheme(), called.host());
        drop(called);
        let is_page = request.method().is_safe();
        let here = request.uri().path_and_query().filter(|_| is_page);
        let here = here.map_or("", |path| path.as_str());
        let is_compact = cookie(DENSITY_COOKIE).is_some_and(|word| word == "compact");
        let viewer = Viewer {
            user: caller.name(),
            role: role_of(&caller.0),
            rights: rights_of(&caller.0),
            language,
            theme,
            density: if is_compact { Density::Compact } else { Density::Usual },
            zone: cookie(ZONE_COOKIE).as_deref().map_or(TimeZone::UTC, zone_of),
            now: Moment(state.clock.now().0),
            csrf,
            nonce: STANDARD.encode(&random[..18]),
            origin,
            here: here.to_owned(),
        };
        Ok(Visitor { caller, viewer })
    }
}

/// The refusal of a form without the CSRF token of the session. Rights have no part in it.
fn of_other_session() -> ProblemResponse {
    let detail = "the form lacks the CSRF token of this session: its page is of an earlier session, or of another site";
    ProblemResponse::new(ProblemKind::ForeignRequest, detail)
}

/// The token against forged forms. A credential in a header has none: no page of another site sends it.
pub fn csrf_token(credential: &RequestCredential) -> String {
    match credential {
        RequestCredential::Session(secret) => secret.csrf_token(),
        RequestCredential::Legacy(_) | RequestCredential::Token(_) => String::new(),
    }
}

/// The zone with this name. UTC for a name that this host does not know.
fn zone_of(name: &str) -> TimeZone {
    if name.len() > LONGEST_ZONE {
        return TimeZone::UTC;
    }
    TimeZone::get(name).unwrap_or(TimeZone::UTC)
}

fn role_of(caller: &Caller) -> ViewerRole {
    if caller.rights.allow(&AccessScope::AccessWrite) {
        ViewerRole::Admin
    } else if caller.rights.allow(&AccessScope::YardWrite) {
        ViewerRole::Operator
    } else {
        ViewerRole::Viewer
    }
}

fn rights_of(caller: &Caller) -> ViewerRights {
    let may = |scope| caller.rights.allow(&scope);
    ViewerRights {
        storage: may(AccessScope::YardWrite),
        shares: may(AccessScope::SharesWrite),
        boxes: may(AccessScope::BoxesWrite),
        config: may(AccessScope::ConfigWrite),
        admin: may(AccessScope::AccessWrite),
        cluster: may(AccessScope::ClusterWrite),
        reads: ReadableAreas {
            storage: may(AccessScope::YardRead),
            shares: may(AccessScope::SharesRead),
            boxes: may(AccessScope::BoxesRead),
            config: may(AccessScope::ConfigRead),
            access: may(AccessScope::AccessRead),
            audit: may(AccessScope::AuditRead),
        },
    }
}
